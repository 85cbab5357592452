"""How well the markers of a segment agree: their rigid fit to where they usually are in it.

What is left of the squares after the best fit follows without the fit, from the largest root of the
characteristic polynomial of Horn's matrix (Theobald 2005, Acta Cryst. A 61, 478-480). Where that is small the
markers agree, and no fit is needed.
"""

from __future__ import annotations

import math

from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.markers.marker_health import distance_between, is_known
from kernels.markers.segment_filling import turn_segment, usual_place

FIT = 3
"""Markers of a segment from which their shape tells exchanged labels from others."""
N_NEWTON = 20
CLOSE = 1e-14
"""Steps towards the root, and the step at which it is found, as a part of it [1]."""


@njit
def squares_left(markers, b, measured, health, fit):
    """Sum of the squared distances of the markers of body b from where their rigid fit has them [m^2].

    Ga + Gb - 2 lambda, Ga and Gb the second moments of both sets about their middles, lambda the largest root
    of x^4 - 2 tr(M'M) x^2 - 8 det(M) x + 2 tr((M'M)^2) - tr(M'M)^2, M their mixed moments. Infinite where
    the root is not found.

    markers : Markers
    b : int - body
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    health : Health - weight of the markers
    fit : FitWork - vectors[0], [1], [2], matrices[1] written
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
    """fit.matrices[1] : (3, 3) = sum of y x', y and x a marker of body b in it and in ground, about their
    middles; returns the sum of y'y + x'x [m^2].

    markers : Markers
    b : int - body
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    health : Health - weight of the markers
    fit : FitWork - vectors[0], [1], [2] written
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
    """Of a matrix M : (3, 3)."""
    return (
        M[0, 0] * (M[1, 1] * M[2, 2] - M[1, 2] * M[2, 1])
        - M[0, 1] * (M[1, 0] * M[2, 2] - M[1, 2] * M[2, 0])
        + M[0, 2] * (M[1, 0] * M[2, 1] - M[1, 1] * M[2, 0])
    )


@njit
def least_allowed(markers, b, options, health):
    """Smallest distance that is no fault of the markers of body b that take part [m].

    markers, b : Markers, int - body
    options : HealthOptions
    health : Health
    """
    least = math.inf
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0:
            least = min(least, allowed_gap(m, options, health))
    return least


@njit
def disagreement(markers, b, measured, dt, options, health, segments, fit):
    """Largest distance of the markers of body b that take part from where their rigid fit has them, in
    parts of what is allowed; infinite where they leave the turn open.

    markers : Markers
    b : int - body
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health
    segments : Segments - turned written
    fit : FitWork - written, as for `own_gap`
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
    """Distance of marker m from where the fit of its segment has it, in parts of what is allowed.

    markers : Markers
    m : int - marker
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    options : HealthOptions
    health : Health
    segments : Segments - turned
    fit : FitWork - vectors[0], [1] as turn_segment leaves them; [2], [3] written
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
    """Distance of marker m from where the others of its segment have it that is no fault [m]."""
    return options.slack[m] * (options.agreement if is_known(m, options, health) else options.unknown)


@njit
def stretch(markers, b, measured, options, health, fit):
    """How far the distance of the two markers of body b that take part is off, in parts of what is allowed.

    markers : Markers
    b : int - body
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    options : HealthOptions
    health : Health
    fit : FitWork - vectors[0], [1] written
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
    """How far the markers of body b that take part are off its shape, in parts of what is allowed; of one
    marker nothing.

    markers : Markers
    b : int - body
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health
    segments : Segments - turned written
    fit : FitWork - written
    """
    n = 0
    for m in range(measured.shape[0]):
        n += int(markers.body[m] == b and health.weight[m] > 0.0)
    if n >= FIT:
        return disagreement(markers, b, measured, dt, options, health, segments, fit)
    return stretch(markers, b, measured, options.health, health, fit)
