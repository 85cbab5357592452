"""A simulation in real time: the loop over its ticks, and its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rtsim.live.compiled.warm_up import warm_up
from rtsim.live.inputs.inputs import ClockInput
from rtsim.live.inputs.motion_stream import MotionClock, MotionStream
from rtsim.live.latency import PERCENTILES
from rtsim.live.loop import Loop
from rtsim.simulation.motion_feed import MotionFeed
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.forward import ForwardStep
from streams.access.security import Security
from streams.publisher import Publisher


def paced_loop(
    simulator: Simulator,
    publisher: Publisher,
    rate: float = 1000.0,
    frame_rate: float = 100.0,
    lap_s: float = 0.0,
    duration_s: float = 0.0,
    urgently: bool = False,
    motion: tuple[str, Sequence[str]] | None = None,
    security: Security | None = None,
) -> Loop:
    """Build the loop of a simulation, with its kernels compiled and its session announced.

    Parameters
    ----------
    rate, frame_rate : ticks, and published frames, per second [Hz]
    lap_s : simulated time after which the model returns to its start [s]; 0 = never
    duration_s : length of the run on the clock [s]; 0 = until it is stopped
    urgently : run at real-time priority, where the system permits it
    motion : address of a result stream, and the coordinates that it moves
    security : keys of its client
    """
    feed: MotionFeed | None = None
    if motion is None:
        clock = ClockInput(rate, frame_rate, duration_s)
    else:
        address, names = motion
        feed = MotionFeed(simulator, names)
        clock = MotionClock(MotionStream(address, feed, security), rate, frame_rate, duration_s)
    stage = ForwardStep(simulator, rate, clock.every, lap_s, feed)
    warm_up([stage], clock.session)
    loop = Loop(clock, [stage], publisher, urgently=urgently)
    loop.begin(clock.session)
    return loop


def summary_of(loop: Loop) -> dict[str, Any]:
    """Return the summary of a simulation run: its values by name."""
    (stage,) = loop.stages
    assert isinstance(stage, ForwardStep)
    assert isinstance(loop.source, ClockInput)
    counted, clock, spent = loop.counters, loop.source.counters(), loop.times.stages["turn"]
    of_stage = Counter(stage.counters)
    tick = {label: round(spent.percentile_us(p), 1) for label, p in PERCENTILES.items()}
    return {
        "ticks": clock["ticks"],
        "missed": clock["missed"],
        "frames": counted["published"],
        "late": counted["late"],
        "large_error": of_stage["large_error"],
        "restarts": of_stage["restarts"],
        "compiled": counted["compiled"],
        "collected": counted["collected"],
        "simulated_s": clock["ticks"] / loop.source.rate,
        "urgent": loop.granted,
        "reason": loop.reason,
        "motion": dict(stage.feed.counters) if stage.feed is not None else {},
        "tick_us": {**tick, "max": round(1e-3 * spent.largest_ns, 1)} if spent.n else {},
    }
