"""Markers that are not where they were expected, of segments that do not speak for themselves.

Three markers fit wherever one of them moves across their plane, two leave more open: there the prediction
decides, as long as it is fresh.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.faults.agreement import allowed_gap
from kernels.faults.verdict import leave_out
from kernels.markers.marker_health import (
    OUTLIER,
    distance_between,
    innovation_of,
    is_foreseen,
    is_known,
    is_recent,
    median,
)

FRESH = 0.3
"""A segment of which markers have been at fault for longer is not judged by its prediction [s]; where one is
left, for longer than the solver predicts."""
TURNS = 1.0
"""Unforeseen speed of markers against the others of their segment that is no fault [m/s]."""
VOID = 0.1
"""Median surprise from which a frame was not foreseen at all [m]."""
LEAP, CREEP = 0.005, 0.3
"""Change of a residual since the marker's last frame without a fault that is none: that much and that speed
[m, m/s]. Clean walks: at most 2.8 mm from frame to frame at 100 Hz, 5.6 mm at 60 Hz."""
MEDIAN_NEEDS = 5
"""Visible markers from which their median says something."""
MEDIAN_FACTOR = 3.0


@njit
def median_surprise(measured, health):
    """Lower median of the distances of markers from where they are expected [m]; inf where too few are."""
    n = 0
    for m in range(measured.shape[0]):
        if is_foreseen(m, health):
            health.innovation[n] = innovation_of(m, measured, health)
            n += 1
    return median(health.innovation, n) if n >= MEDIAN_NEEDS else math.inf


@njit
def find_strays(markers, measured, dt, usual, options, health, segments):
    """Leave out markers far from where they are expected, of segments that do not speak for themselves.

    The limit grows with the frame's median surprise, so that a subject who jumps is not taken apart.

    markers : Markers
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    usual : float - median surprise [m]
    options : HealthOptions
    health : Health - written
    segments : Segments
    """
    for m in range(measured.shape[0]):
        b = markers.body[m]
        if segments.sound[b] == 1 or segments.doubted[b] > FRESH or not is_foreseen(m, health):
            continue
        own = options.slack[m] * (options.floor if is_known(m, options, health) else options.unknown)
        if innovation_of(m, measured, health) > own + options.stray_speed * dt + MEDIAN_FACTOR * usual:
            leave_out(m, OUTLIER, health)


@njit
def leave_out_unforeseen(markers, b, measured, dt, options, health, segments):
    """Leave out the marker of body b that moved against the others by the prediction; which, -1 = none.

    Not after a frame in which a marker came back: the pose moved with it, and so does the prediction.

    markers : Markers
    b : int - body, of which two or three markers take part
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health - fault, weight written
    segments : Segments
    """
    found, most, least, n = -1, 0.0, math.inf, 0
    for m in range(measured.shape[0]):
        if markers.body[m] == b and is_foreseen(m, health):
            own, n = innovation_of(m, measured, health), n + 1
            least = min(least, own)
            if own > most:
                found, most = m, own
    fresh = FRESH if n > 2 else options.track.max_prediction
    if n < 2 or segments.doubted[b] > fresh or segments.regained[b] == 1:
        return -1
    allowed = allowed_gap(found, options.health, health)
    if is_recent(found, health):
        crept = options.health.slack[found] * (LEAP + CREEP * (health.good_age[found] + dt))
        allowed = min(allowed, crept)
    if most - least <= allowed + TURNS * dt:
        return -1
    leave_out(found, OUTLIER, health)
    return found


@njit
def has_leapt(m, options, health):
    """Whether the residual of marker m has changed more than those of clean markers do."""
    moved = distance_between(health.residual[m], health.good[m])
    return math.isfinite(moved) and is_recent(m, health) and moved > leap_allowed(m, options, health)


@njit
def is_where_predicted(m, options, health):
    """Whether marker m is as near to where it was foreseen as its residual may change.

    Where it leaps all the same the pose has leapt, as from one assembly of a knee to the other.
    """
    return innovation_of(m, health.labelled, health) <= leap_allowed(m, options, health)


@njit
def leap_allowed(m, options, health):
    """Change of the residual of marker m since its last frame without a fault that is none [m]."""
    return options.slack[m] * (LEAP + CREEP * health.good_age[m])
