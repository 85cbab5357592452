"""Detection of segments whose markers are late, such as markers from another capture system: their residuals
are proportional to their velocity.

Markers that are late by a time T lie behind their positions on the model by T times their velocity, or by the
part of this that the joints do not follow; markers of adjacent segments lie ahead. The regression of the mean
residual of a segment on its velocity, both about their means over the last second, is that delay. The size of
the delay times the correlation of both is the evidence: skin movement causes residuals, too, but hardly any
along the velocity.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.markers.marker_health import is_seen

MEMORY, KNOWN = 1.0, 0.4
"""Time constant of the means, and time after which they count [s]."""
MOVING = 0.3
"""Root mean square of the velocity about its mean above which a segment moves enough to be judged [m/s]."""
KEPT = 0.75
"""Part of the limit below which the evidence must fall until a segment no longer counts as late."""
LONGEST = 0.025
"""Longest step over which a velocity is taken [s]: at 25 Hz a second has too few."""
SMALLEST = 1e-12
"""Smallest divisor."""


class SegmentDelays(NamedTuple):
    """Means and second moments over the frames of each segment, and the delays that follow from them."""

    limit: np.ndarray  # (n_body,) - evidence from which it is late [s]; inf = not judged
    time: Annotated[np.ndarray, Floats("n_body")]  # duration of the frames in the means [s]
    mean: Annotated[np.ndarray, Floats("n_body", 2, 3)]  # of velocity and residual, in ground [m/s, m]
    # of velocity with residual, of velocity, of residual about their means [m^2/s, m^2/s^2, m^2]
    moment: Annotated[np.ndarray, Floats("n_body", 3)]
    # middle of its markers in the last two frames, and their mean residual in the last, in ground [m]
    last: Annotated[np.ndarray, Floats("n_body", 3, 3)]
    step: Annotated[np.ndarray, Floats("n_body")]  # time between these two [s]
    which: Annotated[np.ndarray, Integers("n_body", 2)]  # markers seen in these, as a number; 0 = none
    delay: Annotated[np.ndarray, Floats("n_body")]  # [s]; below 0 = it is early, or its neighbours are late
    evidence: Annotated[np.ndarray, Floats("n_body")]  # [s]
    off: Annotated[np.ndarray, Integers("n_body")]  # 1 = it is late or early
    now: Annotated[np.ndarray, Floats(2, 3)]  # working space: middle and mean residual of a frame [m]


def new_delays(limit):
    """Allocate the SegmentDelays of n_body segments; limit : (n_body,) - evidence above which a segment is
    late [s].
    """
    return allocate(SegmentDelays, limit=limit, n_body=len(limit))


@njit
def find_late(markers, rotation, off, dt, health, delays):
    """Update the means and delays of all segments with a solved frame; return the number of segments that are
    late or early.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    rotation : (n_body, 3, 3) - axes of the bodies in ground, as columns
    off : (n_body,) int64 - above 0 = the segment is known to be wrong in this frame, which is then not added
        to the means
    dt : float - time since the last frame [s], 0 = unknown
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight, fault and
        residual are read
    delays : SegmentDelays - means of each segment over the frames, and the delays found, written
    """
    n_found = 0
    for b in range(delays.limit.shape[0]):
        if not math.isfinite(delays.limit[b]):
            continue
        which = 0 if off[b] > 0 else gather_middle(markers, b, rotation, health, delays.now)
        if which == 0 or dt <= 0.0 or dt > LONGEST:
            delays.which[b, 0] = delays.which[b, 1] = 0
        elif delays.which[b, 0] == which and delays.which[b, 1] == which:
            learn_delay(b, dt, delays)
            judge_delay(b, delays)
        n_found += delays.off[b]
        copy(delays.last[b, 1], delays.last[b, 0])
        copy(delays.now[0], delays.last[b, 1])
        copy(delays.now[1], delays.last[b, 2])
        delays.which[b, 0], delays.which[b, 1] = delays.which[b, 1], which
        delays.step[b] = dt
    return n_found


@njit
def gather_middle(markers, b, rotation, health, now):
    """Write the mean position and the mean residual of the markers of body b in ground; return an integer
    that identifies the set of these markers, 0 where there are none or one is at fault.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    rotation : (n_body, 3, 3) - axes of the bodies in ground, as columns
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight, fault and
        residual are read
    now : (2, 3) - mean position and mean residual, written [m]
    """
    n, which = 0, 0
    now[:, :] = 0.0
    for m in range(markers.body.shape[0]):
        if markers.body[m] != b or not is_seen(health.labelled, m):
            continue
        r = health.residual[m]
        if health.fault[m] != 0 or health.weight[m] == 0.0 or not math.isfinite(r[0] + r[1] + r[2]):
            return 0
        n += 1
        which += (m + 1) * (m + 1)
        for i in range(3):
            now[0, i] += health.labelled[m, i]
            for k in range(3):
                now[1, i] += rotation[b, i, k] * r[k]
    for i in range(3):
        now[0, i] /= max(n, 1)
        now[1, i] /= max(n, 1)
    return which


@njit
def learn_delay(b, dt, delays):
    """Add velocity and mean residual of body b in the previous frame to its means and second moments; the
    velocity follows from the frames before and after that frame.
    """
    velocity = delays.last[b, 0]  # is not used any more
    for i in range(3):
        velocity[i] = (delays.now[0, i] - velocity[i]) / (dt + delays.step[b])
    learn_pair(b, dt, velocity, delays.last[b, 2], delays)


@njit
def learn_pair(b, dt, motion, residual, moments):
    """Update the means and second moments from which the mean residual of body b is regressed on its motion,
    with the two vectors of one frame; earlier frames are gradually forgotten.

    b : int - body
    dt : float - weight of the frame in the means: the time between frames [s]
    motion : (3,) - velocity [m/s] of the body in ground, by which delays are found, or acceleration [m/s^2],
        by which smoothing is found
    residual : (3,) - mean residual of the body's markers in ground [m]
    moments : SegmentDelays or Smoothing - its fields time, mean and moment are updated
    """
    kept = moments.time[b] * (1.0 - min(1.0, dt / MEMORY))
    moments.time[b] = kept + dt
    share, part = dt / moments.time[b], kept / moments.time[b]
    vr, vv, rr = 0.0, 0.0, 0.0
    for i in range(3):
        v, r = motion[i] - moments.mean[b, 0, i], residual[i] - moments.mean[b, 1, i]
        moments.mean[b, 0, i] += share * v
        moments.mean[b, 1, i] += share * r
        vr += v * r
        vv += v * v
        rr += r * r
    moments.moment[b, 0] = part * (moments.moment[b, 0] + share * vr)
    moments.moment[b, 1] = part * (moments.moment[b, 1] + share * vv)
    moments.moment[b, 2] = part * (moments.moment[b, 2] + share * rr)


@njit
def judge_delay(b, delays):
    """Write the delay of body b, the evidence for it, and whether the body counts as late; while the body
    hardly moves, all three keep their values.
    """
    vr, vv, rr = delays.moment[b, 0], delays.moment[b, 1], delays.moment[b, 2]
    if delays.time[b] < KNOWN or vv < MOVING * MOVING:
        return
    delays.delay[b] = -vr / vv
    delays.evidence[b] = abs(delays.delay[b] * vr) / math.sqrt(max(vv * rr, SMALLEST))
    limit = delays.limit[b]
    delays.off[b] = int(delays.evidence[b] > (KEPT * limit if delays.off[b] == 1 else limit))
