"""Detection of outliers by the innovation, the distance of a marker from its predicted position, on segments
whose other markers are too few to show which one is wrong.

Three markers still fit when one of them moves across their plane, and two markers determine even less: on
such segments the prediction decides, as long as it is recent.
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
"""Longest time for which markers of a segment may have been at fault with its prediction still used [s]; with
only two visible markers it is the longest time for which the solver predicts."""
TURNS = 1.0
"""Largest unpredicted speed of a marker relative to the others of its segment that is no fault [m/s]."""
VOID = 0.1
"""Median innovation from which a frame was not predicted at all [m]."""
LEAP, CREEP = 0.005, 0.3
"""Largest change of a residual since the marker's last sound frame that is no fault: a distance and a
speed [m, m/s]. Clean walks: at most 2.8 mm from frame to frame at 100 Hz, 5.6 mm at 60 Hz."""
MEDIAN_NEEDS = 5
"""Number of visible markers from which the median of their innovations is used."""
MEDIAN_FACTOR = 3.0


@njit
def median_surprise(measured, health):
    """Return the lower median of the innovations of the markers, the distances from their expected positions
    [m]; infinite where too few have one.
    """
    n = 0
    for m in range(measured.shape[0]):
        if is_foreseen(m, health):
            health.innovation[n] = innovation_of(m, measured, health)
            n += 1
    return median(health.innovation, n) if n >= MEDIAN_NEEDS else math.inf


@njit
def find_strays(markers, measured, dt, usual, options, health, segments):
    """Leave out markers far from their expected positions, on segments whose markers are too few to be
    checked against each other.

    The limit grows with the frame's median innovation, so that a subject who jumps keeps all markers.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    usual : float - median innovation [m]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame; its fields fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame
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
    """Leave out the marker of body b that deviates from its predicted position much more than the others;
    return its index, or -1 for none.

    No marker is left out in the frame after one in which a marker became visible again: the pose then
    changed, and the prediction contains this change.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body with two or three markers that are used
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame; its fields fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame
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
    """Return whether the residual of marker m has changed, since its last frame without a fault, by more than
    residuals of faultless markers do.
    """
    moved = distance_between(health.residual[m], health.good[m])
    return math.isfinite(moved) and is_recent(m, health) and moved > leap_allowed(m, options, health)


@njit
def is_where_predicted(m, options, health):
    """Return whether the distance of marker m from its predicted position is no larger than the allowed
    change of its residual.

    If its residual changes by more all the same, the solved pose has jumped, for example from one
    configuration of a knee mechanism to the other.
    """
    return innovation_of(m, health.labelled, health) <= leap_allowed(m, options, health)


@njit
def leap_allowed(m, options, health):
    """Return the largest change of marker m's residual, since its last frame without a fault, that does not
    count as a fault [m]; the residual is the vector from the model marker to the measured one.

    It is a constant plus a speed times the time since that frame, both scaled by the marker's own tolerance.
    """
    return options.slack[m] * (LEAP + CREEP * health.good_age[m])
