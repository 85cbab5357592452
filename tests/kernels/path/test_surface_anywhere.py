"""A surface that may be met between any points of a path, and one that yields."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.path.muscle_path import OK, wraps_in_closed_form
from kernels.path.stations import PASSING, YIELDS
from kernels.path.surfaces import CYLINDER
from tests.naive import muscle_path

from .muscles import (
    GROUND,
    Case,
    Station,
    at,
    conditional,
    followed,
    over,
    random_case,
    stations_of,
    surfaces_of,
)

BOTH = YIELDS | PASSING


def leg() -> tuple[Case, list[Station]]:
    """A mechanism with one surface, and points of a path past it: two on ground, two on body 1."""
    case = random_case(0)
    ball = surfaces_of([(CYLINDER, GROUND, np.zeros(3), np.eye(3), 0.08)])
    case = case._replace(surfaces=ball)
    points = [
        at(GROUND, np.array([0.09, 0.5, 0.01])), at(GROUND, np.array([0.12, 0.15, 0.0])),
        at(1, np.array([0.12, -0.1, 0.02])), at(1, np.array([0.05, -0.5, 0.03])),
    ]  # fmt: skip
    return case, points


def between(case: Case, points: list[Station], home: int, manner: int = BOTH) -> list[Station]:
    """The points with a wrap between each two; that behind `home` is the only one that does not only pass."""
    path: list[Station] = []
    for k, point in enumerate(points):
        path.append(point)
        if k < len(points) - 1:
            path.append(over(case.surfaces, 0, manner & ~PASSING if k == home else manner))
    return path


def test_a_surface_that_yields_is_left_out_where_a_point_is_inside() -> None:
    """Protects muscles of published models with a point inside their surface: straight there, and told."""
    case, points = leg()
    inside = [points[0], at(GROUND, np.array([0.01, 0.02, 0.0])), *points[2:]]
    straight = list(inside)
    case = case._replace(
        stations=stations_of([between(case, inside, 0, YIELDS), straight, between(case, points, 0)])
    )
    work = followed(case, case.some.q)
    assert work.status.tolist() == [OK, OK, OK]
    assert work.inside.tolist() == [1, 0, 0]
    expected = muscle_path.lengths(case.tree, case.stations, case.surfaces, case.some.q)
    np.testing.assert_allclose(work.length, expected, rtol=1e-12)


def test_two_that_come_together_count_once() -> None:
    """Protects conditional points: where one is not there, the surface on both sides of it is one."""
    case, points = leg()
    here = case.some.q[case.tree.q_start[1]]
    away = conditional(case.tree, GROUND, np.zeros(3), 1, here + 1.0, here + 2.0)
    with_it = [points[0], away, *points[1:]]
    case = case._replace(
        stations=stations_of([between(case, with_it, 0), between(case, with_it, 1), between(case, points, 0)])
    )
    work = followed(case, case.some.q)
    np.testing.assert_allclose(work.length, work.length[2], rtol=1e-13)
    np.testing.assert_allclose(work.gradient, np.tile(work.gradient[2], (3, 1)), atol=1e-12)
    assert wraps_in_closed_form(case.stations, case.surfaces)


def test_with_a_side_it_passes_only_what_is_in_the_way() -> None:
    """Protects segments far from a surface from being led round it, whatever its side."""
    case, _ = leg()
    far = [at(GROUND, np.array([0.5, 0.5, 0.0])), at(GROUND, np.array([0.5, -0.5, 0.0]))]
    near = [at(GROUND, np.array([0.02, 0.5, 0.0])), at(GROUND, np.array([0.02, -0.5, 0.0]))]
    side = np.array([-1.0, 0.0, 0.0])
    wrap = over(case.surfaces, 0, BOTH)._replace(side=side)
    forced = over(case.surfaces, 0)._replace(side=side)
    case = case._replace(
        stations=stations_of([[a, station, b] for a, b in (far, near) for station in (wrap, forced)])
    )
    work = followed(case, case.some.q)
    assert work.length[0] == pytest.approx(1.0)
    assert work.length[1] > 1.2
    assert work.length[2] == pytest.approx(work.length[3])
    assert work.wrap.touching[[1, 4, 7, 10]].tolist() == [0, 1, 1, 1]
