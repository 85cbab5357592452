"""Gaps that were filled before a trial was written: coordinates there are no measurements.

Programs of capture systems join the ends of a gap by a straight line or a cubic. Measured paths follow no
polynomial of third degree to the last digit, not even where they were smoothed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import count_of, name_some

Array = NDArray[np.float64]

N_LEAST = 4  # differences in a row that are 0: of measured ones, not two are
MOVING = 0.05  # speed [m/s] above that of a standing person
CLEAR = 10.0  # by so much usual differences are above what rounding explains, or nothing can be known
USUAL = 75  # percentile of the differences of a marker that is usual
DIGIT = 2e-9  # [m] below which a step between coordinates is an error of conversion
HALF_FLOAT = 6e-8  # half of the last digit of a float32, relative
LINE, CUBIC = 2, 4  # orders of the differences that vanish on a line, and on a cubic
CUBIC_S = (
    0.125  # [s] 95 % of shorter cubics are within 8 mm of measured paths, as skin is of bone (docs/damage.md)
)
EVEN = 0.01  # part of a step by which steps of time may vary


def blank_filled(
    names: Sequence[str], times: Array, positions: Array, rate: float
) -> tuple[Array, list[str]]:
    """Positions with filled samples NaN, and a sentence where there are any.

    times : (n,) [s]; positions : (n, n_marker, 3) [m], NaN = missing, any axes; rate : [Hz]

    A marker that moves was not seen where it is on a straight line, or on a cubic of 0.125 s or more, exactly
    but for the digits of the file, while elsewhere it is not. Files that are too coarse, and times that are
    not even, are left as they are.
    """
    steps = np.diff(times)
    if len(times) < N_LEAST + CUBIC or np.abs(steps * rate - 1.0).max() > EVEN:
        return positions, []
    half = _half_digit(positions)
    filled = _filled_by(positions, LINE, N_LEAST, rate, half)
    n_cubic = max(N_LEAST, int(np.ceil(CUBIC_S * rate)) - 2)  # the differences of the outer two are not 0
    filled |= _filled_by(positions, CUBIC, n_cubic, rate, half)
    if not filled.any():
        return positions, []
    result = positions.copy()
    result[filled] = np.nan
    some = [names[k] for k in np.flatnonzero(filled.any(axis=0))]
    longest = max(_longest(filled[:, k]) for k in np.flatnonzero(filled.any(axis=0)))
    return result, [
        f"{count_of(int(filled.sum()), 'marker sample')} on exact lines or cubics, as gaps are filled, for "
        f"up to {longest / rate:.2g} s: not measured, taken as missing ({name_some(some)})"
    ]


def _half_digit(positions: Array) -> float:
    """Half of the last digit [m] of coordinates (n, n_marker, 3), decimal, of integers or of float32."""
    known = positions[np.isfinite(positions)]
    if known.size == 0:
        return 0.0
    steps = np.diff(np.unique(np.round(known, 9)))
    steps = steps[steps > DIGIT]
    return max(0.5 * float(steps.min()) if steps.size else 0.0, HALF_FLOAT * float(np.abs(known).max()))


def _filled_by(positions: Array, order: int, n_least: int, rate: float, half: float) -> NDArray[np.bool_]:
    """(n, n_marker) - samples between the ends of a run in which `n_least` differences or more are 0."""
    side = order // 2
    bound = 1.1 * 2.0**order * half
    differences = np.abs(np.diff(positions, n=order, axis=0)).max(axis=2)  # NaN where any is missing
    moving = np.linalg.norm(positions[side + 1 : -side + 1 or None] - positions[side - 1 : -side - 1], axis=2)
    moving *= 0.5 * rate
    filled = np.zeros(positions.shape[:2], np.bool_)
    for k in range(positions.shape[1]):
        column = differences[:, k]
        known = column[np.isfinite(column)]
        if known.size == 0 or np.percentile(known, USUAL) < CLEAR * bound:
            continue
        on = (column <= bound) & (moving[:, k] > MOVING)
        for first, stop in _runs(on):
            if stop - first >= n_least:
                filled[first + 1 : stop + 2 * side - 1, k] = True
    return filled


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and stop of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _longest(mask: NDArray[np.bool_]) -> int:
    return max((stop - first for first, stop in _runs(mask)), default=0)
