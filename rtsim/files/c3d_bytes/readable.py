"""A copy of a C3D file that the reader can read, where it cannot read the file itself.

The reader supports Intel format alone, and of Vicon's files those with the group TRIAL alone, which programs
that edit such files leave out.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from rtsim.config.reading import file_faults
from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.processor import for_processor, read_all
from rtsim.files.c3d_bytes.section import INTEGER, C3dParameter, Section
from rtsim.files.c3d_bytes.words import INTEL
from rtsim.files.markers.c3d_check import BLOCK, MAX_COUNTED, Head
from streams.recording.opening import open_regular

FIELDS = (("ACTUAL_START_FIELD", 6), ("ACTUAL_END_FIELD", 8))
"""First and last frame in the group TRIAL, and where the header counts them."""


@contextmanager
def readable_copy(path: Path, head: Head) -> Iterator[Path]:
    """Yield the path at which the reader can read a file: its own, or that of a temporary copy, which is
    deleted afterwards.

    An error about the copy is raised with the name of the file itself.
    """
    lacks_trial = _lacks_trial(_parameters(path, head))
    if head.processor == INTEL and not lacks_trial:
        yield path
        return
    data = read_all(path)
    if head.processor != INTEL:
        data = for_processor(data, INTEL, str(path))
    if lacks_trial:
        data = with_trial(data, str(path))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(data)
        try:
            yield copy
        except ConfigError as error:
            raise ConfigError(
                error.what, where=str(path), allowed=error.allowed, remedy=error.remedy
            ) from None


def _parameters(path: Path, head: Head) -> Section:
    """The parameter section of a file."""
    with file_faults(path), BufferedReader(open_regular(path)) as file:
        at = BLOCK * (file.read(1)[0] - 1)
        file.seek(at)
        return Section(file.read(max(BLOCK * (head.data_start - 1) - at, BLOCK * MAX_COUNTED)), str(path))


def _lacks_trial(section: Section) -> bool:
    """Whether a file is one of Vicon without the group TRIAL."""
    company = " ".join(section.texts("MANUFACTURER", "COMPANY")).casefold()
    return "vicon" in company and not any(r.group < 0 and r.key == "TRIAL" for r in section.records)


def with_trial(data: bytes, where: str) -> bytes:
    """The bytes of a file in Intel format with the group TRIAL, whose frames are those of the header; the
    data move where the parameters need more room.
    """
    start = BLOCK * (data[0] - 1)
    section = Section(data[start:], where)
    for name, at in FIELDS:
        section.put("TRIAL", name, C3dParameter(INTEGER, (2,), data[at : at + 2] + bytes(2)))
    data_at = BLOCK * (struct.unpack_from("<H", data, 16)[0] - 1)
    n_more = max(0, start + len(section.written()) - data_at)  # in whole blocks, as both are
    block = (data_at + n_more) // BLOCK + 1
    if section.parameter("POINT", "DATA_START") is not None:
        section.put_number("POINT", "DATA_START", block)
    head = bytearray(data[:start])
    struct.pack_into("<H", head, 16, block)
    written = section.written().ljust(data_at + n_more - start, b"\0")
    return bytes(head) + written + data[data_at:]
