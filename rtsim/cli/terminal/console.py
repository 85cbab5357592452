"""The console of the command line, which handles closed pipes and terminals without UTF-8."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status


class LastingConsole(Console):
    """A console that does not end the process when the reader of its output has ended, as rich's own console
    does; the command line then ends with the right exit code. Its spinner uses braille characters, or bars if
    the terminal has none.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def status(self, status: RenderableType, *, spinner: str = "", **options: Any) -> Status:
        """Return a status line with a spinner."""
        usual = "dots" if self.encoding.startswith("utf") else "line"
        return super().status(status, spinner=spinner or usual, **options)
