"""Hardware in the loop: duration of a tick in lockstep with a device that runs as another process, and
missed ticks.

Blocks with the model and blocks without take turns: in the latter the same messages are exchanged at the
same rate without any computation (`echo_`), which shows the ticks that the machine misses by itself.

tick_us is all the work of a tick, step_us the step of the forward simulation alone, compute_us from the bytes
of the device's message to those of the command, sockets left out; round_trip_us from a command to its answer.
A tick counts as missed if it was left out because the tick before, including its answer, took too long.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import Counter
from typing import NamedTuple

from msgspec import to_builtins

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.load import check_record, load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.exchange import DeviceExchange
from rtsim.live.hardware.device_loop import TICK_PARTS, DeviceClock, hil_loop
from rtsim.live.hardware.limb_parts import simulator_for
from rtsim.live.latency import PERCENTILES, LatencyHistogram
from rtsim.live.processes.awake import processor_awake
from rtsim.live.processes.children import Child
from rtsim.live.processes.gc_control import gc_paused
from rtsim.live.processes.thread_priority import may_have_priority, pinned, with_priority
from rtsim.live.ticks import Ticks
from rtsim.simulation.simulator import Simulator
from streams.clock import now_ns
from streams.exchange import DevicePort
from streams.messages import new_session_id
from streams.publisher import Publisher

ANY_PORT = "tcp://127.0.0.1:0"
BLOCK_S = 10.0
"""Longest duration of a block with or without the model [s]."""
ARM_S = 0.5
"""Time after the start of a block at which the device is armed [s]."""
PARTS = ("tick", *TICK_PARTS, "echo_round_trip")
COMPUTE_US = 200.0
ABOVE_ECHO_PERCENT = 0.1


class Grown(NamedTuple):
    """Growth of this process since the end of the first block: resident memory [kB], and number of memory
    blocks that Python has allocated.
    """

    resident_kb: int
    blocks: int


class BlockSums:
    """Sums over all blocks of a run: histograms of times, and counts."""

    def __init__(self) -> None:
        self.times = {part: LatencyHistogram() for part in PARTS}
        self.counts: Counter[str] = Counter()
        self.granted = False


def run(
    seconds: float = 60.0, config: str = "ankle", rate: float = 1000.0, urgently: bool = False
) -> list[BenchFigure]:
    """Return the benchmark results of `seconds` [s] with the model, and as many without, at `rate` ticks per
    second [Hz].

    config : hardware-in-the-loop config with the model and the device; urgently : whether both processes ask
        the system for real-time priority
    """
    n_block = max(1, round(seconds / BLOCK_S))
    spec = load_toml(find_config(config, "hil"), HilSpec)
    tables = to_builtins(spec)
    tables["exchange"] |= {"mode": "lockstep", "rate_hz": rate, "paced": True}
    spec = check_record(tables | {"duration_s": seconds / n_block}, HilSpec, config)
    tally = BlockSums()
    with contextlib.ExitStack() as stack:
        publisher = stack.enter_context(Publisher(ANY_PORT))
        port = stack.enter_context(DevicePort(ANY_PORT, urgent=may_have_priority()))
        first = ["--urgent"] if urgently else []
        child = Child("device", ["device", spec.device, "--model", port.address, *first])
        stack.callback(child.close)
        child.wait_ready(60.0)
        simulator = simulator_for(spec)
        say(
            f"hil: {config} at {rate:g} Hz, {n_block} blocks of {spec.duration_s:g} s, each with the model "
            "and without"
        )
        before_kb = before_blocks = 0
        for k in range(n_block):
            with_model(spec, simulator, port, publisher, urgently, tally)
            without_model(spec, port, urgently, tally)
            if k == 0:
                before_kb, before_blocks = resident_kb(), kept_blocks()
        grown = Grown(resident_kb() - before_kb, kept_blocks() - before_blocks)
    return figures_of(tally, rate, grown)


def with_model(
    spec: HilSpec,
    simulator: Simulator,
    port: DevicePort,
    publisher: Publisher,
    urgently: bool,
    tally: BlockSums,
) -> None:
    """Run one block of ticks in lockstep with the device, in which the model is computed; add times and
    counts to `tally`.

    port : connection to the device; publisher : sends the results; urgently : whether real-time priority is
        asked for
    """
    simulator.reset()
    loop = hil_loop(spec, simulator, port, publisher, ARM_S, urgently, first=True)
    loop.run()
    clock = loop.source
    assert isinstance(clock, DeviceClock)
    x, counted = clock.exchange, clock.counters()
    tally.counts += Counter(
        ticks=counted["ticks"], missed=counted["missed"], unanswered=x.counters["unanswered"],
        faults=x.arming.n_fault, compiled=loop.counters["compiled"], collected=loop.counters["collected"],
    )  # fmt: skip
    tally.granted = loop.urgently and loop.granted
    for part, histogram in (*clock.times.items(), ("tick", loop.times.stages["turn"])):
        tally.times[part].merge(histogram)


def without_model(spec: HilSpec, port: DevicePort, urgently: bool, tally: BlockSums) -> None:
    """Run one block of ticks in which the same messages go back and forth, with the device disarmed, and
    nothing is computed; add times and counts to `tally`.

    port : connection to the device; urgently : whether real-time priority is asked for
    """
    x = DeviceExchange(spec, port, new_session_id())
    patience_ns, n_tick = (
        round(1e6 * spec.exchange.deadline_ms),
        round(spec.duration_s * spec.exchange.rate_hz),
    )
    with gc_paused(), processor_awake(urgently) as awake, with_priority(), pinned(awake):
        ticks = Ticks(spec.exchange.rate_hz)
        for n in range(n_tick):
            if n > 0:
                x.await_answer(x.sent_ns + patience_ns)
                if x.answered:
                    tally.times["echo_round_trip"].add(x.round_trip_ns)
                x.passed.clear()
            ticks.wait()
            port.send(x.output(1e-9 * now_ns(), 0.0, 0.0))
    tally.counts += Counter(echo_ticks=n_tick, echo_missed=ticks.n_missed)


def figures_of(tally: BlockSums, rate: float, grown: Grown) -> list[BenchFigure]:
    """Return the histograms of times and the counts of all blocks as benchmark results; rate : ticks per
    second; grown : growth of this process
    """
    counts = tally.counts
    missed = 100.0 * counts["missed"] / (counts["ticks"] + counts["missed"])
    echo_missed = 100.0 * counts["echo_missed"] / (counts["echo_ticks"] + counts["echo_missed"])
    figures = [
        BenchFigure("rate", rate, "Hz"),
        BenchFigure("ticks", float(counts["ticks"]), "1"),
        BenchFigure("missed_percent", missed, "%"),
        BenchFigure("echo_missed_percent", echo_missed, "%"),
        BenchFigure("missed_above_echo_percent", missed - echo_missed, "%", ABOVE_ECHO_PERCENT, "lower"),
        BenchFigure("unanswered", float(counts["unanswered"]), "ticks"),
        BenchFigure("faults", float(counts["faults"]), "1"),
        BenchFigure("in_time_percent", 100.0 * (1.0 - counts["unanswered"] / counts["ticks"]), "%"),
        BenchFigure(
            "urgent", float(tally.granted), "1 = real-time priority, 0 = not requested or not permitted"
        ),
        BenchFigure("compiled", float(counts["compiled"]), "kernels", 0.0, "lower"),
        BenchFigure("collected", float(counts["collected"]), "1", 0.0, "lower"),
        BenchFigure("resident_grown_kB", float(grown.resident_kb), "kB"),
        BenchFigure("blocks_grown", float(grown.blocks), "1"),
    ]
    for part, histogram in tally.times.items():
        for label, percent in PERCENTILES.items():
            bound = (COMPUTE_US, "lower") if (part, label) == ("compute", "p99_9") else ()
            figures.append(BenchFigure(f"{part}_us.{label}", histogram.percentile_us(percent), "us", *bound))
        figures.append(BenchFigure(f"{part}_us.max", 1e-3 * histogram.largest_ns, "us"))
    return figures


def kept_blocks() -> int:
    """Return the number of memory blocks that Python has allocated, after a garbage collection."""
    gc.collect()
    return sys.getallocatedblocks()


def resident_kb() -> int:
    """Return the resident memory of this process [kB]; 0 where the system does not report it."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), 0)
