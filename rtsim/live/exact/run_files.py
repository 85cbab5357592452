"""The files that a run depends on: recorded while it is prepared, and stored in its journal."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import rtsim
from kernels.compiler.cache import cache_root
from rtsim.config.paths import configs_root
from streams.codec import MAX_PAYLOAD

PART_BYTES = MAX_PAYLOAD // 2
KEPT_MOST = 32 << 20
"""Largest total size of file contents that are stored; of further files only checksums are stored [bytes]."""
MOST_FILES = 256
"""Largest number of files that are recorded."""
WRITING = os.O_WRONLY | os.O_RDWR


class FilePart(NamedTuple):
    """A part of a file that was read.

    path : absolute path, as bytes
    folder : working folder of the process when it read the file, as bytes
    sha256, n_byte : checksum and size of the whole file
    part, n_part : number of this part and number of parts; 0 of 0 if the content is not stored
    """

    path: bytes
    folder: bytes
    sha256: str
    n_byte: int
    part: int = 0
    n_part: int = 0
    content: bytes = b""


class FilesRead:
    """Records which files this process opens for reading, except those of the installation.

    Models include other files and meshes, and marker maps are chosen by marker names. So the only way to know
    all files of a run is to record which ones are opened.
    """

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        package = Path(rtsim.__file__).resolve().parent
        roots = [
            package,
            package.parent / "kernels",
            package.parent / "streams",
            configs_root(),
            cache_root(),
        ]
        roots += [Path(path) for path in (*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix)]
        self._not = tuple(f"{folder}{os.sep}" for folder in {*map(str, roots), "/proc", "/sys", "/dev"})

    def note(self, path: object, flags: object) -> None:
        """Record the path of a file that is opened, unless it is opened for writing; never raises.

        path, flags : path and mode flags, as Python's audit event `open` reports them
        """
        if isinstance(flags, int) and flags & WRITING:
            return
        if isinstance(path, (str, bytes)) and len(self.paths) < MOST_FILES:
            with suppress(ValueError, OSError):
                absolute = os.path.realpath(os.fsdecode(path))
                if not absolute.startswith(self._not):
                    self.paths[absolute] = None

    def note_texts(self, value: Any) -> None:
        """Record every text in plain values that is the path of a file. A C3D file must be recorded in this
        way, as it is read by a separate process, whose file access is not observed.
        """
        if isinstance(value, Mapping):
            for item in value.values():
                self.note_texts(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.note_texts(item)
        elif isinstance(value, str) and value and os.path.isfile(value):
            self.note(value, os.O_RDONLY)


_noting: list[FilesRead] = []
_is_hooked: list[bool] = []


@contextmanager
def noting_files() -> Iterator[FilesRead]:
    """Record within the `with` block which files are opened."""
    if not _is_hooked:
        _is_hooked.append(True)
        sys.addaudithook(_hear)  # which stays for good, and looks at an empty list afterwards
    files = FilesRead()
    _noting.append(files)
    try:
        yield files
    finally:
        _noting.remove(files)


def _hear(event: str, args: tuple[object, ...]) -> None:
    if _noting and event == "open" and len(args) > 2:
        _noting[-1].note(args[0], args[2])


def parts_of(files: FilesRead) -> Iterator[FilePart]:
    """Yield the recorded files in parts, small files first; files that no longer exist, or are not regular,
    are left out.
    """
    sized = []
    for path in files.paths:
        with suppress(OSError):
            if os.path.isfile(path):
                sized.append((os.path.getsize(path), path))
    left, folder = KEPT_MOST, os.fsencode(Path.cwd())
    for n_byte, path in sorted(sized):
        try:
            content = Path(path).read_bytes() if n_byte <= left else b""
            digest = hashlib.sha256(content).hexdigest() if content or not n_byte else sha256_of(Path(path))
        except OSError:
            continue
        left -= len(content)
        blank = FilePart(os.fsencode(path), folder, digest, n_byte)
        n_part = -(-len(content) // PART_BYTES)
        if not n_part:
            yield blank
        for k in range(n_part):
            piece = content[k * PART_BYTES : (k + 1) * PART_BYTES]
            yield blank._replace(part=k, n_part=n_part, content=piece)


def sha256_of(path: Path) -> str:
    """Return the checksum of a file of any size; OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
