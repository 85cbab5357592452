"""Agreement of the markers of a segment with each other: the residuals of a rigid fit of their usual
positions to the measured ones.

The sum of squared residuals is computed without the fit itself, from the largest root of the characteristic
polynomial of Horn's matrix (Theobald 2005, Acta Cryst. A 61, 478-480). Where it is small the markers agree,
and no fit is needed.
"""

from __future__ import annotations

import math

from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.markers.marker_health import distance_between, is_known
from kernels.markers.segment_filling import turn_segment, usual_place

FIT = 3
"""Number of markers of a segment from which its shape distinguishes exchanged labels."""
N_NEWTON = 20
CLOSE = 1e-14
"""Largest number of Newton steps towards the root, and relative size of a step at which it is found [1]."""


@njit
def squares_left(markers, b, measured, health, fit):
    """Return the sum of the squared distances of the markers of body b from their rigid fit [m^2].

    The sum is Ga + Gb - 2 lambda, with the second moments Ga and Gb of both sets of points about their means,
    and the largest root lambda of x^4 - 2 tr(M'M) x^2 - 8 det(M) x + 2 tr((M'M)^2) - tr(M'M)^2, where M are
    their mixed moments. It is infinite where the root is not found.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    health : Health - weight of the markers
    fit : BodyFitWork - working space of rigid fits; its fields vectors[0], [1], [2] and matrices[1] are
        written
    """
    M = fit.matrices[1]
    both = mixed_moments(markers, b, measured, health, fit)
    square, fourth = 0.0, 0.0
    for i in range(3):
        for j in range(3):
            s = M[0, i] * M[0, j] + M[1, i] * M[1, j] + M[2, i] * M[2, j]
            fourth += s * s
            if i == j:
                square += s
    A, B, C = -2.0 * square, -8.0 * determinant(M), 2.0 * fourth - square * square
    x = 0.5 * both
    for _ in range(N_NEWTON):
        slope = (4.0 * x * x + 2.0 * A) * x + B
        if slope <= 0.0:
            return math.inf
        step = (((x * x + A) * x + B) * x + C) / slope
        x -= step
        if abs(step) <= CLOSE * x:
            return max(both - 2.0 * x, 0.0)
    return math.inf


@njit
def mixed_moments(markers, b, measured, health, fit):
    """Write the sum of y x' over the markers of body b, with their positions y in the body and x in ground
    about the means, into fit.matrices[1] : (3, 3); return the sum of y'y + x'x [m^2].

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    health : Health - weight of the markers
    fit : BodyFitWork - working space of rigid fits; its fields vectors[0], [1] and [2] are written
    """
    M, local, middle, y = fit.matrices[1], fit.vectors[0], fit.vectors[1], fit.vectors[2]
    local[:] = 0.0
    middle[:] = 0.0
    M[:, :] = 0.0
    n, both, first = 0, 0.0, -1
    for m in range(measured.shape[0]):
        if markers.body[m] != b or health.weight[m] == 0.0:
            continue
        first = m if first < 0 else first
        usual_place(markers, m, health, y)
        n += 1
        for i in range(3):
            x = measured[m, i] - measured[first, i]
            local[i] += y[i]
            middle[i] += x
            both += y[i] * y[i] + x * x
            for j in range(3):
                M[i, j] += y[i] * (measured[m, j] - measured[first, j])
    for i in range(3):
        both -= (local[i] * local[i] + middle[i] * middle[i]) / n
        for j in range(3):
            M[i, j] -= local[i] * middle[j] / n
    return both


@njit
def determinant(M):
    """Return the determinant of M : (3, 3)."""
    return (
        M[0, 0] * (M[1, 1] * M[2, 2] - M[1, 2] * M[2, 1])
        - M[0, 1] * (M[1, 0] * M[2, 2] - M[1, 2] * M[2, 0])
        + M[0, 2] * (M[1, 0] * M[2, 1] - M[1, 1] * M[2, 0])
    )


@njit
def least_allowed(markers, b, options, health):
    """Return the strictest limit among the used markers of body b: the smallest of their allowed distances
    from the rigid fit [m].

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    """
    least = math.inf
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0:
            least = min(least, allowed_gap(m, options, health))
    return least


@njit
def disagreement(markers, b, measured, dt, options, health, segments, fit):
    """Return the largest ratio of the distance of a marker of body b from its rigid fit to the allowed
    distance.

    It is infinite where the markers that are used do not determine the fit.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    if not turn_segment(markers, b, measured, 0.0, dt, options, health, segments, fit):
        return math.inf
    most = 0.0
    for m in range(measured.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0:
            most = max(most, own_gap(markers, m, measured, options.health, health, segments, fit))
    return most


@njit
def own_gap(markers, m, measured, options, health, segments, fit):
    """Return the ratio of marker m's distance from the rigid fit of its segment to the allowed distance.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    m : int - marker
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame; its field turned is read
    fit : BodyFitWork - its vectors[0] and [1] hold the means of the visible markers in the body and in
        ground; its vectors[2] and [3] are overwritten
    """
    y, place = fit.vectors[2], fit.vectors[3]
    usual_place(markers, m, health, y)
    for i in range(3):
        y[i] -= fit.vectors[0, i]
    rotate(segments.turned[markers.body[m]], y, place)
    for i in range(3):
        place[i] += fit.vectors[1, i]
    return distance_between(measured[m], place) / allowed_gap(m, options, health)


@njit
def allowed_gap(m, options, health):
    """Return the largest distance [m] between marker m and its position as predicted by the other markers of
    its segment that does not yet count as a fault.
    """
    return options.slack[m] * (options.agreement if is_known(m, options, health) else options.unknown)


@njit
def stretch(markers, b, measured, options, health, fit):
    """Return the ratio of the change of the distance between the two used markers of body b, from its usual
    value, to the allowed change.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    fit : BodyFitWork - working space of rigid fits; its fields vectors[0] and [1] are written
    """
    first = -1
    for m in range(measured.shape[0]):
        if markers.body[m] != b or health.weight[m] == 0.0:
            continue
        if first < 0:
            first = m
            continue
        usual_place(markers, first, health, fit.vectors[0])
        usual_place(markers, m, health, fit.vectors[1])
        usual = distance_between(fit.vectors[0], fit.vectors[1])
        allowed = max(allowed_gap(first, options, health), allowed_gap(m, options, health))
        return abs(distance_between(measured[first], measured[m]) - usual) / allowed
    return 0.0


@njit
def shape_gap(markers, b, measured, dt, options, health, segments, fit):
    """Return the deviation of the used markers of body b from their usual arrangement, as a multiple of the
    allowed deviation; 0 for one marker.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    n = 0
    for m in range(measured.shape[0]):
        n += int(markers.body[m] == b and health.weight[m] > 0.0)
    if n >= FIT:
        return disagreement(markers, b, measured, dt, options, health, segments, fit)
    return stretch(markers, b, measured, options.health, health, fit)
