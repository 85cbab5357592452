"""A fault, and the outcome of one that was tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

COUNTED = (
    "lost", "skipped", "duplicate", "out_of_order", "oversize", "malformed", "bad_version", "wrong_shape",
    "unknown_session", "put_off", "turned_away",
)  # fmt: skip
"""Counters of frames that have no result."""
TRACEBACK = "Traceback (most recent call last)"


class CannotTryError(Exception):
    """This machine cannot do what the fault needs; the text tells why."""


class FaultOutcome(NamedTuple):
    """Outcome of a fault.

    n_sent : frames sent; n_answered : of them with a result that is not stale; n_after : those of frames sent
        after the fault
    counters : the estimator's last; said : everything that was told to the user
    codes : exit codes by process
    """

    n_sent: int
    n_answered: int
    n_after: int
    counters: dict[str, int]
    said: str
    codes: dict[str, int | None]

    @property
    def n_silent(self) -> int:
        """Frames that have neither a result nor a count."""
        return self.n_sent - self.n_answered - sum(self.counters.get(name, 0) for name in COUNTED)

    @property
    def n_traceback(self) -> int:
        """Tracebacks that a user would have seen."""
        return self.said.count(TRACEBACK)


class Fault(NamedTuple):
    """A row: of the page, and of the tests.

    name : in a word or two; done : what is done; happens, seen, lost : as the page says it
    words : words that the user must be told, each of them; counter : name of a counter that must not be 0
    act : does it to real processes; None where `test` is a test that was there
    test : its path below tests/ and its name, of those that were there
    code : exit code of the estimator
    """

    name: str
    done: str
    happens: str
    seen: str
    lost: str
    act: Callable[[], FaultOutcome] | None = None
    words: tuple[str, ...] = ()
    counter: str = ""
    test: str = ""
    code: int = 0

    @property
    def shown_by(self) -> str:
        """The test of the row."""
        return self.test or f"rtsim/bench/faults/test_faults.py::test_a_fault_is_survived[{self.name}]"


def faults_found(fault: Fault, outcome: FaultOutcome) -> list[str]:
    """Faults of an outcome, in words; empty where it is as it should be."""
    found = []
    if outcome.n_silent:
        found.append(f"{outcome.n_silent} of {outcome.n_sent} frames have neither a result nor a count")
    if outcome.n_traceback:
        found.append(f"{outcome.n_traceback} tracebacks")
    if fault.code == 0 and not outcome.n_after:
        found.append("no frame after the fault has a result")
    found += [f"nothing is told of {words!r}" for words in fault.words if words not in outcome.said]
    if fault.counter and not outcome.counters.get(fault.counter):
        found.append(f"{fault.counter} counts nothing")
    found += [
        f"the {name} ended with {code}, not {fault.code}"
        for name, code in outcome.codes.items()
        if code != fault.code
    ]
    return found
