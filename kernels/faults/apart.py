"""Detection of segments of which all markers were displaced together: the centre of a joint, computed from
their markers, is then at another place than that computed from the markers of the adjacent segment.

The joint's centre is computed twice, from the pose of each of its two segments by its own markers. Soft
tissue and the model's hinge separate these two places only for a part of a stride. A marker plate that was
attached elsewhere, or a cuff that slides, separates them permanently by its displacement, although its
markers agree with each other.
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
"""Part of its time constant after which a mean is used."""
KEPT = 0.75
"""Part of the limit below which the distance must fall until the two positions no longer count as apart."""
MEMORY_BACK, BACK = 0.1, 0.5
"""Time constant of a faster mean [s], and the part of the limit below which it ends the finding at once, as
after a marker plate was put back."""
USUAL_STEP = 0.01
"""Time between two frames that is assumed where the stream does not state it [s]."""


class JointGaps(NamedTuple):
    """Means over the frames of the distances between the two positions of each joint's centre, one from each
    segment.
    """

    limit: np.ndarray  # (n_joint,) - distance from which they are apart [m]; inf = not judged
    memory: np.ndarray  # (n_joint,) - time constant of the mean [s]
    time: Annotated[np.ndarray, Floats("n_joint")]  # duration of the frames in the mean [s]
    # (n_joint, 3) - mean of the place by the upper body less that by the lower, in the latter's axes [m]
    mean: Annotated[np.ndarray, Floats("n_joint", 3)]
    recent: Annotated[np.ndarray, Floats("n_joint", 3)]  # the same with a memory of MEMORY_BACK [m]
    size: Annotated[np.ndarray, Floats("n_joint")]  # length of the mean [m]
    off: Annotated[np.ndarray, Integers("n_joint")]  # 1 = they are apart


def new_gaps(limit, memory):
    """Allocate the JointGaps of n_joint joints.

    limit : (n_joint,) - distance above which the two positions of a joint's centre are apart [m]
    memory : (n_joint,) - time constants of the means [s]
    """
    return allocate(JointGaps, limit=limit, memory=memory, n_joint=len(limit))


@njit
def find_apart(shape, off, dt, gaps):
    """Update the means with a frame; return the number of joints whose centre, computed from each of the two
    segments, is at two different places.

    shape : CalibratedShape - poses of the segments in this frame; its fields body, centre, carries, turned
        and middle are read
    off : (n_body,) int64 - above 0 = the segment is known to be wrong in this frame, which is then not added
        to the means
    dt : float - time since the frame before [s], 0 = unknown
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
    """Add the vector between the two positions of the centre of joint j in this frame to its means.

    j : int - index of the joint
    dt : float - time since the last frame, which is the weight of this frame [s]
    shape : CalibratedShape - poses of the segments in this frame
    gaps : JointGaps - means of all joints, updated
    """
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
