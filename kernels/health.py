"""Health of single markers: gaps, labels that may be swapped, and markers that left their place.

Every marker's residual is followed in its body's frame: a mean (soft tissue and model misfit, slow) and
a mean deviation from it. A marker that suddenly deviates by far more than it used to is weighted down;
on clean data all weights stay exactly 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import njit

LEARN_STEP = 0.001
"""Largest step towards a suspicious marker's place in one frame [m]."""
MEDIAN_NEEDS = 5
"""Visible markers from which their median says something."""
MEDIAN_FACTOR = 3.0


class Health(NamedTuple):
    """What is remembered of each marker."""

    weight: np.ndarray  # (n_marker,) - weight of this frame; 0 = takes no part
    gap_age: np.ndarray  # (n_marker,) - time since last seen [s]
    mean: np.ndarray  # (n_marker, 3) - mean residual, measured - model, in the body frame [m]
    deviation: np.ndarray  # (n_marker,) - mean |residual - mean| [m]
    n_seen: np.ndarray  # (n_marker,) int64 - frames it was seen in
    swap_with: np.ndarray  # (n_marker,) int64 - marker it may be swapped with, -1 = none
    expected: np.ndarray  # (n_marker, 3) - where it is expected, in ground [m]
    surprise: np.ndarray  # (n_marker,) - distance from there, sorted in place [m]


class HealthOptions(NamedTuple):
    """Numbers of the marker checks."""

    downweight: int  # 1 = weigh suspicious markers down, 0 = only report
    floor: float  # deviation that is never suspicious [m]
    factor: float  # suspicious beyond this many mean deviations
    unknown: float  # threshold while a marker is still being learnt [m]
    n_learn: int  # frames to learn a marker
    time_constant: float  # of mean and deviation [s]
    swap_distance: float  # closest two markers that are checked for a swap [m]
    stray_speed: float  # unforeseen motion that is never suspicious [m/s]


def new_health(n_marker: int) -> Health:
    """Allocate the health of n_marker markers, none seen yet."""
    return Health(
        np.ones(n_marker),
        np.zeros(n_marker),
        np.zeros((n_marker, 3)),
        np.zeros(n_marker),
        np.zeros(n_marker, np.int64),
        np.full(n_marker, -1, np.int64),
        np.zeros((n_marker, 3)),
        np.zeros(n_marker),
    )


@njit
def is_seen(measured, m):
    """Whether marker m of a frame is there."""
    return math.isfinite(measured[m, 0]) and math.isfinite(measured[m, 1]) and math.isfinite(measured[m, 2])


@njit
def visibility(measured, dt, health):
    """Weights 1 or 0 of a new frame from NaN, gap ages advanced by dt [s]; returns how many are visible."""
    n_visible = 0
    for m in range(measured.shape[0]):
        seen = is_seen(measured, m)
        health.weight[m] = 1.0 if seen else 0.0
        health.swap_with[m] = -1
        health.gap_age[m] = 0.0 if seen else health.gap_age[m] + dt
        n_visible += int(seen)
    return n_visible


@njit
def is_known(m, options, health):
    """Whether marker m was seen often enough for its mean residual to be believed."""
    return health.n_seen[m] >= options.n_learn


@njit
def expect(markers, pose, model, options, health):
    """health.expected : (n_marker, 3) - model markers plus their mean residuals at a pose [m].

    The first frames may be wrong ones: until a marker is known it is expected where the model has it.

    markers : Markers
    pose : Pose
    model : (n_marker, 3) - model markers in ground [m]
    options : HealthOptions
    health : Health - written
    """
    for m in range(markers.body.shape[0]):
        b = markers.body[m]
        if not is_known(m, options, health):
            for i in range(3):
                health.expected[m, i] = model[m, i]
            continue
        for i in range(3):
            health.expected[m, i] = (
                model[m, i]
                + pose.rotation[b, i, 0] * health.mean[m, 0]
                + pose.rotation[b, i, 1] * health.mean[m, 1]
                + pose.rotation[b, i, 2] * health.mean[m, 2]
            )


@njit
def forget_unseen(health):
    """health.expected : (n_marker, 3) - NaN for the markers that the last frame did not show.

    Where dofs were held, only what was seen is known to be where the pose has it.
    """
    for m in range(health.gap_age.shape[0]):
        if health.gap_age[m] > 0.0:
            health.expected[m, :] = math.nan


@njit
def is_foreseen(m, health):
    """Whether marker m takes part and is expected somewhere."""
    return health.weight[m] > 0.0 and math.isfinite(health.expected[m, 0])


@njit
def find_swaps(measured, options, health):
    """Pairs of visible markers whose exchange would lower the cost by far: health.swap_with, weight 0.

    Exchanging labels i and j lowers sum |m - x|^2 by -2 (m_i - m_j) . (x_i - x_j). Returns how many.
    """
    n_swap = 0
    x = health.expected
    for i in range(measured.shape[0]):
        for j in range(i):
            if not is_foreseen(i, health) or not is_foreseen(j, health):
                continue
            along, apart, now = 0.0, 0.0, 0.0
            for k in range(3):
                gap = x[i, k] - x[j, k]
                along += (measured[i, k] - measured[j, k]) * gap
                apart += gap * gap
                now += (measured[i, k] - x[i, k]) ** 2 + (measured[j, k] - x[j, k]) ** 2
            exchanged = now + 2.0 * along
            if apart > options.swap_distance**2 and exchanged < 0.25 * now and now > 0.5 * apart:
                health.swap_with[i], health.swap_with[j] = j, i
                n_swap += 1
    if options.downweight == 1:
        for m in range(measured.shape[0]):
            if health.swap_with[m] >= 0:
                health.weight[m] = 0.0
    return n_swap


@njit
def find_strays(measured, dt, options, health):
    """Markers far from where they are expected while most others are not: weight 0. Returns how many.

    The limit grows with the frame's median surprise, so that a subject who jumps is not taken apart.
    """
    n_visible = 0
    for m in range(measured.shape[0]):
        if is_foreseen(m, health):
            health.surprise[n_visible] = surprise_of(m, measured, health)
            n_visible += 1
    if n_visible < MEDIAN_NEEDS:
        return 0
    allowed = options.stray_speed * dt + MEDIAN_FACTOR * median(health.surprise, n_visible)
    n_stray = 0
    for m in range(measured.shape[0]):
        own = options.floor if is_known(m, options, health) else options.unknown
        if is_foreseen(m, health) and not surprise_of(m, measured, health) <= own + allowed:
            n_stray += 1
            if options.downweight == 1:
                health.weight[m] = 0.0
    return n_stray


@njit
def surprise_of(m, measured, health):
    """Distance of marker m from where it is expected [m]."""
    total = 0.0
    for i in range(3):
        total += (measured[m, i] - health.expected[m, i]) ** 2
    return math.sqrt(total)


@njit
def median(x, n):
    """Lower median of x[:n], which is sorted in place (insertion: n is small)."""
    for i in range(1, n):
        value, k = x[i], i
        while k > 0 and x[k - 1] > value:
            x[k] = x[k - 1]
            k -= 1
        x[k] = value
    return x[(n - 1) // 2]


@njit
def threshold(m, options, health):
    """Deviation [m] beyond which marker m is suspicious."""
    if not is_known(m, options, health):
        return options.unknown
    return max(options.floor, options.factor * health.deviation[m])


@njit
def deviation(m, markers, pose, model, measured, believed, health):
    """|residual - believed * mean residual| of marker m at a pose [m].

    m : int - marker
    markers : Markers
    pose : Pose
    model : (n_marker, 3) - model markers in ground [m]
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    believed : float - part of the mean residual that is believed, 0 to 1
    health : Health - written
    """
    b, total = markers.body[m], 0.0
    for i in range(3):
        r = 0.0
        for k in range(3):
            r += pose.rotation[b, k, i] * (measured[m, k] - model[m, k])
        total += (r - believed * health.mean[m, i]) ** 2
    return math.sqrt(total)


@njit
def weigh_worst(markers, pose, model, measured, options, health):
    """Weigh down the marker that deviates most beyond its threshold; False if there is none.

    Only the worst: a wrong marker pulls its neighbours' residuals along.

    markers : Markers
    pose : Pose
    model : (n_marker, 3) - model markers in ground [m]
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    options : HealthOptions
    health : Health - written
    """
    worst, worst_ratio = -1, 1.0
    for m in range(measured.shape[0]):
        if health.weight[m] == 1.0:
            believed = 1.0 if is_known(m, options, health) else 0.0
            distance = deviation(m, markers, pose, model, measured, believed, health)
            ratio = distance / threshold(m, options, health)
            if ratio > worst_ratio:
                worst, worst_ratio = m, ratio
    if worst < 0:
        return False
    # from three thresholds on it counts as somebody else's
    health.weight[worst] = 1.0 / worst_ratio**2 if worst_ratio < 3.0 else 0.0
    return True


@njit
def learn(markers, pose, model, measured, dt, options, health, filled):
    """Update mean residuals and deviations after a solved frame, far slower for suspicious markers.

    markers : Markers
    pose : Pose
    model : (n_marker, 3) - model markers in ground [m]
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - since the last frame [s]
    options : HealthOptions
    health : Health - written
    filled : (n_body,) int64 - 1 = other markers of it were filled in by the offsets learnt so far
    """
    for m in range(measured.shape[0]):
        if not is_seen(measured, m) or health.swap_with[m] >= 0 or filled[markers.body[m]] == 1:
            continue
        d = deviation(m, markers, pose, model, measured, 1.0, health)
        if not math.isfinite(d):
            continue
        suspicious = health.weight[m] < 1.0
        rate = min(1.0, dt / options.time_constant)
        if suspicious:
            # a marker that was moved for good is believed in the end, a millimetre a frame at most
            rate = min(0.1 * rate, LEARN_STEP / d)
        else:
            health.n_seen[m] += 1
            rate = max(1.0 / health.n_seen[m], rate)
        b = markers.body[m]
        for i in range(3):
            r = 0.0
            for k in range(3):
                r += pose.rotation[b, k, i] * (measured[m, k] - model[m, k])
            health.mean[m, i] += rate * (r - health.mean[m, i])
        if health.n_seen[m] > 1 and not suspicious:
            health.deviation[m] += rate * (d - health.deviation[m])
