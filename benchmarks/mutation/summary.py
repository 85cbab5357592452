"""Summary of a run of the benchmark: counts, the score with its interval, descriptions of survivors."""

from __future__ import annotations

import enum
import math
from collections import Counter
from typing import NamedTuple

from benchmarks.mutation.mutants import Mutant
from rtsim.bench.figures import BenchFigure

TARGET = 90.0
TWO_SIDED_95 = 1.959964


class MutantVerdict(enum.Enum):
    """Verdict of the tests on a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


class JudgedMutant(NamedTuple):
    """A mutant of a room; reason : why it is equivalent to the program, "" where it is not known to be."""

    room: str
    mutant: Mutant
    verdict: MutantVerdict
    reason: str


class MutationOutcome:
    """All mutants that were judged."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.judged: list[JudgedMutant] = []
        self.interrupted = False

    def add(self, room: str, mutant: Mutant, verdict: MutantVerdict, reason: str) -> None:
        self.judged.append(JudgedMutant(room, mutant, verdict, reason))

    def survivors(self) -> list[str]:
        """Return descriptions of mutants that no test detected, with known reasons."""
        found = [row for row in self.judged if row.verdict is MutantVerdict.SURVIVED]
        return [f"survived: {row.mutant}" + (f" ({row.reason})" if row.reason else "") for row in found]

    def figures(self) -> list[BenchFigure]:
        """Return counts and the score of each room, and of all if there are several."""
        rooms = list(dict.fromkeys(row.room for row in self.judged))
        found = [
            figure
            for room in rooms
            for figure in figures_of(room, [r for r in self.judged if r.room == room])
        ]
        return found + (figures_of("all", self.judged) if len(rooms) > 1 else [])


def figures_of(name: str, rows: list[JudgedMutant]) -> list[BenchFigure]:
    """Return the results of some mutants. A survivor that is known to be equivalent does not count."""
    counted = [row for row in rows if not (row.verdict is MutantVerdict.SURVIVED and row.reason)]
    n = Counter(row.verdict for row in counted)
    noticed = n[MutantVerdict.KILLED] + n[MutantVerdict.TIMED_OUT]
    low, high = wilson_interval(noticed, len(counted))
    score = 100.0 * noticed / len(counted) if counted else math.nan
    return [
        BenchFigure(f"{name}.drawn", len(rows), "mutants"),
        BenchFigure(f"{name}.equivalent", len(rows) - len(counted), "mutants"),
        BenchFigure(f"{name}.killed", n[MutantVerdict.KILLED], "mutants"),
        BenchFigure(f"{name}.timed_out", n[MutantVerdict.TIMED_OUT], "mutants"),
        BenchFigure(f"{name}.survived", n[MutantVerdict.SURVIVED], "mutants"),
        BenchFigure(f"{name}.score", score, "%", TARGET, "higher"),
        BenchFigure(f"{name}.score.low", 100.0 * low, "%"),
        BenchFigure(f"{name}.score.high", 100.0 * high, "%"),
    ]


def wilson_interval(n_noticed: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson, 1927), which is valid for few draws and for
    proportions near 1.
    """
    if not n:
        return 0.0, 1.0
    share, z2 = n_noticed / n, TWO_SIDED_95**2 / n
    middle = (share + 0.5 * z2) / (1.0 + z2)
    half = TWO_SIDED_95 / (1.0 + z2) * math.sqrt(share * (1.0 - share) / n + 0.25 * z2 / n)
    return middle - half, middle + half
