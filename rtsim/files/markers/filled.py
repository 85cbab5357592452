"""Detection of gaps that were filled before a trial was written; coordinates in filled gaps are not
measured.

Motion capture software fills gaps by a straight line or a cubic. Measured paths never follow a polynomial of
third degree to the last digit, not even after smoothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import count_of, name_some

Array = NDArray[np.float64]

N_LEAST = 4  # differences in a row that are 0: of measured ones, not two are
MOVING = 0.05  # speed [m/s] above that of a standing person
CLEAR = 10.0  # by so much usual differences are above what rounding explains, or nothing can be known
USUAL = 75  # percentile of the differences of a marker that is usual
LAG_S = 0.02  # [s] between the samples of a difference: nearer ones of a smooth path differ by rounding
DIGIT = 2e-10  # [m] below which a step between coordinates is an error of conversion
HALF_FLOAT, EXACT = 6e-8, 1e-12  # half of the last digit of a float32, and an error of conversion, relative
LINE, CUBIC = 2, 4  # orders of the differences that vanish on a line, and on a cubic
CUBIC_S = 0.125  # 95 % of shorter cubics are within 8 mm of the path, as skin is of bone (docs/damage.md)
MOST = 1_000_000  # coordinates looked at for their last digit
EVEN = 0.01  # part of a step by which steps of time may vary


def blank_filled(
    names: Sequence[str], times: Array, positions: Array, rate: float
) -> tuple[Array, list[str]]:
    """Return the positions with filled samples set to NaN, and a note if there are any.

    times : (n,) [s]; positions : (n, n_marker, 3) [m], NaN = missing, any axes; rate : [Hz]

    A moving marker counts as filled where its path is exactly (to the digits of the file) a straight line,
    or a cubic for 0.125 s or more, if the rest of its path is not. Files with too few digits, and uneven
    times, are left unchanged.
    """
    steps = np.diff(times)
    if len(times) < N_LEAST + CUBIC or np.abs(steps * rate - 1.0).max() > EVEN:
        return positions, []
    half = _half_digit(positions)
    filled = _filled_by(positions, LINE, 0.0, rate, half) | _filled_by(positions, CUBIC, CUBIC_S, rate, half)
    if not filled.any():
        return positions, []
    result = positions.copy()
    result[filled] = np.nan
    markers = np.flatnonzero(filled.any(axis=0)).tolist()
    some = [names[k] for k in markers]
    longest = max(_longest(filled[:, k]) for k in markers)
    return result, [
        f"{count_of(int(filled.sum()), 'marker sample')} on exact straight lines or cubic curves for "
        f"up to {longest / rate:.2g} s, like filled gaps; these samples were treated as missing, "
        f"because they were not measured ({name_some(some)})"
    ]


def _half_digit(positions: Array) -> float:
    """Return half of the last digit of coordinates (n, n_marker, 3): decimal, integer or float32 [m]."""
    known = positions[np.isfinite(positions)]
    known = known[:: 1 + len(known) // MOST]
    steps = np.diff(np.unique(np.round(known, 10)))
    steps = steps[steps > DIGIT]
    half = 0.5 * float(steps.min()) if steps.size else DIGIT
    for scaled in (known, 1e3 * known):  # of a file in metres, or in millimetres
        if (np.abs(scaled - scaled.astype(np.float32)) <= EXACT * np.abs(scaled)).all():
            return max(half, HALF_FLOAT * float(np.abs(known).max(initial=0.0)))
    return half


def _filled_by(positions: Array, order: int, least_s: float, rate: float, half: float) -> NDArray[np.bool_]:
    """Return which samples lie in stretches of at least `least_s` [s] in which the finite differences of the
    given order are 0 within the rounding, (n, n_marker).

    half : half of the last digit of the coordinates [m]
    """
    lag = max(1, round(LAG_S * rate))
    n_least = max(N_LEAST, int(np.ceil(least_s * rate)) + 2 - order * lag)
    bound = 1.1 * 2.0**order * half
    n = len(positions) - order * lag
    filled = np.zeros(positions.shape[:2], np.bool_)
    if n < 1:
        return filled
    sums = np.zeros((n, *positions.shape[1:]))
    for k in range(order + 1):
        sums += (-1) ** k * comb(order, k) * positions[k * lag : k * lag + n]
    differences = np.abs(sums, out=sums).max(axis=2)  # NaN where any is missing
    before, after = (positions[k * lag : k * lag + n] for k in (order // 2 - 1, order // 2 + 1))
    speeds = np.linalg.norm(after - before, axis=2) * rate / (2 * lag)
    for k in range(positions.shape[1]):
        known = differences[np.isfinite(differences[:, k]), k]
        if known.size == 0 or np.percentile(known, USUAL) < CLEAR * bound:
            continue
        for first, stop in _runs((differences[:, k] <= bound) & (speeds[:, k] > MOVING)):
            if stop - first >= n_least:
                filled[first + 1 : stop + order * lag - 1, k] = True
    return filled


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first index and stop index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _longest(mask: NDArray[np.bool_]) -> int:
    return max((stop - first for first, stop in _runs(mask)), default=0)
