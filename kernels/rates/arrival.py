"""What a new frame is to a filter: the next one, the first one of a start, or none."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.rates.manifold import IGNORED, OK, RESTARTED, is_usable


@njit
def arrival(t, q, started, before, longest_gap):
    """OK, RESTARTED (the first frame, or one after too long a gap) or IGNORED (not finite, or not later).

    t : float - time of the frame [s]
    q : (n_q,) - the frame
    started : bool - there was one before
    before : float - its time [s]
    longest_gap : float - steps longer than this start anew [s]
    """
    if not is_usable(t, q) or (started and not t - before > 0.0):
        return IGNORED
    return RESTARTED if not started or t - before > longest_gap else OK
