"""The table of processor time by module of tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processor_time import KEY, ProcessorTime, Spent


class Lines:
    """What a terminal would show."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def section(self, title: str) -> None:
        self.shown.append(title)

    def write_line(self, line: str) -> None:
        self.shown.append(line)


def report(test: str, duration: float, own: float, children: float, compiling: float) -> Any:
    """The report of a part of a test, as a worker sends it: numbers come as a list."""
    return pytest.TestReport(
        test, ("", 0, ""), {}, "passed", None, "call",
        user_properties=[(KEY, [own, children, compiling])], duration=duration,
    )  # fmt: skip


def test_modules_are_summed_and_the_dearest_come_first() -> None:
    """Protects the search for slow tests: all parts count, children's time among them, in every module."""
    table, lines = ProcessorTime(1), Lines()
    table.pytest_runtest_logreport(report("a.py::one", 2.0, 1.0, 0.0, 0.5))
    table.pytest_runtest_logreport(report("b.py::one", 9.0, 0.5, 4.0, 0.0))
    table.pytest_runtest_logreport(report("b.py::two[x::y]", 1.0, 0.25, 0.0, 0.25))
    table.pytest_terminal_summary(lines)  # type: ignore[arg-type]
    rows = [line.split() for line in lines.shown[1:]]
    assert rows == [["5.8", "4.0", "0.8", "12.0", "all"], ["4.8", "4.0", "0.2", "10.0", "b.py"]]


def test_time_since_is_a_difference_of_each() -> None:
    """Protects a test from the time of those before it."""
    assert Spent(3.0, 5.0, 2.0).since(Spent(1.0, 1.0, 2.0)) == Spent(2.0, 4.0, 0.0)


def test_without_tests_there_is_no_table() -> None:
    """Protects a run that was only collected from an empty table."""
    lines = Lines()
    ProcessorTime(5).pytest_terminal_summary(lines)  # type: ignore[arg-type]
    assert lines.shown == []
