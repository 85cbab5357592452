"""Frame rate of a stream that does not state it, from the rate at which its first frames came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streams.capture.records import believed_rate

USUAL = (
    24.0, 25.0, 30.0, 40.0, 50.0, 60.0, 64.0, 75.0, 80.0, 90.0, 100.0, 120.0, 125.0, 128.0, 144.0, 150.0,
    160.0, 180.0, 200.0, 240.0, 250.0, 256.0, 300.0, 320.0, 360.0, 400.0, 480.0, 500.0, 512.0, 600.0, 640.0,
    720.0, 750.0, 800.0, 900.0, 960.0, 1000.0,
)  # fmt: skip
"""Rates to which cameras and displays are usually set [Hz]."""
NEAR = 0.01
"""Error of a measurement over a second, with stamps that are late by milliseconds, as a part of the rate."""
LEAST_FOR_RATE = 10
"""Number of stamps from which a rate is measured."""


def measured_rate(stamps_ns: Sequence[int]) -> float:
    """Return the rate of samples by their stamps [Hz]; 0 = there are too few, or they do not increase.

    stamps_ns : stamps of successive samples [ns]

    It is the slope of a line through all stamps: the first and the last alone may be late by as much as any.
    """
    n = len(stamps_ns)
    if n < LEAST_FOR_RATE:
        return 0.0
    order = np.arange(n) - 0.5 * (n - 1)
    since_first_s = 1e-9 * np.array([stamp - stamps_ns[0] for stamp in stamps_ns], float)
    period_s = float(order @ since_first_s) / float(order @ order)
    return 1.0 / period_s if period_s > 0.0 else 0.0


def rate_of_measured(measured: float) -> float:
    """Return the rate to be stated [Hz] for a measured one: the usual rate that it equals but for errors of
    the measurement, else the measured one to three digits; 0 for an implausible one.
    """
    near = min(USUAL, key=lambda rate: abs(measured / rate - 1.0))
    return near if abs(measured / near - 1.0) <= NEAR else believed_rate(float(f"{measured:.3g}"))
