"""Opening files for reading (regular files only, as pipes and devices may block) and for writing (closed to
other users).
"""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path

from streams.errors import StreamError

MODE = 0o660
"""Permissions of new files, less what the umask takes: a person's data is not for other users of the
machine."""
NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags by which neither a pipe nor a terminal holds a program up, or becomes its own."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path | str) -> FileIO:
    """Open a file for unbuffered reading; never waits for another program.

    Raises OSError where it cannot be opened, and StreamError where it is a folder, a pipe or a device.
    """
    if Path(path).is_dir():  # which cannot be opened everywhere
        raise StreamError(f"{path} is a folder, not a file")
    file = FileIO(os.fspath(path), opener=_open)
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return file
    file.close()
    kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
    raise StreamError(f"{path} is {kind}, not a file")


def opened_anew(path: str, flags: int) -> int:
    """Open a file that is closed to other users if it is new; an `opener` for Python's `open`, which gives it
    the path and its flags.

    Writing into a pipe or a terminal that takes no more raises BlockingIOError instead of waiting.
    """
    return os.open(path, flags | NO_WAIT, MODE)


def _open(path: str, flags: int) -> int:
    # opening a pipe would wait for somebody who writes into it
    return os.open(path, flags | NO_WAIT)
