"""Frame rate of a stream that does not state it, from the rate at which its first frames came."""

from __future__ import annotations

from streams.capture.records import believed_rate

USUAL = (
    24.0, 25.0, 30.0, 40.0, 50.0, 60.0, 64.0, 75.0, 80.0, 90.0, 100.0, 120.0, 125.0, 128.0, 144.0, 150.0,
    160.0, 180.0, 200.0, 240.0, 250.0, 256.0, 300.0, 320.0, 360.0, 400.0, 480.0, 500.0, 512.0, 600.0, 640.0,
    720.0, 750.0, 800.0, 900.0, 960.0, 1000.0,
)  # fmt: skip
"""Rates to which cameras and displays are usually set [Hz]."""
NEAR = 0.01
"""Error of a measurement over a few tenths of a second, as a part of the rate."""


def rate_of_measured(measured: float) -> float:
    """Return the rate to be stated [Hz] for a measured one: the usual rate that it equals but for errors of
    the measurement, else the measured one to three digits; 0 for an implausible one.
    """
    near = min(USUAL, key=lambda rate: abs(measured / rate - 1.0))
    return near if abs(measured / near - 1.0) <= NEAR else believed_rate(float(f"{measured:.3g}"))
