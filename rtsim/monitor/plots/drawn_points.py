"""Selection of the samples of a curve that have to be drawn so that it looks the same as with all samples.

Between samples a curve is a straight line. A sample that lies on the line between its neighbours within a
small part of a pixel does not change the picture, but takes as much time as any other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

OFF_PX = 0.15
"""Distance of a sample from the line through its neighbours within which it is left out [px]."""
N_LEVEL = 4
"""Number of passes. Each may leave out every second one of the samples that remain, so at most 15 in a row.
The error is at most four times OFF_PX, and up to half a pixel for smooth curves.
"""

N_FEW = 250
"""Curves with at most so many samples are drawn with all of them, as this takes little time."""


def drawn_points(time: Array, rows: Array, tolerance: Array, first: int = 0) -> NDArray[np.bool_]:
    """Return a mask (n_row, n) of the samples that have to be drawn so that the curves look the same as with
    all.

    time : (n,) rising times [s]
    rows : (n_row, n) values; values that are not finite and their neighbours are kept, and all samples if
        there are at most N_FEW
    tolerance : (n_row,) largest deviation of a curve that cannot be seen on the screen, in the unit of its
        values; 0 keeps all samples that are not exactly on a line
    first : number of the first sample in the stream, so that the same samples are left out while the curve
        scrolls
    """
    n = len(time)
    kept = np.ones(rows.shape, dtype=np.bool_)
    for level in range(N_LEVEL if n > N_FEW else 0):
        step = 2**level
        middle = np.arange((step - first) % (2 * step), n, 2 * step)
        middle = middle[(middle >= step) & (middle + step < n)]
        if not len(middle):
            break
        before, after = middle - step, middle + step
        part = (time[middle] - time[before]) / np.maximum(time[after] - time[before], np.finfo(float).tiny)
        with np.errstate(invalid="ignore", over="ignore"):
            line = rows[:, before] + part * (rows[:, after] - rows[:, before])
            gone = np.abs(rows[:, middle] - line) <= tolerance[:, None]
        half = step // 2
        if half:  # a line spans only what is already bare
            gone &= ~(kept[:, middle - half] | kept[:, middle + half])
        kept[:, middle] &= ~gone
    return kept
