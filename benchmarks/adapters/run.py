"""Benchmark of capture systems relayed by `rtsim connect`, with doubles of their servers: added latency,
clocks, restarts, damaged messages.

Three processes on real sockets: the double, which sends 200 frames of 60 markers a second with stamps of a
clock that is an hour ahead and 50 ppm fast; `rtsim connect`; and this one, which subscribes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.chain import N_MARKER, RATE, AdapterChain, Taken
from benchmarks.adapters.double import DoubledFrame, double_of, doubled_schemes, has_bytes
from benchmarks.adapters.drive import ZEROMQ, names_of, positions_of, server_ns
from benchmarks.adapters.estimated import estimated
from rtsim.bench.figures import BenchFigure, say
from streams.clock import now_ns

SECONDS, QUICK_SECONDS = 60.0, 14.0
SETTLED_NS = 10_000_000_000
N_DAMAGED, N_DAMAGED_QUICK = 100_000, 5_000
ADDED_P50_US, DECODE_US, T_CAPTURE_MS, RECOVERY_S, RELABEL_S = 1000.0, 30.0, 1.0, 3.0, 1.0
ABOVE_ZEROMQ_US, GROWTH_MB = 600.0, 50.0


def run(quick: bool = False, only: Sequence[str] = ()) -> list[BenchFigure]:
    """Return the results of all systems that have a double, or of some."""
    schemes = [scheme for scheme in doubled_schemes() if not only or scheme in only]
    base = added_us(ZEROMQ, 5.0 if quick else 20.0)
    figures = [BenchFigure("zeromq.added_us.p50", base, "us")]
    for scheme in schemes:
        for measure in MEASURES:
            if measure is mistreated and not has_bytes(double_of(scheme)):
                continue
            say(f"adapters: {scheme}, {measure.__name__}")
            figures += [f._replace(name=f"{scheme}.{f.name}") for f in measure(scheme, quick)]
        p50 = next(f.value for f in figures if f.name == f"{scheme}.added_us.p50")
        figures.append(BenchFigure(f"{scheme}.above_zeromq_us", p50 - base, "us", ABOVE_ZEROMQ_US, "lower"))
    return figures


def added_us(scheme: str, seconds: float) -> float:
    """Return the median time from sending to arrival for a source [us]."""
    with AdapterChain(scheme) as chain:
        chain.asked("go", seconds)
        return float(np.median(added(chain.taken, chain.ended())))


def added(taken: list[Taken], log: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the time from sending to arrival of each frame, (n,) [us]."""
    when = dict(zip(log[:, 0].tolist(), log[:, 2].tolist(), strict=True))
    return np.array([1e-3 * (t.t_arrived - when[t.frame]) for t in taken if t.frame in when])


def steady(scheme: str, quick: bool) -> list[BenchFigure]:
    """Measure without disturbance: lost frames, times, processor load."""
    with AdapterChain(scheme) as chain:
        chain.asked("go", QUICK_SECONDS if quick else SECONDS)
        log = chain.ended()
        told = chain.telemetry
    taken = chain.taken
    frames = [t.frame for t in taken]
    sent = [k for k in log[:, 0].tolist() if k >= frames[0]]
    due = dict(zip(log[:, 0].tolist(), log[:, 1].tolist(), strict=True))
    later = [t for t in taken if t.t_arrived - taken[0].t_arrived > SETTLED_NS]
    errors = np.array([1e-6 * abs(t.t_capture - due[t.frame]) for t in later])
    us = added(taken, log)
    figures = [
        BenchFigure("lost", float(len(set(sent) - set(frames))), "frames", 0.0, "lower"),
        BenchFigure("doubled", float(len(frames) - len(set(frames))), "frames", 0.0, "lower"),
        BenchFigure("added_us.p50", float(np.median(us)), "us", ADDED_P50_US, "lower"),
        BenchFigure("added_us.p99", float(np.percentile(us, 99.0)), "us"),
        BenchFigure("t_capture_error_ms", float(errors.max()), "ms", T_CAPTURE_MS, "lower"),
        BenchFigure("decode_us", decode_us(scheme), "us", DECODE_US, "lower"),
    ]
    if told is not None:
        figures.append(
            BenchFigure("cpu_percent", told.gauges.get("cpu_percent", float("nan")), "% of a core")
        )
        figures.append(
            BenchFigure("clock_drift_ppm", told.gauges.get("clock_drift_ppm", float("nan")), "ppm")
        )
    return figures


def decode_us(scheme: str) -> float:
    """Median time to decode a frame [us]."""
    double = double_of(scheme)(names_of(N_MARKER), RATE)
    call = double.decoder(DoubledFrame(positions_of(1, N_MARKER), server_ns(now_ns()), 1))
    spent = []
    for _ in range(2000):
        start_ns = now_ns()
        call()
        spent.append(now_ns() - start_ns)
    return 1e-3 * float(np.median(spent))


def restarts(scheme: str, quick: bool) -> list[BenchFigure]:
    """Let the server end and come back; measure how long until frames arrive, and whether seq continues."""
    with AdapterChain(scheme) as chain:
        chain.asked("go", 1.0)
        spent = []
        for _ in range(2 if quick else 5):
            back = chain.asked("restart", 0.3)["t"]
            chain.asked("go", 1.0 if quick else 4.0)
            came = [t.t_arrived for t in chain.taken if t.t_arrived > back]
            spent.append(1e-9 * (came[0] - back) if came else float("inf"))
        chain.ended()
    return [
        BenchFigure("recovery_s", max(spent), "s", RECOVERY_S, "lower"),
        BenchFigure("seq_gaps", float(seq_gaps(chain.taken)), "frames", 0.0, "lower"),
        BenchFigure("doubled_after_restart", float(doubled(chain.taken)), "frames", 0.0, "lower"),
    ]


def relabelled(scheme: str, quick: bool) -> list[BenchFigure]:
    """Add a marker to the list, and exchange two without notification; measure how long until a new session
    begins.
    """
    with AdapterChain(scheme) as chain:
        chain.asked("go", 1.0)
        spent = []
        for n, exchanged in ((N_MARKER + 1, 0), (N_MARKER + 1, 1), (N_MARKER, 0)):
            changed = chain.asked("describe", n, exchanged)["t"]
            chain.asked("go", 2.0 if quick else 4.0)
            expected = tuple(names_of(n, bool(exchanged)))
            found = [t.t_arrived for t in chain.taken if t.t_arrived > changed and ending(t.names, expected)]
            spent.append(1e-9 * (found[0] - changed) if found else float("inf"))
        chain.ended()
    return [
        BenchFigure("relabel_s", max(spent), "s", RELABEL_S, "lower"),
        BenchFigure("seq_gaps_in_sessions", float(seq_gaps(chain.taken)), "frames", 0.0, "lower"),
    ]


def ending(names: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    """Return whether the names end in these, whatever person they belong to, as in Anna:M01."""
    return tuple(name.rpartition(":")[2] for name in names) == expected


def standing_numbers(scheme: str, quick: bool) -> list[BenchFigure]:
    """Let frame numbers stand still, and check that no frame is lost."""
    with AdapterChain(scheme) as chain:
        chain.asked("go", 1.0)
        chain.asked("stuck", 1)
        first = chain.taken[-1].frame
        chain.asked("go", 2.0)
        log = chain.ended()
    sent = {k for k in log[:, 0].tolist() if k > first}
    return [
        BenchFigure("lost_with_standing_numbers", float(len(sent - {t.frame for t in chain.taken})), "frames")
    ]


def label_storm(scheme: str, quick: bool) -> list[BenchFigure]:
    """Change the name of a marker in every frame, and check that the other markers arrive as before, in few
    sessions.
    """
    if scheme == "lsl":
        return []  # another list is another stream there
    with AdapterChain(scheme) as chain:
        chain.asked("go", 1.0)
        chain.asked("storm", 1)
        first = len(chain.taken)
        chain.asked("go", 3.0 if quick else 10.0)
        log = chain.ended()
    taken = chain.taken[first:]
    seconds = 1e-9 * (taken[-1].t_arrived - taken[0].t_arrived)
    begun = len({t.session for t in taken})
    sent = {k for k in log[:, 0].tolist() if taken[0].frame <= k <= taken[-1].frame}
    return [
        BenchFigure("storm.sessions_per_s", begun / seconds, "1/s"),
        BenchFigure("storm.lost", float(len(sent - {t.frame for t in taken})), "frames"),
        BenchFigure("storm.added_us.p50", float(np.median(added(taken, log))), "us"),
        BenchFigure("storm.added_us.p99", float(np.percentile(added(taken, log), 99.0)), "us"),
    ]


def mistreated(scheme: str, quick: bool) -> list[BenchFigure]:
    """Send damaged messages, and check that frames arrive afterwards and memory does not grow."""
    with AdapterChain(scheme) as chain:
        chain.asked("go", 2.0)
        before = chain.memory_mb()
        done = chain.asked("damaged", N_DAMAGED_QUICK if quick else N_DAMAGED)["t"]
        chain.asked("go", 5.0)
        after = chain.memory_mb()
        alive = chain.relay is not None and chain.relay.running
        chain.ended()
    came = [t.t_arrived for t in chain.taken if t.t_arrived > done and t.frame >= 0]
    return [
        BenchFigure("damaged_messages", float(N_DAMAGED_QUICK if quick else N_DAMAGED), "messages"),
        BenchFigure("frames_after_damage_s", 1e-9 * (came[0] - done) if came and alive else float("inf"), "s",
               RECOVERY_S, "lower"),
        BenchFigure("memory_growth_mb", after - before, "MB", GROWTH_MB, "lower"),
    ]  # fmt: skip


def seq_gaps(taken: list[Taken]) -> int:
    """Return the number of steps of seq other than 1 within sessions."""
    return sum(b.session == a.session and b.seq != a.seq + 1 for a, b in pairwise(taken))


def doubled(taken: list[Taken]) -> int:
    """Return the number of frames that arrived more than once."""
    frames = [t.frame for t in taken]
    return len(frames) - len(set(frames))


MEASURES = (steady, restarts, relabelled, standing_numbers, label_storm, mistreated, estimated)
