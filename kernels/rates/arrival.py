"""Classification of a new frame for a filter: next frame, first frame after a start or a long gap, or a frame
to ignore.
"""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.rates.manifold import IGNORED, OK, RESTARTED, is_usable


@njit
def arrival(t, q, started, before, longest_gap):
    """Classify a new frame for a filter; return OK, RESTARTED or IGNORED.

    RESTARTED is the first frame, or the first after too long a gap; IGNORED is a frame that is not finite,
    or not later than the frame before.

    t : float - time of the frame [s]
    q : (n_q,) - coordinates of the frame [rad, m]
    started : bool - whether there was a frame before
    before : float - time of the frame before [s]
    longest_gap : float - longest interval without a restart [s]
    """
    if not is_usable(t, q) or (started and not t - before > 0.0):
        return IGNORED
    return RESTARTED if not started or t - before > longest_gap else OK
