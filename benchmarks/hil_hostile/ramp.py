"""A check of the torque after arming against the ramp and the rate that a run states, by this computer's
clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from benchmarks.hil_hostile.case import Sample
from rtsim.config.runs.hil_schema import HilSpec

Measured = tuple[int, float, float]
"""Time [ns], angle [rad] and speed [rad/s] that a device measured."""
KNOWN_NS = 100_000_000
"""An angle that the law uses is at most this old, or the run ends torque [ns]."""
LEAST = 5
"""Fewer outputs under torque are no ramp."""


def ramps(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    """Yield the outputs of each period under torque, from arming to its end."""
    on: list[Sample] = []
    for sample in samples:
        if sample.on:
            on.append(sample)
        elif on:
            yield on
            on = []
    if on:
        yield on


def whole_torque(spec: HilSpec, history: Sequence[Measured], t_ns: int) -> float:
    """Return the largest torque that a spring's law gives without a ramp at the angles measured just before
    a time [N m]; the torque limit if no angle is known.
    """
    values, most = spec.controller.values, spec.limits.torque_max_Nm
    neutral = math.radians(values["neutral_deg"])
    stretch = [abs(angle - neutral) for t, angle, _ in history if t_ns - KNOWN_NS <= t <= t_ns]
    return min(most, values["stiffness_N_m_rad"] * max(stretch)) if stretch else most


def too_steep(spec: HilSpec, samples: Sequence[Sample], history: Sequence[Measured]) -> tuple[str, ...]:
    """Return a description of the first torque that rose faster than the ramp, or the rate, allows.

    A ramp that something ends early has no whole torque to compare with: the law gives it, and not the
    largest torque that was reached.
    """
    limits = spec.limits
    slack_s = 4.0 / spec.exchange.rate_hz  # two periods beyond, and the tick before
    for on in ramps(samples):
        for sample in on if len(on) >= LEAST else ():
            after_s = 1e-9 * (sample.t_ns - on[0].t_ns)
            passed_s, torque = after_s + slack_s, abs(sample.torque)
            if torque > limits.rate_max_Nm_s * passed_s + 1e-6:
                return (
                    f"{sample.torque:.3g} N m after {1e3 * after_s:.0f} ms, which is faster than the "
                    "allowed rate",
                )
            whole = whole_torque(spec, history, sample.t_ns) if passed_s < limits.ramp_s else 0.0
            if torque > whole * passed_s / limits.ramp_s + 1e-6 and passed_s < limits.ramp_s:
                return (
                    f"{torque / whole:.0%} of the torque after {1e3 * after_s:.0f} ms of a ramp of "
                    f"{1e3 * limits.ramp_s:.0f} ms",
                )
    return ()
