"""Labels at each other's places, in pairs or rings, within a segment or across, by where each is expected.

Where it is certain which label is on which marker, they are put right and the frame is solved with all of
them. Otherwise they are left out. A ring that is put right for certain needs no flag: its markers are judged
as any others from there on.
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
    """Labels at each other's expected places, in pairs or rings: swap_with, left out. Returns how many.

    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    options : HealthOptions
    health : Health - written
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
    """The marker at whose expected place marker m lies, at most half as far as from its own; -1 = none.

    m : int - marker
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    options : HealthOptions
    health : Health
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
    """health.labelled : (n_marker, 3) - measured, with each ring of labels put right that is certain.

    Certain are rings whose labels are near each other's expected places, of markers that were without a fault
    just now, in segments that fit no worse then: a wrong pose must not make right labels wrong.

    markers : Markers
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health - after find_swaps; labelled, weight, certain written
    segments : Segments - turned written
    fit : FitWork - written
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
    """Whether marker m is near the expected place of the one that it is exchanged with, which was in sight.

    markers : Markers
    m : int - marker
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : HealthOptions
    health : Health
    segments : Segments
    """
    k = health.swap_with[m]
    away = distance_between(measured[m], health.expected[k])
    near = away <= allowed_gap(k, options, health) + TURNS * dt
    return near and is_recent(k, health) and segments.doubted[markers.body[k]] <= options.relearn


@njit
def turn_ring(first, measured, right, health):
    """health.labelled, weight of a ring of labels: put right and taking part, or as they came and left out.

    first : int - one of its markers
    measured : (n_marker, 3) - in ground [m]
    right : bool
    health : Health - written
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
    """health.certain of a ring of labels; first : int - one of its markers, health : Health - written."""
    m = first
    for _ in range(health.certain.shape[0]):
        health.certain[m] = 1
        m = health.swap_with[m]
        if m == first:
            return


@njit
def is_beyond_doubt(markers, first, measured, dt, options, health, segments, fit):
    """Whether a ring of labels that are put right needs no flag.

    Labels that were wrong from the first frame on may have been learnt, and right ones are exchanged by them.
    So its markers must be known, their segments out of any doubt, and these must have the shape of their
    calibration with the labels put right, and not more so as they came.

    markers : Markers
    first : int - one of its markers
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health - labelled, weight with the ring put right; mean, origin as they were afterwards
    segments : Segments - turned written
    fit : FitWork - written
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
    """Whether the segments of a ring of labels fit at least as well put right as they came.

    markers : Markers
    first : int - one of its markers
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    options : FrameOptions
    health : Health - labelled, weight with the ring put right
    segments : Segments - turned written
    fit : FitWork - written
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
