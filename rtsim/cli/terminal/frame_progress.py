"""A progress bar over the frames of a recording, only in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_of(console: Any, n_frame: int) -> Iterator[Callable[[int], None]]:
    """Show a bar in a terminal, nothing elsewhere; yield a function to be called with the number of finished
    frames.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.completed:.0f} of {task.total:.0f} frames"),
        BarColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=n_frame)
        every = max(1, n_frame // 200)

        def show(n_done: int) -> None:
            if n_done % every == 0:
                bar.update(task, completed=n_done)

        yield show
