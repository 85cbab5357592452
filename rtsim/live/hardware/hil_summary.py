"""The values in the summary of a run with a limb and a device: counts, times, energies."""

from __future__ import annotations

from typing import Any

from rtsim.device.exchange import DeviceExchange
from rtsim.live.hardware.device_loop import DeviceClock
from rtsim.live.loop import Loop
from rtsim.stages.device.energy import EnergyAccount
from rtsim.stages.device.exchange import TorqueCommand


def fault_time(loop: Loop) -> float:
    """Return the model time of the newest fault that ended the torque [s]; -1 if there was none."""
    return next(stage.fault_s for stage in loop.stages if isinstance(stage, TorqueCommand))


def of_exchange(loop: Loop, x: DeviceExchange) -> dict[str, Any]:
    """Return the values that the summary of every run with a device contains, by name."""
    return {
        "frames": loop.counters["published"],
        "unanswered": x.counters["unanswered"],
        "in_time_percent": x.in_time_percent,
        "faults": x.arming.n_fault,
        "arming": x.arming.state,
        "last_transition": x.arming.reason,
        "fault_s": fault_time(loop),
        "compiled": loop.counters["compiled"],
        "reason": loop.reason,
        "device": dict(x.port.counters),
    }


def summary_of(loop: Loop) -> dict[str, Any]:
    """Return the summary of a run with a simulated limb: its values by name."""
    clock = loop.source
    assert isinstance(clock, DeviceClock)
    x, counted = clock.exchange, clock.counters()
    energy = next(stage for stage in loop.stages if isinstance(stage, EnergyAccount))
    return {
        "ticks": counted["ticks"],
        "missed": counted["missed"],
        **of_exchange(loop, x),
        "energy_largest_J": x.energy.largest,
        **{name: round(value, 9) for name, value in energy.gauges().items()},
        "large_error": loop.stages[1].counters["large_error"],
        "collected": loop.counters["collected"],
        "urgent": loop.urgently and loop.granted,
        **{
            name: round(value, 1)
            for part, histogram in clock.times.items()
            for name, value in histogram.gauges(part).items()
        },
        **{
            name: round(value, 1)
            for part in ("turn", "capture_to_receive")
            for name, value in loop.times.stages[part].gauges(part).items()
        },
    }
