"""Comparison of the markers of a segment with each other: which of them disagrees with the others.

If they disagree, each marker is left out in turn; the marker without which the others agree is at fault. If
no choice makes them agree, the whole segment is suspect, and its markers keep their weight. Four or more
markers that agree with their calibration are taken as right, whatever happened before. If they agree very
closely, a segment in doubt is trusted again without a waiting time (kernels/faults/solved).
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.agreement import (
    allowed_gap,
    disagreement,
    least_allowed,
    own_gap,
    shape_gap,
    squares_left,
    stretch,
)
from kernels.faults.innovation import leave_out_unforeseen
from kernels.faults.verdict import in_doubt, leave_out, suspect
from kernels.markers.marker_health import OUTLIER, distance_between

SOUND = 4
"""Number of markers of a segment from which their agreement counts more than the prediction:
any three are in one plane."""
TWO_OUT = 6
"""Number of markers of a segment from which two may be left out:
of fewer, any three that are left would agree."""
SETTLED = 0.5
"""Ratio to the allowed distance from which a marker may be left out so that the others agree, and within
which a segment in doubt must agree to be no longer in doubt."""
CLEARLY = 0.5
"""Largest ratio of the deviation from the calibrated shape to that from the learnt shape at which the
calibrated one is right."""


@njit
def judge_segment(markers, b, measured, dt, options, health, segments, fit):
    """Leave out the markers of body b that disagree with the others; if the others disagree whichever marker
    is left out, mark all as at fault.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame; its fields fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame. Written are sound (1 = enough
        markers agree with each other), barred (time for which outliers were left out [s]; it becomes zero if
        the markers agree) and turned
    fit : BodyFitWork - working space of rigid fits, written
    """
    n = 0
    for m in range(measured.shape[0]):
        n += int(markers.body[m] == b and health.weight[m] > 0.0)
    segments.sound[b] = 0
    most = SETTLED if in_doubt(b, options.health, segments) else 1.0
    if n < 2:
        return
    fine = SETTLED * least_allowed(markers, b, options.health, health)
    if n == 2:
        gap = stretch(markers, b, measured, options.health, health, fit)
    else:
        left = squares_left(markers, b, measured, health, fit)
        if n >= SOUND and left <= (SETTLED * fine) ** 2:  # so near that nothing is to be proved
            segments.barred[b] = 0.0
        gap = 0.0
        if left > fine * fine:
            gap = disagreement(markers, b, measured, dt, options, health, segments, fit)
    if n < SOUND:
        found = leave_out_unforeseen(markers, b, measured, dt, options, health, segments)
        if found >= 0 and began_wrong(markers, b, found, measured, dt, options, health, segments, fit):
            return
        if gap > most and found < 0:
            suspect(markers, b, health)
        return
    if gap > most and is_as_calibrated(markers, b, measured, dt, options, health, segments, fit):
        gap = segments.barred[b] = 0.0
    if gap > SETTLED:
        found = leave_out_one(markers, b, measured, dt, options, health, segments, fit)
        if n >= TWO_OUT and not found:
            found = leave_out_two(markers, b, measured, dt, options, health, segments, fit)
        elif (
            n >= TWO_OUT and disagreement(markers, b, measured, dt, options, health, segments, fit) > SETTLED
        ):
            leave_out_one(markers, b, measured, dt, options, health, segments, fit)
        if gap > most and not found:
            suspect(markers, b, health)
            return
    segments.sound[b] = 1


@njit
def began_wrong(markers, b, found, measured, dt, options, health, segments, fit):
    """Return whether marker `found`, which was left out because it moved, has in fact moved to its correct
    position.

    If a marker was displaced in the first frames, a wrong usual position was learnt for it, and its return is
    then unexpected. The calibration decides: if the learnt position differs from that of the static trial,
    and all markers of the segment now fit the calibrated shape far better than the learnt one, the learnt
    positions are discarded, and the predicted ones as well.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body with two or three markers that are used
    found : int - marker
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - fault and weight of the marker are written; if True is returned, expected and good_age
        are reset, and learnt positions are replaced by the calibrated ones
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    check = options.health
    if distance_between(health.mean[found], health.origin[found]) <= SETTLED * allowed_gap(
        found, check, health
    ):
        return False
    health.weight[found] = 1.0
    learnt = shape_gap(markers, b, measured, dt, options, health, segments, fit)
    exchange_means(markers, b, health)
    right = shape_gap(markers, b, measured, dt, options, health, segments, fit)
    exchange_means(markers, b, health)
    if right > SETTLED or right > CLEARLY * learnt:
        health.weight[found] = 0.0
        return False
    health.fault[found] = 0
    forget_learnt(markers, b, health)
    for m in range(measured.shape[0]):
        if markers.body[m] == b:
            health.expected[m, :] = math.nan
            health.good_age[m] = math.inf
    return True


@njit
def is_as_calibrated(markers, b, measured, dt, options, health, segments, fit):
    """Return whether the markers of body b have the calibrated shape of the segment instead of the one
    learnt since.

    If so, the learnt positions were wrong, for example because labels were exchanged from the first frame on,
    and are reset to the calibration.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - its mean, mean_residual and n_seen are written where learnt positions are reset
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    exchange_means(markers, b, health)
    gap = disagreement(markers, b, measured, dt, options, health, segments, fit)
    exchange_means(markers, b, health)
    if gap > SETTLED:
        return False
    forget_learnt(markers, b, health)
    return True


@njit
def forget_learnt(markers, b, health):
    """Reset the learnt positions of body b's markers to their calibration."""
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b:
            copy(health.origin[m], health.mean[m])
            copy(health.origin[m], health.mean_residual[m])
            health.n_seen[m] = 0


@njit
def exchange_means(markers, b, health):
    """Exchange the learnt and the calibrated positions of the markers of body b (health.mean and
    health.origin), for a check against the calibration; a second call restores them.
    """
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b:
            for i in range(3):
                mean = health.mean[m, i]
                health.mean[m, i] = health.origin[m, i]
                health.origin[m, i] = mean


@njit
def leave_out_one(markers, b, measured, dt, options, health, segments, fit):
    """Leave out the marker of body b without which the others agree best; return False if no such marker is
    found.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame; its fields fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    found, least = -1, 1.0
    for m in range(measured.shape[0]):
        if markers.body[m] != b or health.weight[m] == 0.0:
            continue
        health.weight[m] = 0.0
        gap = disagreement(markers, b, measured, dt, options, health, segments, fit)
        if gap < least and own_gap(markers, m, measured, options.health, health, segments, fit) > 1.0:
            found, least = m, gap
        health.weight[m] = 1.0
    if found < 0:
        return False
    leave_out(found, OUTLIER, health)
    return True


@njit
def leave_out_two(markers, b, measured, dt, options, health, segments, fit):
    """Leave out the two markers of body b without which the others agree best; return False if there are no
    such two.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame; its fields fault and weight are written
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    first, second, least = -1, -1, 1.0
    for m in range(measured.shape[0]):
        for k in range(m):
            both = markers.body[m] == b and markers.body[k] == b
            if not both or health.weight[m] == 0.0 or health.weight[k] == 0.0:
                continue
            health.weight[m] = health.weight[k] = 0.0
            gap = disagreement(markers, b, measured, dt, options, health, segments, fit)
            if gap < least:
                own = own_gap(markers, m, measured, options.health, health, segments, fit)
                other = own_gap(markers, k, measured, options.health, health, segments, fit)
                if min(own, other) > 1.0:
                    first, second, least = m, k, gap
            health.weight[m] = health.weight[k] = 1.0
    if first < 0:
        return False
    leave_out(first, OUTLIER, health)
    leave_out(second, OUTLIER, health)
    return True
