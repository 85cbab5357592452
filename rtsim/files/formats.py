"""File formats that can be read, one row each, in one table that readers, checks and help texts share.

A new format needs a module with a function that reads it, and a row here. The functions in this file import
a reader only when a file of its format is read, so that the program starts faster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.errors import ConfigError

Reader = Callable[..., Any]


def _trc() -> Reader:
    from rtsim.files.markers.trc import read_trc

    return read_trc


def _c3d() -> Reader:
    from rtsim.files.markers.c3d import read_c3d

    return read_c3d


def _recorded_markers() -> Reader:
    from rtsim.files.recording import read_recorded_markers

    return read_recorded_markers


def _c3d_forces() -> Reader:
    from rtsim.files.forces.c3d_plates import read_c3d_forces

    return read_c3d_forces


def _storage_forces() -> Reader:
    from rtsim.files.forces.force_storage import read_storage_forces

    return read_storage_forces


def _cortex_forces() -> Reader:
    from rtsim.files.forces.cortex_forces import read_cortex_forces

    return read_cortex_forces


def _recorded_forces() -> Reader:
    from rtsim.files.forces.recorded_forces import read_recorded_forces

    return read_recorded_forces


def _external_forces() -> Reader:
    from rtsim.files.forces.force_storage import read_external_forces

    return read_external_forces


def _tekscan() -> Reader:
    from rtsim.files.pressure.tekscan import read_tekscan

    return read_tekscan


def _emed() -> Reader:
    from rtsim.files.pressure.emed import read_emed

    return read_emed


def _zebris() -> Reader:
    from rtsim.files.pressure.zebris import read_zebris

    return read_zebris


class FileFormat(NamedTuple):
    """A file format, recognised by its suffix.

    suffix : suffix with its dot, in lower case
    reader : function that imports and returns the reader of a file at a path
    takes : options of the reader besides the path, the axis that points up and the unit of length
    is_own : whether rtsim writes it, rather than a laboratory's system
    peaks_only : whether it contains only the peak pressures of a step
    """

    suffix: str
    reader: Callable[[], Reader]
    takes: tuple[str, ...] = ()
    is_own: bool = False
    peaks_only: bool = False


MARKERS = (
    FileFormat(".trc", _trc, takes=("person",)),
    FileFormat(".c3d", _c3d, takes=("person", "virtual", "unnamed")),
    FileFormat(".mcap", _recorded_markers, takes=("person",), is_own=True),
)
FORCES = (
    FileFormat(".c3d", _c3d_forces),
    FileFormat(".mot", _storage_forces, takes=("markers",)),
    FileFormat(".sto", _storage_forces, takes=("markers",)),
    FileFormat(".forces", _cortex_forces),
    FileFormat(".mcap", _recorded_forces, is_own=True),
    FileFormat(".xml", _external_forces, takes=("markers",)),
)
"""Formats of forces. Those that take markers do not state where the plates are, which markers can show."""
PRESSURE = (
    FileFormat(".asf", _tekscan),
    FileFormat(".lst", _emed),
    FileFormat(".apd", _zebris, peaks_only=True),
)


def suffixes(formats: Sequence[FileFormat]) -> tuple[str, ...]:
    """Return the suffixes of some formats."""
    return tuple(row.suffix for row in formats)


def listed(formats: Sequence[FileFormat]) -> str:
    """Return the suffixes of some formats as a list: .trc, .c3d, .mcap."""
    return ", ".join(suffixes(formats))


def in_words(formats: Sequence[FileFormat]) -> str:
    """Return a phrase for a file of some formats: "a .trc, .c3d or .mcap file"."""
    *some, last = suffixes(formats)
    return f"a {', '.join(some)} or {last} file" if some else f"a {last} file"


def of_laboratories(formats: Sequence[FileFormat]) -> tuple[FileFormat, ...]:
    """Return the formats that laboratory systems write, without those that rtsim writes itself."""
    return tuple(row for row in formats if not row.is_own)


def has_format(path: str | Path, formats: Sequence[FileFormat]) -> bool:
    """Return whether the suffix of a file is that of one of these formats."""
    return Path(path).suffix.lower() in suffixes(formats)


def check_format(path: str | Path, formats: Sequence[FileFormat], what: str, remedy: str) -> FileFormat:
    """Return the format of a file by its suffix; ConfigError for a folder and for an unsupported suffix.

    what : content of the file, such as "markers"
    remedy : remedy for the error
    """
    suffix = Path(path).suffix.lower()
    is_folder = os.path.isdir(path)  # also of a name that no file can have
    for row in formats:
        if row.suffix == suffix and not is_folder:
            return row
    kind = "a folder" if is_folder else f"files of type {suffix or '(no suffix)'!r}"
    raise ConfigError(
        f"{what} cannot be read from {kind}", where=str(path), allowed=listed(formats), remedy=remedy
    )


def read(row: FileFormat, path: str | Path, **options: Any) -> Any:
    """Read a file with the reader of a format; options that the reader does not accept are left out.

    options : up and units, which every reader of markers and forces takes, and those of `FileFormat.takes`
    """
    given = {name: value for name, value in options.items() if name in (*row.takes, "up", "units")}
    return row.reader()(path, **given)
