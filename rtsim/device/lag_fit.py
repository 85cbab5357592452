"""Fit of how a measured angle follows a known one: gain and delay, by least squares over about a second.

A device that measures the joint's angle r with a gain a and a delay d reports m(t) = b + a r(t - d). For a
motion of one frequency w this is b + g r - q r' with g = a cos(w d) and q = a sin(w d) / w,
for any delay; for other motions it holds to first order in w d. b, g and q minimise the sum of squares of
m - (b + g r - q r'), each sample weighted by its duration and forgotten as exp(-age / 1 s).
With the second moments C about the means, and s = r', they satisfy

    C_rr g - C_rs q = C_rm,    C_rs g - C_ss q = C_sm,

and w^2 = C_ss / C_rr, a = sqrt(g^2 + w^2 q^2), d = atan2(w q, g) / w.

For m = r the fit is exact for any motion: gain 1, delay 0. Errors e of the angle lead to the covariance
(e^2 / N) C^-1 of (g, -q), where N is the number of independent errors: errors within 0.1 s count as one. e is
the residual of the fit, limited to 0.2 to 2 degrees, because an angle with a larger error is detected by its
difference from the joint's angle (rtsim/device/sensor_check.py).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.sensors.lag_sums import MEMORY_S, N_SUM, add_sample

__all__ = ["ALIKE_S", "LEAST_DEG", "MEMORY_S", "LagFit"]
ALIKE_S = 0.1
"""Time over which errors of an angle are correlated [s]."""
LEAST_DEG, MOST_DEG = 0.2, 2.0
"""Least and largest error of an angle that are assumed for the standard deviations [deg]."""
LEAST_S = 0.4
"""Least duration of the samples for a fit [s]."""
SURE_S = 0.02
"""Standard deviation below which the delay is used to correct the offset [s]."""
PARALLEL = 1e-9
"""Ratio of the determinant to the product of the diagonal below which the motion does not determine the
fit."""


class LagFit:
    """Fit of measured angles [rad] to a reference and its speed [rad, rad/s].

    Parameters
    ----------
    sums : (N_SUM,) sums over the samples, as kernels/sensors/lag_sums adds them; None = it allocates its own

    Attributes
    ----------
    gain, delay_s : result of the newest `solve`; 1 and 0 if the motion does not determine them
    gain_error, delay_error_s : their standard deviations; infinite if the motion does not determine them
    offset : mean of measured minus reference angle, without the part that is due to the delay [rad]; NaN
        until the samples last 0.4 s
    phase : phase of the delay, atan2(w q, g) [rad]; about pi where the angle is mirrored
    """

    def __init__(self, sums: NDArray[np.float64] | None = None) -> None:
        self._sums = np.zeros(N_SUM) if sums is None else sums
        self._unknown()
        self.offset = math.nan

    def add(self, measured: float, angle: float, speed: float, passed_s: float) -> None:
        """Add a sample: measured angle [rad], reference angle [rad] and its speed [rad/s], and the duration
        for which the sample counts [s].
        """
        add_sample(self._sums, measured, angle, speed, passed_s)

    def solve(self) -> None:
        """Compute gain, delay and offset from the samples."""
        self._unknown()
        w, *sums = self._sums.tolist()
        if w < LEAST_S:
            return
        r, s, m, rr, rs, ss, rm, sm, mm = (total / w for total in sums)
        self.offset = m - r
        rr, rs, ss = rr - r * r, rs - r * s, ss - s * s
        rm, sm = rm - r * m, sm - s * m
        det = rr * ss - rs * rs
        if rr <= 0.0 or not det > PARALLEL * rr * ss:
            return
        g, q = (ss * rm - rs * sm) / det, -(rr * sm - rs * rm) / det
        left = mm - m * m - g * rm + q * sm
        left = min(max(left, math.radians(LEAST_DEG) ** 2), math.radians(MOST_DEG) ** 2) * ALIKE_S / w
        turn = math.sqrt(ss / rr)
        self.phase = math.atan2(turn * q, g)
        self.gain, self.delay_s = math.hypot(g, turn * q), self.phase / turn
        self.gain_error, self.delay_error_s = math.sqrt(left * ss / det), math.sqrt(left * rr / det)
        if self.delay_error_s < SURE_S:
            self.offset += q * s

    def _unknown(self) -> None:
        self.gain, self.delay_s, self.phase = 1.0, 0.0, 0.0
        self.gain_error = self.delay_error_s = math.inf
