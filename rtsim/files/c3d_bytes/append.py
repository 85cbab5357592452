"""Adds points to a C3D file: the bytes of the source, with its parameter section and frames extended.

Nothing of the source is left out. Unchanged parameters, the events of the header, the points and the analog
samples keep their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.frames import Layout, as_reals, rows_of, widened
from rtsim.files.c3d_bytes.lists import extend, list_of
from rtsim.files.c3d_bytes.section import REAL, Section
from rtsim.files.c3d_bytes.words import MIPS
from rtsim.files.markers.c3d_check import BLOCK

FloatArray = NDArray[np.float64]
MOST_POINTS = 65_535
"""Largest number of points, as a C3D file counts them in 16 bits."""
HALF_RANGE = 32_768
AT_RANGES, KEY = 294, 12_345
"""Byte of the header at which a section of labels and ranges is announced, and the value that announces it;
the next word is the block in which this section begins.
"""
USUAL_TYPES = {
    "ANGLES": "ANGLE", "FORCES": "FORCE", "MOMENTS": "MOMENT", "POWERS": "POWER", "SCALARS": "SCALAR",
    "MODELED_MARKERS": "MODELED_MARKER",
}  # fmt: skip
"""Parameter that lists the points of a kind -> beginning of the name of the parameter with their unit, as
ANGLE in ANGLE_UNITS.
"""


class NewPoint(NamedTuple):
    """A point to add to a C3D file.

    label, description : entries in POINT:LABELS and DESCRIPTIONS
    kind : the parameter of the group POINT that lists it as a model output, for example ANGLES; "" = none, as
        for a marker
    values : (n_frame, 3), in units of the file; NaN = missing
    """

    label: str
    description: str
    kind: str
    values: FloatArray


def widened_file(
    data: bytes, section: Section, layout: Layout, n_frame: int, points: Sequence[NewPoint]
) -> bytes:
    """Return the bytes of a C3D file with more points.

    data : bytes of the source
    section : its parameter section, with or without earlier changes; the added points are entered into it
    layout : layout of its frames
    n_frame : number of its frames
    points : the points to add

    ConfigError if a C3D file has no room for so many points.
    """
    if layout.n_point + len(points) > MOST_POINTS:
        raise ConfigError(
            f"with the results the file would contain {layout.n_point + len(points)} points",
            where=section.where, allowed=f"up to {MOST_POINTS}",
        )  # fmt: skip
    order = ">" if section.words.code == MIPS else "<"
    (data_start,) = struct.unpack_from(f"{order}H", data, 16)
    start, section_start = BLOCK * (data_start - 1), BLOCK * (data[0] - 1)
    rows, wide = as_reals(rows_of(data, start, n_frame, layout, section.where), layout, section.words)
    values = np.stack([point.values for point in points], axis=1) if points else np.zeros((n_frame, 0, 3))
    frames = widened(rows, wide, values, section.words)
    _list_points(section, layout.n_point, points)
    section.put_number("POINT", "USED", layout.n_point + len(points))
    if wide.scale != layout.scale:
        section.put_number("POINT", "SCALE", wide.scale, REAL)
    old_end = section_start + BLOCK * -(-section.size // BLOCK)
    between = data[old_end:start]
    n_block = -(-len(between) // BLOCK)
    section.put_number("POINT", "DATA_START", 0)  # there, so that the length is known
    new_start = data[0] + len(section.written()) // BLOCK + n_block
    section.put_number("POINT", "DATA_START", new_start)
    head = bytearray(data[:section_start])
    struct.pack_into(f"{order}H", head, 2, layout.n_point + len(points))
    _move_ranges(head, order, old_end // BLOCK, data_start, new_start - data_start)
    head[12:16] = section.words.from_floats(wide.scale)
    struct.pack_into(f"{order}H", head, 16, new_start)
    whole = bytes(head) + section.written() + between.ljust(n_block * BLOCK, b"\0") + frames
    return whole.ljust(BLOCK * -(-len(whole) // BLOCK), b"\0")


def _move_ranges(head: bytearray, order: str, n_before: int, data_start: int, n_moved: int) -> None:
    """Correct in the header the position of an optional section of labels and ranges, if that section stands
    between parameters and data and has moved together with the data.

    head : bytes of the header, changed in place
    order : byte order as in the module struct, "<" or ">"
    n_before, data_start : block at which the parameters ended, and block at which the data began, before the
        change
    n_moved : number of blocks by which the data have moved
    """
    key, block = struct.unpack_from(f"{order}HH", head, AT_RANGES)
    if key == KEY and n_before < block < data_start:
        struct.pack_into(f"{order}H", head, AT_RANGES + 2, block + n_moved)


def _list_points(section: Section, n_before: int, points: Sequence[NewPoint]) -> None:
    """Enter labels, descriptions and kinds of the added points into the parameters; n_before : number of
    points that the file had
    """
    if not points:
        return
    extend(section, "POINT", "LABELS", n_before, [point.label for point in points])
    extend(section, "POINT", "DESCRIPTIONS", n_before, [point.description for point in points])
    kinds = list(dict.fromkeys(point.kind for point in points if point.kind))
    pairs = list_of(section, "POINT", "TYPE_GROUPS")
    for kind in kinds:
        members = list_of(section, "POINT", kind)
        extend(section, "POINT", kind, len(members), [p.label for p in points if p.kind == kind])
    new = [text for kind in kinds if kind not in pairs[::2] for text in (kind, USUAL_TYPES[kind])]
    extend(section, "POINT", "TYPE_GROUPS", len(pairs), new)


def layout_of(section: Section, n_point: int, n_value: int) -> Layout:
    """Return the layout of the frames of a file with this many points and analog values per frame."""
    scale = section.number("POINT", "SCALE")
    if not scale or not np.isfinite(scale):
        raise ConfigError("POINT:SCALE is missing or 0", where=section.where, remedy="export it again")
    return Layout(n_point, n_value, scale, _is_unsigned(section))


def _is_unsigned(section: Section) -> bool:
    """Return whether the analog integers of a file are unsigned: ANALOG:FORMAT says so or, without it, a
    channel's zero offset is impossible for signed integers.
    """
    word = next(iter(section.texts("ANALOG", "FORMAT")), "").strip().upper()
    found = section.parameter("ANALOG", "OFFSET")
    if word or found is None or abs(found.kind) != 2:
        return word.startswith("UNSIGNED")
    offsets = section.words.integers(found.data)
    return bool((offsets <= -HALF_RANGE // 2).any())
