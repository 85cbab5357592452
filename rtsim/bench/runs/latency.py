"""Benchmark of the latency of the whole chain: player, estimator and subscriber as three processes on real
sockets.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import WALKER, load_trial
from rtsim.live.processes.children import Child
from streams.addresses import is_stream
from streams.messages import Status
from streams.receiving.subscriber import Subscriber

READY_S = 600.0
ANY_PORT = "tcp://127.0.0.1:0"
P50_US, CPU_PERCENT = 500.0, 15.0
CHAIN_P50_US, CHAIN_CPU_PERCENT = 1000.0, 25.0
"""The same limits with force plates, speeds and accelerations, inverse dynamics and moment arms, at 100 and
200 Hz."""
RECRUITED_P99_US = 5000.0
"""Limit with recruitment of a model's muscles at 100 Hz [us]."""
LOOP = "--loop"
PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p99_9", 99.9), ("max", 100.0))


class LatencyChain(NamedTuple):
    """The two processes of a measurement of latency, a player of recorded markers and an estimator that
    solves them live, and the limits of the results.

    player : command line of the player; estimator : function that gives the estimator's command line from the
        address of the player's markers
    forces : whether force plates are played, too
    limits : allowed latency at percentiles [us], by the percentiles' labels
    cpu_percent : allowed load of a core [%]; None = no limit
    """

    player: list[str]
    estimator: Callable[[str], list[str]]
    forces: bool
    limits: dict[str, float]
    cpu_percent: float | None


def run(
    rate: float = 100.0, seconds: float = 30.0, method: str = "minimised", forces: bool = False,
    recorded: RunConfig | None = None, config: str = "",
) -> list[BenchFigure]:  # fmt: skip
    """Return the benchmark results of the shipped walking trial at `rate` [Hz] for `seconds` [s].

    method : method of the estimator (knee model); forces : whether the trial's force plate is played, so that
        joint moments are computed
    recorded : a run whose recording is played in a loop instead, at this rate; config : path of the run's
        file
    """
    chain = of_run(recorded, config, rate, seconds) if recorded else of_walker(rate, seconds, method, forces)
    say(f"latency: {rate:g} Hz for {seconds:g} s")
    stamps, late, counters, gauges, n_sent = measure(chain)
    lost = n_sent - len(stamps) if n_sent else counters.get("lost", 0)
    t_capture, t_received, t_published, t_arrived = (stamps[:, k] for k in range(4))
    figures = [
        BenchFigure("rate", rate, "Hz"),
        BenchFigure("frames_sent", float(n_sent or len(stamps) + lost), "1"),
    ]
    inside = 1e-3 * (t_published - t_received)
    whole = 1e-3 * (t_arrived - t_capture)
    for label, percent in PERCENTILES:
        limit = chain.limits.get(label)
        value = float(np.percentile(inside, percent))
        figures.append(
            BenchFigure(f"receive_to_publish_us.{label}", value, "us", limit, "lower" if limit else "")
        )
    for label, percent in PERCENTILES:
        figures.append(BenchFigure(f"end_to_end_us.{label}", float(np.percentile(whole, percent)), "us"))
    return [
        *figures,
        BenchFigure("lost", float(lost), "frames", 0.0, "lower"),
        BenchFigure("skipped", float(counters.get("skipped", 0)), "frames"),
        BenchFigure("late", float(late), "frames"),
        BenchFigure(
            "cpu_percent",
            gauges["cpu_percent"],
            "% of a core",
            *((chain.cpu_percent, "lower") if chain.cpu_percent else ()),
        ),
        *(
            [BenchFigure("forces_late", float(counters.get("forces_late", 0)), "frames")]
            if chain.forces
            else []
        ),
    ]


def measure(
    chain: LatencyChain, beside: Callable[[str], list[Child]] = lambda results: []
) -> tuple[np.ndarray, int, dict, dict, int]:
    """Run player and estimator, and receive the results. Return the stamps of each frame's capture, receipt,
    publication and arrival, (n, 4) [ns]; the number of late frames; counters and gauges of the estimator's
    loop; and the number of frames sent, 0 where the player repeats endlessly.

    beside : function that starts further processes that subscribe to the results at an address; they end with
        the run
    """
    rows: list[tuple[int, int, int, int]] = []
    late = 0
    with contextlib.ExitStack() as stack:
        player = Child("player", chain.player)
        stack.callback(player.close)
        markers = player.wait_ready(READY_S)
        estimator = Child("estimator", chain.estimator(markers["markers"]))
        stack.callback(estimator.close)
        ready = estimator.wait_ready(READY_S)
        for child in beside(ready["results"]):
            stack.callback(child.close)
        with Subscriber(ready["results"], ("result", "telemetry"), backlog=512) as results:
            while not results.ended:
                frame = results.wait(0.2)
                if frame is not None and not frame.status & Status.STALE:
                    rows.append((frame.t_capture, frame.t_received, frame.t_published, frame.t_arrived))
                    late += bool(frame.status & Status.LATE)
                elif frame is None and not estimator.running:
                    break
            account = results.telemetry[-1]
        estimator.wait(5.0)
        estimator.check()
    return (
        np.array(rows, np.int64),
        late,
        account.counters,
        account.gauges,
        0 if LOOP in chain.player else int(markers["n_frame"]),
    )


def of_walker(rate: float, seconds: float, method: str, forces: bool) -> LatencyChain:
    """Return the command lines for the shipped walking trial at `rate` [Hz] for `seconds` [s], with or
    without its force plate; method : method of the estimator (knee model)
    """
    how = ["--rate", str(rate), "--duration", str(seconds), "--wait", str(READY_S)]
    how += ["--forces", "walker"] if forces else []

    def estimator(markers: str) -> list[str]:
        beside = ["--forces", markers, "--mass", "72"] if forces else []
        return ["estimate", "--source", "walker", "--method", method, *addresses(markers), *beside]

    player = ["replay", "walker", "--address", ANY_PORT, "--states", *how]
    if forces:
        return LatencyChain(player, estimator, True, {"p50": CHAIN_P50_US}, CHAIN_CPU_PERCENT)
    return LatencyChain(player, estimator, False, {"p50": P50_US}, CPU_PERCENT if rate <= 100.0 else None)


def of_run(run: RunConfig, config: str, rate: float, seconds: float) -> LatencyChain:
    """Return the command lines that play the recording of a run in a loop for `seconds` [s], at a rate [Hz]
    that may differ from the recorded one.

    config : path of the run's file, for the estimator's process
    """
    if is_stream(run.source) or run.source == WALKER:
        raise ConfigError(
            f"the run config takes its markers from {run.source}",
            where=config,
            allowed="a recording, such as a .trc file",
        )
    units = [f"--units={run.units}"] * bool(run.units) + [f"--up={run.up}"] * bool(run.up)
    speed = rate / load_trial(run.source, units=run.units or None, up=run.up or None).rate
    player = ["replay", run.source, "--address", ANY_PORT, "--states", "--wait", str(READY_S), *units]
    player += ["--speed", str(speed), LOOP, *(["--forces", run.forces] if run.forces else [])]

    def estimator(markers: str) -> list[str]:
        beside = ["--forces", markers] if run.forces else []
        beside += ["--feet", ",".join(run.plates.feet)] if run.plates.feet else []
        played = ["--config", config, "--source", run.source]  # the recording that the stream plays
        return ["estimate", *played, *addresses(markers), *beside, "--duration", str(seconds)]

    limits = {"p99": RECRUITED_P99_US} if run.recruitment else {}
    return LatencyChain(player, estimator, bool(run.forces), limits, None)


def addresses(markers: str) -> list[str]:
    """Return the addresses of an estimator as options of its command line; markers : address of the marker
    stream.
    """
    return ["--markers", markers, "--results", ANY_PORT, "--control", ANY_PORT, "--wait", "30"]
