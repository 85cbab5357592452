"""The console of the command line: what it does at closed pipes and in terminals without UTF-8."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status


class LastingConsole(Console):
    """A console that leaves the end of the process to the command line, which knows the exit code, when
    whoever read the output has gone; rich would end the process itself. Its spinner is made of braille,
    or of bars where the terminal has none.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def status(self, status: RenderableType, *, spinner: str = "", **options: Any) -> Status:
        """A line that turns while something goes on."""
        usual = "dots" if self.encoding.startswith("utf") else "line"
        return super().status(status, spinner=spinner or usual, **options)
