"""Detection of segments whose markers were smoothed while those of other segments were not: their residuals
are proportional to their acceleration.

Smoothing displaces a path in the direction of its acceleration: at a turning point the markers swing less
far than their bone. Soft tissue lags behind and is displaced in the opposite direction. The regression of
the mean residual of a segment on its acceleration, both about their means over the last second, is the
square of a time. This square times the correlation of both is the evidence, where it is above zero.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.faults.late import KEPT, KNOWN, LONGEST, SMALLEST, gather_middle, learn_pair

N_PAST = 15
"""Frames that are kept: an acceleration is that of a span of two times SPAN, or of as many frames."""
SPAN = 0.03
"""Time to either side over which an acceleration is taken, beyond what noise of single frames makes [s]."""
MOVING = 3.0
"""Root mean square of the acceleration about its mean above which a segment is judged [m/s^2]."""


class Smoothing(NamedTuple):
    """Acceleration and mean marker residual of each segment of the body: their means and second moments over
    the last frames, and the evidence for smoothing that follows from these.
    """

    limit: np.ndarray  # (n_body,) - evidence from which it was smoothed [s^2]; inf = not judged
    time: Annotated[np.ndarray, Floats("n_body")]  # duration of the frames in the means [s]
    mean: Annotated[np.ndarray, Floats("n_body", 2, 3)]  # of acceleration and residual, in ground [m/s^2, m]
    moment: Annotated[np.ndarray, Floats("n_body", 3)]  # as in SegmentDelays, of accelerations
    # middle of its markers, and their mean residual, the newest frame first, in ground [m]
    past: Annotated[np.ndarray, Floats("n_body", N_PAST, 2, 3)]
    n_past: Annotated[np.ndarray, Integers("n_body")]  # number of successive frames in `past`
    which: Annotated[np.ndarray, Integers("n_body")]  # markers seen in them, as a number; 0 = none
    evidence: Annotated[np.ndarray, Floats("n_body")]  # [s^2]
    off: Annotated[np.ndarray, Integers("n_body")]  # 1 = it was smoothed
    now: Annotated[np.ndarray, Floats(2, 3)]  # working space


def new_smoothing(limit):
    """Allocate the Smoothing of n_body segments; limit : (n_body,) - evidence above which a segment was
    smoothed [s^2].
    """
    return allocate(Smoothing, limit=limit, n_body=len(limit))


@njit
def find_smoothed(markers, rotation, off, dt, health, state):
    """Update the means and the evidence for smoothing of all segments with a solved frame; return the number
    of segments that were smoothed.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    rotation : (n_body, 3, 3) - axes of the bodies in ground, as columns
    off : (n_body,) int64 - above 0 = the segment is known to be wrong in this frame, which is then not added
        to the means
    dt : float - time since the last frame [s], 0 = unknown
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight, fault and
        residual are read
    state : Smoothing - means of each segment over the frames, and the smoothing found, written
    """
    n_found = 0
    for b in range(state.limit.shape[0]):
        if not math.isfinite(state.limit[b]):
            continue
        which = 0 if off[b] > 0 else gather_middle(markers, b, rotation, health, state.now)
        if which != state.which[b] or dt <= 0.0 or dt > LONGEST:
            state.n_past[b] = 0
        state.which[b] = which
        if which > 0:
            for k in range(N_PAST - 1, 0, -1):
                copy_matrix(state.past[b, k - 1], state.past[b, k])
            copy_matrix(state.now, state.past[b, 0])
            state.n_past[b] += 1
            half = max(1, min(N_PAST // 2, round(SPAN / dt))) if dt > 0.0 else N_PAST
            if state.n_past[b] > 2 * half:
                learn_acceleration(b, half, dt, state)
                judge_smoothing(b, state)
        n_found += state.off[b]
    return n_found


@njit
def learn_acceleration(b, half, dt, state):
    """Add acceleration and mean residual of body b, in the frame that is `half` frames before the newest one,
    to its means and second moments.
    """
    past, acceleration = state.past[b], state.now[0]
    for i in range(3):
        bend = past[0, 0, i] - 2.0 * past[half, 0, i] + past[2 * half, 0, i]
        acceleration[i] = bend / (half * dt) ** 2
    learn_pair(b, dt, acceleration, past[half, 1], state)


@njit
def judge_smoothing(b, state):
    """Write the evidence for smoothing of body b, and whether the body counts as smoothed; while the body
    hardly accelerates, both keep their values.
    """
    ar, aa, rr = state.moment[b, 0], state.moment[b, 1], state.moment[b, 2]
    if state.time[b] < KNOWN or aa < MOVING * MOVING:
        return
    state.evidence[b] = ar * abs(ar) / (aa * math.sqrt(max(aa * rr, SMALLEST)))
    limit = state.limit[b]
    state.off[b] = int(state.evidence[b] > (KEPT * limit if state.off[b] == 1 else limit))
