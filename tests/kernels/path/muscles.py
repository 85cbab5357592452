"""Muscles of all kinds over random mechanisms, and the kernels' results on dirty working space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.tree import Pose, Tree
from kernels.path.muscle_path import PathWork, follow_paths, gradients, new_path_work
from kernels.path.stations import CONDITIONAL, MOVING, POINT, WRAP, Stations
from kernels.path.surfaces import CYLINDER, SPHERE, Surfaces
from tests.naive.mechanisms import (
    CONSTANT,
    IDENTITY,
    LINEAR,
    POLYNOMIAL,
    SPLINE,
    Mechanism,
    dirty,
    point,
    posed,
    random_mechanism,
)
from tests.naive.muscle_path import local_point

Array = NDArray[np.floating]

GROUND = -1


class Station(NamedTuple):
    """One row of the stations."""

    kind: int
    body: int
    point: Array = np.zeros(3)
    coordinate: int = -1
    dof: int = -1
    range: tuple[float, float] = (0.0, 0.0)
    function: tuple[int, int, int] = (0, 0, 0)
    surface: int = -1
    side: Array = np.zeros(3)
    manner: int = 0


def at(body: int, x: Array) -> Station:
    """Return a point of a body."""
    return Station(POINT, body, x)


def over(surfaces: Surfaces, k: int, manner: int = 0) -> Station:
    """Return a wrap over surface k, the short way round."""
    return Station(WRAP, int(surfaces.body[k]), surface=k, manner=manner)


def moving(tree: Tree, body: int, driver: int, function: tuple[int, int, int]) -> Station:
    """Return a point of a body that the first coordinate of joint `driver` moves."""
    return Station(MOVING, body, np.full(3, np.nan), *indices(tree, driver), function=function)


def conditional(tree: Tree, body: int, x: Array, driver: int, low: float, high: float) -> Station:
    """Return a point that is there while the first coordinate of joint `driver` lies in a range."""
    return Station(CONDITIONAL, body, x, *indices(tree, driver), range=(low, high))


def indices(tree: Tree, b: int) -> tuple[int, int]:
    """Return where joint b's first coordinate is in q and in v."""
    return int(tree.q_start[b]), int(tree.v_start[b])


def stations_of(muscles: Sequence[Sequence[Station]]) -> Stations:
    """Return the tables of these muscles."""
    columns = zip(*(station for muscle in muscles for station in muscle), strict=True)
    kind, body, place, coordinate, dof, limits, function, surface, side, manner = columns
    return Stations(
        np.cumsum([0, *(len(muscle) for muscle in muscles)]).astype(np.int64),
        np.array(kind, np.int64),
        np.array(body, np.int64),
        np.array(place, float),
        np.array(coordinate, np.int64),
        np.array(dof, np.int64),
        np.array(limits, float),
        np.array(function, np.int64),
        np.array(surface, np.int64),
        np.array(side, float),
        np.array(manner, np.int64),
    )


def surfaces_of(rows: Sequence[tuple[int, int, Array, Array, float]]) -> Surfaces:
    """Return surfaces of rows (kind, body, position, rotation, radius)."""
    return Surfaces(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], float).reshape(-1, 3),
        np.array([row[3] for row in rows], float).reshape(-1, 3, 3),
        np.array([[row[4], 0.0, 0.0] for row in rows], float).reshape(-1, 3),
    )


class Case(NamedTuple):
    """A mechanism with muscles."""

    some: Mechanism
    stations: Stations
    surfaces: Surfaces

    @property
    def tree(self) -> Tree:
        return self.some.tree

    @property
    def n_muscle(self) -> int:
        return len(self.stations.start) - 1


def in_the_way(
    rng: np.random.Generator, pose: Pose, kind: int, body: int, P: Array, Q: Array, t: float
) -> tuple[int, int, Array, Array, float]:
    """Return a surface of a body that lies in the way from P to Q (3,), at the fraction t of it.

    Its centre is off the line, so that the way round is clear and two surfaces are passed on one side; a
    cylinder runs across, somewhat oblique.
    """
    way = Q - P
    radius = 0.12 * float(np.linalg.norm(way))
    off, across = np.linalg.qr(np.stack([way, np.ones(3), np.eye(3)[0]], axis=1))[0].T[1:]
    axes = np.stack([np.cross(off, across), off, across], axis=1)
    axes = axes @ Rotation.from_euler("xyz", rng.uniform(-0.3, 0.3, 3)).as_matrix()
    centre, carrier = P + t * way + 0.5 * radius * off, pose.rotation[body]
    return kind, body, (centre - pose.position[body]) @ carrier, carrier.T @ axes, radius


def random_case(seed: int) -> Case:
    """Return a mechanism with nine muscles: straight, conditional, moving, wrapped, and on ground."""
    rng, some = np.random.default_rng([seed, 41]), random_mechanism(seed)
    tree, q, pose = some.tree, some.q, posed(some.tree, some.q)
    x = iter(rng.uniform(-0.3, 0.3, (30, 3)))
    there, away = (q[tree.q_start[1]] + np.array(d) for d in ((-0.3, 0.3), (0.3, 0.6)))
    slides = moving(tree, GROUND, 9, (LINEAR, IDENTITY, POLYNOMIAL))
    a, b, c, d, e, f = (at(body, next(x)) for body in (4, GROUND, 1, 3, 9, 8))
    P, Q, U, V, W = (point(pose, s.body, s.point) for s in (a, b, d, e, f))
    S = point(pose, GROUND, local_point(tree, stations_of([[slides]]), 0, q))
    surfaces = surfaces_of(
        [
            in_the_way(rng, pose, SPHERE, 5, P, Q, 0.5),
            in_the_way(rng, pose, CYLINDER, 2, S, U, 0.4),
            in_the_way(rng, pose, SPHERE, 7, V, W, 0.3),
            in_the_way(rng, pose, CYLINDER, 8, V, W, 0.7),
        ]
    )
    muscles = [
        [at(3, next(x)), at(6, next(x))],
        [
            at(GROUND, next(x)),
            conditional(tree, 1, next(x), 1, *there),
            conditional(tree, 2, next(x), 1, *away),
            at(8, next(x)),
        ],
        [at(0, next(x)), moving(tree, 2, 1, (POLYNOMIAL, CONSTANT, SPLINE)), at(3, next(x))],
        [a, over(surfaces, 0), b],
        [c, slides, over(surfaces, 1), d],
        [e, over(surfaces, 2), over(surfaces, 3), f],
        [moving(tree, 8, 8, (SPLINE, IDENTITY, LINEAR)), moving(tree, 0, 2, (LINEAR, SPLINE, CONSTANT))],
        [at(GROUND, next(x)), at(GROUND, next(x)), at(7, next(x)), at(GROUND, next(x))],
        [at(GROUND, next(x)), at(GROUND, next(x))],
    ]
    return Case(some, stations_of(muscles), surfaces)


def followed(case: Case, q: Array, moving_work: int = 1) -> PathWork:
    """Return lengths, statuses, pieces and gradients at q."""
    work, placed = dirty(new_path_work(case.stations, case.surfaces, case.some.n_v)), posed(case.tree, q)
    follow_paths(case.tree, case.stations, case.surfaces, placed, q, work)
    gradients(case.tree, case.stations, placed, moving_work, work)
    return work
