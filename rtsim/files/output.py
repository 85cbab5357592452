"""Output files, written completely or not at all, which replace an existing file only on request."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rtsim.errors import ConfigError
from streams.whole_file import part_of, whole_file

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that spreadsheets evaluate as a formula, which may start other programs."""


def check_folder(path: Path, where: str, in_place: bool = False) -> None:
    """Raise ConfigError naming `where` if the folder of a file at `path` does not exist or is not writable.

    in_place : whether an existing file is opened itself, as a log is, instead of being replaced; it may then
        be a device, but no pipe
    """
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}", where=where, remedy="make it first")
    check_writable(path, where, in_place)


def check_writable(path: Path, where: str, in_place: bool = False) -> None:
    """Raise ConfigError naming `where`, before the work begins, if a file of this name cannot be written,
    tested with a temporary file beside it.

    in_place : whether an existing file is opened itself, such as a log or a picture, and may be a device;
        otherwise it is replaced
    """
    try:
        there = _is_there(path)
        if there and in_place and (path.is_fifo() or path.is_socket()):
            raise ConfigError(
                f"{path.name} is a pipe or a socket, whose reader could hold up the program", where=where,
                remedy="give the name of a file",
            )  # fmt: skip
        if there and not path.is_file() and not path.is_dir() and not in_place:
            raise ConfigError(
                f"{path.name} is not a regular file", where=where, remedy="give the name of a new file"
            )
        if there and in_place and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not there or (path.is_file() and not in_place):
            part_of(path).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{path.name} cannot be written into {path.parent} ({error.strerror})", where=where,
            remedy="give another folder or name",
        ) from None  # fmt: skip


def _is_there(path: Path) -> bool:
    """Return whether a file or folder of this name exists; OSError for an impossible name, such as one that
    is too long.
    """
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def check_free(path: Path, overwrite: bool = False, in_place: bool = False) -> None:
    """Raise ConfigError if a file at `path` cannot be written, or exists and `overwrite` is not set.

    in_place : whether an existing file is opened itself, as a log is, instead of being replaced; it may then
        be a device
    """
    if path.is_dir():
        raise ConfigError("this is a folder", where=str(path), remedy="give the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}", where=str(path), remedy="make it first")
    check_writable(path, str(path), in_place)
    if path.exists() and not overwrite:
        raise ConfigError(
            "the file exists already",
            where=str(path),
            remedy="choose another name or give --force",
        )


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path`, which replaces the file at `path` once it is complete and on the
    disk.

    ConfigError if that fails, as on a full disk; then the temporary file is removed, and an existing file at
    `path` is unchanged.
    """
    try:
        with whole_file(path) as part:
            yield part
    except OSError as error:
        raise ConfigError(f"cannot be written ({error.strerror or error})", where=str(path)) from None


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or its parts one after the other, in UTF-8 with line feeds as line ends; ConfigError if
    that fails.
    """
    with whole(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines([text] if isinstance(text, str) else text)


def cell_of(text: str) -> str:
    """Return an untrusted text as a cell of a CSV file that spreadsheets display without evaluating it."""
    one_line = text.replace("\r", " ")  # which the writer leaves as it is, and readers take for another row
    return f"'{one_line}" if text.startswith(FORMULA) else one_line


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes to a file; ConfigError if that fails."""
    with whole(path) as part:
        part.write_bytes(data)
