"""Detection of segments of which all markers were displaced together: they carry the centre of a joint to
another place than the adjacent segment does.

The two segments of a joint, each placed by its own markers, carry its centre. Soft tissue and the model's
hinge separate these two places only for a part of a stride. A marker plate that was attached elsewhere, or a
cuff that slides, separates them permanently by its displacement, although its markers agree with each other.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.added import length
from kernels.faults.calibrated import BY_MARKERS

KNOWN = 0.5
"""Part of its memory after which a mean counts."""
KEPT = 0.75
"""Part of the limit down to which a centre stays at two places."""
MEMORY_BACK, BACK = 0.1, 0.5
"""Time constant of a mean [s], and part of the limit, down to which that ends it at once: what leapt back."""
USUAL_STEP = 0.01
"""Time between two frames that is assumed where the stream does not state it [s]."""


class JointGaps(NamedTuple):
    """Means over the frames of how far the two places of joint centres are apart."""

    limit: np.ndarray  # (n_joint,) - distance from which they are apart [m]; inf = not judged
    memory: np.ndarray  # (n_joint,) - time constant of the mean [s]
    time: Annotated[np.ndarray, Floats("n_joint")]  # that the mean stands for [s]
    # (n_joint, 3) - mean of the place by the upper body less that by the lower, in the latter's axes [m]
    mean: Annotated[np.ndarray, Floats("n_joint", 3)]
    recent: Annotated[np.ndarray, Floats("n_joint", 3)]  # the same with a memory of MEMORY_BACK [m]
    size: Annotated[np.ndarray, Floats("n_joint")]  # length of it [m]
    off: Annotated[np.ndarray, Integers("n_joint")]  # 1 = they are apart


def new_gaps(limit, memory):
    """Allocate the JointGaps of n_joint joints; limit, memory : (n_joint,)"""
    return allocate(JointGaps, limit=limit, memory=memory, n_joint=len(limit))


@njit
def find_apart(shape, off, dt, gaps):
    """Take in a frame; return how many joints have their centre at two places.

    shape : CalibratedShape - of the same frame: body, centre, carries, turned, middle
    off : (n_body,) int64 - above 0 = the segment is known to be wrong in this frame, which is then not added
        to the means
    dt : float - since the frame before [s], 0 = unknown
    gaps : JointGaps - means of how far the two places of a joint centre are apart; its fields time, mean,
        recent, size and off are written
    """
    n_found, step = 0, dt if dt > 0.0 else USUAL_STEP
    for j in range(gaps.limit.shape[0]):
        a, b = shape.body[j, 0], shape.body[j, 1]
        limit = gaps.limit[j]
        both = shape.carries[a] == BY_MARKERS and shape.carries[b] == BY_MARKERS
        if math.isfinite(limit) and both and off[a] == 0 and off[b] == 0:
            take_gap(j, step, shape, gaps)
            if gaps.time[j] >= KNOWN * gaps.memory[j]:
                gaps.off[j] = int(gaps.size[j] > (KEPT * limit if gaps.off[j] == 1 else limit))
            if gaps.off[j] == 1 and length(gaps.recent[j]) < BACK * limit:
                copy(gaps.recent[j], gaps.mean[j])
                gaps.off[j] = 0
        n_found += gaps.off[j]
    return n_found


@njit
def take_gap(j, dt, shape, gaps):
    """Add a frame to the mean of joint j; dt : float - time that the frame stands for [s]."""
    a, b = shape.body[j, 0], shape.body[j, 1]
    gaps.time[j] = gaps.time[j] * (1.0 - min(1.0, dt / gaps.memory[j])) + dt
    share, new = dt / gaps.time[j], dt / min(gaps.time[j], max(dt, MEMORY_BACK))
    for i in range(3):
        gap = -(shape.centre[j, 1, i] - shape.middle[b, 0, i])
        for k in range(3):
            upper = shape.middle[a, 1, k] - shape.middle[b, 1, k]
            for m in range(3):
                upper += shape.turned[a, k, m] * (shape.centre[j, 0, m] - shape.middle[a, 0, m])
            gap += shape.turned[b, k, i] * upper
        gaps.mean[j, i] += share * (gap - gaps.mean[j, i])
        gaps.recent[j, i] += new * (gap - gaps.recent[j, i])
    gaps.size[j] = length(gaps.mean[j])
