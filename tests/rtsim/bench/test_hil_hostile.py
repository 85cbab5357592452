"""The bench of hostile peers: its judge on made-up evidence, its table, and cases with real processes."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from benchmarks.hil_hostile.case import FAMILIES, Evidence, HostileCase, Sample
from benchmarks.hil_hostile.cases import find_cases
from benchmarks.hil_hostile.judge import judge
from benchmarks.hil_hostile.run import run
from benchmarks.hil_hostile.summary import figures_of

MS = 1_000_000
LIE = HostileCase("lie", "device", "A lie.", lambda lab: Evidence([]), ("angle",), lie=True)
STOP = HostileCase("stop", "crowd", "A stop.", lambda lab: Evidence([]))


def course(*torque: float, on: bool = True) -> list[Sample]:
    """Return samples a millisecond apart, armed where there is torque."""
    return [Sample(k * MS, on and bool(x), x) for k, x in enumerate(torque)]


def test_torque_after_a_fault_is_found():
    """Protects the figure: it lasts to the first sample without torque after the last one with it."""
    seen = Evidence(
        course(5.0, 5.0, 5.0, 0.0, 5.0, 0.0, 0.0),
        [(2 * MS, "the angle is off")],
        [0],
        1 * MS,
        declared_ms=2.0,
    )
    found = judge(LIE, seen)
    assert (found.after_ms, found.excess_ms, found.ended) == (4.0, 2.0, True)
    assert judge(LIE, seen._replace(torque=course(0.0, 0.0))).after_ms == 0.0
    assert not judge(LIE, seen._replace(torque=course(5.0, 5.0, 5.0))).ended


def test_a_lie_that_is_missed_is_found():
    """Protects `lies_missed`: both have to come, the end of the torque and a sentence after the lie began."""
    ends = Evidence(course(5.0, 5.0, 0.0), [(2 * MS, "the Angle is off")], [0], 1 * MS, declared_ms=2.0)
    assert not judge(LIE, ends).missed
    assert judge(LIE, ends._replace(torque=course(5.0, 5.0, 5.0))).missed
    assert judge(LIE, ends._replace(said=[(2 * MS, "something else")])).missed
    assert judge(LIE, ends._replace(fault_ns=100 * MS)).missed  # what was told before is of something else
    names = {f.name: f for f in figures_of([judge(LIE, ends._replace(said=[]))])}
    assert (names["lies_missed"].value, names["lies_missed"].unit) == (1.0, "lies: lie")


def test_torque_that_nobody_armed_is_found():
    """Protects `torque_without_arming`: before arming, and again after a fall without arming anew."""
    torque = course(0.0, 5.0, 5.0, 0.0, 5.0, 0.0)
    assert judge(STOP, Evidence(torque, arms=[])).unarmed == 3
    assert judge(STOP, Evidence(torque, arms=[0])).unarmed == 1
    assert judge(STOP, Evidence(torque, arms=[0, 3 * MS])).unarmed == 0


def test_a_stop_that_is_not_heard_is_found():
    """Protects `stop_heard_percent`: by the first sample that is off after somebody asked."""
    seen = Evidence(course(5.0, 5.0, 5.0, 0.0), arms=[0], stop_ns=1 * MS)
    assert judge(STOP, seen).stop_ms == 2.0
    deaf = judge(STOP, seen._replace(torque=course(5.0, 5.0, 5.0)))
    assert math.isinf(deaf.stop_ms)
    figures = {f.name: f for f in figures_of([judge(STOP, seen), deaf])}
    assert figures["stop_heard_percent"].value == 50.0
    assert not figures["stop_heard_percent"].holds


def test_there_are_many_ways():
    """Protects the table: sixty ways or more, of every family, no two of one name or sentence and run."""
    cases = find_cases()
    families = Counter(case.family for case in cases.values())
    assert set(families) == set(FAMILIES)
    assert sum(families.values()) - families["honest"] >= 60
    assert all(case.name == name and case.what.endswith(".") for name, case in cases.items())
    assert sum(case.lie for case in cases.values()) >= 20


@pytest.mark.process
def test_a_device_that_cannot_be_believed():
    """Protects the bench: a real run ends in zero torque, tells why, and was armed by a person alone."""
    found = run("device_torque_huge.ankle")
    (verdict,) = found.verdicts
    assert (verdict.ended, verdict.told, verdict.unarmed, verdict.wrong) == (True, True, 0, ())
    assert verdict.after_ms < 1000.0


@pytest.mark.process
def test_a_model_that_stalls():
    """Protects the bench: each client falls by its own clock, and says why."""
    found = run("model_stalls")
    (verdict,) = found.verdicts
    assert (verdict.ended, verdict.told, verdict.unarmed, verdict.wrong) == (True, True, 0, ())
