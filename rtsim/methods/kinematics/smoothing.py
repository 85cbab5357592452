"""Smoothing of whole recordings without delay: a Butterworth filter forwards and backwards.

Both runs together have no phase shift, and their gain is the square of the gain of one run. So that both
together have the stated cut-off frequency, that of a single run is higher by the factor (sqrt 2 - 1)^(-1/(2
order)). Source: Winter (2009), Biomechanics and Motor Control of Human Movement, section 3.4.4.2.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.rates.manifold import Manifold, reflect
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.methods.kinematics.rates import FilteredRows, RateEstimator, kernel_of, new_track

Array = NDArray[np.float64]


def smooth(spec: ButterworthSpec, manifold: Manifold, rate: float, times: Array, rows: Array) -> FilteredRows:
    """Smooth the coordinates of a recording, one row of `rows` (n, n_q) per frame, without delay. For the
    delayed filter of a live run see `rtsim.methods.kinematics.rates.track`.

    Rows that contain a number that is not finite are left out, and are NaN in the result. Each segment
    between gaps longer than longest_gap_s is smoothed separately. Before smoothing a segment is extended at
    both ends by point reflection, which preserves the rates of change there.
    """
    found = new_track(len(times), manifold)
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1) & np.isfinite(times))
    breaks = np.flatnonzero(np.diff(times[usable]) > spec.longest_gap_s) + 1
    there_and_back = msgspec.structs.replace(spec, cutoff_hz=cutoff_of_each_run(spec, rate))
    n_pad = n_beyond(spec, rate)
    for stretch in np.split(usable, breaks):
        if len(stretch) > 1:
            smoothed = smooth_stretch(there_and_back, manifold, rate, times[stretch], rows[stretch], n_pad)
            for out, own in zip(found, smoothed, strict=False):
                out[stretch] = own
            found.settled[stretch] = True
    return found


def cutoff_of_each_run(spec: ButterworthSpec, rate: float) -> float:
    """Return the cut-off [Hz] of each of the two runs that together have the stated cut-off, including
    prewarping."""
    higher = (np.sqrt(2.0) - 1.0) ** (-0.5 / spec.order)
    return float(rate / np.pi * np.arctan(higher * np.tan(np.pi * spec.cutoff_hz / rate)))


def n_beyond(spec: ButterworthSpec, rate: float) -> int:
    """Return the number of rows by which a segment is extended at each end before it is smoothed, so that the
    filter has settled where the segment begins.
    """
    return 2 * round(kernel_of(spec, rate).options.settling * rate)


def smooth_stretch(
    spec: ButterworthSpec, manifold: Manifold, rate: float, times: Array, rows: Array, n_pad: int
) -> tuple[Array, Array, Array]:
    """Return smoothed coordinates, speeds and accelerations of successive frames without gaps.

    rows : (n, n_q) coordinates at the times (n,) [s]; rate : frames per second [Hz]
    n_pad : number of rows by which they are extended at each end
    """
    n = min(n_pad, len(times) - 1)
    t, q = padded(manifold, times, np.ascontiguousarray(rows, float), n)
    estimator = RateEstimator(spec, manifold, rate)
    forth = np.array([taken(estimator, float(at), row)[0] for at, row in zip(t, q, strict=True)])
    estimator.restart()
    back = [taken(estimator, -float(at), row) for at, row in zip(t[::-1], forth[::-1], strict=True)]
    inner = back[::-1][n : n + len(times)]
    q_out, v_out, v_dot_out = (np.array(column) for column in zip(*inner, strict=True))
    return q_out, -v_out, v_dot_out  # time ran backwards


def taken(estimator: RateEstimator, t: float, q: Array) -> tuple[Array, Array, Array]:
    """Pass one frame (time t [s], coordinates q) through a filter; return filtered value, speed and
    acceleration as new arrays.
    """
    estimator.take(t, q)
    q_now, v, v_dot = estimator.rates
    return q_now.copy(), v.copy(), v_dot.copy()


def padded(manifold: Manifold, times: Array, rows: Array, n: int) -> tuple[Array, Array]:
    """Extend times and rows by n rows before and after: point reflections at the first and the last row."""
    q = np.concatenate([rows[n:0:-1], rows, rows[-2 : -n - 2 : -1]])
    t = np.concatenate([2 * times[0] - times[n:0:-1], times, 2 * times[-1] - times[-2 : -n - 2 : -1]])
    step = np.zeros(int(manifold.v_start[-1]))
    for k in range(n):
        reflect(manifold, rows[0], q[k].copy(), step, q[k])
        reflect(manifold, rows[-1], q[-1 - k].copy(), step, q[-1 - k])
    return t, q
