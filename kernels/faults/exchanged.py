"""Detection of exchanged labels, in pairs or rings (cyclic exchanges of three or more), within a segment or
across segments, by the position at which each marker is expected.

Where it is certain which label belongs to which marker, the labels are corrected and the frame is solved with
all of them. Otherwise these markers are left out. A ring that is corrected with certainty is not reported as
a fault: its markers are then checked like all others.
"""

from __future__ import annotations

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.agreement import FIT, allowed_gap, disagreement, shape_gap
from kernels.faults.innovation import TURNS
from kernels.faults.segment import exchange_means
from kernels.faults.verdict import leave_out
from kernels.markers.marker_health import (
    EXCHANGED,
    distance_between,
    innovation_of,
    is_foreseen,
    is_known,
    is_recent,
)


@njit
def find_swaps(measured, options, health):
    """Find exchanged labels, in pairs or rings (cyclic exchanges of three or more), and leave their markers
    out; return the number of pairs and rings.

    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame; its fields swap_with, fault and weight
        are written
    """
    n = measured.shape[0]
    some = False
    for i in range(n):
        health.swap_with[i] = nearest_other(i, measured, options, health)
        some = some or health.swap_with[i] >= 0
    if not some:
        return 0
    n_swap = 0
    for i in range(n):
        k, steps, least = health.swap_with[i], 1, i
        while k >= 0 and k != i and steps < n:
            least = min(least, k)
            k = health.swap_with[k]
            steps += 1
        if k == i:
            leave_out(i, EXCHANGED, health)
            n_swap += int(least == i)
    for i in range(n):
        if health.fault[i] != EXCHANGED:
            health.swap_with[i] = -1
    return n_swap


@njit
def nearest_other(m, measured, options, health):
    """Return the marker at whose expected position marker m is seen; -1 if there is none.

    Called after find_swaps.

    The distance from that position must be at most half of the distance from marker m's own expected
    position.

    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    m : int - marker
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    """
    if not is_foreseen(m, health):
        return -1
    found, least = -1, 0.5 * innovation_of(m, measured, health)
    if 3.0 * least < options.swap_distance:
        return -1
    for k in range(measured.shape[0]):
        if k != m and is_foreseen(k, health):
            away = distance_between(measured[m], health.expected[k])
            apart = distance_between(health.expected[m], health.expected[k])
            if away < least and apart > options.swap_distance:
                found, least = k, away
    return found


@njit
def put_right(markers, measured, dt, options, health, segments, fit):
    """Write the measured markers into health.labelled : (n_marker, 3), with every certain exchange of labels
    corrected.

    An exchange is certain if the markers are near each other's expected positions, had no fault just before,
    and fit their segments no worse with corrected labels. The last condition prevents a wrong prediction from
    exchanging correct labels.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - with the exchanges that find_swaps suspects (swap_with); its fields labelled, weight and
        certain are written
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    for i in range(measured.shape[0]):
        if health.swap_with[i] < 0 or health.weight[i] > 0.0:
            continue
        certain, k = True, i
        for _ in range(measured.shape[0]):
            certain = certain and is_certain(markers, k, measured, dt, options.health, health, segments)
            k = health.swap_with[k]
            if k == i:
                break
        if certain:
            turn_ring(i, measured, True, health)
            if not fits_better(markers, i, measured, dt, options, health, segments, fit):
                turn_ring(i, measured, False, health)
            elif is_beyond_doubt(markers, i, measured, dt, options, health, segments, fit):
                call_certain(i, health)


@njit
def is_certain(markers, m, measured, dt, options, health, segments):
    """Return whether marker m, whose label seems exchanged with that of another one, is near the other's
    expected position.

    The other marker must have been visible without a fault a short time ago, and its segment must not have
    had faults for longer than options.relearn, the time after which displaced markers are learnt at their new
    positions.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    m : int - marker
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame
    """
    k = health.swap_with[m]
    away = distance_between(measured[m], health.expected[k])
    near = away <= allowed_gap(k, options, health) + TURNS * dt
    return near and is_recent(k, health) and segments.doubted[markers.body[k]] <= options.relearn


@njit
def turn_ring(first, measured, right, health):
    """Write the positions and weights of the markers in a ring of exchanged labels: with corrected labels and
    used, or with the received labels and left out.

    first : int - one of its markers
    measured : (n_marker, 3) - measured marker positions in ground [m]
    right : bool - whether the labels are corrected
    health : Health - state of each marker, kept from frame to frame; its fields labelled and weight are
        written
    """
    m = first
    for _ in range(measured.shape[0]):
        k = health.swap_with[m]
        copy(measured[m], health.labelled[k if right else m])
        health.weight[m] = 1.0 if right else 0.0
        m = k
        if m == first:
            return


@njit
def call_certain(first, health):
    """Mark a ring of labels as corrected with certainty, so that it is not reported as a fault.

    first : int - one of its markers
    health : Health - its field certain is written
    """
    m = first
    for _ in range(health.certain.shape[0]):
        health.certain[m] = 1
        m = health.swap_with[m]
        if m == first:
            return


@njit
def is_beyond_doubt(markers, first, measured, dt, options, health, segments, fit):
    """Return whether the corrected labels of a ring are so certain that they are not reported as a fault.

    If labels were wrong from the first frame on, the positions learnt from them are wrong, and right labels
    seem exchanged later. So enough frames must have been learnt, no marker of the segments may have had a
    fault in the last frame, and with the corrected labels each segment must have its calibrated shape, and
    fit it no worse than with the received labels.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    first : int - one of its markers
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - its labelled and weight are those of the corrected ring; mean and origin are changed and
        restored
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    m = first
    for _ in range(measured.shape[0]):
        b = markers.body[m]
        if segments.doubted[b] > 0.0 or not is_known(m, options.health, health):
            return False
        exchange_means(markers, b, health)
        right = shape_gap(markers, b, health.labelled, dt, options, health, segments, fit)
        came = shape_gap(markers, b, measured, dt, options, health, segments, fit)
        exchange_means(markers, b, health)
        if right > 1.0 or right > came:
            return False
        m = health.swap_with[m]
        if m == first:
            return True
    return True


@njit
def fits_better(markers, first, measured, dt, options, health, segments, fit):
    """Return whether the segments of a ring of exchanged labels fit at least as well with the labels
    corrected as they do as received.

    Segments with too few used markers for such a comparison are passed over.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    first : int - one of its markers
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - its labelled and weight are those of the corrected ring
    segments : Segments - state of each segment, kept from frame to frame; its field turned is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    m = first
    for _ in range(measured.shape[0]):
        b, n = markers.body[m], 0
        for k in range(measured.shape[0]):
            n += int(markers.body[k] == b and health.weight[k] > 0.0)
        if n >= FIT:
            right = disagreement(markers, b, health.labelled, dt, options, health, segments, fit)
            came = disagreement(markers, b, measured, dt, options, health, segments, fit)
            if right > came:
                return False
        m = health.swap_with[m]
        if m == first:
            return True
    return True
