"""The faults of the table, each against real processes where no other test shows it."""

from __future__ import annotations

import sys

import pytest

from benchmarks.faults.fault import CannotTryError, Fault, faults_found
from benchmarks.faults.table import FAULTS

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it limits and suspends processes by means of POSIX"),
]


@pytest.mark.parametrize(
    "fault", [one for one in FAULTS if one.act and not one.test], ids=lambda one: one.name
)
def test_a_fault_is_survived(fault: Fault) -> None:
    """Protects a run from that fault: every frame has a result or a count, there is no traceback, the user is
    told, and frames after it have results.
    """
    assert fault.act is not None
    try:
        outcome = fault.act()
    except CannotTryError as why:
        pytest.skip(str(why))
    assert faults_found(fault, outcome) == []
