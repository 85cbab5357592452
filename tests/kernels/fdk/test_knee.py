"""Force-dependent kinematics of a knee on a force plate: equilibrium, its root, laws, what is torn."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE
from kernels.forces.lines import TENSION
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.fdk.joint_forces import JointForces
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.neutral import neutral_places
from rtsim.models.roles import roles_of
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.subject import load_subject
from tests.naive.differences import first_derivative
from tests.naive.fdk import places, values, work_of_wrench
from tests.naive.ligament import line_force
from tests.naive.muscle_path import lengths
from tests.naive.tree import integrate, state
from tests.naive.volumetric import volume

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]

RUN, *OTHERS = (
    load_run(find_config("knee_fdk", "runs"), [f"knee={way}"]) for way in ("condyles", "adduction", "turning")
)
SPEC, SUBJECT = load_model("knee_fdk"), load_subject(find_config("walker", "subjects"))
PERSON = person_of(SUBJECT, load_inertia_table(), RUN.mass_kg)
WEIGHT = 9.81 * PERSON.mass


def knee(spec: ModelSpec = SPEC, run: RunConfig = RUN, **options) -> ForceDependentKinematics:
    """The walker's knee as in a shipped run, to 1e-6 N."""
    model = build(with_masses(spec, SUBJECT, PERSON), SUBJECT, run.method)
    fdk = msgspec.structs.replace(run.fdk, **{"tolerance_N": 1e-6, "max_iterations": 30, **options})
    return ForceDependentKinematics(
        model, roles_of(spec, run.method, SUBJECT), fdk, run.recruitment or RecruitmentSpec()
    )


@pytest.fixture(scope="module")
def own() -> ForceDependentKinematics:
    return knee()


@pytest.fixture(scope="module", params=[RUN, *OTHERS], ids=["condyles", "adduction", "turning"])
def either(request) -> ForceDependentKinematics:
    """The knee by its condyles' heights, by a height and adduction, by these and the turn."""
    return knee(run=request.param)


def standing(own: ForceDependentKinematics, bend: float = 0.0, share: float = 1.0) -> tuple[Array, ...]:
    """Markers of one who stands still on the right leg; its plate bears a share of the weight.

    bend : of the knee [rad]
    """
    model = own.model
    turned = np.zeros(model.n_v)
    dofs = {name: np.flatnonzero(model.tree.dof_body == b) for b, name in enumerate(model.names.bodies)}
    turned[dofs["shank"][-1]], turned[dofs["thigh"][-1]] = -bend, 0.5 * bend
    q = integrate(model.tree, model.q_neutral, turned)
    body = model.names.bodies.index("foot")
    place = state(model.tree, q).body[body][:3, 3] + [0.05, -0.08, 0.0]
    force = np.array([0.0, share * WEIGHT, 0.0])
    own.external[body] = np.r_[np.cross(place, force), force]
    x = places(model, q).reshape(-1, 3)
    own.start(q)
    return x, np.zeros_like(x), np.zeros_like(x), np.ones(len(x))


def depths(own: ForceDependentKinematics, q: Array) -> Array:
    """(n_contact,) - how deep each sphere is in its plane [m]."""
    at, contacts, pairs = state(own.model.tree, q).body, own.model.forces.contacts, own.model.forces.pairs
    found = []
    for c, pair in enumerate(contacts.pair):
        A, B = at[pairs.body_a[pair]], at[pairs.body_b[pair]]
        away = A @ np.r_[contacts.centre[c], 1.0] - B @ np.r_[contacts.point[c], 1.0]
        found.append(contacts.radii[c, 0] - away[:3] @ B[:3, :3] @ contacts.normal[c])
    return np.array(found)


def ligament_lengths(own: ForceDependentKinematics, q: Array) -> Array:
    """(n_line,) [m]"""
    at, lines, pairs = state(own.model.tree, q).body, own.model.forces.lines, own.model.forces.pairs
    ends = [
        (at[pairs.body_a[p]] @ np.r_[a, 1.0], at[pairs.body_b[p]] @ np.r_[b, 1.0])
        for p, a, b in zip(lines.pair, lines.point_a, lines.point_b, strict=True)
    ]
    return np.array([np.linalg.norm(a - b) for a, b in ends])


def heights(own: ForceDependentKinematics, q: Array) -> Array:
    """(n_body,) - of the mass centres [m]."""
    at, bodies = state(own.model.tree, q).body, own.model.system.bodies
    return np.array([(at[b] @ np.r_[x, 1.0])[1] for b, x in enumerate(bodies.centre)])


def presses(own: ForceDependentKinematics) -> Array:
    """(n_contact,) - normal forces by the volumes [N]."""
    contacts = own.model.forces.contacts
    deep = depths(own, own.q) / contacts.radii[:, 0]
    return np.array(
        [
            contacts.pressure[c, 0] * (volume(contacts.radii[c], d) if d > 0.0 else 0.0)
            for c, d in enumerate(deep)
        ]
    )


@pytest.mark.parametrize("bend", [0.0, 0.2, 0.35])
def test_all_that_acts_on_the_leg_is_in_equilibrium(either, bend) -> None:
    """Protects the whole chain: plate, weights, condyles, ligaments, muscles and held rows of NumPy add up to
    nothing along all six freedoms of the knee, along those that forces decide without held rows. (Bent
    farther the paths of NumPy, which know no sides, take the other way round the groove.)
    """
    own = either
    assert own.balance(*standing(own, bend)) == BALANCED
    model, q = own.model, own.q.copy()
    tree, lines = model.tree, model.forces.lines
    long = ligament_lengths(own, q)
    tension = [line_force(k, p, x, 0.0) for k, p, x in zip(lines.law, lines.parameter, long, strict=True)]
    muscle = np.zeros(len(model.names.muscles))
    muscle[own.joint.acting] = own.forces
    total = -first_derivative(lambda x: depths(own, x), tree, q).T @ presses(own)
    total -= first_derivative(lambda x: ligament_lengths(own, x), tree, q).T @ np.array(tension)
    total -= first_derivative(lambda x: lengths(tree, model.stations, model.surfaces, x), tree, q).T @ muscle
    total -= 9.81 * first_derivative(lambda x: heights(own, x), tree, q).T @ model.system.bodies.mass
    total += sum(work_of_wrench(model, q, b, w) for b, w in enumerate(own.external))
    rows = first_derivative(lambda x: values(model, x), tree, q)
    held = [model.names.elements.index(name) for name in own.held]
    pushed = np.where([name in own.spec.dofs for name in own.held], 0.0, own.reactions)
    total += rows[held].T @ pushed
    of_knee = tree.dof_body == model.names.bodies.index("shank")
    np.testing.assert_allclose(total[of_knee], 0.0, atol=2e-3)


def test_standing_bears_the_body_on_the_condyles(own) -> None:
    """Protects results: upright, both condyles press, by no less than the body above, as the joints tell."""
    assert own.balance(*standing(own)) == BALANCED
    below = own.model.system.bodies.mass[[own.model.names.bodies.index(b) for b in ("shank", "foot")]].sum()
    joints = JointForces(own, RUN.fdk.joints)
    joints.update(known=True)
    np.testing.assert_allclose(np.linalg.norm(joints.force, axis=1), presses(own), rtol=1e-9)
    assert (presses(own) > 0.0).all()
    assert joints.force[:, 1].sum() > WEIGHT - 9.81 * below
    assert own.least_stiffness > 0.0
    assert np.abs(joints.displacement).max() < 0.01


@pytest.mark.parametrize("bend", [0.0, 0.35])
def test_slopes_are_those_of_differences(either, bend) -> None:
    """Protects the analytic Jacobian under plates, with wrapped muscles and reserves."""
    own = either
    assert own.balance(*standing(own, bend)) == BALANCED
    analytic, coarse, fine = (own.slopes(h) for h in (0.0, 2e-6, 1e-6))
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=2e-6 * np.abs(analytic).max())


def test_the_equilibrium_is_the_root_of_the_same_forces(either) -> None:
    """Protects the search: SciPy's hybrid method finds the same place from 0.3 mm beside, to a micrometre."""
    own = either
    assert own.balance(*standing(own, 0.35)) == BALANCED
    found = own.alpha.copy()

    def residual(alpha: Array) -> Array:
        own.alpha[:] = 1e-3 * alpha
        own.slopes(0.0)
        return own.residual.copy()

    answer = root(
        residual,
        1e3 * found + np.resize([0.3, -0.2, 0.3], len(found)),
        method="hybr",
        options={"xtol": 1e-10},
    )
    np.testing.assert_allclose(1e-3 * answer.x, found, atol=1e-6)


def test_a_laboratory_that_is_turned_and_moved_changes_nothing(either) -> None:
    """Protects frames: markers and the plate's wrench turned about the vertical and moved, all lies alike."""
    own = either
    x, v, a, w = standing(own, 0.35)
    assert own.balance(x, v, a, w) == BALANCED
    alpha, activations, q = own.alpha.copy(), own.activations.copy(), own.q.copy()
    turn, away = Rotation.from_rotvec([0.0, 0.6, 0.0]).as_matrix(), np.array([0.2, 0.1, -0.4])
    for wrench in own.external:
        force = turn @ wrench[3:]
        wrench[:] = np.r_[turn @ wrench[:3] + np.cross(away, force), force]
    own.start(q)
    assert own.balance(x @ turn.T + away, v, a, w) == BALANCED
    np.testing.assert_allclose(own.alpha, alpha, atol=1e-9)
    np.testing.assert_allclose(own.activations, activations, atol=1e-7)


def pulled(own: ForceDependentKinematics, force: float) -> tuple[Array, ...]:
    """Markers of a leg that hangs straight, and is pulled down through the knee [N]."""
    markers = standing(own, share=0.0)
    place = neutral_places(own.model)[0][own.model.names.bodies.index("shank")]
    down = np.array([0.0, -force, 0.0])
    own.external[-1] = np.r_[np.cross(place, down), down]
    return markers


def test_a_leg_that_is_pulled_hangs_on_its_ligaments(own) -> None:
    """Protects contacts and ligaments from pulling or pushing: apart, what is left is borne by ligaments."""
    assert own.balance(*pulled(own, 700.0)) == BALANCED
    assert (presses(own) == 0.0).all()
    assert (own.alpha[:2] > 1e-3).all()
    assert own.work.forces.lines.state[:, TENSION].sum() > 700.0
    assert JointForces(own, RUN.fdk.joints).apart() == ("medial", "lateral")


def test_a_knee_without_ligaments_that_is_pulled_apart_is_named() -> None:
    """Protects live runs: nothing holds a foot that is pulled down; contacts that are apart are known, and
    the next frame balances.
    """
    bare = msgspec.structs.replace(
        SPEC,
        ligaments=tuple(
            msgspec.structs.replace(one, stiffness_N=1e-3) if one.pulls else one for one in SPEC.ligaments
        ),
    )
    torn = knee(bare, start_mm={"medial": 0.5, "lateral": 0.5})
    assert torn.balance(*pulled(torn, 700.0)) in (NOT_BALANCED, NOT_BORNE)
    assert "lateral" in JointForces(torn, RUN.fdk.joints).apart()
    assert torn.balance(*standing(torn)) == BALANCED


def test_the_person_of_the_model_is_where_the_mechanism_is() -> None:
    """Protects the places of the condyles: in the neutral pose no held element is off by more than 0.2 mm."""
    model = build(SPEC, SUBJECT, RUN.method)
    position, rotation = neutral_places(model)
    roles = roles_of(SPEC, RUN.method, SUBJECT)
    off = values(model, model.q_neutral) - roles.target
    held = [model.names.elements.index(name) for name in SPEC.methods[RUN.method].hard[:5]]
    assert np.abs(off[held]).max() < 2e-4
    shank, thigh = (model.names.bodies.index(name) for name in ("shank", "thigh"))
    np.testing.assert_allclose(rotation[shank], rotation[thigh], atol=1e-12)
    assert np.isfinite(position).all()
