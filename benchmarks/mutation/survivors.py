"""Mutants that no test can detect, each with its reason: `benchmarks/mutation/survivors.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.mutation.mutants import Mutant

LIST = Path(__file__).with_name("survivors.toml")


class KnownSurvivor(NamedTuple):
    """A line of a module, the same line in the mutant, and why no test can detect the change."""

    module: str
    line: str
    mutated: str
    reason: str


class KnownSurvivors:
    """The list, by module and line; line numbers may move."""

    def __init__(self, rows: list[KnownSurvivor]) -> None:
        self.rows = rows
        self._reasons = {(row.module, row.line, row.mutated): row.reason for row in rows}

    @classmethod
    def read(cls, path: Path = LIST) -> Self:
        """The list of the project, or another one."""
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
        return cls([KnownSurvivor(**table) for table in tables])

    def reason(self, mutant: Mutant, source: str) -> str:
        """Return why this mutant of a module's text survives; "" if no reason is known."""
        return self._reasons.get((mutant.module, *mutant.lines(source)), "")
