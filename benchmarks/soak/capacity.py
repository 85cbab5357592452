"""The highest rate and the most markers that an estimator on this machine keeps up with, and what limits it.

The estimator keeps up if no frame is lost or skipped, at most a thousandth is late, and 99 % are published
within a period of the stream. Both values are searched by doubling until the estimator fails, then by
bisection of the logarithm.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.soak.chain import SoakChain
from benchmarks.soak.processes import ProcessAccount
from benchmarks.soak.run import LATE_PERCENT, NUMBER, PUBLISHED, RECEIVED, STATUS, percent
from rtsim.bench.figures import BenchFigure, say
from rtsim.config.paths import find_config
from streams.messages import Status

WALKER_RATE, FIRST_RATE, MOST_RATE = 200.0, 200.0, 10_000.0
WALKER_MARKERS, MOST_MARKERS = 17, 4352
NEAR = 1.1
"""The search ends where what fails is at most so many times what is held."""
SETTLE_S = 2.0
"""Time after the start before it counts [s]."""
BUSY, SOURCE_LATE = 85.0, 1.0
"""A process that takes so much of a core is at its end [%]; so many late frames are the source's own [%]."""
SEGMENTS = ("pelvis", "thigh", "shank", "foot")


class CapacityTry(NamedTuple):
    """A rate and a number of markers that were tried.

    holds : whether the estimator keeps up; limit : the part closest to its limit, as text
    used : used fraction of that part [%]
    """

    rate: float
    n_marker: int
    holds: bool
    limit: str
    used: float
    late_percent: float
    n_lost: int
    p99_us: float


def run(seconds: float) -> list[BenchFigure]:
    """Return the results of both searches; each try lasts `seconds` [s]."""
    with tempfile.TemporaryDirectory(prefix="rtsim-capacity-") as folder:

        def rate_tried(rate: float) -> CapacityTry:
            return told(tried(rate, WALKER_MARKERS, "walker", seconds))

        def markers_tried(n: float) -> CapacityTry:
            subject = with_markers(Path(folder), round(n))
            return told(tried(WALKER_RATE, round(n), str(subject), seconds))

        return [
            *figures("rate", "Hz", *search(rate_tried, FIRST_RATE, MOST_RATE, lambda one: one.rate)),
            *figures("markers", "markers",
                     *search(markers_tried, float(WALKER_MARKERS), MOST_MARKERS, lambda one: one.n_marker)),
        ]  # fmt: skip


def search(
    tried: Callable[[float], CapacityTry], first: float, most: float, value: Callable[[CapacityTry], float]
) -> tuple[float, CapacityTry | None]:
    """Search the largest value that is kept up, 0 if not even the first is; return it, and the lowest failed
    try.

    A try that fails is repeated once, as a machine is disturbed now and then.
    """

    def holds(x: float) -> CapacityTry:
        found = tried(x)
        return found if found.holds else tried(x)

    held, failed, x = 0.0, None, first
    while held < most:
        found = holds(x)
        if not found.holds:
            failed = found
            break
        held, x = value(found), min(2.0 * x, most)
    while failed is not None and held and value(failed) > NEAR * held:
        found = holds(math.sqrt(held * value(failed)))
        if value(found) in (held, value(failed)):
            break
        if found.holds:
            held = value(found)
        else:
            failed = found
    return held, failed


def tried(rate: float, n_marker: int, subject: str, seconds: float) -> CapacityTry:
    """Try an estimator at this rate, with the markers of this subject, for `seconds` [s]."""
    with SoakChain(rate, 0.0, subject) as chain:
        chain.begin()
        chain.take(SETTLE_S)
        account = ProcessAccount(chain.pids)
        account.sample(0.0)
        chain.take(seconds)
        account.sample(seconds)
        chain.end()
        rows, sent, counters, gauges = chain.rows(), chain.sent, chain.counters(), chain.gauges()
    kept = rows[rows[:, NUMBER] > rate * SETTLE_S] if len(rows) else rows
    if not len(kept):
        return CapacityTry(
            rate, n_marker, False, "the estimator: no frame has a result", 100.0, 100.0, 0, math.inf
        )
    numbers = np.unique(kept[:, NUMBER])
    n_lost = int(numbers[-1] - numbers[0] + 1 - len(numbers))
    late = percent((kept[:, STATUS] & int(Status.LATE)) > 0)
    inside_us = 1e-3 * (kept[:, PUBLISHED] - kept[:, RECEIVED])
    p99 = float(np.percentile(inside_us, 99.0))
    used = account.processor_percent("estimator")
    of_source = 100.0 * sent.get("late", 0) / max(1, sent.get("sent", 1))
    holds = n_lost == 0 and late <= LATE_PERCENT and p99 <= 1e6 / rate
    limit = limiting(used, of_source, counters, gauges, account.waiting_percent())
    return CapacityTry(rate, n_marker, holds, *limit, late, n_lost, p99)


def limiting(
    used: float, of_source: float, counters: dict[str, int], gauges: dict[str, float], waiting: float
) -> tuple[str, float]:
    """Return the part that is closest to its limit, and how much of it is used [%].

    used : of a core, by the estimator; of_source : of its frames sent late; waiting : of the time somebody
    waited for a processor [%]
    """
    if used >= BUSY:
        solving = gauges.get("receive_to_solve_us.p50", 0.0)
        publishing = gauges.get("solve_to_publish_us.p50", 0.0) + gauges.get("publish_us.p50", 0.0)
        part = "solving" if solving > publishing else "publishing"
        return f"the estimator's processor: {part}", used
    if of_source > SOURCE_LATE:
        return "the source of markers, which sends late", of_source
    if counters.get("lost", 0):
        return "the connection to the estimator", 100.0
    return "the processors: processes wait for them", waiting


def told(one: CapacityTry) -> CapacityTry:
    """Report a try as progress."""
    verdict = "held" if one.holds else f"rate not held (limited by {one.limit}, {one.used:.0f} %)"
    say(f"capacity: {one.rate:.0f} Hz, {one.n_marker} markers: {verdict}; {one.n_lost} lost, "
        f"{one.late_percent:.2f} % late, p99 {one.p99_us:.0f} us")  # fmt: skip
    return one


def figures(name: str, unit: str, held: float, failed: CapacityTry | None) -> list[BenchFigure]:
    """Figures of the highest value that is kept up, the first that is not, and what limits it."""
    found = [BenchFigure(f"{name}.held", held, unit)]
    if failed is not None:
        value = failed.rate if name == "rate" else float(failed.n_marker)
        found.append(BenchFigure(f"{name}.failed", value, unit))
        found.append(BenchFigure(f"{name}.limited_by", failed.used, f"%: {failed.limit}"))
    return found


def with_markers(folder: Path, n_marker: int) -> Path:
    """A file of the walker with further markers on all segments, n_marker in all."""
    text = find_config("walker", "subjects").read_text(encoding="utf-8")
    random = np.random.default_rng(n_marker)
    for k, segment in enumerate(SEGMENTS):
        n = len(range(k, n_marker - WALKER_MARKERS, len(SEGMENTS)))
        places = random.uniform(-80.0, 80.0, (n, 3)).round(1)
        lines = "".join(f'"{segment}_{i}" = {row.tolist()}\n' for i, row in enumerate(places))
        head = f'[segments."{segment}".markers_mm]\n'
        assert head in text
        text = text.replace(head, head + lines)
    path = folder / f"walker_{n_marker}.toml"
    path.write_text(text, encoding="utf-8")
    return path
