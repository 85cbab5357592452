"""Bounds of the errors of published numbers that a marker may cause if its residual is outside the range that
its residuals have had so far.

Soft tissue moves back within a stride, a marker that slides on the skin does not. A residual is taken as
usual if it is within the range that it has had before, about its usual value, or within two standard
deviations of soft tissue artefact. The part outside is taken as caused by an error of that marker alone. The
error that causes such a residual at the optimum is solved for (Baarda 1968, A testing procedure for use in
geodetic networks), with a ridge, as residuals hardly show some errors; and only if it could bring the error
of a joint angle over its limit (docs/uncertainty.md, beyond their range).
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
"""Age from which a residual belongs to the accepted range, at most twice this [s]: what slides must not
become usual in the meantime."""
WIDTH = 2.0
"""Standard deviations of soft tissue artefact within which a residual is in its range in any case:
95 % of errors."""
RIDGE = 0.25
"""Added to the part of an error that its residual shows [1]: the ratio of the square of a usual error to that
of the error in question, which is taken to be twice as large."""
FORESIGHT = 1.64
"""Standard deviations within which 90 % of errors lie; factor of what a frame adds to the usual deviation."""
N_RANGE = 3
"""Number of ranges: the accepted one, that of the last KEPT, and that of the present KEPT."""


class Ranges(NamedTuple):
    """Ranges that the residuals of each marker have had about their usual values, in the bodies' frames
    [m].
    """

    box: Annotated[np.ndarray, Floats(N_RANGE, "n_marker", 2, 3)]  # least, most
    age: Annotated[np.ndarray, Floats(1)]  # of the present range [s]


class ReliabilityWork(NamedTuple):
    """Working space of find_unreliable; K is the number of published numbers."""

    least: Annotated[np.ndarray, Floats("K")]  # bounds of the numbers' errors
    # a residual, what of it is beyond its range in the body and in ground [m]
    vectors: Annotated[np.ndarray, Floats(3, 3)]
    # change of the gradient by a shift along each axis of ground
    along: Annotated[np.ndarray, Floats(3, "n_v")]
    slopes: Annotated[np.ndarray, Floats(3, "K")]  # changes of the numbers by it
    X: Annotated[np.ndarray, Floats("n_v", 3)]  # of the pose
    B: Annotated[np.ndarray, Floats("n_element", 3)]
    R: Annotated[np.ndarray, Floats(3, 3)]  # change of its residual per displacement, plus ridge


def new_ranges(n_marker: int) -> Ranges:
    """Allocate the Ranges of n_marker markers before their first frame."""
    return allocate(Ranges, n_marker=n_marker)


def new_reliability_work(n_v: int, n_element: int, K: int) -> ReliabilityWork:
    """Allocate a ReliabilityWork: working space for bounds of errors by markers outside their ranges."""
    return allocate(ReliabilityWork, K=K, n_v=n_v, n_element=n_element)


@njit
def find_unreliable(model, method, dt, options, check, frame_state, ranges, solver, X, work):
    """Write a lower bound of the standard deviation of each published number into work.least : (K,): the
    error caused by markers whose residuals are outside their ranges, 0 if there are none.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - if it depends on a method solved before, the factors in solver are those of that
        method
    dt : float - time since the last frame [s]
    options : DeviationOptions - settings of the standard deviations
    check : HealthOptions - settings of the checks of single markers
    frame_state : FrameState - state of the solver after the frame
    ranges : Ranges - ranges of residuals, updated
    solver : Work - its pose, marker.model and matrix factors are read
    X : (n_v, K or more) - sensitivities of the published numbers to the gradient, one number in each column
    work : ReliabilityWork - working space, written
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
    """Return whether the residual of marker m is outside its accepted range; also extend its present range by
    it.

    box : (N_RANGE, n_marker, 2, 3) - ranges, written
    m : int - index of the marker
    half : float - half of the smallest range that is accepted [m]
    vectors : (3, 3) - row 0 is the residual; row 1, the part outside the range, is written [m]
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
    """Advance the ages of the ranges; when the present range has the age KEPT, merge and shift the ranges.

    The last range is then merged into the accepted one, the present range becomes the last, and a new one
    begins. The accepted range shrinks with time, so that a fault that nobody noticed does not hide others for
    ever.

    dt : float - time since the last frame [s]
    forget : float - time constant of the accepted range [s]
    ranges : Ranges - updated
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
    """Raise the bounds work.least : (K,) of the published numbers' errors to the effect of the marker error
    that causes the residual work.vectors[1].

    If a marker is displaced by d, its own residual changes by R d, R = 1 - J P J'w, with its Jacobian J and
    the inverse P of the Hessian along the hard constraints (kernels/uncertainty/sensitivity).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - of the method whose matrix factors are in solver
    b : int - index of the marker's body
    w : float - weight of the marker
    place : (3,) - position of the model marker in ground [m]
    limit : (3,) - limits of the standard deviations of a joint's angles [rad]
    solver : Work - working space of the solver; its fields pose and factors are read
    X : (n_v, K or more) - sensitivities of the published numbers to the gradient, one number in each column
    work : ReliabilityWork - working space, written
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
    """Return whether a marker's error that causes the residual x could change a joint angle by more than the
    angle's limit, if it had the largest size that the ridge allows; otherwise it is not solved for.

    n_joint : int - number of joints, with three angles each
    x : (3,) - residual [m]
    limit : (3,) - limits of the errors of a joint's angles [rad]
    slopes : (3, K) - derivatives of the numbers with respect to the position of the marker
    """
    most = FORESIGHT / RIDGE * math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    for k in range(3 * n_joint):
        slope = math.sqrt(slopes[0, k] ** 2 + slopes[1, k] ** 2 + slopes[2, k] ** 2)
        if most * slope > limit[k % 3]:
            return True
    return False


@njit
def solve_shown(model, roles, w, solver, work, x):
    """Compute the error of a marker that causes the residual x, the solution y of (R + RIDGE 1) y = x with
    the matrix R of `weigh`; return False if the sum is not positive definite.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - of the method whose matrix factors are in solver
    w : float - weight of the marker
    solver : Work - its matrix factors are read
    work : ReliabilityWork - its along is read, its X, B and R are written
    x : (3,) - residual [m], replaced by the error
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
    """Shorten the vector x : (3,), in place, to the length `most` if it is longer.

    This limits the error that `solve_shown` finds. By theory R has no negative eigenvalue; if it has one, by
    curvature or because it belongs to another method, the ridge would be almost cancelled and the error far
    too large.
    """
    size = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if size > most:
        for i in range(3):
            x[i] *= most / size
