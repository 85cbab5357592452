"""Adds points to a C3D file: the bytes of the source, with its parameter section and frames extended.

Unchanged parameters, the events of the header, the points, the analog samples and the rotations of segments
behind them keep their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.blocks import Edges, edges_of, move_ranges, move_rotations, tail_of
from rtsim.files.c3d_bytes.frames import Layout, as_reals, rows_of, widened
from rtsim.files.c3d_bytes.lists import extend, list_of
from rtsim.files.c3d_bytes.section import REAL, Section
from rtsim.files.c3d_bytes.words import MIPS
from rtsim.files.markers.c3d_check import BLOCK

FloatArray = NDArray[np.float64]
MOST_POINTS = 65_535
"""Largest number of points, as a C3D file counts them in 16 bits."""
HALF_RANGE = 32_768
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

    Blocks behind the frames are kept if header or parameters refer to them.

    ConfigError if a C3D file has no room for so many points, or for rotations of segments behind them.
    """
    if layout.n_point + len(points) > MOST_POINTS:
        raise ConfigError(
            f"with the results the file would contain {layout.n_point + len(points)} points",
            where=section.where, allowed=f"up to {MOST_POINTS}",
        )  # fmt: skip
    order = ">" if section.words.code == MIPS else "<"
    old = edges_of(data, section, n_frame * layout.n_byte)
    start, tail = BLOCK * (old.data - 1), tail_of(data, section, old)
    rows, wide = as_reals(rows_of(data, start, n_frame, layout, section.where), layout, section.words)
    values = np.stack([point.values for point in points], axis=1) if points else np.zeros((n_frame, 0, 3))
    frames = widened(rows, wide, values, section.words)
    _list_points(section, layout.n_point, points)
    section.put_number("POINT", "USED", layout.n_point + len(points))
    if wide.scale != layout.scale:
        section.put_number("POINT", "SCALE", wide.scale, REAL)
    between = data[BLOCK * (old.after_parameters - 1) : start]
    n_block = -(-len(between) // BLOCK)
    section.put_number("POINT", "DATA_START", 0)  # there, so that the length is known
    move_rotations(section, old, old)
    after_parameters = data[0] + len(section.written()) // BLOCK
    new_start = after_parameters + n_block
    new = Edges(after_parameters, new_start, new_start + -(-len(frames) // BLOCK))
    section.put_number("POINT", "DATA_START", new.data)
    move_rotations(section, old, new)
    head = bytearray(data[: BLOCK * (data[0] - 1)])
    struct.pack_into(f"{order}H", head, 2, layout.n_point + len(points))
    move_ranges(head, section, old, new)
    head[12:16] = section.words.from_floats(wide.scale)
    struct.pack_into(f"{order}H", head, 16, new.data)
    frames = frames.ljust(BLOCK * (new.after_frames - new.data), b"\0")
    whole = bytes(head) + section.written() + between.ljust(n_block * BLOCK, b"\0") + frames + tail
    return whole.ljust(BLOCK * -(-len(whole) // BLOCK), b"\0")


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
