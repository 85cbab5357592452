"""What markers that depart from what is usual add to the deviations of a frame, as long as it is no fault.

The errors of the markers (kernels/marker_errors) are those that they usually have. A marker that is farther
from its usual place, from where it was foreseen, or from where the last frame's pose had it, has an error of
that size: not enough to be called a fault, but enough to be stated. What a marker often departs by is usual.
This is not averaged over frames, and costs next to nothing where no marker departs.
"""

from __future__ import annotations

import math

from kernels._jit import njit
from kernels.couplers import fold_vector
from kernels.health import distance_between, is_known, surprise_of
from kernels.markers import weight_of

OFTEN = 4.0
"""Square of a departure over its mean square up to which it is usual: two deviations."""
LEARN_USUAL = 0.002
"""Part of that mean square that a new frame makes, once there are five hundred [1]."""


@njit
def add_departures(model, options, health, weight, shown, errors, solver, X, row, value):
    """value : (K,) - variances, with those of the markers that depart from what is usual.

    model : Skeleton
    options : HealthOptions
    health : Health - residual of the solution
    weight : (n_marker,) - of the frame
    shown : float - part of the markers' errors that residuals show, as variances
    errors : MarkerErrors - variance of what is usual, step; usual written
    solver : Work - pose, marker.model of the solution; delta written
    X : (n_v, K) - what numbers follow of a change of the gradient
    row : (K,) - written
    value : (K,) - written
    """
    for m in range(weight.shape[0]):
        if health.weight[m] == 0.0 or not is_known(m, options, health):
            continue
        excess = departure(m, health, shown, errors) - errors.variance[m]
        if excess > 0.0:
            add_error(model, m, weight, solver, X, row)
            for k in range(value.shape[0]):
                value[k] += excess * row[k]


@njit
def departure(m, health, shown, errors):
    """Largest variance along an axis that a departure of marker m makes probable beyond what is usual [m^2].

    m : int - marker
    health : Health
    shown : float - part of the markers' errors that residuals show, as variances
    errors : MarkerErrors - usual written
    """
    most, rate = 0.0, max(LEARN_USUAL, 1.0 / health.n_seen[m])
    for k in range(errors.usual.shape[1]):
        if k == 0:
            away, part = distance_between(health.residual[m], health.home[m]), 3.0 * shown
        elif k == 1:
            away, part = surprise_of(m, health.labelled, health), 3.0
        else:
            away, part = errors.step[m], 3.0 * shown
        if math.isfinite(away):
            square = away * away
            most = max(most, (square - OFTEN * errors.usual[m, k]) / part)
            if health.fault[m] == 0:
                errors.usual[m, k] += rate * (square - errors.usual[m, k])
    return most


@njit
def add_error(model, m, weight, solver, X, row_out):
    """row_out : (K,) - variances of all numbers per variance of the place of marker m along each axis.

    model : Skeleton
    m : int - marker
    weight : (n_marker,) - of the frame
    solver : Work - pose, marker.model; delta written
    X : (n_v, K)
    row_out : (K,) - written
    """
    tree, along, twist = model.tree, solver.delta, solver.pose.twist
    b, w = model.markers.body[m], weight_of(model.markers.weight, m, weight[m])
    row_out[:] = 0.0
    last = last_dof(tree, b)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        y = solver.marker.model[m, j] - solver.pose.position[0, j]
        z = solver.marker.model[m, k] - solver.pose.position[0, k]
        along[:] = 0.0
        d = last
        while d >= 0:
            along[d] = w * (twist[d, 3 + i] + twist[d, j] * z - twist[d, k] * y)
            d = tree.dof_parent[d]
        fold_vector(tree.couplers, solver.coupler, along)
        for n in range(row_out.shape[0]):
            s = 0.0
            for d in range(X.shape[0]):
                s += along[d] * X[d, n]
            row_out[n] += s * s


@njit
def last_dof(tree, b):
    """The dof nearest to body b that moves it; -1 = none does."""
    while b >= 0:
        for d in range(tree.dof_body.shape[0] - 1, -1, -1):
            if tree.dof_body[d] == b:
                return d
        b = tree.parent[b]
    return -1
