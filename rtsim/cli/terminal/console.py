"""The console of the command line, which handles closed pipes and terminals without UTF-8."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status


class LastingConsole(Console):
    """A console that leaves the exit to the command line, which knows the exit code, when the reader of the
    output has ended; rich would end the process itself. Its spinner uses braille characters, or bars if the
    terminal has none.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def status(self, status: RenderableType, *, spinner: str = "", **options: Any) -> Status:
        """Return a status line with a spinner."""
        usual = "dots" if self.encoding.startswith("utf") else "line"
        return super().status(status, spinner=spinner or usual, **options)
