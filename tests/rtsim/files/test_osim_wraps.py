"""OpenSim's wrap objects as surfaces, and their places on paths."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.osim.frames import turned
from rtsim.files.osim.model import read_osim

from .osim_texts import GROUND, Coordinate, Joint, Model, Muscle, Point, wrap_object

STILL = {"in_parent": ("0 0.4 0", "0 0 0"), "in_child": ("0 0 0", "0 0 0")}
JOINTS = (
    Joint("PinJoint", GROUND, "a", (Coordinate("p"),), **STILL),
    Joint("PinJoint", "a", "b", (Coordinate("q"),), **STILL),
)
# along y at x = 0.1, with z = 0; ground, a and b are 0.4 m apart
PATH = (
    Point(GROUND, "0.1 0 0"), Point(GROUND, "0.1 0.2 0"), Point("a", "0.1 0 0"), Point("b", "0.1 0 0"),
    Point("b", "0.1 0.2 0"),
)  # fmt: skip
NUMBERS = {
    "WrapSphere": "<radius>0.03</radius>",
    "WrapCylinder": "<radius>0.03</radius><length>1</length>",
    "WrapEllipsoid": "<dimensions>0.03 0.04 0.05</dimensions>",
}


def straight(kind, name, at="0 0 0", more="", numbers=""):
    """A wrap object with the axes of its body."""
    return (
        f'<{kind} name="{name}"><translation>{at}</translation><xyz_body_rotation>0 0 0</xyz_body_rotation>'
        f"{numbers or NUMBERS[kind]}{more}</{kind}>"
    )


@pytest.fixture
def read(write):
    """Reader of a model of two pins with wrap objects by body and (object, range) on one path."""

    def read(wraps, on_path, path=PATH, version=40000):
        model = Model(JOINTS, (Muscle("m", path, tuple(on_path)),), wraps=wraps)
        return read_osim(write("small.osim", model.text(version)))

    return read


def order(spec):
    """Places of the surfaces on the path of the muscle, without those that they only pass elsewhere."""
    path = [station for station in spec.muscles[0].path if not station.passing]
    return {station.over: k for k, station in enumerate(path) if station.over}


@pytest.mark.parametrize("version", [30000, 40000])
@pytest.mark.parametrize(
    ("kind", "name", "sizes"),
    [
        ("WrapSphere", "sphere", (30.0,)),
        ("WrapCylinder", "cylinder", (30.0, 500.0)),
        ("WrapEllipsoid", "ellipsoid", (30.0, 40.0, 50.0)),
    ],
)
def test_surfaces(read, version, kind, name, sizes):
    """Protects every surface: its kind, its sizes and its frame on the body."""
    spec, notes = read({"a": wrap_object(kind, "w", NUMBERS[kind])}, [("w", "1 2")], version=version)
    (surface,) = spec.surfaces
    assert (surface.kind, surface.segment) == (name, "a")
    assert surface.sizes_mm == pytest.approx(sizes)
    assert surface.offset_mm == pytest.approx((20.0, 10.0, 30.0))
    R = turned(np.radians(surface.turned_deg))
    np.testing.assert_allclose(R, turned(np.array([0.1, 0.2, -0.3])), atol=1e-15)
    assert not any("cylinder" in note for note in notes)


def test_surface_on_ground_and_unused_ones(read):
    """Protects the list of surfaces: those of ground count, those that no path names are left out."""
    wraps = {GROUND: straight("WrapSphere", "w"), "a": straight("WrapSphere", "unused")}
    spec, _ = read(wraps, [("w", "1 2")])
    assert [(surface.name, surface.segment) for surface in spec.surfaces] == [("w", GROUND)]


@pytest.mark.parametrize(
    ("quadrant", "side"),
    [
        ("all", None), ("Unassigned", None), ("x", (1.0, 0.0, 0.0)), ("+X", (1.0, 0.0, 0.0)),
        ("-x", (-1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("-Z", (0.0, 0.0, -1.0)),
    ],
)  # fmt: skip
def test_quadrants(read, quadrant, side):
    """Protects the way round: a quadrant is the side of the surface's axes that the path takes."""
    wrap = straight("WrapSphere", "w", more=f"<quadrant>{quadrant}</quadrant>")
    spec, _ = read({"a": wrap}, [("w", "1 2")])
    assert spec.muscles[0].path[1].side == side


def test_quadrant_along_a_cylinder_chooses_nothing(read):
    """Protects from a side that no way round a cylinder has."""
    wrap = straight("WrapCylinder", "w", more="<quadrant>z</quadrant>")
    spec, notes = read({"a": wrap}, [("w", "1 2")])
    assert spec.muscles[0].path[1].side is None
    assert any("along the axis of the wrap object" in note for note in notes)


@pytest.mark.parametrize(
    ("at", "limits", "after"),
    [
        ("0.1 0.2 0", "1 2", 0),  # told, though it is nearer to others
        ("0.1 0.2 0", "2 3", 1),
        ("0.1 0.2 0", "-1 -1", 2),  # between a and b
        ("0.2 0.2 0", "-1 -1", 2),  # only near
        ("0.1 -0.1 0", "-1 -1", 1),
        ("0.1 -0.1 0", "1 -1", 1),
        ("0.1 0.5 0", "0 5", 3),
        ("0.1 0.5 0", "1 3", 1),  # the best of those allowed
        ("0.1 0 0", "-1 -1", 1),  # through two segments: the first
    ],
)
def test_place_on_the_path(read, at, limits, after):
    """Protects where a surface stands: in the segment of its range that it is nearest to."""
    spec, _ = read({"a": straight("WrapSphere", "w", at)}, [("w", limits)])
    assert order(spec) == {"w": after + 1}
    several = not any(limits == f"{k} {k + 1}" for k in range(1, 5))
    assert any(station.passing for station in spec.muscles[0].path) == several
    assert all(station.yields for station in spec.muscles[0].path if station.over)


def test_a_surface_may_be_met_between_any_points_of_its_range(read):
    """Protects paths that come to lie on a surface elsewhere when they move; what cannot move stays out."""
    spec, _ = read({"a": straight("WrapSphere", "w", "0.1 0.2 0")}, [("w", "-1 -1")])
    where = [k for k, station in enumerate(spec.muscles[0].path) if station.over]
    bodies = [point.body for point in PATH]
    moves = [k for k in range(len(PATH) - 1) if bodies[k] != "a" or bodies[k + 1] != "a"]
    assert len(where) == len(moves)
    spec, _ = read({"a": straight("WrapSphere", "w", "0.1 0.2 0")}, [("w", "2 4")])
    assert len([station for station in spec.muscles[0].path if station.over]) <= 2


def test_a_point_inside_is_told(read):
    """Protects models of which a point lies in a surface: the muscle has a path, and a note says which."""
    spec, notes = read(
        {"a": straight("WrapSphere", "w", "0.1 0.2 0", numbers="<radius>0.5</radius>")}, [("w", "-1 -1")]
    )
    assert any("lies inside w" in note for note in notes)
    assert all(station.yields for station in spec.muscles[0].path if station.over)


@pytest.mark.parametrize("kind", list(NUMBERS))
def test_place_by_the_shape(read, kind):
    """Protects the distance from every shape: the segment that meets it is found among others."""
    more = "<quadrant>x</quadrant>"
    spec, _ = read({"b": straight(kind, "w", "0.1 0.1 0", more)}, [("w", "-1 -1")])
    # a cylinder is endless, so that it meets this segment alone too
    assert order(spec) == {"w": 4}


def test_order_of_two_on_one_segment(read):
    """Protects paths over two surfaces: in the order in which the path meets them, whatever the file says."""
    wraps = {"a": straight("WrapSphere", "near", "0.1 0.1 0") + straight("WrapSphere", "far", "0.1 0.3 0")}
    spec, _ = read(wraps, [("far", "3 4"), ("near", "3 4")])
    assert order(spec) == {"near": 3, "far": 4}


def test_condition_at_the_start_decides_the_segment(read):
    """Protects paths with points that are not there: the segment is one of the path as it starts."""
    switch = Point("a", "0.1 0.3 0", within=("a_joint", "p", "0.5 1"))
    path = (*PATH[:3], switch, *PATH[3:])
    spec, _ = read({"a": straight("WrapSphere", "w", "0.1 0.36 0")}, [("w", "3 5")], path)
    assert order(spec) == {"w": 4}  # behind the point that may come
    with pytest.raises(ConfigError, match="fewer than two points"):
        read({"a": straight("WrapSphere", "w")}, [("w", "3 4")], path)


def test_inactive_wrap_is_left_out(read):
    """Protects from surfaces that are switched off."""
    wrap = straight("WrapSphere", "w", more="<active>false</active>")
    spec, notes = read({"a": wrap}, [("w", "-1 -1")])
    assert (spec.surfaces, order(spec)) == ((), {})
    assert any("switched off" in note for note in notes)


@pytest.mark.parametrize(
    ("wrap", "limits", "what"),
    [
        (straight("WrapSphere", "other"), "1 2", "unknown wrap object 'w'.*allowed: other"),
        (straight("WrapSphere", "w", more="<quadrant>up</quadrant>"), "1 2", "unknown quadrant 'up'"),
        (straight("WrapTorus", "w", numbers="<radius>1</radius>"), "1 2", "WrapTorus has no counterpart"),
        (straight("WrapSphere", "w", numbers="<size>1</size>"), "1 2", "radius needs 1 numbers"),
        (straight("WrapSphere", "w", numbers="<radius>0</radius>"), "1 2", "radius 0; allowed: above 0"),
        (
            straight("WrapEllipsoid", "w", numbers="<dimensions>1 0 1</dimensions>"),
            "1 2",
            "dimensions.*above 0",
        ),
        (straight("WrapSphere", "w"), "2 2", "range 2 2"),
        (straight("WrapSphere", "w"), "3 2", "range 3 2"),
        (straight("WrapSphere", "w"), "1 9", "points from 1 to 5"),
        (straight("WrapSphere", "w"), "1", "range needs 2 numbers"),
    ],
)
def test_wraps_that_cannot_be(read, wrap, limits, what):
    """Protects from a muscle that silently runs through a bone."""
    with pytest.raises(ConfigError, match=what):
        read({"a": wrap}, [("w", limits)])
