"""Agreement of two curves: RMSD, squared correlation, and Sprague and Geer's magnitude and phase.

With the mean products I_mm, I_cc, I_mc of a measured and a calculated curve over a trial,

    M = sqrt(I_cc / I_mm) - 1        P = arccos(I_mc / sqrt(I_mm I_cc)) / pi

M is 0 if both curves have the same magnitude, and negative if the calculated curve is smaller. P is 0 if one
curve is a positive multiple of the other, and 1 if it is a negative multiple. Sprague, Geer 2003, as in
Schwer 2007, Engineering with Computers 23, 295-309; Andersen et al. 2017, tables 1 and 2.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks

Array = NDArray[np.float64]

FEWEST = 8
"""Smallest number of times from which a frequency is computed."""
HUMP = 0.1
"""Smallest prominence of a maximum that counts, as a fraction of the curve's range."""


class Agreement(NamedTuple):
    """Agreement of a measured and a calculated curve: root mean square difference `rmsd` in the curves' unit,
    squared Pearson correlation `r2`, and Sprague and Geer's errors of `magnitude` (M, 0 = equal) and `phase`
    (P, 0 = equal, 1 = opposite); NaN for a measure that is not defined for the curves.
    """

    rmsd: float  # in the curves' unit
    r2: float  # squared Pearson correlation
    magnitude: float
    phase: float


def agreement(measured: Array, calculated: Array) -> Agreement:
    """Return the agreement of two curves (n,) at the same times; times at which either is NaN are left
    out."""
    both = np.isfinite(measured) & np.isfinite(calculated)
    m, c = measured[both], calculated[both]
    if not len(m):
        return Agreement(*(math.nan,) * 4)
    mm, cc, mc = float(m @ m), float(c @ c), float(m @ c)
    spread = float(m.std() * c.std())
    r = float(np.mean((m - m.mean()) * (c - c.mean()))) / spread if spread > 0.0 else math.nan
    size = math.sqrt(mm * cc)
    phase = math.acos(min(1.0, max(-1.0, mc / size))) / math.pi if size > 0.0 else math.nan
    return Agreement(
        float(np.sqrt(np.mean((m - c) ** 2))),
        r * r,
        math.sqrt(cc / mm) - 1.0 if mm > 0.0 else math.nan,
        phase,
    )


class Repeated(NamedTuple):
    """Mean and standard deviation (n - 1) of each measure of agreement between two curves over the cycles of
    a movement; for a single cycle the deviation is NaN.
    """

    mean: Agreement
    deviation: Agreement


def over_cycles(measured: Array, calculated: Array, cycles: list[slice]) -> Repeated:
    """Compute the agreement of two curves (n,) separately in each cycle of a movement; return its mean and
    standard deviation over the cycles, as in tables 1 and 2 of Andersen et al. 2017 (five cycles).

    cycles : rows of the curves that belong to each cycle
    """
    rows = np.array([agreement(measured[cycle], calculated[cycle]) for cycle in cycles])
    deviation = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.full(rows.shape[1], math.nan)
    return Repeated(Agreement(*rows.mean(axis=0)), Agreement(*deviation))


def cycles_of(times: Array, frequency_hz: float, n: int = 5, start_s: float = 0.0) -> list[slice]:
    """Return the rows of the first n whole cycles of a movement of known frequency, as slices of `times`; the
    first cycle begins at start_s [s]. Cycles after the end of `times` are left out.
    """
    period = 1.0 / frequency_hz
    first = start_s + np.arange(n + 1) * period
    at = np.searchsorted(times, first - 1e-9)
    return [slice(int(a), int(b)) for a, b in pairwise(at) if b < len(times)]


def humps(cycle: Array) -> int:
    """Count the maxima of a curve (n,) over one cycle of a periodic movement. A maximum counts if it rises
    above the minima beside it by at least a tenth (HUMP) of the curve's range.
    """
    n = len(cycle)
    at, _ = find_peaks(np.tile(cycle, 3), prominence=HUMP * float(np.ptp(cycle)))
    return int(np.sum((at >= n) & (at < 2 * n)))


def opening_over_closing(cycle: Array, forwards: Array) -> float:
    """Return the mean of a curve while the jaw opens divided by its mean while the jaw closes.

    cycle : (n,) the curve over one movement cycle, such as the force on a joint
    forwards : (n,) forward displacement of the condyle in this cycle; the jaw opens while it rises
    """
    rate = np.gradient(forwards)
    return float(cycle[rate > 0.0].mean() / cycle[rate < 0.0].mean())


def frequency_of(times: Array, curves: Array) -> float:
    """Return the frequency of a periodic movement [Hz]: that of the highest peak in the spectra of its
    curves; NaN if there is no peak.

    times : (n,) [s], even; curves : (n, ...), NaN where not known

    The peak may lie between the frequencies of the discrete Fourier transform. It is found as the vertex of
    the parabola through three of its values.
    """
    if len(times) < FEWEST:
        return math.nan
    rows = curves.reshape(len(times), -1)
    rows = rows[:, np.isfinite(rows).all(axis=0)]
    if not rows.size:
        return math.nan
    window = np.hanning(len(times))[:, None]
    power = (np.abs(np.fft.rfft((rows - rows.mean(axis=0)) * window, axis=0)) ** 2).sum(axis=1)
    k = int(np.argmax(power[1:-1])) + 1
    if not power[k] > 0.0:
        return math.nan
    before, at, after = np.log(np.maximum(power[k - 1 : k + 2], 1e-300))
    bend = before - 2.0 * at + after
    shift = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float((k + shift) * (len(times) - 1) / len(times) / (times[-1] - times[0]))
