"""Reading of whole files of limited size; every failure gives one message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtsim.errors import ConfigError
from streams.errors import StreamError
from streams.recording.opening import open_regular


def is_file(path: Path | str) -> bool:
    """Return whether a file of this name exists; False for an impossible name, such as one that is too
    long.
    """
    return os.path.isfile(path)


@contextmanager
def file_faults(path: Path) -> Iterator[None]:
    """Convert errors from opening and reading a file to a ConfigError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except StreamError as error:
        raise ConfigError(str(error), remedy="give the path of a file") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        words = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot be read ({words})", where=str(path)) from None


def read_bounded(path: Path, n_most: int, remedy: str) -> bytes:
    """Read a regular file of at most `n_most` bytes; ConfigError, with `remedy` for a larger file."""
    with file_faults(path), open_regular(path) as file:
        pieces, n_left = [], n_most + 1
        if os.fstat(file.fileno()).st_size > n_most:
            n_left = 0  # refused unread
        while n_left > 0 and (piece := file.read(min(n_left, 1 << 24))):
            pieces.append(piece)
            n_left -= len(piece)
    if n_left <= 0:
        raise ConfigError(f"larger than {n_most / 1e6:.6g} MB", where=str(path), remedy=remedy)
    return b"".join(pieces)
