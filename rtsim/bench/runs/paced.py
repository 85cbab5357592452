"""Benchmark of a simulation in step with the clock: duration of its ticks, and number of missed deadlines.

It runs the code of `rtsim simulate MODEL --live`, with --urgent if requested: the model returns to its start
within the time of a tick when its own duration is over (the knee after 0.27 s, flexed beyond a right angle),
again and again. Frames go over a real socket to a recorder, a process of its own.

tick_us is the duration of a tick (integration steps, and in some ticks a published frame), step_us that of
the steps alone, wake_us the delay of the start of a tick, publish_us the time to encode and send a frame;
missed counts the ticks that were left out because their time had passed.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from rtsim.bench.figures import BenchFigure, say
from rtsim.live.latency import PERCENTILES
from rtsim.live.loop import Loop
from rtsim.live.paced import paced_loop, summary_of
from rtsim.live.processes.children import Child
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from streams.publisher import Publisher

PARTS = {
    "tick": "turn", "step": "receive_to_solve", "wake": "capture_to_receive", "publish": "publish"
}  # fmt: skip
"""Name of a benchmark result -> part of a turn of the loop whose duration it states."""
ANY_PORT = "tcp://127.0.0.1:0"
RECORDER_S = 30.0
"""Time that the recorder may take to start [s]."""


def run(
    seconds: float = 60.0,
    model: str = "knee",
    rate: float = 1000.0,
    frame_rate: float = 100.0,
    urgently: bool = False,
) -> list[BenchFigure]:
    """Return the benchmark results of a simulation in step with the clock for `seconds` [s], at `rate` ticks
    and `frame_rate` published frames per second.

    model : its file or name; urgently : whether real-time priority is asked for
    """
    spec = load_model(model)
    simulator = Simulator(build(spec), spec.simulation)
    lap_s = simulator.settings.duration_s
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        publisher = stack.enter_context(Publisher(ANY_PORT))
        loop = paced_loop(simulator, publisher, rate, frame_rate, lap_s, seconds, urgently)
        recorder = Child("recorder", ["record", publisher.address, str(folder / "paced.mcap")])
        stack.callback(recorder.close)
        if not publisher.wait_for_subscriber(RECORDER_S):
            recorder.check()
        say(f"paced: {model} at {rate:g} Hz for {seconds:g} s")
        loop.run()
    shown = [BenchFigure("frame_rate", frame_rate, "Hz"), BenchFigure("lap_s", lap_s, "s")]
    return shown + figures_of(loop, rate)


def figures_of(loop: Loop, rate: float) -> list[BenchFigure]:
    """Return the benchmark results of a simulation in step with the clock; rate : ticks per second"""
    summary = summary_of(loop)
    figures = [
        BenchFigure("rate", rate, "Hz"),
        BenchFigure("ticks", float(summary["ticks"]), "1"),
        BenchFigure("frames", float(summary["frames"]), "1"),
        BenchFigure("large_error", float(summary["large_error"]), "ticks"),
        BenchFigure(
            "urgent", float(summary["urgent"]), "1 = real-time priority, 0 = not requested or not permitted"
        ),
        BenchFigure("missed", float(summary["missed"]), "ticks"),
        BenchFigure("compiled", float(summary["compiled"]), "kernels", 0.0, "lower"),
        BenchFigure("collected", float(summary["collected"]), "1", 0.0, "lower"),
    ]
    for name, part in PARTS.items():
        histogram = loop.times.stages[part]
        for label, percent in PERCENTILES.items():
            figures.append(BenchFigure(f"{name}_us.{label}", histogram.percentile_us(percent), "us"))
        figures.append(BenchFigure(f"{name}_us.max", 1e-3 * histogram.largest_ns, "us"))
    return figures
