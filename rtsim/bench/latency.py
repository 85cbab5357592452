"""Latency of the whole chain: player, estimator and subscriber as three processes on real sockets."""

from __future__ import annotations

import contextlib

import numpy as np

from rtsim.bench.figures import Figure, say
from rtsim.live.children import Child
from streams.messages import Status
from streams.subscriber import Subscriber

READY_S = 600.0
ANY_PORT = "tcp://127.0.0.1:0"
P50_US, CPU_PERCENT = 500.0, 15.0
CHAIN_P50_US, CHAIN_CPU_PERCENT = 1000.0, 25.0
"""The same with force plates, rates, inverse dynamics and moment arms, at 100 and at 200 Hz."""
PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p99_9", 99.9), ("max", 100.0))


def run(
    rate: float = 100.0, seconds: float = 30.0, method: str = "minimised", forces: bool = False
) -> list[Figure]:
    """Figures of the synthetic walker at `rate` [Hz] for `seconds`; forces : with its plate, to moments."""
    stamps, late, counters, gauges, n_sent = measure(rate, seconds, method, forces)
    most_us, most_cpu = (CHAIN_P50_US, CHAIN_CPU_PERCENT) if forces else (P50_US, CPU_PERCENT)
    t_capture, t_received, t_published, t_arrived = (stamps[:, k] for k in range(4))
    n_result = len(stamps)
    figures = [Figure("rate", rate, "Hz"), Figure("frames_sent", float(n_sent), "1")]
    inside = 1e-3 * (t_published - t_received)
    whole = 1e-3 * (t_arrived - t_capture)
    for label, percent in PERCENTILES:
        limit = most_us if label == "p50" else None
        value = float(np.percentile(inside, percent))
        figures.append(Figure(f"receive_to_publish_us.{label}", value, "us", limit, "lower" if limit else ""))
    for label, percent in PERCENTILES:
        figures.append(Figure(f"end_to_end_us.{label}", float(np.percentile(whole, percent)), "us"))
    return [
        *figures,
        Figure("lost", float(n_sent - n_result), "frames", 0.0, "lower"),
        Figure("skipped", float(counters.get("skipped", 0)), "frames"),
        Figure("late", float(late), "frames"),
        Figure(
            "cpu_percent",
            gauges["cpu_percent"],
            "% of a core",
            *((most_cpu, "lower") if forces or rate <= 100 else ()),
        ),
        *([Figure("forces_late", float(counters.get("forces_late", 0)), "frames")] if forces else []),
    ]


def measure(
    rate: float, seconds: float, method: str, forces: bool = False
) -> tuple[np.ndarray, int, dict, dict, int]:
    """Stamps (n, 4) [ns] of capture, receipt, publication and arrival; late frames; the loop's own account;
    frames sent."""
    rows: list[tuple[int, int, int, int]] = []
    late = 0
    with contextlib.ExitStack() as stack:
        player = Child("player", player_arguments(rate, seconds, forces))
        stack.callback(player.close)
        markers = player.wait_ready(READY_S)
        estimator = Child("estimator", estimator_arguments(markers["markers"], method, forces))
        stack.callback(estimator.close)
        ready = estimator.wait_ready(READY_S)
        say(f"latency: {rate:g} Hz for {seconds:g} s")
        with Subscriber(ready["results"], ("result", "telemetry"), backlog=512) as results:
            while not results.ended:
                frame = results.wait(0.2)
                if frame is not None:
                    rows.append((frame.t_capture, frame.t_received, frame.t_published, frame.t_arrived))
                    late += bool(frame.status & Status.LATE)
                elif not estimator.running:
                    break
            account = results.telemetry[-1]
        estimator.wait(5.0)
        estimator.check()
    return np.array(rows, np.int64), late, account.counters, account.gauges, int(markers["n_frame"])


def player_arguments(rate: float, seconds: float, forces: bool = False) -> list[str]:
    """Command line of the player."""
    how = ["--rate", str(rate), "--duration", str(seconds), "--wait", str(READY_S)]
    how += ["--forces", "walker"] if forces else []
    return ["replay", "walker", "--address", ANY_PORT, "--states", *how]


def estimator_arguments(markers: str, method: str, forces: bool = False) -> list[str]:
    """Command line of the estimator."""
    where = ["--markers", markers, "--results", ANY_PORT, "--control", ANY_PORT]
    where += ["--forces", markers, "--mass", "72"] if forces else []
    return ["estimate", "--source", "walker", "--method", method, "--wait", "30", *where]
