"""Files that get their name only when they are complete, so that a file never has only a part of its content.

If the writer is killed, the name refers to the old file or already to the new one. Temporary files of a
killed writer have other names, and are removed by a later writer.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streams.recording.opening import MODE

LEFT_S = 86_400.0
"""An unlocked temporary file that was not written to for this time is a leftover [s]."""
FAR = 1 << 62
"""Place of the lock on a part [bytes], beyond any content: on a share of Windows nobody else, not even this
process, may write where a lock is."""
_PART = re.compile(r"\.[0-9a-f]{16}\.part")
_looked: set[str] = set()  # folders where this process has removed leftovers


@contextmanager
def whole_file(path: Path, mode: int = MODE) -> Iterator[Path]:
    """Yield the path of a temporary file to be written; it replaces `path` once it is complete and on the
    disk.

    Raises OSError if that fails. Then the temporary file is removed, and the old file stays.

    mode : mode of a new file, reduced by the umask; an existing file keeps its mode
    """
    part = part_of(path, mode)
    try:
        with part.open("r+b") as held:
            with suppress(OSError):  # of a file system without locks, where the age of a part alone counts
                _lock(held.fileno())
            yield part
            with part.open("r+b") as file:  # else a power cut could leave the name without the content
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(os.path.realpath(path))
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # of a write that failed or was interrupted


def part_of(path: Path, mode: int = MODE) -> Path:
    """Create an empty temporary file in the folder of `path`, with a short unique name, and return its
    path."""
    part = Path(os.path.realpath(path)).with_name(f".{secrets.token_hex(8)}.part")
    if str(part.parent) not in _looked:
        _looked.add(str(part.parent))
        remove_leftovers(part.parent)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return part


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that killed writers of this user have left in a folder."""
    old = time.time() - LEFT_S
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if not _PART.fullmatch(entry.name):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if own and stat.S_ISREG(status.st_mode) and status.st_mtime < old:
                    with open(entry.path, "r+b") as part:
                        _lock(part.fileno())
                    os.unlink(entry.path)


def _lock(file: int) -> None:
    """Lock an open temporary file until it is closed; OSError where another process has locked it.

    A lock shows reliably whether a temporary file is still in use. Its age does not: clocks may be set,
    network shares have their own clocks, and processes may be suspended.
    """
    # A lock of the open file: flock would lock all of it, lockf end where the process closes the file again.
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, FAR, 1, 0))
