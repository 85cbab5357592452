"""The newest outputs that were sent to a device, in a ring buffer: output number `seq` is in row seq % n."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

SEQ, TIME, ANGLE, SPEED = 0, 1, 2, 3
"""Number, time of the model [s], angle [rad], NaN where it was not known, and speed [rad/s]."""
N_TOLD = 4


@njit
def angle_told(told, seq):
    """Return the angle that was sent in output number `seq` [rad]; NaN if it was not known, was never sent or
    is too old.

    told : (n, 4) - outputs that were sent; columns SEQ, TIME, ANGLE, SPEED
    """
    if seq < 0:
        return math.nan
    k = seq % told.shape[0]
    return told[k, ANGLE] if told[k, SEQ] == seq else math.nan


@njit
def time_between(told, one, other):
    """Return the model's time from output number `one` to output number `other` [s]; NaN if one of them is
    not stored.

    told : (n, 4) - outputs that were sent; columns SEQ, TIME, ANGLE, SPEED
    """
    if one < 0 or other < 0:
        return math.nan
    a, b = one % told.shape[0], other % told.shape[0]
    if told[a, SEQ] != one or told[b, SEQ] != other:
        return math.nan
    return told[b, TIME] - told[a, TIME]


@njit
def beyond(told, measured, first, last):
    """Return how far the angle `measured` is outside the range of the angles sent in outputs `first` to
    `last` [rad]; 0 inside.

    told : (n, 4) - outputs that were sent; columns SEQ, TIME, ANGLE, SPEED
    """
    low, high = math.inf, -math.inf
    for seq in range(first, last + 1):
        angle = angle_told(told, seq)
        if angle == angle:
            low, high = min(low, angle), max(high, angle)
    if low > high:
        return 0.0
    return measured - high if measured > high else min(0.0, measured - low)
