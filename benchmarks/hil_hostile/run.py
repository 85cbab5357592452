"""The benchmark: cases are executed one after the other until all are done or it is asked to end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from benchmarks.hil_hostile.case import HostileCase, LeftOut
from benchmarks.hil_hostile.cases import find_cases
from benchmarks.hil_hostile.judge import Verdict, judge, names
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import NotArmedError
from benchmarks.hil_hostile.summary import figures_of, line_of, listed
from rtsim.bench.figures import BenchFigure, say
from rtsim.errors import ConfigError
from rtsim.live.processes.gc_control import gc_paused
from rtsim.live.processes.signals import noting_requests

SWITCH_S = 0.0005
"""Longest time that one thread of this process keeps the others waiting [s]: each plays a peer with a
clock."""
STALLED = ("too old", "older than", "has not answered", "no markers")
"""Words of sentences on an honest device or honest markers that a stall of this machine causes."""
TRIES = 2
"""Times that a case is begun, where a busy machine costs an honest device its torque at once."""


class HostileOutcome(NamedTuple):
    """The outcome of a run of the bench.

    left_out : cases that cannot be tried on this machine, and why; failed : those that did not come so far
    interrupted : it was asked to end before it was done
    """

    verdicts: list[Verdict]
    left_out: dict[str, str]
    failed: dict[str, str]
    seconds: float
    interrupted: bool

    def figures(self) -> list[BenchFigure]:
        """Return the results of all finished cases."""
        return [
            *figures_of(self.verdicts),
            BenchFigure("left_out", float(len(self.left_out)), listed("cases", self.left_out)),
            BenchFigure("failed", float(len(self.failed)), listed("cases", self.failed), 0.0, "lower"),
            BenchFigure("bench_s", self.seconds, "s"),
        ]


def chosen(only: str) -> list[HostileCase]:
    """Return the cases whose name contains `only`, or whose family it is; ConfigError if there are none."""
    every = find_cases()
    found = [case for case in every.values() if only in case.name or only == case.family]
    if not found:
        raise ConfigError(f"no case with {only!r} in its name", where="--only", allowed=", ".join(every))
    return found


def run(only: str = "") -> HostileOutcome:
    """Execute all cases, or those selected by `only`."""
    cases, requests = chosen(only), list[int]()
    verdicts: list[Verdict] = []
    left_out: dict[str, str] = {}
    failed: dict[str, str] = {}
    began = monotonic()
    with noting_requests(requests.append), switching_often(), RunningModels() as lab:
        for n, case in enumerate(cases, 1):
            if requests:
                break
            say(f"hil --hostile: {n} of {len(cases)}: {case.what}")
            try:
                verdicts.append(done(lab, case))
                say(f"  {line_of(verdicts[-1])}")
            except LeftOut as why:
                left_out[case.name] = str(why)
                say(f"  {case.name}: left out: {why}")
            except Exception as why:  # one case that fails is no end of the others
                if requests:  # the request to end ended the processes of the case, too
                    break
                failed[case.name] = f"{type(why).__name__}: {why}"
                say(f"  {case.name}: FAILED: {failed[case.name]}")
    return HostileOutcome(verdicts, left_out, failed, monotonic() - began, bool(requests))


def done(lab: RunningModels, case: HostileCase) -> Verdict:
    """Execute a case, and repeat it if a busy machine disturbed it: it could not begin, or only a stall was
    reported.
    """
    for k in range(TRIES):
        lab.begin(case.name)
        try:
            # honest peers are threads of this process: a full collection stops them for 50 ms
            with gc_paused():
                verdict = judge(case, case.act(lab))
        except NotArmedError:
            if k + 1 == TRIES:
                raise
            continue
        if verdict.told is not False or not names(verdict.sentence, STALLED):
            break
        if k + 1 < TRIES:
            say(f"  {case.name}: repeated, because this machine stalled: {verdict.sentence}")
    return verdict


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads alternate quickly within the `with` block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
