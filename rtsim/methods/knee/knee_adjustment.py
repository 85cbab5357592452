"""Adjustment of a knee mechanism within bounds, so that its motion is nearest to a measured one.

A motion hardly determines where the two ends of a fibre are: moving both by centimetres changes its length by
less than a tenth of a millimetre. So the measured surfaces remain part of the objective, and the ends are
drawn towards the centres of their attachment areas. This attraction is as strong as the misfit of the motion
justifies; for a motion without errors it vanishes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.knee.bounded_least_squares import least_squares_within
from rtsim.methods.knee.isometric_fibres import IsometricFibre, isometric_within
from rtsim.methods.knee.knee_anatomy import KneeAnatomy
from rtsim.methods.knee.knee_geometry import COMPARTMENTS, HELD, LIGAMENTS, KneeGeometry
from rtsim.methods.knee.knee_mechanism import (
    LEVER,
    SCALE,
    constraint_slopes,
    constraints,
    nearest_poses,
    weighed,
)
from rtsim.methods.knee.knee_poses import KneePoses

Array = NDArray[np.float64]

CENTRES, RADII, HEIGHTS, TURNS = slice(0, 6), slice(6, 8), slice(8, 10), slice(10, 14)
ORIGINS, INSERTIONS, LENGTHS = slice(14, 23), slice(23, 32), slice(32, 35)
N_PARAMETER = 35
MM = 1e3
AT_BOUND = 0.999
"""Fraction of its bound from which a parameter counts as at the bound."""
N_ROUND, SETTLED = 25, 1e-3
"""Rounds in which the weights follow the geometry, and the relative change of the misfit that ends them."""
EXACT = 1e-12
"""Misfit of a motion without errors [m]."""
CLOSER = 0.5
"""If the misfit without targets is below this fraction of that with targets, the targets are dropped, because
the errors of the motion are too small to justify them."""
N_NEAREST, NEAR = 8, 0.01
"""Steps to the nearest pose of the mechanism, and how far it may be [m]."""
N_STEP = 10
"""Number of steps of the least squares in a round."""
LEAST_SPREAD_MM = 0.1
"""Least spread of an attachment area given by one point."""


class Adjusted(NamedTuple):
    """Result of the adjustment of a knee: its geometry, names of the parameters at a bound, and the standard
    deviation, per coordinate, of the measured poses from the nearest poses of the mechanism [m]; angles are
    multiplied by the lever arm LEVER.
    """

    geometry: KneeGeometry
    bounded: tuple[str, ...]
    deviation: float


class Ties(NamedTuple):
    """Target values of the parameters of a fit, as changes from its start, and tolerances: the larger a
    tolerance, the farther the fit may depart from the target.

    middle : (35,) target values [mm]
    spread : (35,) tolerances (standard deviations) [mm]; infinite for parameters without a target
    """

    middle: Array
    spread: Array


def adjust_knee(
    poses: KneePoses, anatomy: KneeAnatomy | None, start: KneeGeometry, bound_m: float, bound_rad: float
) -> Adjusted:
    """Adjust the geometry of a knee within bounds around `start`, so that the motion of the mechanism is
    nearest to the measured one.

    poses : measured poses; anatomy : measured points of surfaces and attachment areas, None = not measured
    bound_m, bound_rad : largest change of points and lengths [m], and of the directions of normals [rad]
    """
    bound = np.full(N_PARAMETER, MM * bound_m)
    bound[TURNS] = MM * bound_rad * LEVER  # turns are written as distances, too
    ties = ties_of(start, anatomy, bound)
    x = np.clip(ties.middle, -bound, bound)
    x, deviation = rounds(poses, anatomy, start, bound, x, ties)
    free = with_isometric_fibres(poses, start, bound_m)
    if misfit_of(poses, start, free) < CLOSER * deviation:
        x, deviation = rounds(poses, anatomy, start, bound, free, None)
    names = parameter_names()
    bounded = tuple(names[k] for k in np.flatnonzero(np.abs(x) > AT_BOUND * bound))
    return Adjusted(changed(start, x), bounded, deviation)


def with_isometric_fibres(poses: KneePoses, start: KneeGeometry, bound: float) -> Array:
    """Return the changes (35,) [mm] that replace the three isometric ligaments of the geometry `start` by
    the most isometric fibres whose ends are within a bound [m] of theirs; all other changes are 0.
    """
    x = np.zeros(N_PARAMETER)
    for k in range(HELD):
        own = slice(3 * k, 3 * k + 3)
        given = IsometricFibre(start.origins[k], start.insertions[k], float(start.lengths[k]), np.inf)
        found = isometric_within(given, poses, bound)
        x[ORIGINS][own] = MM * (found.origin - given.origin)
        x[INSERTIONS][own] = MM * (found.insertion - given.insertion)
        x[LENGTHS.start + k] = MM * (found.length - given.length)
    return x


def misfit_of(poses: KneePoses, start: KneeGeometry, x: Array) -> float:
    """Return the standard deviation, per coordinate, of the measured poses from the nearest poses of the
    mechanism whose geometry is `start` with the changes x (35,) [mm]. It is in metres; angles are multiplied
    by the lever arm LEVER.
    """
    geometry = changed(start, x)
    problem = KneeProblem(poses, None, start, nearest_where_found(geometry, poses))
    problem.linearise(geometry)
    return deviation_of(problem.residuals(x)[: 5 * len(poses.angles)] / MM)


def rounds(
    poses: KneePoses,
    anatomy: KneeAnatomy | None,
    start: KneeGeometry,
    bound: Array,
    x: Array,
    ties: Ties | None,
) -> tuple[Array, float]:
    """Adjust the parameters in rounds of least squares; return the changes x (35,) [mm], and the standard
    deviation, per coordinate, of the measured poses from the nearest poses of the mechanism [m].

    bound : (35,) largest changes [mm]; x : (35,) changes from which the search begins [mm]
    ties : targets of the parameters; None = no targets

    Each round computes the weights of the constraints for the present geometry. It weights the deviations
    from the targets by the standard deviation of the motion in the round before, divided by their tolerances.
    """
    n_motion, deviation = 5 * len(poses.angles), np.inf
    for _ in range(N_ROUND):
        before, geometry = deviation, changed(start, x)
        problem = KneeProblem(poses, anatomy, start, nearest_where_found(geometry, poses))
        problem.linearise(geometry)
        if ties is not None:
            last = deviation_of(problem.residuals(x)[:n_motion] / MM) if np.isinf(deviation) else deviation
            problem = problem.tied(MM * last / ties.spread, ties.middle)
        x = least_squares_within(problem.residuals, problem.slopes, x, bound, N_STEP)
        deviation = deviation_of(problem.residuals(x)[:n_motion] / MM)
        if deviation < EXACT or abs(before - deviation) < SETTLED * deviation:
            break
    return x, deviation


def deviation_of(motion: Array) -> float:
    """Return the standard deviation, per coordinate, of the measured poses from the nearest poses of the
    mechanism [m]; angles are multiplied by the lever arm LEVER.

    motion : residuals of the motion in all poses [m]
    """
    return float(np.sqrt(np.sum(motion**2) / max(1, motion.size - N_PARAMETER)))


def ties_of(start: KneeGeometry, anatomy: KneeAnatomy | None, bound: Array) -> Ties:
    """Return targets of the adjustment: for the ends of ligaments the centres of the measured attachment
    areas, with the standard deviations of the areas' points as tolerances.

    Without an anatomy the targets are the values in `start`, and the tolerances are half of the bounds
    `bound` (35,) [mm].
    """
    middle, spread = np.zeros(N_PARAMETER), np.full(N_PARAMETER, np.inf)
    if anatomy is None:
        spread[:] = 0.5 * bound
        spread[LENGTHS] = np.inf
        return Ties(middle, spread)
    for part, areas, ends in (
        (ORIGINS, anatomy.origins, start.origins),
        (INSERTIONS, anatomy.insertions, start.insertions),
    ):
        of_ligaments = [areas[name] for name in LIGAMENTS[:HELD]]
        middle[part] = MM * (np.array([area.mean(axis=0) for area in of_ligaments]) - ends[:HELD]).ravel()
        around = MM * np.array([area.std(axis=0) for area in of_ligaments]).ravel()
        spread[part] = np.maximum(around, LEAST_SPREAD_MM)
    return Ties(middle, spread)


def nearest_where_found(geometry: KneeGeometry, poses: KneePoses) -> KneePoses:
    """Return for each measured pose the nearest pose of the mechanism, or the measured pose itself if none
    is near.
    """
    nearest = nearest_poses(geometry, poses, N_NEAREST)
    off = np.hstack([nearest.angles - poses.angles, nearest.places - poses.places]) * SCALE
    is_near = np.linalg.norm(off, axis=1) < NEAR
    return KneePoses(*(np.where(is_near[:, None], x, y) for x, y in zip(nearest, poses, strict=True)))


class KneeProblem:
    """Residuals [mm] of the adjustment of a knee, and their derivatives with respect to the changes x (35,)
    [mm] of the initial geometry.

    The residuals of the motion are distances of the measured poses from the mechanism's motion, linearised
    about nearby poses of the mechanism.
    """

    def __init__(
        self, poses: KneePoses, anatomy: KneeAnatomy | None, start: KneeGeometry, near: KneePoses
    ) -> None:
        """Store the measured motion and points of a knee, and the geometry from which the adjustment starts.

        poses : measured poses of the knee
        near : (n,) poses of the mechanism about which the constraints are linearised
        """
        self.poses, self.start = near, start
        self.surfaces = (
            [] if anatomy is None else [(anatomy.condyles[n], anatomy.plateaus[n]) for n in COMPARTMENTS]
        )
        self.pull = self.middle = np.zeros(N_PARAMETER)
        self.rotations = near.rotations
        self.off = np.hstack([poses.angles - near.angles, poses.places - near.places])[:, :, None]

    def linearise(self, geometry: KneeGeometry) -> None:
        """Compute weights and derivatives of the mechanism's constraints at a geometry."""
        slopes = constraint_slopes(geometry, self.poses)
        self.factor, self.ahead = weighed(slopes), slopes @ self.off

    def tied(self, pull: Array, middle: Array) -> KneeProblem:
        """Add residuals to this problem: the differences of the changes x from targets `middle` (35,) [mm],
        multiplied by weights `pull` (35,); return the problem.
        """
        self.pull, self.middle = pull, middle
        return self

    def residuals(self, x: Array) -> Array:
        """Compute the residuals: of the motion (5 n,), of the points of the surfaces, and of the
        deviations from the target values.
        """
        geometry = changed(self.start, x)
        motion = np.linalg.solve(self.factor, constraints(geometry, self.poses)[:, :, None] + self.ahead)
        parts = [MM * motion.ravel()]
        for k, (on_femur, on_tibia) in enumerate(self.surfaces):
            parts.append(MM * (np.linalg.norm(on_femur - geometry.condyles[k], axis=1) - geometry.radii[k]))
            parts.append(MM * (on_tibia - geometry.plateaus[k]) @ geometry.normals[k])
        return np.concatenate([*parts, self.pull * (x - self.middle)])

    def slopes(self, x: Array) -> Array:
        """Compute the derivatives of the residuals with respect to the changes, (n, 35)."""
        geometry = changed(self.start, x)
        motion = np.linalg.solve(self.factor, self._constraint_slopes(geometry, x))
        parts = [motion.reshape(-1, N_PARAMETER)]
        for k, (on_femur, on_tibia) in enumerate(self.surfaces):
            arms = on_femur - geometry.condyles[k]
            sphere = np.zeros((len(arms), N_PARAMETER))
            sphere[:, 3 * k : 3 * k + 3] = -arms / np.linalg.norm(arms, axis=1)[:, None]
            sphere[:, RADII.start + k] = -1.0
            arms = on_tibia - geometry.plateaus[k]
            plane = np.zeros((len(arms), N_PARAMETER))
            plane[:, HEIGHTS.start + k] = -self.start.normals[k] @ geometry.normals[k]
            plane[:, turns_of(k)] = MM * arms @ normal_slopes(self.start, x, k)
            parts += [sphere, plane]
        return np.vstack([*parts, np.diag(self.pull)])

    def _constraint_slopes(self, geometry: KneeGeometry, x: Array) -> Array:
        """Compute the derivatives of the mechanism's five constraints, in all n poses, with respect to the
        changes x (35,) of the geometry, (n, 5, 35).
        """
        R = self.rotations
        slopes = np.zeros((len(R), 5, N_PARAMETER))
        gaps = geometry.condyles - self.poses.carried(geometry.plateaus)
        for k in range(2):
            slopes[:, k, 3 * k : 3 * k + 3] = R @ geometry.normals[k]
            slopes[:, k, RADII.start + k] = -1.0
            slopes[:, k, HEIGHTS.start + k] = -self.start.normals[k] @ geometry.normals[k]
            turned = np.einsum("nij,jt->nit", R, normal_slopes(self.start, x, k))
            slopes[:, k, turns_of(k)] = MM * np.einsum("ni,nit->nt", gaps[:, k], turned)
        fibres = geometry.origins[:HELD] - self.poses.carried(geometry.insertions[:HELD])
        along = fibres / np.linalg.norm(fibres, axis=2)[:, :, None]
        for k in range(HELD):
            own = slice(3 * k, 3 * k + 3)
            slopes[:, 2 + k, ORIGINS][:, own] = along[:, k]
            slopes[:, 2 + k, INSERTIONS][:, own] = -np.einsum("nij,ni->nj", R, along[:, k])
            slopes[:, 2 + k, LENGTHS.start + k] = -1.0
        return slopes


def turns_of(k: int) -> slice:
    """Return the slice of the two rotations of the tibial plane k (0 medial, 1 lateral) among the 35
    parameters.
    """
    return slice(TURNS.start + 2 * k, TURNS.start + 2 * k + 2)


def directions_across(normal: Array) -> Array:
    """Return two directions (2, 3) perpendicular to a normal (3,) and to each other."""
    first = np.cross(normal, np.eye(3)[int(np.abs(normal).argmin())])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first)])


def turned_normal(start: KneeGeometry, x: Array, k: int) -> Array:
    """Return the normal (3,), not of unit length, of the tibial plane k (0 medial, 1 lateral) of the geometry
    `start` after its two rotations, which are among the changes x (35,) [mm].
    """
    turn = x[turns_of(k)] @ directions_across(start.normals[k])
    return np.asarray(start.normals[k] + turn / (MM * LEVER))


def normal_slopes(start: KneeGeometry, x: Array, k: int) -> Array:
    """Return the derivatives (3, 2) of the unit normal of the tibial plane k (0 medial, 1 lateral) with
    respect to its two rotations among the changes x (35,) of the geometry `start` [1/mm].
    """
    turned = turned_normal(start, x, k)
    size = float(np.linalg.norm(turned))
    unit = turned / size
    across = directions_across(start.normals[k]) / (MM * LEVER)
    return np.asarray((across - np.outer(across @ unit, unit)).T / size)


def changed(start: KneeGeometry, x: Array) -> KneeGeometry:
    """Apply changes x (35,) [mm] to a geometry and return the result.

    The changes are those of the centres and radii of the condyles, of the heights and rotations of the
    planes, and of the ends and lengths of ACL, PCL and MCL. A rotation is given as the distance that it
    causes at the lever arm LEVER.
    """
    normals = np.array([turned_normal(start, x, k) for k in range(2)])
    origins, insertions = start.origins.copy(), start.insertions.copy()
    origins[:HELD] += x[ORIGINS].reshape(3, 3) / MM
    insertions[:HELD] += x[INSERTIONS].reshape(3, 3) / MM
    return KneeGeometry(
        condyles=start.condyles + x[CENTRES].reshape(2, 3) / MM,
        radii=start.radii + x[RADII] / MM,
        plateaus=start.plateaus + x[HEIGHTS][:, None] * start.normals / MM,
        normals=normals / np.linalg.norm(normals, axis=1)[:, None],
        origins=origins,
        insertions=insertions,
        lengths=start.lengths + x[LENGTHS] / MM,
    )


def parameter_names() -> list[str]:
    """Return the names of the parameters that an adjustment changes, in their order."""
    held = LIGAMENTS[:HELD]
    return [
        *(f"{name} condyle {axis}" for name in COMPARTMENTS for axis in "XYZ"),
        *(f"{name} radius" for name in COMPARTMENTS),
        *(f"{name} plateau height" for name in COMPARTMENTS),
        *(f"{name} plateau tilt {k}" for name in COMPARTMENTS for k in (1, 2)),
        *(f"{name} origin {axis}" for name in held for axis in "XYZ"),
        *(f"{name} insertion {axis}" for name in held for axis in "XYZ"),
        *(f"{name} length" for name in held),
    ]
