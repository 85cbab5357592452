"""Conversion of a C3D file to the number format of another processor."""

from __future__ import annotations

from pathlib import Path

from rtsim.config.reading import read_bounded
from rtsim.files.c3d_bytes.section import INTEGER, REAL, Section
from rtsim.files.c3d_bytes.words import Words
from rtsim.files.markers.c3d_check import BLOCK, MOST_BYTES

INTEGERS_AT = (2, 4, 6, 8, 10, 16, 18, 294, 296, 298, 300)
REALS_AT = (12, 20, *range(304, 376, 4))
"""Bytes of the header at which real numbers begin: scale, frame rate, times of 18 events (c3d.org)."""
CUT = "cut the trial into shorter ones"


def read_all(path: Path) -> bytes:
    """Return the bytes of a C3D file; ConfigError if it is too large."""
    return read_bounded(path, MOST_BYTES, CUT)


def for_processor(data: bytes, code: int, where: str) -> bytes:
    """Return the bytes of a file with the numbers of header, parameters and data in the format of another
    processor; everything keeps its position.

    code : the other processor, 84 Intel, 85 DEC or 86 MIPS
    where : name of the file, for errors
    """
    start = BLOCK * (data[0] - 1)
    section = Section(data[start:], where)
    old, new = section.words, Words(code)
    head = bytearray(data[:start])
    for at in INTEGERS_AT:
        head[at : at + 2] = new.from_integers(old.whole(data[at : at + 2]))
    for at in REALS_AT:
        head[at : at + 4] = new.from_floats(old.floats(data[at : at + 4]))
    data_at = BLOCK * (old.whole(data[16:18]) - 1)
    end = data_at + (len(data) - data_at) // 4 * 4
    scale = float(old.floats(data[12:16])[0])
    frames = (
        new.from_integers(old.integers(data[data_at:end]))
        if scale > 0.0
        else new.from_floats(old.floats(data[data_at:end]))
    )
    for k, record in enumerate(section.records):
        if record.group > 0:
            section.records[k] = record._replace(body=_parameter(section, record.body, old, new))
    section.words = new
    written = section.written()
    between = data[start + len(written) : data_at]
    return bytes(head) + written + between + frames


def _parameter(section: Section, body: bytes, old: Words, new: Words) -> bytes:
    """Convert the bytes of a parameter from one processor's number format to another's."""
    found = section.parsed(body)
    if found.kind == INTEGER:
        return found._replace(data=new.from_integers(old.integers(found.data))).body()
    if found.kind == REAL:
        return found._replace(data=new.from_floats(old.floats(found.data))).body()
    return body
