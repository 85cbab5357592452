"""Where the processor time of a run of tests goes: a table of modules, on `pytest --processor-time 40`."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Generator
from os import times
from typing import Any, NamedTuple

import pytest

KEY = "processor_time"
"""Under which a report carries what a test took, from the worker to the process that prints."""


class Spent(NamedTuple):
    """Processor time of this process, of its children that have ended, and of compiling within it [s]."""

    own: float
    children: float
    compiling: float

    def since(self, before: Spent) -> Spent:
        return Spent(*(now - then for now, then in zip(self, before, strict=True)))


class _Compiling:
    """Processor time that this process has compiled for [s]; of nested compilations the outermost."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._start = 0, 0.0
        self._heard = False

    def listen(self) -> None:
        """Listen to Numba from now on, if it is loaded by now."""
        if self._heard or "numba.core.event" not in sys.modules:
            return
        event = sys.modules["numba.core.event"]

        class Listener(event.Listener):  # type: ignore[name-defined, misc]
            def on_start(_, __: Any) -> None:  # noqa: N805
                self._start = self._start if self._depth else time.thread_time()
                self._depth += 1

            def on_end(_, __: Any) -> None:  # noqa: N805
                self._depth -= 1
                self.seconds += 0.0 if self._depth else time.thread_time() - self._start

        event.register("numba:compile", Listener())
        self._heard = True


class ProcessorTime:
    """Measures in the process that tests, sums up and prints in the one that reports."""

    def __init__(self, n_row: int) -> None:
        self._n_row = n_row
        self._compiling = _Compiling()
        self._modules: dict[str, list[float]] = defaultdict(lambda: [0.0] * 4)

    def _now(self) -> Spent:
        used = times()  # bound at import, as tests take modules away; no children on Windows
        own, children = used.user + used.system, used.children_user + used.children_system
        return Spent(own, children, self._compiling.seconds)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._compiling.listen()
        self._before = self._now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = self._now()
        report.user_properties = [*report.user_properties, (KEY, tuple(now.since(self._before)))]
        self._before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, value in report.user_properties:
            if key == KEY:
                sums = self._modules[report.nodeid.partition("::")[0]]
                for k, seconds in enumerate((*value, report.duration)):
                    sums[k] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rows = sorted(self._modules.items(), key=lambda row: -row[1][0] - row[1][1])
        if not rows:
            return
        terminalreporter.section("processor time [s]: in all, of it children, compiling; elapsed")
        total = [sum(sums[k] for _, sums in rows) for k in range(4)]
        for name, (own, children, compiling, elapsed) in [("all", total), *rows[: self._n_row]]:
            terminalreporter.write_line(
                f"{own + children:8.1f} {children:8.1f} {compiling:8.1f} {elapsed:8.1f}  {name}"
            )


def add_option(parser: pytest.Parser) -> None:
    """The option that asks for the table."""
    parser.addoption(
        "--processor-time", type=int, default=0, metavar="N",
        help="print the N modules that take the most processor time (not on Windows)",
    )  # fmt: skip


def measure(config: pytest.Config) -> None:
    """Measure in this process where the option asks for it, and print where tests are reported."""
    n_row = config.getoption("--processor-time")
    if n_row and sys.platform != "win32":
        config.pluginmanager.register(ProcessorTime(n_row), "processor-time")
