"""Sphere and cylinder: numbers of the plane, sides, degenerate places."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.path.surfaces import CYLINDER, SPHERE
from kernels.path.touch import OK, POINT_INSIDE
from tests.kernels.path import wrapping
from tests.kernels.path.wrapping import at_origin, solve

ROUND = pytest.mark.parametrize("kind", [SPHERE, CYLINDER])
R = 0.03


def in_plane(distance: float, degrees: float, z: float = 0.0) -> np.ndarray:
    """Return a point by its distance from the axis and its direction."""
    angle = math.radians(degrees)
    return np.array([distance * math.cos(angle), distance * math.sin(angle), z])


def plane_length(p: float, q: float, sweep: float) -> float:
    """Return tangent + arc + tangent for points at distances p, q that enclose `sweep` [rad]."""
    arc = R * (sweep - math.acos(R / p) - math.acos(R / q))
    return math.sqrt(p * p - R * R) + arc + math.sqrt(q * q - R * R)


@ROUND
def test_length_in_the_plane_is_that_of_the_school_book(kind: int) -> None:
    """Protects tangent + r angle + tangent."""
    found = solve(at_origin(kind, [R]), in_plane(0.08, 10.0), in_plane(0.11, 170.0))
    assert found.status == OK
    assert found.touching[0] == 1
    assert found.length == pytest.approx(plane_length(0.08, 0.11, math.radians(160.0)), rel=1e-14)


def test_path_on_a_cylinder_is_a_line_when_unrolled() -> None:
    """Protects the helix: length^2 = flat length^2 + dz^2, one slope everywhere."""
    P, Q = in_plane(0.08, 10.0, -0.02), in_plane(0.11, 170.0, 0.05)
    found = solve(at_origin(CYLINDER, [R]), P, Q)
    flat = plane_length(0.08, 0.11, math.radians(160.0))
    assert found.length == pytest.approx(math.hypot(flat, 0.07), rel=1e-14)
    assert found.start[2] == pytest.approx(0.07 / found.length, rel=1e-13)
    assert found.end[2] == pytest.approx(found.start[2], rel=1e-13)


@ROUND
@pytest.mark.parametrize(("side", "sweep"), [((0, 1, 0), 160.0), ((0, -1, 0), 200.0), ((1, 1, 0), 160.0)])
def test_side_chooses_the_way_round(kind: int, side: tuple, sweep: float) -> None:
    """Protects the given side, also when it is the longer one."""
    run = at_origin(kind, [R], side=side)
    found = solve(run, in_plane(0.08, 10.0), in_plane(0.11, 170.0))
    assert found.length == pytest.approx(plane_length(0.08, 0.11, math.radians(sweep)), rel=1e-13)


@ROUND
def test_line_that_misses_on_the_given_side_stays_free(kind: int) -> None:
    """Protects against wrapping a surface the straight line passes on the right side."""
    P, Q = np.array([-0.1, 0.05, 0.0]), np.array([0.1, 0.05, 0.0])
    for side in ((0, 1, 0), (0, 0, 0)):
        found = solve(at_origin(kind, [R], side=side), P, Q)
        assert found.touching[0] == 0
        assert found.arc[0] == 0.0


@ROUND
@pytest.mark.parametrize("sweep", [60.0, 100.0, 170.0, 190.0, 260.0, 330.0])
def test_path_that_misses_on_the_wrong_side_wraps_the_given_one(kind: int, sweep: float) -> None:
    """Protects wraps of more than half a turn: the path is held by its side while it goes round."""
    run = at_origin(kind, [R], side=(0, 1, 0))
    found = solve(run, in_plane(0.08, 90.0 - sweep / 2), in_plane(0.11, 90.0 + sweep / 2))
    free = sweep < 180.0 and math.radians(sweep) < math.acos(R / 0.08) + math.acos(R / 0.11)
    assert found.touching[0] == (0 if free else 1)
    if not free:
        assert found.length == pytest.approx(plane_length(0.08, 0.11, math.radians(sweep)), rel=1e-13)


@ROUND
def test_line_through_the_centre_has_one_answer(kind: int) -> None:
    """Protects the symmetric case: finite, half a turn less the tangents, on the side if one is given."""
    P, Q = in_plane(0.08, 90.0), in_plane(0.11, 270.0)
    length = plane_length(0.08, 0.11, math.pi)
    for side in ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 1, 0)):
        found = solve(at_origin(kind, [R], side=side), P, Q)
        assert found.length == pytest.approx(length, rel=1e-14)
        if side[0] != 0:
            assert found.entry[0, 0] * side[0] > 0.0
        np.testing.assert_array_equal(
            found.entry, solve(at_origin(kind, [R], side=side), P, Q).entry, strict=True
        )


@ROUND
def test_points_that_coincide(kind: int) -> None:
    """Protects P = Q: no touch, no length; with the other side given, the way once round."""
    P = in_plane(0.08, 30.0)
    found = solve(at_origin(kind, [R]), P, P)
    assert found.touching[0] == 0
    assert found.length == 0.0
    found = solve(at_origin(kind, [R], side=-P), P, P)
    assert found.length == pytest.approx(plane_length(0.08, 0.08, 2.0 * math.pi), rel=1e-13)


def test_points_along_the_axis_of_a_cylinder() -> None:
    """Protects paths along a generator: free outside, and inside named as such."""
    run = at_origin(CYLINDER, [R])
    assert solve(run, [0.05, 0.0, -0.1], [0.05, 0.0, 0.1]).touching[0] == 0
    assert solve(run, [0.0, 0.0, -0.1], [0.0, 0.0, 0.1]).status == POINT_INSIDE


@ROUND
def test_points_on_the_surface_are_not_inside(kind: int) -> None:
    """Protects via points laid on a surface, off by rounding in either direction."""
    for off in (-1e-9, 0.0, 1e-9):
        P, Q = in_plane(R + off, 20.0), in_plane(R - off, 110.0)
        found = solve(at_origin(kind, [R]), P, Q)
        assert found.status == OK
        assert found.length == pytest.approx(R * math.pi / 2, abs=3e-9)


@ROUND
def test_a_line_that_grazes_is_touched_by_a_tiny_arc(kind: int) -> None:
    """Protects touch-down: just below the tangent an arc of the right length, just above none."""
    for depth in (1e-6, 1e-9, -1e-9):
        P, Q = np.array([-0.1, R - depth, 0.0]), np.array([0.1, R - depth, 0.0])
        found = solve(at_origin(kind, [R]), P, Q)
        angle = 2.0 * (math.atan2(P[0] * -1, P[1]) - math.acos(R / math.hypot(P[0], P[1])))
        assert found.touching[0] == (1 if depth > 0.0 else 0)
        assert found.arc[0] == pytest.approx(max(R * angle, 0.0), abs=1e-15)


@ROUND
def test_inside_is_named(kind: int) -> None:
    """Protects POINT_INSIDE for either end."""
    run = at_origin(kind, [R])
    assert solve(run, [0.01, 0.0, 0.0], [0.1, 0.0, 0.0]).status == POINT_INSIDE
    assert solve(run, [0.1, 0.0, 0.0], [0.0, 0.02, 0.0]).status == POINT_INSIDE
    assert wrapping.solve(run, [0.1, 0.0, 0.0], [-0.1, 0.01, 0.0]).status == OK


HALF = 0.02
ENDS = [R, HALF]
UP = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_path_beyond_an_end_has_slipped_off(sign: float) -> None:
    """Protects the length of a cylinder: up to its end as one without ends, beyond it a straight line."""
    P, Q = in_plane(0.08, 10.0), in_plane(0.11, 170.0)
    levels = ((0.0, 0.0, 1), (0.019, 0.0199, 1), (0.0, 0.05, 1), (0.0201, 0.0201, 0), (0.03, 0.5, 0))
    for low, high, touches in levels:
        a, b = P + sign * low * UP, Q + sign * high * UP
        found, endless = solve(at_origin(CYLINDER, ENDS), a, b), solve(at_origin(CYLINDER, [R]), a, b)
        assert (found.status, found.touching[0]) == (OK, touches)
        assert found.length == (endless.length if touches else pytest.approx(math.dist(a, b), rel=1e-14))


def test_a_helix_from_beyond_one_end_to_beyond_the_other_is_wrapped() -> None:
    """Protects against a path through the cylinder: both contacts beyond the ends, but of either one."""
    P, Q = in_plane(0.031, 5.0, -0.3), in_plane(0.031, 175.0, 0.3)
    found, endless = solve(at_origin(CYLINDER, ENDS), P, Q), solve(at_origin(CYLINDER, [R]), P, Q)
    assert found.touching[0] == 1
    assert found.length == endless.length
    assert min(abs(found.entry[0, 2]), abs(found.exit[0, 2])) > HALF


def test_a_path_wraps_where_one_contact_is_within_the_ends() -> None:
    """Protects the rule at an end, place by place: a helix is wrapped while part of it is on the cylinder."""
    run, endless = at_origin(CYLINDER, ENDS), at_origin(CYLINDER, [R])
    for z in np.linspace(-0.06, 0.06, 121):
        P, Q = in_plane(0.08, 10.0, z), in_plane(0.11, 170.0, z + 0.03)
        on, found = solve(endless, P, Q), solve(run, P, Q)
        lands, leaves = on.entry[0, 2], on.exit[0, 2]
        helix = np.linspace(lands, leaves, 1001)
        assert found.touching[0] == int((abs(helix) <= HALF).any())


def test_a_point_beyond_an_end_may_be_within_the_radius() -> None:
    """Protects paths that begin before a cylinder's end: nothing is inside there, and nothing is wrapped."""
    run = at_origin(CYLINDER, ENDS)
    for P in ([0.0, 0.0, 0.03], [0.01, 0.0, -0.0201]):
        found = solve(run, P, [0.05, 0.0, 0.0])
        assert (found.status, found.touching[0]) == (OK, 0)
    assert solve(run, [0.01, 0.0, 0.0199], [0.05, 0.0, 0.0]).status == POINT_INSIDE
