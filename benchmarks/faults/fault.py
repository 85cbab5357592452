"""A fault, and the outcome of trying it."""

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
    """Raised if this machine cannot produce a fault; the text gives the reason."""


class FaultOutcome(NamedTuple):
    """Outcome of a fault.

    n_sent : number of frames sent; n_answered : number of frames with a result that is not stale; n_after :
        number of answered frames sent after the fault
    counters : last counters of the estimator; said : all messages to the user
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
        """Return the number of frames that have neither a result nor a count."""
        return self.n_sent - self.n_answered - sum(self.counters.get(name, 0) for name in COUNTED)

    @property
    def n_traceback(self) -> int:
        """Return the number of tracebacks that a user would have seen."""
        return self.said.count(TRACEBACK)


class Fault(NamedTuple):
    """A row of the table of faults, for the documentation and the tests.

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
        """Return the test of the row."""
        return self.test or f"rtsim/bench/faults/test_faults.py::test_a_fault_is_survived[{self.name}]"


def faults_found(fault: Fault, outcome: FaultOutcome) -> list[str]:
    """Return what is wrong in an outcome, as text; empty if it is as it should be."""
    found = []
    if outcome.n_silent:
        found.append(f"{outcome.n_silent} of {outcome.n_sent} frames have neither a result nor a count")
    if outcome.n_traceback:
        found.append(f"{outcome.n_traceback} tracebacks were printed")
    if fault.code == 0 and not outcome.n_after:
        found.append("no frame after the fault has a result")
    found += [f"no message contains {words!r}" for words in fault.words if words not in outcome.said]
    if fault.counter and not outcome.counters.get(fault.counter):
        found.append(f"the counter {fault.counter} stays at zero")
    found += [
        f"the process {name} ended with exit code {code} instead of {fault.code}"
        for name, code in outcome.codes.items()
        if code != fault.code
    ]
    return found
