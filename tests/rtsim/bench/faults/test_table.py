"""The table of faults, and docs/reliability.md beside it and beside the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.faults.fault import TRACEBACK, Fault, FaultOutcome, faults_found
from benchmarks.faults.table import FAULTS, SECTIONS, page_section

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", SECTIONS)
def test_the_page_says_what_the_table_says(title: str) -> None:
    """Protects readers of the page: its rows are those that are tried, word for word."""
    assert page_section(title) in PAGE


def named_tests() -> Iterator[str]:
    """What stands in the last cell of each row of the page, but for remarks."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and not line.endswith("| test |"):
            cell = line.rstrip(" |").rpartition("|")[2]
            yield from re.findall(r"[\w/]+\.py(?:::\w+)?", cell)


@pytest.mark.parametrize("named", sorted(set(named_tests())))
def test_each_test_of_the_page_is_there(named: str) -> None:
    """Protects who relies on a row: the test that shows it is in the file that is named."""
    path, _, name = named.partition("::")
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    assert not name or f"def {name}(" in text


def test_every_row_of_the_page_names_a_test() -> None:
    """Protects against promises that nothing shows."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.endswith("| test |")]
    assert len(rows) > 150
    assert [row for row in rows if ".py" not in row.rpartition("| ")[2] and "the same, case" not in row] == []


def test_names_are_unique_and_every_row_is_shown() -> None:
    """Protects the table: each row has an act or a test, and a name of its own."""
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) > 30
    assert all(fault.act or fault.test for fault in FAULTS)


def test_what_is_wrong_is_found() -> None:
    """Protects the judge itself from a fault that it would not see."""
    fault = Fault("name", "", "", "", "", words=("gone",), counter="lost")
    right = FaultOutcome(10, 8, 3, {"lost": 2}, "it is gone", {"estimator": 0})
    assert faults_found(fault, right) == []
    wrong = FaultOutcome(10, 7, 0, {"lost": 2}, TRACEBACK, {"estimator": 1})
    assert faults_found(fault, wrong) == [
        "1 of 10 frames have neither a result nor a count",
        "1 tracebacks were printed",
        "no frame after the fault has a result",
        "no message contains 'gone'",
        "the process estimator ended with exit code 1 instead of 0",
    ]
    assert faults_found(fault, right._replace(n_sent=8, counters={})) == ["the counter lost stays at zero"]
