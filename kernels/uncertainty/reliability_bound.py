"""Markers beyond the range that they have kept to: what errors that leave such residuals do to the numbers.

Skin moves back within a stride, a marker that slides goes on. So where a residual has been before, about its
usual place, is no news, as nothing is within two deviations of what is known of skin. The part beyond that is
held to be an error of that marker alone: the one that leaves such a residual at the optimum (Baarda 1968, A
testing procedure for use in geodetic networks), with a ridge, as an optimum hides some errors almost wholly.
It is solved for only where it can matter for a limit (docs/uncertainty.md, beyond their range).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.linear import cholesky, solve_lower, solve_lower_transposed
from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.markers.marker_cost import weight_of
from kernels.markers.marker_health import is_known, is_wrong
from kernels.markers.marker_perturbation import perturbation_gradient
from kernels.solver.constraints import HARD
from kernels.uncertainty.sensitivity import answer

KEPT = 0.5
"""A range is believed when it is so old, at most twice [s]: what slides may not become usual meanwhile."""
WIDTH = 2.0
"""Deviations of skin within which a marker keeps to its range wherever that has been: 95 % of errors."""
RIDGE = 0.25
"""Added to the part of an error that its residual shows [1]: the square of what is usual over that of an
error that is looked for, which is held to be twice as large."""
FORESIGHT = 1.64
"""Deviations that what a frame adds to the usual may be off by: 90 % of errors are not, by more."""
N_RANGE = 3
"""Ranges: the one that is believed, and what the last and the present KEPT have had."""


class Ranges(NamedTuple):
    """Where residuals have been about home, in their bodies [m]."""

    box: Annotated[np.ndarray, Floats(N_RANGE, "n_marker", 2, 3)]  # least, most
    age: Annotated[np.ndarray, Floats(1)]  # of the present range [s]


class ReliabilityWork(NamedTuple):
    """Working space; K = n_output."""

    least: Annotated[np.ndarray, Floats("K")]  # deviations that come of it
    # a residual, what of it is beyond its range in the body and in ground [m]
    vectors: Annotated[np.ndarray, Floats(3, 3)]
    # change of the gradient by a shift along each axis of ground
    along: Annotated[np.ndarray, Floats(3, "n_v")]
    slopes: Annotated[np.ndarray, Floats(3, "K")]  # changes of the numbers by it
    X: Annotated[np.ndarray, Floats("n_v", 3)]  # of the pose
    B: Annotated[np.ndarray, Floats("n_element", 3)]
    R: Annotated[np.ndarray, Floats(3, 3)]  # what its own residual shows of it, with the ridge


def new_ranges(n_marker: int) -> Ranges:
    """Allocate Ranges in which nothing has been seen."""
    return allocate(Ranges, n_marker=n_marker)


def new_reliability_work(n_v: int, n_element: int, K: int) -> ReliabilityWork:
    """Allocate a ReliabilityWork."""
    return allocate(ReliabilityWork, K=K, n_v=n_v, n_element=n_element)


@njit
def find_unreliable(model, method, dt, options, check, frame_state, ranges, solver, X, work):
    """work.least : (K,) - deviations of the numbers by what is beyond its range, 0 = by nothing.

    model : Skeleton
    method : Method - whose factors are at hand; where it follows another, those of that one
    dt : float - time since the last frame [s]
    options : DeviationOptions
    check : HealthOptions
    frame_state : FrameState - after the frame
    ranges : Ranges - written
    solver : Work - pose, marker.model, factors
    X : (n_v, K or more) - what numbers follow of a change of the gradient
    work : ReliabilityWork - written
    """
    markers, health, x = model.markers, frame_state.health, work.vectors[0]
    roles = method.first if method.follows == 1 else method.roles
    age_ranges(dt, check.relearn, ranges)
    work.least[:] = 0.0
    for m in range(markers.body.shape[0]):
        b = markers.body[m]
        if b < 0 or health.weight[m] == 0.0 or not is_known(m, check, health):
            continue
        if is_wrong(m, check, health):
            continue
        for i in range(3):
            x[i] = health.residual[m, i] - health.mean_residual[m, i]
        if is_unreliable(ranges.box, m, WIDTH * options.bounds.size[m], work.vectors):
            w = weight_of(markers.weight, m, frame_state.segments.weight[m])
            weigh(model, roles, b, w, solver.marker.model[m], options.limit, solver, X, work)


@njit
def is_unreliable(box, m, half, vectors):
    """Whether a residual is beyond its range; the present range has it from now on.

    box : (N_RANGE, n_marker, 2, 3) - written
    m : int - marker
    half : float - half of the least range [m]
    vectors : (3, 3) - the residual, and what of it is beyond, which is written [m]
    """
    found = False
    for i in range(3):
        x = vectors[0, i]
        below, above = min(box[0, m, 0, i], -half), max(box[0, m, 1, i], half)
        vectors[1, i] = min(x - below, 0.0) + max(x - above, 0.0)
        found = found or vectors[1, i] != 0.0
        box[N_RANGE - 1, m, 0, i] = min(box[N_RANGE - 1, m, 0, i], x)
        box[N_RANGE - 1, m, 1, i] = max(box[N_RANGE - 1, m, 1, i], x)
    return found


@njit
def age_ranges(dt, forget, ranges):
    """A range of the age KEPT becomes the last one, and that before it is believed as well.

    What is believed is forgotten by and by, so that one fault that nobody saw does not blind for good.

    dt : float - time since the last frame [s]
    forget : float - time constant [s]
    ranges : Ranges - written
    """
    box = ranges.box
    ranges.age[0] += dt
    if ranges.age[0] < KEPT:
        return
    keep = math.exp(-ranges.age[0] / forget)
    ranges.age[0] = 0.0
    for m in range(box.shape[1]):
        for i in range(3):
            box[0, m, 0, i] = min(keep * box[0, m, 0, i], box[1, m, 0, i])
            box[0, m, 1, i] = max(keep * box[0, m, 1, i], box[1, m, 1, i])
            for k in range(2):
                box[1, m, k, i] = box[2, m, k, i]
                box[2, m, k, i] = 0.0


@njit
def weigh(model, roles, b, w, place, limit, solver, X, work):
    """work.least : (K,) - no less than what a shift makes that leaves work.vectors[1] as its residual.

    Of a shift d of a marker its own residual shows R d, R = 1 - J P J'w.

    model : Skeleton
    roles : Roles - of the factors at hand
    b : int - body
    w : float - weight of the marker
    place : (3,) - of it, in ground [m]
    limit : (3,) - of the deviations of a joint's angles [rad]
    solver : Work - pose, factors
    X : (n_v, K or more)
    work : ReliabilityWork - written
    """
    along, slopes, least, d = work.along, work.slopes, work.least, work.vectors[2]
    for i in range(3):
        perturbation_gradient(model.tree, b, w, place, i, solver, along[i])
        slopes[i, :] = 0.0
        for j in range(along.shape[1]):
            if along[i, j] != 0.0:
                for k in range(least.shape[0]):
                    slopes[i, k] += along[i, j] * X[j, k]
    rotate(solver.pose.rotation[b], work.vectors[1], d)
    if not matters(model.joints.proximal.shape[0], d, limit, slopes):
        return
    if not solve_shown(model, roles, w, solver, work, d):
        return
    for k in range(least.shape[0]):
        least[k] = max(
            least[k], FORESIGHT * abs(slopes[0, k] * d[0] + slopes[1, k] * d[1] + slopes[2, k] * d[2])
        )


@njit
def matters(n_joint, x, limit, slopes):
    """Whether an angle could leave its limit by a residual x, at the most that the ridge makes of it.

    n_joint : int
    x : (3,) [m]
    limit : (3,) [rad]
    slopes : (3, K)
    """
    most = FORESIGHT / RIDGE * math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    for k in range(3 * n_joint):
        slope = math.sqrt(slopes[0, k] ** 2 + slopes[1, k] ** 2 + slopes[2, k] ** 2)
        if most * slope > limit[k % 3]:
            return True
    return False


@njit
def solve_shown(model, roles, w, solver, work, x):
    """x : (3,) <- (R + RIDGE)^-1 x; False where R is beyond what the ridge mends.

    model : Skeleton
    roles : Roles - of the factors at hand
    w : float - weight of the marker
    solver : Work - factors
    work : ReliabilityWork - along; X, B, R written
    x : (3,) - written
    """
    R, along, n_hard = work.R, work.along, 0
    for e in range(roles.mode.shape[0]):
        n_hard += int(roles.mode[e] == HARD)
    for d in range(along.shape[1]):
        for i in range(3):
            work.X[d, i] = along[i, d]
    answer(model.tree.couplers, n_hard, solver, work.X, work.B)
    for i in range(3):
        for j in range(i + 1):
            s = 0.0
            for d in range(along.shape[1]):
                s += along[i, d] * work.X[d, j]
            R[i, j] = (1.0 + RIDGE if i == j else 0.0) - s / w
    if not cholesky(R, 3, 0.0):
        return False
    most = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / RIDGE
    solve_lower(R, 3, x)
    solve_lower_transposed(R, 3, x)
    shorten(most, x)
    return True


@njit
def shorten(most, x):
    """x : (3,) - no longer than `most`, in place.

    No error shows less than nothing of itself. Where R is below 0 all the same, by curvature or as it is that
    of another method, it would leave next to nothing of the ridge.
    """
    size = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if size > most:
        for i in range(3):
            x[i] *= most / size
