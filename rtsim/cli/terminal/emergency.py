"""The emergency stop of a run: space or Esc in its terminal, or the signal SIGUSR2 to its process."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from streams.closing import Closing
from streams.readable import readable

KEYS = b" \x1b"
"""Space and Esc. A key that sends a sequence, as an arrow, begins it with Esc: it stops, too."""


@contextmanager
def emergency_key(press: Callable[[], object]) -> Iterator[bool]:
    """Within the `with` block, call `press` when a key of KEYS is pressed in the terminal, from a separate
    thread; yield whether there is a terminal.

    Meanwhile the terminal delivers each key at once and does not show it; Ctrl-C works as usual. Without a
    terminal, in the background, or on Windows the keys have no effect.
    """
    if not _at_terminal():
        yield False
        return
    import termios
    import tty

    fd = sys.stdin.fileno()
    former = termios.tcgetattr(fd)
    over, ended = os.pipe()
    thread = threading.Thread(target=_listen, args=(fd, over, press), name="emergency key", daemon=True)
    tty.setcbreak(fd)
    thread.start()
    try:
        yield True
    finally:
        os.write(ended, b"x")
        thread.join()
        termios.tcsetattr(fd, termios.TCSANOW, former)
        os.close(over)
        os.close(ended)


class EmergencySignal(Closing):
    """Handles SIGUSR2 as an emergency stop from now on; a signal that comes before a run takes effect when
    the run begins.

    A separate thread handles it, as the interrupted code may hold a lock. Does nothing if the system has no
    such signal.
    """

    def __init__(self) -> None:
        self._number = getattr(signal, "SIGUSR2", None)
        self._came, self._told = os.pipe()
        if hasattr(os, "set_blocking"):  # Windows has it since Python 3.12, and no such signal
            os.set_blocking(self._told, False)
        self._former = None if self._number is None else signal.signal(self._number, self._note)

    @property
    def name(self) -> str:
        """Name of the signal; "" if the system has none."""
        return "" if self._number is None else "SIGUSR2"

    @contextmanager
    def calling(self, press: Callable[[], object]) -> Iterator[None]:
        """Within the `with` block, call `press` when the signal SIGUSR2 comes; at once if it came before the
        block.
        """
        over, ended = os.pipe()
        thread = threading.Thread(
            target=_listen, args=(self._came, over, press), name="emergency signal", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            os.write(ended, b"x")
            thread.join()
            os.close(over)
            os.close(ended)

    def close(self) -> None:
        """Restore the former handler of the signal. If that handler would end the process, the signal is
        ignored from now on: a late stop of a run that is just ending must not suppress its summary and exit
        code.
        """
        if self._number is not None:
            ends = self._former in (signal.SIG_DFL, None)
            signal.signal(self._number, signal.SIG_IGN if ends else self._former)
        os.close(self._came)
        os.close(self._told)

    def _note(self, number: int, frame: FrameType | None) -> None:
        with suppress(BlockingIOError):  # so many wait that one more tells nothing
            os.write(self._told, KEYS[:1])


def _at_terminal() -> bool:
    """Return whether a user can type to this process; the system would stop a background process that reads
    the terminal.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.isatty(sys.stdin.fileno()) and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False


def _listen(fd: int, over: int, press: Callable[[], object]) -> None:
    """Read keys from the terminal `fd` and call `press` for those of KEYS, until something is written to the
    other end of `over`.
    """
    while True:
        ready = readable([fd, over])
        if over in ready:
            return
        try:
            typed = os.read(fd, 64)
        except OSError:  # the terminal was closed
            return
        if not typed:
            return
        if any(key in KEYS for key in typed):
            press()
