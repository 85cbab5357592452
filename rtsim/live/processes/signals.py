"""Requests from outside to end a process: Ctrl-C, a request to terminate, a closed terminal.

Every command handles them in the same way: finished work is stored and reported as after Ctrl-C, and the
exit code is 128 plus the number of the signal, as in shells.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

REQUESTS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
)
"""SIGHUP, a closed terminal, is there on POSIX only, SIGBREAK on Windows only."""
HANGUP = getattr(signal, "SIGHUP", None)
CLOSED_PIPE = 128 + getattr(signal, "SIGPIPE", 13)
"""Exit code where whoever read the output, as `head`, has gone."""

_came: list[int] = []
_terminals: list[int] = []
_notes: list[Callable[[int], None]] = []


class Interrupted(KeyboardInterrupt):
    """Raised by a request to end the process; it is handled like Ctrl-C."""


def answer_requests() -> None:
    """Let requests raise Interrupted in the main thread from now on; a signal that the parent ignores,
    as under nohup, stays ignored."""
    _came.clear()
    _terminals[:] = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]
    for number in REQUESTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)


def exit_code() -> int | None:
    """Return the exit code of a process that was requested to end; None otherwise."""
    return 128 + _came[-1] if _came else None


@contextmanager
def noting_requests(note: Callable[[int], None]) -> Iterator[None]:
    """Within the `with` block, make a request call `note` with its number instead of raising an exception,
    for work that ends in its own way.
    """
    _came.clear()
    _notes.append(note)
    former = {number: signal.getsignal(number) for number in REQUESTS}
    former = {number: handler for number, handler in former.items() if handler not in (signal.SIG_IGN, None)}
    for number in former:
        signal.signal(number, _answer)
    try:
        yield
    finally:
        _notes.remove(note)
        for number, handler in former.items():
            signal.signal(number, handler)


def _answer(number: int, _: FrameType | None) -> None:
    _came.append(number)
    if number == HANGUP:
        _leave_terminal()
    if not _notes:
        raise Interrupted
    _notes[-1](number)


def _leave_terminal() -> None:
    """Discard all further output, because writing to a closed terminal is an error that would end the work
    before its results are stored. Where no file can be opened any more, output stays as it is: an error here
    would end the work, too.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
    except OSError:
        return
    for descriptor in _terminals:
        with suppress(OSError):
            os.dup2(nowhere, descriptor)
    os.close(nowhere)
