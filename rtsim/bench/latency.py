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
PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p99_9", 99.9), ("max", 100.0))


def run(rate: float = 100.0, seconds: float = 30.0, method: str = "minimised") -> list[Figure]:
    """Figures of the synthetic walker at `rate` [Hz] for `seconds`."""
    stamps, late, counters, gauges, n_sent = measure(rate, seconds, method)
    t_capture, t_received, t_published, t_arrived = (stamps[:, k] for k in range(4))
    n_result = len(stamps)
    figures = [Figure("rate", rate, "Hz"), Figure("frames_sent", float(n_sent), "1")]
    inside = 1e-3 * (t_published - t_received)
    whole = 1e-3 * (t_arrived - t_capture)
    for label, percent in PERCENTILES:
        limit = P50_US if label == "p50" else None
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
            *((CPU_PERCENT, "lower") if rate <= 100 else ()),
        ),
    ]


def measure(rate: float, seconds: float, method: str) -> tuple[np.ndarray, int, dict, dict, int]:
    """Stamps (n, 4) [ns] of capture, receipt, publication and arrival; late frames; the loop's own account;
    frames sent."""
    rows: list[tuple[int, int, int, int]] = []
    late = 0
    with contextlib.ExitStack() as stack:
        player = Child("player", player_arguments(rate, seconds))
        stack.callback(player.close)
        markers = player.wait_ready(READY_S)
        estimator = Child("estimator", estimator_arguments(markers["markers"], method))
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


def player_arguments(rate: float, seconds: float) -> list[str]:
    """Command line of the player."""
    how = ["--rate", str(rate), "--duration", str(seconds), "--wait", str(READY_S)]
    return ["replay", "walker", "--address", ANY_PORT, "--states", *how]


def estimator_arguments(markers: str, method: str) -> list[str]:
    """Command line of the estimator."""
    where = ["--markers", markers, "--results", ANY_PORT, "--control", ANY_PORT]
    return ["estimate", "--source", "walker", "--method", method, "--wait", "30", *where]
