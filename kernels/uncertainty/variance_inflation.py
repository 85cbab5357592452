"""Variance that is added to a frame's numbers for markers that are unusual, but not so much as to be at
fault.

kernels/uncertainty/marker_errors states the usual errors of the markers. A marker may depart in three ways:
its residual is farther than usual from its usual value, the marker from its predicted position, or its
residual from that of the last frame. It then has an error of that size, and its variance is increased. A
departure that occurs often counts as usual. The increase is not averaged over frames, and costs next to no
time if all markers are usual.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.markers.marker_cost import weight_of
from kernels.markers.marker_health import distance_between, innovation_of, is_blamed, is_known
from kernels.markers.marker_perturbation import perturbation_gradient

OFTEN_AWAY, OFTEN_NEW = 9.0, 4.0
"""Ratios of a squared departure to its mean square up to which it is usual: three standard deviations from
the usual place, as soft tissue moves slowly and back again, and two of what is new in a frame."""
MOST_TAUGHT = 9.0
"""Largest ratio with which a departure counts in that mean, once it is learnt:
what slides does not become usual."""
LEARN_USUAL = 0.002
"""Weight of a new frame in that mean square, after the first five hundred [1]."""


@njit
def inflate_variance(model, options, health, weight, shown, errors, solver, X, row, value):
    """Increase the variances of the numbers by what the errors of unusual markers contribute.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker; its residual at the solution is read
    weight : (n_marker,) - weights of the markers in this frame
    shown : float - part of the markers' squared errors that residuals show (see marker_variances) [1]
    errors : MarkerErrors - its variance and step are read, its usual is written
    solver : Work - its pose and marker.model are those of the solution; its delta is written
    X : (n_v, K) - sensitivities of K numbers to the gradient of the objective, one number in each column
    row : (K,) - working space
    value : (K,) - variances of the numbers, updated
    """
    for m in range(weight.shape[0]):
        if health.weight[m] == 0.0 or not is_known(m, options, health):
            continue
        excess = departure(m, shown, options, health, errors) - errors.variance[m]
        if excess > 0.0:
            add_error(model, m, weight, solver, X, row)
            for k in range(value.shape[0]):
                value[k] += excess * row[k]


@njit
def departure(m, shown, options, health, errors):
    """Return the variance along an axis [m^2] that follows from the unusual part of marker m's departures,
    the largest of three.

    The departures are those of the residual from its usual value, of the marker from its predicted position,
    and of the residual from that of the last frame.

    m : int - index of a marker that has been visible for enough frames
    shown : float - part of the markers' squared errors that residuals show (see marker_variances) [1]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    errors : MarkerErrors - statistics of each marker over the last frames; its field usual is written
    """
    n, most = health.n_seen[m], 0.0
    for k in range(errors.usual.shape[1]):
        often, part, n_mean = OFTEN_NEW, 3.0 * shown, n  # at first nothing that is new is usual
        if k == 0:
            away = distance_between(health.residual[m], health.mean_residual[m])
            often, n_mean = OFTEN_AWAY, n - options.n_learn + 1
        elif k == 1:
            away, part = innovation_of(m, health.labelled, health), 3.0
        else:
            away = errors.step[m]
        if math.isfinite(away):
            square, usual = away * away, errors.usual[m, k]
            most = max(most, (square - often * usual) / part)
            if not is_blamed(m, health):
                if n >= 2 * options.n_learn:
                    square = min(square, MOST_TAUGHT * max(usual, errors.noise[m]))
                errors.usual[m, k] += max(LEARN_USUAL, 1.0 / n_mean) * (square - usual)
    return most


@njit
def add_error(model, m, weight, solver, X, row_out):
    """Write the variances of all numbers if marker m has an error with the variance 1 along each axis.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    m : int - index of the marker
    weight : (n_marker,) - weights of the markers in this frame
    solver : Work - its pose and marker.model are read, its delta is written
    X : (n_v, K) - sensitivities of K numbers to the gradient of the objective, one number in each column
    row_out : (K,) - variances per variance of the marker, written
    """
    b, w, along = model.markers.body[m], weight_of(model.markers.weight, m, weight[m]), solver.delta
    row_out[:] = 0.0
    for i in range(3):
        perturbation_gradient(model.tree, b, w, solver.marker.model[m], i, solver, along)
        for n in range(row_out.shape[0]):
            s = 0.0
            for d in range(X.shape[0]):
                s += along[d] * X[d, n]
            row_out[n] += s * s
