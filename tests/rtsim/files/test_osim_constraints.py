"""OpenSim's constraints and locks as couplers and elements of a model."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.dynamics.constraints import constraint_rows, new_constraint_work
from kernels.joints.tree import new_pose, pose
from kernels.solver.constraints import HARD
from rtsim.errors import ConfigError
from rtsim.files.osim.frames import angles_of
from rtsim.files.osim.model import read_osim
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.models.scaling import scale_geometry

from .osim_texts import GROUND, Coordinate, Joint, Model, path_of

PINS = tuple(
    Joint("PinJoint", parent, child, (Coordinate(name, start),))
    for parent, child, name, start in ((GROUND, "a", "p", 0.1), ("a", "b", "q", 0.3), ("b", "c", "r", -0.2))
)
COUPLER = (
    '<CoordinateCouplerConstraint name="k"><coupled_coordinates_function>{}</coupled_coordinates_function>'
    "<independent_coordinate_names>{}</independent_coordinate_names>"
    "<dependent_coordinate_name>r</dependent_coordinate_name><scale_factor>2</scale_factor>{}"
    "</CoordinateCouplerConstraint>"
)
SLOPE = "<LinearFunction><coefficients>3 0.1</coefficients></LinearFunction>"


@pytest.fixture
def read(write):
    """Reader of a model, in the layout of OpenSim 4 unless told."""

    def read(model, version=40000):
        return read_osim(write("small.osim", model.text(version)))

    return read


def at_start(spec):
    """The model, and the places of its bodies where it starts."""
    model = build(spec)
    tree = model.tree
    bodies = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, model.q_neutral, bodies)
    return model, bodies


def constraint_values(spec):
    """Values and rows of all constraints where the model starts."""
    model, bodies = at_start(spec)
    roles = roles_of(spec)
    assert (roles.mode == HARD).all()
    work = new_constraint_work(model.constraints(roles), model.n_v)
    n = constraint_rows(model.tree, model.constraints(roles), bodies, model.q_neutral, work)
    return work.value[:n], work.row[:n]


def end(body, version, k, place, angles=""):
    """Properties of one end of a constraint."""
    turned = f"<orientation_body_{k}>{angles}</orientation_body_{k}>" if angles else ""
    tag = f"body_{k}" if version < 40000 else f"socket_body_{k}"
    name = body if version < 40000 else path_of(body)
    return f"<{tag}>{name}</{tag}><location_body_{k}>{place}</location_body_{k}>{turned}"


def test_locked_coordinates_keep_their_value(read):
    """Protects locks: a locked coordinate is a prescribed one and not free to be moved."""
    joints = (PINS[0], Joint("PinJoint", "a", "b", (Coordinate("q", 0.3, locked=True),)))
    spec, _ = read(Model(joints))
    (coupler,) = spec.couplers
    assert (coupler.coordinate, coupler.constant, coupler.of) == ("q", 0.3, "")
    assert build(spec).q_neutral[1] == 0.3


def test_coupler(read):
    """Protects coupled coordinates: r = scale f(p), and it starts there."""
    spec, _ = read(Model(PINS, constraints=COUPLER.format(SLOPE, "p", "")))
    assert build(spec).q_neutral == pytest.approx([0.1, 0.3, 2.0 * (3.0 * 0.1 + 0.1)])


def test_coupler_goes_before_lock(read):
    """Protects from two couplers on one coordinate where a model locks a dependent one."""
    joints = (*PINS[:2], Joint("PinJoint", "b", "c", (Coordinate("r", locked=True),)))
    spec, notes = read(Model(joints, constraints=COUPLER.format(SLOPE, "p", "")))
    assert len(spec.couplers) == 1
    assert any("is both coupled and locked" in note for note in notes)


@pytest.mark.parametrize("off", ["<isEnforced>false</isEnforced>", "<isDisabled>true</isDisabled>"])
def test_constraints_switched_off(read, off):
    """Protects from constraints that the model does not enforce."""
    spec, notes = read(Model(PINS, constraints=COUPLER.format(SLOPE, "p", off)))
    assert spec.couplers == ()
    assert any("switched off" in note for note in notes)


@pytest.mark.parametrize(
    ("constraint", "what"),
    [
        (COUPLER.format(SLOPE, "p q", ""), "2 independent"),
        (COUPLER.format("", "p", ""), "no function"),
        (COUPLER.format(SLOPE, "x", ""), "unknown 'x'"),
        ("<RollingOnSurfaceConstraint name='k'/>", "RollingOnSurfaceConstraint has no counterpart"),
        ("<PointConstraint name='k'><body_1>a</body_1></PointConstraint>", "body_2 is missing"),
    ],
)
def test_constraints_that_cannot_be(read, constraint, what):
    """Protects from constraints dropped in silence."""
    with pytest.raises(ConfigError, match=what):
        read(Model(PINS, constraints=constraint))


@pytest.mark.parametrize("version", [30000, 40000])
def test_point_and_distance(read, version):
    """Protects loops: what the elements say is the gap between two points, and their distance."""
    _, bodies = at_start(read(Model(PINS))[0])
    ends = end("c", version, 1, "0.1 0.2 0.3") + end(GROUND, version, 2, "0 0 0")
    x = bodies.rotation[2] @ [0.1, 0.2, 0.3] + bodies.position[2]
    constraints = (
        f"<PointConstraint name='point'>{ends}</PointConstraint>"
        f"<ConstantDistanceConstraint name='rod'>{ends}<constant_distance>0.4</constant_distance>"
        "</ConstantDistanceConstraint>"
    )
    values, _ = constraint_values(read(Model(PINS, constraints=constraints), version)[0])
    np.testing.assert_allclose(values, [*x, x @ x - 0.16], atol=1e-14)


@pytest.mark.parametrize("version", [30000, 40000])
def test_weld_holds_six_directions(read, version):
    """Protects welded loops: satisfied where both frames agree, by six independent rows, and only there."""
    joints = tuple(
        Joint("GimbalJoint", parent, child, tuple(Coordinate(f"{child}{k}", 0.3 - 0.2 * k) for k in range(3)))
        for parent, child in ((GROUND, "a"), ("a", "b"), ("b", "c"))
    )
    _, bodies = at_start(read(Model(joints))[0])
    place = bodies.position[2].tolist()
    for turn in (0.0, 0.1):
        where = angles_of(bodies.rotation[2]) + np.array([0.0, 0.0, turn])
        texts = " ".join(map(repr, place)), " ".join(map(repr, where.tolist()))
        weld = f"<WeldConstraint name='w'>{weld_ends(version, *texts)}</WeldConstraint>"
        values, rows = constraint_values(read(Model(joints, constraints=weld), version)[0])
        assert np.linalg.matrix_rank(rows) == len(rows) == 6
        # turned about z: the tip of x is off the plane across y by the sine
        np.testing.assert_allclose(abs(values), [0.0, 0.0, 0.0, np.sin(turn), 0.0, 0.0], atol=1e-14)


def test_a_weld_of_a_scaled_model_is_still_satisfied(read):
    """Protects the pose of a scaled model: a weld has a place, but no size that a person could have."""
    joints = tuple(
        Joint("GimbalJoint", GROUND, body, tuple(Coordinate(f"{body}{k}", 0.3 - 0.2 * k) for k in range(3)))
        for body in "ab"
    )
    ends = "".join(end(body, 40000, k, "0.1 0.2 0.3", "0.3 -0.2 0.5") for k, body in ((1, "a"), (2, "b")))
    spec, _ = read(Model(joints, constraints=f"<WeldConstraint name='w'>{ends}</WeldConstraint>"))
    notes: list[str] = []
    larger = scale_geometry(spec, dict.fromkeys("ab", np.array([1.2, 0.9, 1.1])), notes.append)
    assert constraint_values(larger)[0] == pytest.approx(np.zeros(6), abs=1e-12)
    assert larger.elements[0].a.offset_mm == pytest.approx((120.0, 180.0, 330.0))
    assert notes == []


def weld_ends(version, place, angles):
    """Both ends of a weld of ground to the origin of c: as properties (3.x), or by a frame of its own."""
    if version < 40000:
        return end(GROUND, version, 1, place, angles) + end("c", version, 2, "0 0 0", "0 0 0")
    return (
        "<socket_frame1>here</socket_frame1><socket_frame2>/bodyset/c</socket_frame2><frames>"
        '<PhysicalOffsetFrame name="here"><socket_parent>/ground</socket_parent>'
        f"<translation>{place}</translation><orientation>{angles}</orientation></PhysicalOffsetFrame></frames>"
    )
