"""Benchmark of ten minutes of a capture system whose server is restarted five times: lost and doubled
frames, and gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.chain import AdapterChain, Taken
from benchmarks.adapters.double import doubled_schemes
from benchmarks.adapters.run import RECOVERY_S, doubled, seq_gaps
from rtsim.bench.figures import BenchFigure, say
from streams.clock import now_ns

MINUTES, N_RESTART, PAUSE_S = 10.0, 5, 0.3


def run(only: Sequence[str] = ()) -> list[BenchFigure]:
    """Return the results of all systems that have a double, or of some."""
    figures = []
    for scheme in doubled_schemes():
        if not only or scheme in only:
            say(f"adapters: {scheme}, {MINUTES:g} minutes")
            figures += [figure._replace(name=f"{scheme}.{figure.name}") for figure in endurance(scheme)]
    return figures


def endurance(scheme: str, minutes: float = MINUTES) -> list[BenchFigure]:
    """Return the results of one system."""
    part_s = 60.0 * minutes / (N_RESTART + 1)
    gaps, spent = [], []
    with AdapterChain(scheme) as chain:
        chain.asked("go", part_s)
        for _ in range(N_RESTART):
            ends = now_ns()
            back = chain.asked("restart", PAUSE_S)["t"]
            chain.asked("go", part_s)
            came = next((t.t_arrived for t in chain.taken if t.t_arrived > back), now_ns())
            gaps.append((ends, came))
            spent.append(1e-9 * (came - back))
        log = chain.ended()
        counters = chain.telemetry.counters if chain.telemetry is not None else {}
    taken = chain.taken
    return [
        BenchFigure("endurance.minutes", minutes, "min"),
        BenchFigure("endurance.frames", float(len(taken)), "frames"),
        BenchFigure("endurance.reconnects", float(counters.get("reconnects", 0)), ""),
        BenchFigure("endurance.sessions", float(len({t.session for t in taken})), ""),
        BenchFigure("endurance.lost_connected", float(lost(taken, log, gaps)), "frames", 0.0, "lower"),
        BenchFigure("endurance.doubled", float(doubled(taken)), "frames", 0.0, "lower"),
        BenchFigure("endurance.seq_gaps", float(seq_gaps(taken)), "frames", 0.0, "lower"),
        BenchFigure("endurance.recovery_s", max(spent), "s", RECOVERY_S, "lower"),
    ]


def lost(taken: list[Taken], log: NDArray[np.int64], gaps: list[tuple[int, int]]) -> int:
    """Return the number of frames that were sent and did not arrive, except those sent while the server was
    away.

    log : (n, 3) - number of each frame, when it was due, when it was sent [ns]; gaps : start and end of the
        times without a connection [ns]
    """
    came = {t.frame for t in taken}
    first = taken[0].frame
    return sum(
        k >= first and k not in came and not any(start <= sent <= end for start, end in gaps)
        for k, _, sent in log.tolist()
    )
