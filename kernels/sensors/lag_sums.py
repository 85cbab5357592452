"""Running sums of samples, from which rtsim/device/lag_fit.py computes the gain and delay of a sensor."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

TIME, R, S, M, RR, RS, SS, RM, SM, MM = range(10)
"""Time that counts [s], and over it the sums of the reference, its speed, what is measured, and products."""
N_SUM = 10
MEMORY_S = 1.0
"""Samples are forgotten over this time [s]."""


@njit
def add_sample(sums, measured, angle, speed, passed_s):
    """Add a sample to the running sums, in which earlier samples decay with the time constant MEMORY_S.

    sums : (N_SUM,) or more - running sums, updated
    measured, angle, speed : float, float, float - measured angle, reference angle and speed of the reference
        [rad, rad, rad/s]
    passed_s : float - duration of the sample [s]
    """
    k, u = math.exp(-passed_s / MEMORY_S), passed_s
    x, y, z = u * angle, u * speed, u * measured
    sums[TIME] = k * sums[TIME] + u
    sums[R] = k * sums[R] + x
    sums[S] = k * sums[S] + y
    sums[M] = k * sums[M] + z
    sums[RR] = k * sums[RR] + x * angle
    sums[RS] = k * sums[RS] + x * speed
    sums[SS] = k * sums[SS] + y * speed
    sums[RM] = k * sums[RM] + x * measured
    sums[SM] = k * sums[SM] + y * measured
    sums[MM] = k * sums[MM] + z * measured
