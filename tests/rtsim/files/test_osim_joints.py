"""OpenSim's bodies, joints, coordinates and frames as those of a model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kernels.joints.tree import new_pose, pose
from rtsim.errors import ConfigError
from rtsim.files.osim.document import Aloud
from rtsim.files.osim.frames import angles_of, turned
from rtsim.files.osim.model import read_osim
from rtsim.models.model import build
from rtsim.models.packing.functions import function_of, value

from .osim_texts import (
    CHAIN,
    GROUND,
    KNEE,
    LINE,
    SPLINE,
    Coordinate,
    Joint,
    Model,
    Muscle,
    Point,
    spatial_transform,
    transform_axis,
)

FREE = Joint("FreeJoint", GROUND, "a", tuple(Coordinate(f"f{k}", 0.1 * k) for k in range(6)))
BALL = Joint("BallJoint", GROUND, "a", tuple(Coordinate(f"b{k}", 0.1 * k) for k in range(3)))

GLIDE = Joint(
    "EllipsoidJoint", GROUND, "a", tuple(Coordinate(f"g{k}", 0.1 * k) for k in range(3)),
    "<radii_x_y_z>0.07 0.12 0.1</radii_x_y_z>",
)  # fmt: skip


@pytest.fixture
def read(write):
    """Reader of a model, in the layout of OpenSim 4 unless told."""

    def read(model, version=40000):
        text = model if isinstance(model, str) else model.text(version)
        return read_osim(write("small.osim", text))

    return read


def poses(spec):
    """Positions and rotations of all bodies where they start."""
    model = build(spec)
    tree = model.tree
    bodies = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, model.q_neutral, bodies)
    return bodies


def euler(*angles):
    """Rotation matrix of body-fixed rotations about x, y, z."""
    return turned(np.array(angles))


def knee_with(function, coordinate="bend"):
    """A body on a custom joint whose first translation follows a function of a coordinate."""
    transform = spatial_transform(
        transform_axis("rotation1", "0 0 1", "bend", LINE),
        transform_axis("translation1", "1 0 0", coordinate, function),
    )
    return Model((Joint("CustomJoint", GROUND, "a", (Coordinate("bend"),), transform),))


def test_kinds_of_joints(read):
    """Protects the table of classes: each has its kind, its coordinates and their units."""
    spec, _ = read(Model(CHAIN))
    kinds = ["hinge", "slider", "universal", "planar", "custom", "custom", "weld"]
    assert [body.joint for body in spec.bodies] == kinds
    names = [[coordinate.name for coordinate in body.coordinates] for body in spec.bodies]
    assert names[:4] == [["pin"], ["slide"], ["first", "second"], ["x", "y", "turn"]]
    units = {c.name: c.unit for body in spec.bodies for c in body.coordinates}
    millimetres = {name for name, unit in units.items() if unit == "mm"}
    assert millimetres == {"slide", "x", "y", "glide"}
    assert spec.bodies[0].coordinates[0].neutral == pytest.approx(0.2, rel=1e-15)
    assert spec.bodies[0].coordinates[0].range == pytest.approx((-1.5, 1.5), rel=1e-15)


@pytest.mark.parametrize("kind", ["ScapulothoracicJoint"])
def test_joints_without_counterpart_are_refused(read, kind):
    """Protects from a wrong shoulder: joints on surfaces are named, with the classes there are."""
    with pytest.raises(ConfigError, match=rf"{kind} .*has no counterpart.*CustomJoint, WeldJoint"):
        read(Model((Joint(kind, GROUND, "a"),)))


@pytest.mark.parametrize("version", [30000, 40000])
def test_frames_of_a_joint(read, version):
    """Protects the offsets: x_ground = in_parent in_child^-1 x for a weld, angles body-fixed x-y-z."""
    joint = Joint(
        "WeldJoint", GROUND, "a", (), "", ("0.1 0.2 0.3", "0.4 -0.5 0.6"), ("1 2 3", "-0.1 0.2 0.3")
    )
    bodies = poses(read(Model((joint,)), version)[0])
    R = euler(0.4, -0.5, 0.6) @ euler(-0.1, 0.2, 0.3).T
    np.testing.assert_allclose(bodies.rotation[0], R, atol=1e-15)
    np.testing.assert_allclose(bodies.position[0], [0.1, 0.2, 0.3] - R @ [1.0, 2.0, 3.0], atol=1e-14)


def test_frames_on_frames(read):
    """Protects 4.x models whose frames hang from other frames, by absolute and relative paths."""
    model = Model((Joint("WeldJoint", GROUND, "a"), Joint("WeldJoint", "a", "b"))).text(40000)
    frames = "".join(
        f'<PhysicalOffsetFrame name="{name}"><socket_parent>{parent}</socket_parent>'
        f"<translation>{place}</translation><orientation>{angles}</orientation></PhysicalOffsetFrame>"
        for name, parent, place, angles in (
            ("inner", "..", "0.1 0 0", "0 0 0.5"),
            ("outer", "../inner", "0 0.2 0", "0.3 0 0"),
        )
    )
    model = model.replace('<Body name="a">', f'<Body name="a"><components>{frames}</components>')
    model = model.replace("<socket_parent_frame>a_offset<", "<socket_parent_frame>/bodyset/a/outer<").replace(
        '<PhysicalOffsetFrame name="b_offset"><socket_parent>/bodyset/b<', "<X><socket_parent>/bodyset/b<"
    )
    model = model.replace("<socket_child_frame>b_offset<", "<socket_child_frame>/bodyset/b<")
    model = model.replace("<X>", '<PhysicalOffsetFrame name="b_offset">')
    in_parent = read(model)[0].bodies[1].in_parent
    expected = np.array([0.1, 0.0, 0.0]) + euler(0.0, 0.0, 0.5) @ [0.0, 0.2, 0.0]
    np.testing.assert_allclose(in_parent.offset_mm, 1e3 * expected, atol=1e-12)
    R = euler(*np.radians(in_parent.turned_deg))
    np.testing.assert_allclose(R, euler(0.0, 0.0, 0.5) @ euler(0.3, 0.0, 0.0), atol=1e-15)


@pytest.mark.parametrize(
    "angles", [(0.3, -0.4, 0.5), (3.0, 1.5, -3.0), (0.4, math.pi / 2, 0.2), (0, -math.pi / 2, 1)]
)
def test_angles_of_a_rotation(angles):
    """Protects turned frames everywhere, also where two of the angles turn about one axis."""
    R = euler(*angles)
    np.testing.assert_allclose(euler(*angles_of(R)), R, atol=1e-15)


def test_frame_fixed_to_itself_is_refused(read):
    """Protects from endless loops through frames that name each other."""
    model = Model((Joint("WeldJoint", GROUND, "a"),)).text(40000)
    with pytest.raises(ConfigError, match="fixed to itself"):
        read(model.replace("<socket_parent>/bodyset/a<", "<socket_parent>../a_offset<"))


@pytest.mark.parametrize(
    ("coordinate", "function", "what"),
    [
        ("bend other", LINE, "one coordinate"),
        ("other", LINE, "unknown coordinate 'other'.*allowed: bend"),
        ("", LINE, "no coordinate"),
    ],
)
def test_axes_that_cannot_be(read, coordinate, function, what):
    """Protects spatial transforms: every axis follows one coordinate of its joint, or none."""
    with pytest.raises(ConfigError, match=what):
        read(knee_with(function, coordinate))


def test_an_axis_without_direction_is_refused(read):
    """Protects from NaN on the way, and from warnings of a library: the axis is named where it stands."""
    transform = spatial_transform(transform_axis("rotation1", "0 0 0", "bend", LINE))
    model = Model((Joint("CustomJoint", GROUND, "a", (Coordinate("bend"),), transform),))
    with pytest.raises(ConfigError, match=r"TransformAxis rotation1: the axis 0 0 0 has no direction"):
        read(model)


def test_custom_joint_without_coordinates_is_a_weld(read):
    """Protects a joint of constants alone: its frames are where the constants put them."""
    transform = spatial_transform(
        transform_axis("translation1", "1 0 0", "", "<Constant><value>0.3</value></Constant>"),
        transform_axis("rotation1", "0 0 1", "", "<Constant><value>0.5</value></Constant>"),
    )
    still = ("0 0 0", "0 0 0")
    spec, _ = read(Model((Joint("CustomJoint", GROUND, "a", (), transform, still, still),)))
    assert spec.bodies[0].joint == "weld"
    bodies = poses(spec)
    np.testing.assert_allclose(bodies.position[0], [0.3, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(bodies.rotation[0], euler(0.0, 0.0, 0.5), atol=1e-15)


def test_free_joint_starts_at_its_default(read):
    """Protects where a model stands: a free joint has no coordinates here, its default values count."""
    spec, notes = read(Model((FREE,)))
    assert spec.bodies[0].joint == "free"
    assert any("free joint" in note for note in notes)
    names = Model(
        (FREE,),
        (
            Muscle(
                "m",
                (
                    Point(GROUND, "1 0 0"),
                    Point("a", "0 1 0", within=("a_joint", "f1", "-1 1")),
                    Point("a", "0 0 1"),
                ),
            ),
        ),
    )
    custom, _ = read(names)
    assert [c.name for c in custom.bodies[0].coordinates] == [f"f{k}" for k in range(6)]
    for bodies in (poses(spec), poses(custom)):
        P, C = euler(0.1, -0.2, 0.3), euler(-0.2, 0.1, 0.2)
        R = P @ euler(0.0, 0.1, 0.2) @ C.T
        np.testing.assert_allclose(bodies.rotation[0], R, atol=1e-15)
        at = P @ [0.3, 0.4, 0.5] + [0.01, 0.2, 0.03] - R @ [0.0, 0.1, 0.02]
        np.testing.assert_allclose(bodies.position[0], at, atol=1e-15)


def test_ball_joint_keeps_its_coordinates(read):
    """Protects names and moment arms at ball joints: they are angles about x, y, z, and a note says so."""
    spec, notes = read(Model((BALL,)))
    assert [c.name for c in spec.bodies[0].coordinates] == ["b0", "b1", "b2"]
    assert any("not to the angular velocity" in note for note in notes)


@pytest.mark.parametrize("version", [30000, 40600])
def test_ellipsoid_joint_glides(read, version):
    """Protects its radii and where it starts: without a turn, at the end of the third radius."""
    spec, notes = read(Model((GLIDE,)), version)
    body = spec.bodies[0]
    assert body.joint == "ellipsoidal"
    assert not body.coordinates
    assert body.radii_mm == pytest.approx((70.0, 120.0, 100.0), rel=1e-15)
    assert any("has no angles" in note and "starts without a rotation" in note for note in notes)
    P, C = euler(0.1, -0.2, 0.3), euler(-0.2, 0.1, 0.2)
    found, R = poses(spec), P @ C.T
    np.testing.assert_allclose(found.rotation[0], R, atol=1e-15)
    at = P @ [0.0, 0.0, 0.1] + [0.01, 0.2, 0.03] - R @ [0.0, 0.1, 0.02]
    np.testing.assert_allclose(found.position[0], at, atol=1e-15)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("<radii_x_y_z>0.07 0.12 0.1</radii_x_y_z>", "", "radii_x_y_z needs 3 numbers"),
        ("0.07 0.12 0.1", "0.07 0 0.1", "radii_x_y_z"),
        (
            '<Coordinate name="g1">',
            '<Coordinate name="g1"><locked>true</locked>',
            "g1 of this ellipsoidal joint is locked",
        ),
    ],
)
def test_ellipsoid_joint_that_cannot_be_is_refused(read, right, wrong, words):
    """Protects from radii that are missing or none, and from a locked angle that is not there."""
    text = Model((GLIDE,)).text(40000)
    assert right in text
    with pytest.raises(ConfigError, match=words):
        read(text.replace(right, wrong, 1))


def test_body_without_joint_is_free(read):
    """Protects what OpenSim does with a body that nothing carries."""
    text = Model((Joint("WeldJoint", GROUND, "a"),)).text(30000)
    spec, notes = read(
        text.replace("</objects></BodySet>", '<Body name="x"><mass>1</mass></Body></objects></BodySet>')
    )
    assert spec.bodies[1].joint == "free"
    assert any("x has no joint" in note for note in notes)


def test_reversed_joint_is_refused(read):
    """Protects the sense of coordinates in 3.x."""
    text = Model(CHAIN[:1]).text(30000).replace("<reverse>false", "<reverse>true", 1)
    with pytest.raises(ConfigError, match="reversed"):
        read(text)


@pytest.mark.parametrize(
    ("coordinate", "range", "note"),
    [
        (Coordinate("p", 2.0), (-1.5, 2.0), "widened"),
        (Coordinate("p", 0.0, "1 1"), (-math.inf, math.inf), "empty"),
        (Coordinate("p", 0.0, "-inf inf"), (-math.inf, math.inf), ""),
        (Coordinate("p", more="<prescribed>true</prescribed>"), (-1.5, 1.5), "prescribed"),
    ],
)
def test_ranges(read, coordinate, range, note):
    """Protects models whose ranges do not hold their own defaults: they load, and a note tells."""
    spec, notes = read(Model((Joint("PinJoint", GROUND, "a", (coordinate,)),)))
    assert spec.bodies[0].coordinates[0].range == pytest.approx(range)
    assert bool(note) == any(note and note in text for text in notes)


@pytest.mark.parametrize(
    ("default", "range", "said"),
    [
        (0.0, "1 1", "range 1 to 1 is empty and was left out, and the coordinate, which is clamped to"),
        (0.0, "1 -1", "range 1 to -1 begins above its end and was left out"),
        (0.0, "1", "the range has 1 numbers, not two"),
        (0.0, "-inf inf", "clamped but has no finite range"),
        (2.0, "-1.5 1.5", "widened to include the default value"),
        (0.0, "-120 10", "clamped from -120 to 10 rad, but these numbers look like degrees"),
    ],
)
def test_a_clamp_that_cannot_hold_is_told_aloud(read, default, range, said):
    """Protects from a coordinate that goes free, or farther, though its author clamped it: runs tell."""
    coordinate = Coordinate("p", default, range, more="<clamped>true</clamped>")
    _, notes = read(Model((Joint("PinJoint", GROUND, "a", (coordinate,)),)))
    assert any(said in note and isinstance(note, Aloud) for note in notes), notes
    _, notes = read(Model((Joint("PinJoint", GROUND, "a", (replace(coordinate, more=""),)),)))
    assert not any(isinstance(note, Aloud) for note in notes)


@pytest.mark.parametrize("tag", ["clamped", "locked", "prescribed"])
def test_a_flag_that_is_neither_true_nor_false_is_told_aloud(read, tag):
    """Protects from a clamp or lock that is dropped in silence; what it is taken as is OpenSim's."""
    plain = Coordinate("p").text()
    text = Model((Joint("PinJoint", GROUND, "a", (Coordinate("p"),)),)).text(40000)
    for said in ("TRUE", "1", "False", "0", "", "maybe"):
        other = plain.replace("<locked>false</locked>", f"<{tag}>{said}</{tag}>")
        spec, notes = read(text.replace(plain, other))
        told = f"Coordinate p: {tag} is 'maybe', which is neither true nor false; false was used"
        assert any(note == told and isinstance(note, Aloud) for note in notes) == (said == "maybe")
        if tag == "clamped":
            assert spec.bodies[0].coordinates[0].clamped == (said in ("TRUE", "1"))


MINUS, TWICE = LINE.replace("1 0", "-1 0.2"), LINE.replace("1 0", "2 0")
MULTIPLIED = f"<MultiplierFunction><function>{LINE}</function><scale>1</scale></MultiplierFunction>"
COUPLED = [
    ({"rotation3": LINE}, False),
    ({"rotation3": MINUS, "translation2": SPLINE}, False),
    ({"rotation1": SPLINE, "rotation2": LINE}, False),
    ({"rotation3": TWICE}, True),
    ({"rotation3": SPLINE, "translation1": SPLINE}, True),
    ({"rotation3": MULTIPLIED}, True),
    ({"rotation3": TWICE, "translation1": LINE}, True),
    ({"rotation3": LINE, "translation1": LINE}, True),
    ({"translation1": LINE}, False),
]
"""Functions of one coordinate by axis, and whether it is an angle that OpenSim does not write in degrees."""


def moved_by(axes):
    """A custom joint whose one coordinate drives some axes."""
    texts = [
        transform_axis(
            f"{what}{k + 1}", axis, *(("q", axes[f"{what}{k + 1}"]) if f"{what}{k + 1}" in axes else ())
        )
        for what in ("rotation", "translation")
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
    ]
    return Model((Joint("CustomJoint", GROUND, "a", (Coordinate("q"),), spatial_transform(*texts)),))


@pytest.mark.parametrize(("axes", "coupled"), COUPLED)
def test_coordinates_that_opensim_does_not_convert(read, axes, coupled):
    """Protects storage files in degrees: coordinates of the motion type Coupled stay in radians in them."""
    spec, _ = read(moved_by(axes))
    assert spec.bodies[0].coordinates[0].coupled is coupled
    assert build(spec).coordinates.coupled == (("q",) if coupled else ())


def test_knee_moves_as_written(read):
    """Protects the order of a spatial transform: translations in the parent's axes, then the rotations."""
    still = ("0 0 0", "0 0 0")
    q, s = 0.4, 0.1
    joint = Joint(
        "CustomJoint", GROUND, "a", (Coordinate("bend", q), Coordinate("glide", s)), KNEE, still, still
    )
    bodies = poses(read(Model((joint,)))[0])
    axis = np.array([0.1, 0.2, 0.9])
    K = np.cross(np.eye(3), axis / np.linalg.norm(axis))  # K x = a x x
    first = np.eye(3) + np.sin(q) * K + (1.0 - np.cos(q)) * K @ K
    R = first @ euler(0.0, 0.2 * q * q - 0.3 * q + 0.01, 0.0) @ euler(0.2, 0.0, 0.0)
    np.testing.assert_allclose(bodies.rotation[0], R, atol=1e-15)
    along = 1.5 * value(function_of(read(knee_with(SPLINE))[0].bodies[0].motion[0]), q)
    np.testing.assert_allclose(bodies.position[0], [along, s, 0.0], atol=1e-15)


def test_joints_keep_their_names(read):
    """Protects results at joints: called as in the file, as the body where a name would say two things."""
    parents = zip((GROUND, "a", "b", "c"), "abcd", strict=True)
    joints = (Joint("PinJoint", parent, body, (Coordinate(f"q_{body}"),)) for parent, body in parents)
    text = Model(tuple(joints)).text(40600)
    for body, name in zip("abcd", ("hip", "knee", "knee", "a"), strict=True):
        text = text.replace(f'name="{body}_joint"', f'name="{name}"')
    spec, _ = read(text)
    assert build(spec).names.joints == ("hip", "b", "c", "d")
