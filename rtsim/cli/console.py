"""A console that leaves the end of a closed pipe to the command line, which knows the exit code."""

from __future__ import annotations

from rich.console import Console


class LastingConsole(Console):
    """rich ends the process itself, with an exit code of its own, when whoever read the output has gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
