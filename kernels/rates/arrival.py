"""Classification of a new frame for a filter: next frame, first frame after a start or a long gap, or a frame
to ignore.
"""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.rates.manifold import IGNORED, OK, RESTARTED, is_usable

SET_BACK = 2
"""Number of frames, each too far before the last one that was used, that show a clock set back."""


@njit
def arrival(t, q, started, before, longest_gap, n_earlier):
    """Classify a new frame for a filter; return OK, RESTARTED or IGNORED.

    RESTARTED is the first frame, the first after too long a gap, or the second that is earlier than the last
    frame that was used by more than that gap: then the clock was set back, or that frame was stamped too far
    ahead. IGNORED is a frame that is not finite, of the same time as the frame before, or earlier: a single
    one, or one so little earlier that frames come in the wrong order, or a clock was set back so little that
    its frames are later again within that gap.

    t : float - time of the frame [s]
    q : (n_q,) - coordinates of the frame [rad, m]
    started : bool - whether there was a frame before
    before : float - time of the frame before [s]
    longest_gap : float - longest interval without a restart [s]
    n_earlier : (1,) int64 - frames since the frame before that were too much earlier, updated
    """
    if not is_usable(t, q):
        return IGNORED
    if started and t <= before:
        if before - t <= longest_gap:
            return IGNORED
        n_earlier[0] += 1
        if n_earlier[0] < SET_BACK:
            return IGNORED
        started = False
    n_earlier[0] = 0
    return RESTARTED if not started or t - before > longest_gap else OK
