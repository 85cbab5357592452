"""A benchmark of an hour of a whole laboratory: markers and forces, estimator, recorder, window, page, and
subscribers that never read.

It reports lost and late frames, whether the memory of any process grows, and whether the end is as fast as
the beginning. If interrupted, it reports the results so far.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.soak.chain import END_S, SoakChain
from benchmarks.soak.processes import ProcessAccount
from benchmarks.soak.slope import slope
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.runs.latency import READY_S
from rtsim.live.processes.children import Child
from rtsim.monitor.past.archive import REACH_S
from streams.clock import now_ns
from streams.messages import Status

RATE, FORCE_RATE = 200.0, 1000.0
LATE_PERCENT, P99_RATIO = 0.1, 1.1
SETTLE_SHARE, SETTLE_S = 0.2, 120.0
"""The beginning that does not count for percentiles and late frames: this part, at most so long [s]."""
FILL_SHARE, FILL_S = 0.5, 1800.0
"""The same for memory, whose pools fill in ever smaller steps."""
MINUTE_S, MB_PER_H = 60.0, 3600.0
NUMBER, STATUS, CAPTURED, RECEIVED, PUBLISHED, ARRIVED = range(6)
WINDOW = "monitor"
MEASURED = ("estimator", "recorder", WINDOW, "page", "source")
FULL_S = REACH_S + 30.0
"""Time at which the window holds all of the past that it keeps, with its own start [s]."""


class SoakResult(NamedTuple):
    """Results of a soak.

    rows : of each result (SoakChain.rows); account : of the processes; sent : what the source says
    counters : the estimator's last; recorder : its last sentences; left_out : what could not run
    failures : failures of processes that ended meanwhile; interrupted : whether it ended early
    """

    rows: NDArray[np.int64]
    account: ProcessAccount
    sent: dict[str, int]
    counters: dict[str, int]
    recorder: str
    left_out: list[str]
    failures: list[str]
    interrupted: bool


def run(minutes: float, stop: threading.Event) -> SoakResult:
    """Run for `minutes`, or until `stop` is set."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    left_out: list[str] = []
    with SoakChain(RATE, FORCE_RATE) as chain:
        recorder, frozen = _start_others(chain, left_out)
        chain.begin()
        chain.take(1.0)
        for process in frozen:
            chain.freeze(process)
        account = ProcessAccount({name: pid for name, pid in chain.pids.items() if name in MEASURED})
        begin_ns = now_ns()
        n_minute = 0
        failures: list[str] = []
        while (since := 1e-9 * (now_ns() - begin_ns)) < MINUTE_S * minutes and not stop.is_set():
            account.sample(since)
            chain.take(1.0)
            if (found := chain.failures()) and not failures:
                failures = found
                say(f"soak: {'; '.join(found)}")
            if since >= MINUTE_S * (n_minute + 1):
                n_minute += 1
                say(f"soak: {n_minute} of {minutes:g} min")
        chain.end()
        recorder.wait(END_S)
        return SoakResult(
            chain.rows(), account, chain.sent, chain.counters(),
            " ".join(recorder.take_words()), left_out, failures, stop.is_set(),
        )  # fmt: skip


def _start_others(chain: SoakChain, left_out: list[str]) -> tuple[Child, list]:
    """Start the recorder, and subscribers that are to be frozen; processes that cannot run are added to
    `left_out`.
    """
    recorder = chain.start("recorder", ["record", chain.results, str(chain.folder() / "soak.mcap")])
    if find_spec("PySide6") is not None:
        chain.start(WINDOW, ["monitor", chain.results, "--control", chain.control])
    else:
        left_out.append("the monitor window: the package extra rtsim[monitor] is not installed")
    page = chain.start("page", ["serve", chain.results, "--page", "127.0.0.1:0", "--states"])
    chain.watch("viewer", "page", page.wait_ready(READY_S)["page"])
    chain.watch("never", "never", chain.results)
    if hasattr(signal, "SIGSTOP"):
        return recorder, [chain.watch("frozen", "never", chain.results)]
    left_out.append("the suspended subscriber: this operating system cannot suspend a process")
    return recorder, []


def figures(found: SoakResult) -> list[BenchFigure]:
    """The figures of a soak."""
    rows = found.rows
    numbers = rows[:, NUMBER]
    n_answered = len(np.unique(numbers))
    last = found.sent.get("sent", int(numbers.max(initial=-1)) + 1) - 1
    lost = last - int(numbers.min(initial=0)) + 1 - n_answered if len(rows) else 0
    is_late = (rows[:, STATUS] & int(Status.LATE)) > 0
    span = found.account.times[-1] if found.account.times else 0.0
    settled = 1e-9 * (rows[:, RECEIVED] - rows[:1, RECEIVED]) >= settle_s(span)
    of_recorder = re.search(r"(\d+) frames? lost before", found.recorder)
    return [
        BenchFigure("minutes", span / MINUTE_S, "min"),
        BenchFigure("results", float(len(rows)), "frames"),
        BenchFigure("lost", float(lost), "frames", 0.0, "lower"),
        BenchFigure("lost.doubled", float(len(rows) - n_answered), "frames", 0.0, "lower"),
        BenchFigure("lost.recorder", float(of_recorder[1]) if of_recorder else 0.0, "frames", 0.0, "lower"),
        *(
            BenchFigure(f"lost.{name}", float(found.counters.get(name, 0)), "frames")
            for name in ("lost", "skipped", "turned_away", "forces_lost", "forces_late")
        ),
        BenchFigure("ended_early", float(len(found.failures)), "processes", 0.0, "lower"),
        BenchFigure("late_percent", percent(is_late[settled]), "%", LATE_PERCENT, "lower"),
        BenchFigure("late_percent.with_start", percent(is_late), "%"),
        BenchFigure("source_late", float(found.sent.get("late", 0)), "frames"),
        BenchFigure("source_held_up", float(found.sent.get("held_up", 0)), "times"),
        *percentiles(rows),
        *memory(found.account),
        *(
            BenchFigure(f"cpu_percent.{name}", found.account.processor_percent(name), "% of a core")
            for name in found.account.pids
        ),
        BenchFigure("others_percent", found.account.others_percent(), "% of a core"),
        BenchFigure("waiting_percent", found.account.waiting_percent(), "% of the time"),
    ]


def percent(flags: NDArray[np.bool_]) -> float:
    """Share of the flags (n,) that are set [%]; NaN without any flags."""
    return 100.0 * float(flags.mean()) if len(flags) else float("nan")


def percentiles(rows: NDArray[np.int64]) -> list[BenchFigure]:
    """Return the 99th percentiles of the time from receipt to publication in the first and the last third of
    the minutes, the median over minutes each, and their ratio.
    """
    if not len(rows):
        return []
    since_s = 1e-9 * (rows[:, RECEIVED] - rows[0, RECEIVED])
    inside_us = 1e-3 * (rows[:, PUBLISHED] - rows[:, RECEIVED])
    part_s = MINUTE_S if since_s[-1] > 6.0 * MINUTE_S else max(1.0, since_s[-1] / 6.0)
    part = (since_s / part_s).astype(int)
    settled = int(np.ceil(settle_s(since_s[-1]) / part_s))
    kept = [k for k in range(settled, part[-1] + 1) if np.count_nonzero(part == k) > 1]
    each = np.array([np.percentile(inside_us[part == k], 99.0) for k in kept])
    if not len(each):
        return []
    third = max(1, len(each) // 3)
    begin, end = float(np.median(each[:third])), float(np.median(each[-third:]))
    return [
        BenchFigure("receive_to_publish_us.p50", float(np.median(inside_us)), "us"),
        BenchFigure("receive_to_publish_us.p99.begin", begin, "us"),
        BenchFigure("receive_to_publish_us.p99.end", end, "us"),
        BenchFigure("p99_ratio", end / begin, "1", P99_RATIO, "lower"),
    ]


def memory(account: ProcessAccount) -> list[BenchFigure]:
    """Return the slopes of memory with their intervals, and the memory at the end. That of the window counts
    once its history is full; in a shorter run it has no limit.
    """
    found = []
    span = account.times[-1] if account.times else 0.0
    for name in account.pids:
        fills = name == WINDOW and span < FULL_S + MINUTE_S  # its memory is bounded, and not yet full
        start = min(FILL_S, FILL_SHARE * span)
        start = max(start, FULL_S) if name == WINDOW and not fills else start
        times, values = account.memory_from(name, start)
        if not len(values):
            continue
        fit = slope(times, values)
        limit = (None, "") if fills else (0.0, "lower")
        found += [
            BenchFigure(f"memory_MB.{name}", float(values[-1]), "MB"),
            BenchFigure(f"memory_slope.{name}", MB_PER_H * fit.value, "MB/h"),
            BenchFigure(f"memory_slope.low.{name}", MB_PER_H * fit.low, "MB/h", *limit),
            BenchFigure(f"memory_slope.high.{name}", MB_PER_H * fit.high, "MB/h"),
        ]
    return found


def settle_s(span_s: float) -> float:
    """Return the duration of the beginning that does not count [s]."""
    return min(SETTLE_S, SETTLE_SHARE * span_s)
