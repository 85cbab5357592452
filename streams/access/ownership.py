"""Checks whether another user could have created or could replace a key file.

Whoever can write a key file, its folder or a folder above decides who is admitted. So every folder and link
on the path must belong to this user or to root, and must not be writable by group and others. A sticky folder
such as /tmp may be writable, since nobody can move other users' files there. The whole path is checked, as
the library that reads keys is given a path, not an open file. `kernels/compiler/private_folder.py`, which is
independent of this package, keeps folders open instead.

On Windows, which has no such owners and modes, nothing is checked.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from streams.errors import StreamError

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MOST_LINKS = 40


def check_kept(path: Path) -> None:
    """Raise StreamError for a file or folder that users other than this one and root own, may write to, or
    could replace.

    Raises OSError if it does not exist.
    """
    if os.name != "posix":
        return
    root_of_system = os.stat("/").st_uid  # where user ids are mapped it is not 0
    for step, status in _steps(path):
        mode = stat.S_IMODE(status.st_mode)
        is_folder = stat.S_ISDIR(status.st_mode)
        if status.st_uid not in (os.geteuid(), 0) and not (is_folder and status.st_uid == root_of_system):
            raise StreamError(
                f"{path}: {step} belongs to {_name_of(status.st_uid)}, who could replace the key; "
                "keep keys in folders and files of your own"
            )
        sticky = is_folder and mode & stat.S_ISVTX
        if mode & OTHERS_WRITE and not sticky and not stat.S_ISLNK(status.st_mode):
            raise StreamError(
                f"{path}: others than its owner may write to {step} (mode {mode:03o}), who could "
                f"replace the key; close it to them with `chmod go-w {shlex.quote(str(step))}`"
            )


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each folder, link and link target on the way to a file, and at last the file itself, each with
    its status."""
    whole = path.absolute()
    at, n_link = Path(whole.anchor), 0
    yield at, at.stat()
    ahead = list(reversed(whole.parts[1:]))
    while ahead:
        part = ahead.pop()
        if part == "..":
            at = at.parent
            continue
        step = at / part
        status = step.lstat()
        yield step, status
        if not stat.S_ISLNK(status.st_mode):
            at = step
            continue
        n_link += 1
        if n_link > MOST_LINKS:
            raise StreamError(
                f"{path} leads through more than {MOST_LINKS} symbolic links; give a direct path"
            )
        target = Path(os.readlink(step))
        at = Path(target.anchor) if target.is_absolute() else at
        ahead.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))


def _name_of(user: int) -> str:
    """Return the name of a user for messages; the module is imported here, as Windows lacks it."""
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
