"""Access to a folder, such as the cache of machine code, that only its user may be able to write to, since
whoever can write there decides which code is run.

The folder and its content must belong to the user of this process, must not be writable by group or others,
and must not be symbolic links. Each is opened first and examined by its descriptor, and the next one is
opened relative to that descriptor, so that nothing can be exchanged between the check and the read. A folder
of root's is refused to other users as well: code is run only for the user who compiled it. The folders above,
up to the root of the file system, must belong to this user, to root or to the owner of `/`, and must not be
writable by others unless they are sticky, as sshd demands (StrictModes). Through them this folder could only
be replaced by another one, which would have another owner; they are therefore examined only once per process.

Windows has neither numeric owners nor these modes: there the user's profile protects the folder, and nothing
is checked. The corresponding rule for key files is in `streams/access/ownership.py`.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HAS_OWNERS = os.name == "posix"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_AS_FOLDER = _NO_LINK | getattr(os, "O_DIRECTORY", 0)
_AS_FILE = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotPrivateError(OSError):
    """Error for a file or folder that another user may have put there or may change.

    what : sentence that names the file and the reason; remedy : what the user can do, or ""
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


class Folder:
    """An open folder to which only its user can write; its files are read and written relative to its open
    descriptor (None on Windows).
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self.descriptor = path, descriptor

    def read(self, name: str) -> bytes:
        """Return the bytes of a file that only its user can write.

        Raise NotPrivateError where other users can write it, OSError where it cannot be read.
        """
        with os.fdopen(_opened(self.path / name, self.descriptor, _AS_FILE), "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file completely or not at all; only this user can read and write it."""
        part = f"{name}.{uuid.uuid4().hex[:8]}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AS_FILE
        try:
            with os.fdopen(os.open(self._at(part), flags, 0o600, dir_fd=self.descriptor), "wb") as file:
                file.write(data)
            os.replace(self._at(part), self._at(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except OSError:
            with suppress(OSError):
                self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Delete a file; if the name is a symbolic link, the link itself is deleted."""
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """Return the names in the folder, each with its status; symbolic links are not followed."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as found:
            return [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]

    def check_entries(self, folders: re.Pattern[str], suffix: str) -> None:
        """Raise NotPrivateError if other users can write to a sub-folder whose name matches `folders`, or to
        a file in it whose name ends in `suffix`.
        """
        if not HAS_OWNERS:
            return
        for name, _ in self.entries():
            if folders.fullmatch(name):
                with suppress(FileNotFoundError), _below(self, name) as folder:
                    for of_file, status in folder.entries():
                        if of_file.endswith(suffix):
                            check_private(folder.path / of_file, status)

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


@contextmanager
def opened(root: Path, name: str = "", make: bool = False) -> Iterator[Folder]:
    """Context manager that opens the folder `root`, or its sub-folder `name`, and closes it at the end.

    make : whether they are created where they do not exist, accessible to this user alone
    Raise NotPrivateError where one of them is not private, OSError where one cannot be opened or created.
    """
    if not HAS_OWNERS:
        if make:
            (root / name).mkdir(parents=True, exist_ok=True)
        yield Folder(root / name, None)
        return
    if make:
        _make(root)
    _check_above(root)
    top = Folder(root, _opened(root, None, _AS_FOLDER))
    try:
        if not name:
            yield top
            return
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=top.descriptor)
        with _below(top, name) as folder:
            yield folder
    finally:
        assert top.descriptor is not None
        os.close(top.descriptor)


def check_private(path: Path, status: os.stat_result) -> None:
    """Raise NotPrivateError if a file or folder is a symbolic link, belongs to another user, or can be
    written by others; status : the result of os.lstat or os.fstat for it.
    """
    what = ""
    if stat.S_ISLNK(status.st_mode):
        what = f"{path} is a link"
    elif status.st_uid != os.geteuid():
        what = f"{path} belongs to {_name_of(status.st_uid)}"
    elif status.st_mode & OTHERS_WRITE:
        what = f"others may write to {path} (mode {stat.S_IMODE(status.st_mode):03o})"
    if what:
        raise NotPrivateError(what, f"remove it with `rm -r {shlex.quote(str(path))}`")


@contextmanager
def _below(folder: Folder, name: str) -> Iterator[Folder]:
    descriptor = _opened(folder.path / name, folder.descriptor, _AS_FOLDER)
    try:
        yield Folder(folder.path / name, descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path, above: int | None, flags: int) -> int:
    """Open a file or folder, check that only this user can write to it, and return its descriptor.

    above : descriptor of the open folder that contains it, or None; flags : flags of os.open
    """
    place = path if above is None else path.name
    try:
        descriptor = os.open(place, os.O_RDONLY | flags, dir_fd=above)
    except OSError:
        if HAS_OWNERS:  # a link is refused in different words by each system
            check_private(path, os.stat(place, dir_fd=above, follow_symlinks=False))
        raise
    try:
        if HAS_OWNERS:
            check_private(path, os.fstat(descriptor))
    except NotPrivateError:
        os.close(descriptor)
        raise
    return descriptor


def _make(root: Path) -> None:
    """Create a folder and all missing folders above it, writable by this user alone whatever the process's
    umask is.
    """
    missing = []
    for folder in (root, *root.parents):
        if os.path.lexists(folder):
            break
        missing.append(folder)
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)


@functools.cache
def _check_above(root: Path) -> None:
    """Raise NotPrivateError if another user could replace one of the folders above `root`; symbolic links are
    followed.
    """
    trusted = {os.geteuid(), 0, os.stat("/").st_uid}
    above = Path(os.path.realpath(root.parent))
    for folder in (above, *above.parents):
        status = folder.stat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid not in trusted:
            raise NotPrivateError(f"{folder} belongs to {_name_of(status.st_uid)}")
        if mode & OTHERS_WRITE and not mode & stat.S_ISVTX:
            raise NotPrivateError(
                f"others may write to {folder} (mode {mode:03o}), above {root}",
                f"close it to them with `chmod go-w {shlex.quote(str(folder))}`",
            )


def _name_of(user: int) -> str:
    """Return the name of the user with this numeric id.

    The module that finds it is imported here, as Windows lacks it.
    """
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
