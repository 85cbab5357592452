"""Files that take their name when they are whole: whatever ends their writer, the name has the old one or the
new one. What a killed writer leaves has a name of its own, and goes when somebody writes there later.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streams.recording.opening import MODE

LEFT_S = 86_400.0
"""A part that nobody has written to for so long is a leftover [s]; who still wants it has an OSError."""
_PART = re.compile(r"\.[0-9a-f]{16}\.part")
_looked: set[str] = set()  # folders where this process has removed leftovers


@contextmanager
def whole_file(path: Path, mode: int = MODE) -> Iterator[Path]:
    """A temporary file beside `path` to be written, which replaces the existing file once it is complete and
    on the disk. OSError where that fails; then nothing is left behind, and what was there before stays.

    mode : of a new file, less what the umask takes; who may read one that was there stays as it was set
    """
    part = part_of(path, mode)
    try:
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
    """A new empty file beside `path`, of a short name that no other has; it is written until it is whole."""
    part = Path(os.path.realpath(path)).with_name(f".{secrets.token_hex(8)}.part")
    if str(part.parent) not in _looked:
        _looked.add(str(part.parent))
        remove_leftovers(part.parent)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return part


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers of this user have left in a folder."""
    old = time.time() - LEFT_S
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if not _PART.fullmatch(entry.name):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
                if own and stat.S_ISREG(status.st_mode) and status.st_mtime < old:
                    os.unlink(entry.path)
