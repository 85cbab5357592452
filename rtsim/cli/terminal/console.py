"""The console of the command line: what it does at closed pipes and in terminals without UTF-8."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status


class LastingConsole(Console):
    """rich ends the process itself, with an exit code of its own, when whoever read the output has gone: that
    is left to the command line, which knows the exit code. And what turns while one waits is made of braille,
    of bars where the terminal has none.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def status(self, status: RenderableType, *, spinner: str = "", **options: Any) -> Status:
        """A line that turns while something goes on."""
        usual = "dots" if self.encoding.startswith("utf") else "line"
        return super().status(status, spinner=spinner or usual, **options)
