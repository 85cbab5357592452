"""Text files written whole or not at all, and never over another one unless that is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rtsim.errors import ConfigError


def check_folder(path: Path, where: str) -> None:
    """ConfigError where there is no folder that a file at `path` could be written into."""
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}", where=where, remedy="make it first")
    check_writable(path, where)


def check_writable(path: Path, where: str) -> None:
    """ConfigError where no file of this name can be written, tried by one beside it: told before the work."""
    if os.path.exists(path) and not os.path.isfile(path):  # of a name that is too long they say no
        return  # a device, of which a file beside it tells nothing
    part = part_of(path)
    try:
        part.touch()
    except OSError as error:
        raise ConfigError(
            f"{path.name} cannot be written into {part.parent} ({error.strerror})", where=where,
            remedy="give another folder or name",
        ) from None  # fmt: skip
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """What a file is written as, until it is whole."""
    final = Path(os.path.realpath(path))
    return final.with_name(f"{final.name}.{os.getpid()}.part")


def check_free(path: Path, overwrite: bool = False) -> None:
    """ConfigError where a file at `path` would be overwritten that shall not be, or is none that can be."""
    if path.is_dir():
        raise ConfigError("this is a folder", where=str(path), remedy="give the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}", where=str(path), remedy="make it first")
    check_writable(path, str(path))
    if not path.exists():
        return
    if not path.is_file():
        raise ConfigError("this is no regular file", where=str(path), remedy="give the name of a new file")
    if not overwrite:
        raise ConfigError(
            "the file exists already",
            where=str(path),
            remedy="choose another name or give --force",
        )


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or parts of it, with plain line ends in UTF-8; a file that is there already is replaced
    at the end.

    ConfigError where that fails; then nothing is left behind, and what was there before stays.
    """
    part = part_of(path)
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
        part.replace(os.path.realpath(path))
    except OSError as error:
        raise ConfigError(f"cannot be written ({error.strerror})", where=str(path)) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # of a write that failed or was interrupted
