"""The Python face of inverse dynamics: statics of a standing leg, signs, frames and reactions."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation, n_compiled
from kernels.dynamics.constrained import joint_reactions
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.kinetics import ALONG_AXES
from kernels.dynamics.system import new_dynamics_work
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.methods.inverse_dynamics import (
    FRAMES,
    InverseDynamics,
    dynamics_of_model,
    inverse_dynamics_of,
)
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.subject import load_subject
from tests.naive.tree import integrate, state
from tests.rtsim.models import legs

SUBJECT = msgspec.structs.replace(
    load_subject(find_config("walker", "subjects")), mass_kg=73.0, stature_mm=1741.0, sex="male"
)
SPEC = load_model("lower_limb")
PERSON = person_of(SUBJECT, load_inertia_table())
MODEL = build(with_masses(SPEC, SUBJECT, PERSON), SUBJECT)
SYSTEM = MODEL.system
N_V = MODEL.n_v
WEIGHT = 73.0 * 9.81


@pytest.fixture(scope="module")
def leg():
    """Inverse dynamics of the shipped leg on the shipped subject."""
    return inverse_dynamics_of(SPEC, SUBJECT, PERSON)


@pytest.fixture
def upright():
    """Neutral coordinates, the pelvis turned so that Y of ground is up for all segments, as it is."""
    return MODEL.q_neutral.copy()


def below_ankle(q):
    """The ankle's centre and the foot's mass centre, (3,) each, in ground."""
    at, foot = state(SYSTEM.tree, q), MODEL.names.bodies.index("foot")
    ankle = MODEL.joints.point_distal[-1]
    return at.point(foot, ankle), at.point(foot, SYSTEM.bodies.centre[foot])


def test_the_ankle_of_a_standing_leg_holds_weight_and_ground(leg, upright):
    """Protects units, signs and the centre: moments about the ankle by the arms of two vertical forces."""
    ankle, centre = below_ankle(upright)
    place = ankle + np.array([0.1, -0.08, 0.01])  # under the forefoot
    leg.clear()
    leg.push(3, np.array([0.0, WEIGHT, 0.0]), place)
    leg.compute(upright, np.zeros(N_V), np.zeros(N_V))
    own = SYSTEM.bodies.mass[3] * SYSTEM.gravity
    expected = -np.cross(place - ankle, [0.0, WEIGHT, 0.0]) - np.cross(centre - ankle, own)
    np.testing.assert_allclose(leg.moment("ground")[2], expected, atol=1e-9)
    np.testing.assert_allclose(leg.force("ground")[2], [0.0, -WEIGHT - own[1], 0.0], atol=1e-9)
    # ground pushes the forefoot up: plantarflexors must work, which is against dorsiflexion
    assert leg.moment()[2, 0] < -0.08 * WEIGHT
    # and the knee's: the force passes 0.1 m before it, flexors must work
    assert leg.moment()[1, 0] > 0.0
    assert leg.power == pytest.approx(np.zeros((3, 2)))


def test_what_no_plate_explains_is_left_at_the_pelvis(leg, upright):
    """Protects the residual: without ground the weight of the four segments, with it the rest of the body."""
    mass = SYSTEM.bodies.mass.sum()
    leg.clear()
    leg.compute(upright, np.zeros(N_V), np.zeros(N_V))
    np.testing.assert_allclose(leg.residual[1], [0.0, mass * 9.81, 0.0], atol=1e-9)
    np.testing.assert_allclose(leg.residual_share[1, 1], mass / 73.0)
    leg.push(3, np.array([0.0, WEIGHT, 0.0]), np.zeros(3))
    leg.compute(upright, np.zeros(N_V), np.zeros(N_V))
    np.testing.assert_allclose(leg.residual_share[1, 1], mass / 73.0 - 1.0)


def test_a_pushed_body_feels_the_moment_of_its_place_and_its_own(leg):
    """Protects force plates: a wrench about ground from force, centre of pressure and free moment."""
    leg.clear()
    force, place, free = (
        np.array([10.0, 700.0, -20.0]),
        np.array([0.3, 0.02, -0.1]),
        np.array([0.0, 5.0, 0.0]),
    )
    leg.push(3, force, place, free)
    leg.push(3, force, place)
    np.testing.assert_allclose(leg.external[3, :3], 2.0 * np.cross(place, force) + free)
    np.testing.assert_allclose(leg.external[3, 3:], 2.0 * force)
    leg.clear()
    assert not leg.external.any()


def random_motion(seed):
    """Coordinates near neutral with random speeds and accelerations."""
    rng = np.random.default_rng(seed)
    q = integrate(SYSTEM.tree, MODEL.q_neutral, rng.normal(0.0, 0.3, N_V))
    return q, *rng.normal(size=(2, N_V))


def reactions(model, roles, q, v, v_dot, external):
    """(n_body, 6): moment about each joint's centre and force, by the kernel that cuts all joints."""
    constraints, found = model.constraints(roles), np.zeros((len(model.tree.parent), 6))
    allow_compilation()
    rows = new_constraint_work(constraints, model.n_v)
    work = new_dynamics_work(model.tree, len(rows.value))
    none = np.zeros(len(rows.value))
    joint_reactions(model.system, constraints, q, v, v_dot, external, none, work, rows, found)
    return found


def test_reactions_without_multipliers_are_what_crosses_the_joints(leg):
    """Protects both ways to the same wrench: reactions at joint centres and net moments about them."""
    q, v, v_dot = random_motion(1)
    leg.clear()
    leg.push(3, np.array([50.0, 700.0, -20.0]), np.array([0.1, 0.0, 0.1]))
    leg.compute(q, v, v_dot)
    reaction = reactions(MODEL, roles_of(SPEC, None, SUBJECT), q, v, v_dot, leg.external)
    at = state(SYSTEM.tree, q)
    for j, b in enumerate((1, 2, 3)):
        centre = at.point(b, SYSTEM.tree.position_in_child[b])
        moved = reaction[b, :3] + np.cross(centre - leg.results.centre[j], reaction[b, 3:])
        np.testing.assert_allclose(moved, leg.moment("ground")[j], atol=1e-8)
        np.testing.assert_allclose(reaction[b, 3:], leg.force("ground")[j], atol=1e-9)


def test_every_frame_holds_the_same_vector(leg):
    """Protects the names of the frames."""
    leg.compute(*random_motion(2))
    assert list(FRAMES) == ["ground", "proximal", "distal", "angles"]
    size = np.linalg.norm(leg.moment("ground"), axis=1)
    for frame in ("proximal", "distal"):
        np.testing.assert_allclose(np.linalg.norm(leg.moment(frame), axis=1), size)
    np.testing.assert_array_equal(leg.moment(), leg.results.moment[:, ALONG_AXES])
    np.testing.assert_allclose(np.sum(leg.moment() * leg.angle_rate, axis=1), leg.power[:, 0], atol=1e-9)


def test_a_frame_compiles_nothing_and_moves_no_buffer(leg):
    """Protects live use: results lie where they lay, and no frame compiles."""
    leg.compute(*random_motion(3))
    before, views = n_compiled(), [leg.moment().ctypes.data, leg.tau.ctypes.data]
    for seed in range(3):
        leg.compute(*random_motion(seed))
    assert n_compiled() == before
    assert views == [leg.moment().ctypes.data, leg.tau.ctypes.data]


def test_a_model_without_anatomy_has_forces():
    """Protects other models: no anatomical joints, tau all the same."""
    pin = build(load_model("pin"))
    none = MODEL.joints._replace(**{key: getattr(MODEL.joints, key)[:0] for key in ("proximal", "distal")})
    found = InverseDynamics(pin.system, none, np.zeros((0, 3)), 1.0)
    found.compute(pin.q_neutral, np.zeros(pin.n_v), np.zeros(pin.n_v))
    assert np.isfinite(found.tau).all()
    with pytest.raises(ConfigError, match="weight"):
        InverseDynamics(pin.system, none, np.zeros((0, 3)), 0.0)


def test_every_joint_of_a_model_in_the_axes_of_its_bodies(tmp_path):
    """Protects reactions of models with joint frames turned on both bodies: about the joint's centre, in axes
    of ground and of the bodies, as the kernel of reactions has it; what the joint lets free is its force."""
    text = legs.text().replace(
        "offset_mm = [0.0, -420.0, 0.0] }",
        "offset_mm = [0.0, -420.0, 0.0], turned_deg = [0.0, 90.0, 20.0] }\n"
        "in_child = { offset_mm = [10.0, 20.0, 0.0], turned_deg = [0.0, 90.0, -30.0] }",
    )
    first = "in_parent = { offset_mm = [0.0, -420"
    text = text.replace(f"axis = [0, 0, 1]\n{first}", f"axis = [1, 0, 0]\n{first}")
    path = tmp_path / "turned.toml"
    path.write_text(text)
    spec = load_model(str(path))
    model = build(spec)
    body = dynamics_of_model(model)
    rng = np.random.default_rng(5)
    q = model.q_neutral + rng.uniform(-0.5, 0.5, model.n_v)
    v, v_dot = rng.normal(size=(2, model.n_v))
    sole = model.names.bodies.index("sole_r")
    body.push(sole, np.array([30.0, 600.0, -20.0]), np.array([0.1, 0.0, 0.1]))
    body.compute(q, v, v_dot)
    reaction = reactions(model, roles_of(spec), q, v, v_dot, body.external)
    at = state(model.tree, q)
    for b, p in enumerate(model.tree.parent):
        for k, values in ((0, body.moment), (3, body.force)):
            ground = values("ground")[b]
            np.testing.assert_allclose(ground, reaction[b, k : k + 3], atol=1e-9)
            turned = rotation_of(at, b)
            np.testing.assert_allclose(turned @ values("distal")[b], ground, atol=1e-9)
            turned = rotation_of(at, p) if p >= 0 else np.eye(3)
            np.testing.assert_allclose(turned @ values("proximal")[b], ground, atol=1e-9)
    ankle = model.coordinates.dof[model.coordinates.names.index("ankle_r")]
    axis = rotation_of(at, sole) @ model.tree.rotation_in_child[sole] @ [1.0, 0.0, 0.0]
    assert body.tau[ankle] == pytest.approx(axis @ body.moment("ground")[sole], abs=1e-9)
    assert body.power[sole].sum() == pytest.approx(body.tau[ankle] * v[ankle], abs=1e-9)


def rotation_of(at, b):
    """(3, 3) - axes of a body in ground."""
    origin = at.point(b, np.zeros(3))
    return np.column_stack([at.point(b, axis) - origin for axis in np.eye(3)])
