"""Progress of a benchmark and its remaining time: a bar in a terminal, else a line for each tenth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

Item = TypeVar("Item")
TENTHS = 10


class BenchProgress:
    """The progress of a benchmark of n parts of similar duration, used in a `with` block.

    Parameters
    ----------
    bench : name of the benchmark, or of a stage of it; n : number of parts
    console : console for the output; now : clock [s]
    """

    def __init__(
        self, bench: str, n: int, console: Console | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self.bench, self.n = bench, n
        self._console = Console(stderr=True) if console is None else console
        self._now, self._start = now, now()
        self._n_begun, self._tenth = 0, -1
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=self._console, transient=True)
        self._task = self._bar.add_task(bench, total=n)

    def __enter__(self) -> Self:
        self._start = self._now()
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def begin(self, what: str = "") -> None:
        """Begin the next part, which marks all parts before as done; what : name of the part, for the
        display.
        """
        n_done, self._n_begun = self._n_begun, self._n_begun + 1
        said = f"{self.bench}: {n_done} of {self.n}{', ' + what if what else ''}"
        self._bar.update(self._task, completed=n_done, description=said)
        tenth = TENTHS * n_done // max(1, self.n)
        if self._console.is_terminal or tenth == self._tenth:
            return
        self._tenth = tenth
        if 0 < n_done < self.n:
            left = (self._now() - self._start) / n_done * (self.n - n_done)
            said += f"; about {duration(left)} left"
        self._console.print(Text(said), soft_wrap=True)  # a log has no width


def counted(bench: str, items: Iterable[Item], n: int, console: Console | None = None) -> Iterator[Item]:
    """Yield the n items one by one; report each item as done when the next one is requested."""
    with BenchProgress(bench, n, console) as course:
        course.begin()
        for item in items:
            yield item
            course.begin()


def duration(seconds: float) -> str:
    """Return a duration in words, such as minutes and seconds."""
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"
