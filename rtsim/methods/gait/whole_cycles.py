"""Gait cycles whose frames follow one another, without a gap in their times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.recording import Results
from rtsim.methods.gait.cycles import GaitCycle

FloatArray = NDArray[np.float64]
GAP_S, GAP_STEPS = 0.1, 2.0
"""Frames are missing between two whose times differ by more than this [s], and by more than so many steps. A
trial that is played again rests for longer between its end and its next start."""


def longest_step(rate: float) -> float:
    """Return the longest time between two frames among which none are missing [s]; rate : frames per second,
    0 = unknown"""
    return max(GAP_S, GAP_STEPS / rate) if rate > 0.0 else GAP_S


def gaps_in(times: FloatArray) -> NDArray[np.intp]:
    """Return the numbers of the frames after which frames are missing; times : (n,) of the frames [s]."""
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 0.0
    return np.flatnonzero((steps > GAP_S) & (steps > GAP_STEPS * usual))


def whole_cycles(results: Results, cycles: Sequence[GaitCycle]) -> tuple[list[GaitCycle], str]:
    """Leave out the cycles in which frames are missing, as between the end of a trial and its next start;
    return the others, and a sentence on those left out, "" if there are none.
    """
    times = results.times
    gaps = gaps_in(times)
    begins, ends = times[gaps], times[gaps + 1]
    whole = [c for c in cycles if not ((begins < c.end) & (ends > c.strike)).any()]
    n = len(cycles) - len(whole)
    if not n:
        return whole, ""
    return whole, (
        f"{n} of {len(cycles)} strides left out: frames are missing in them for more than {GAP_S:g} s, as "
        "between the end of a trial and its next start"
    )
