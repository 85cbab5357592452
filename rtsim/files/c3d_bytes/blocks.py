"""Blocks of a C3D file to which its header and parameters refer, when frames before them grow or move: the
rotations of segments (group ROTATION) and the section of labels and ranges.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.section import Section
from rtsim.files.c3d_bytes.words import MIPS
from rtsim.files.markers.c3d_check import BLOCK

AT_RANGES, KEY = 294, 12_345
"""Byte of the header at which a section of labels and ranges is announced, and the value that announces it;
the next word is the block in which this section begins.
"""
LAST_BLOCK = 65_535
"""Largest number of a block that 16 bits can state."""


class Edges(NamedTuple):
    """Blocks of a file, from 1.

    after_parameters : first block behind the parameters
    data : block in which the frames begin
    after_frames : first whole block behind the frames
    """

    after_parameters: int
    data: int
    after_frames: int

    def moved(self, block: int, new: Edges) -> int:
        """Return the block at which what began at `block` begins in a file with other edges; 0 if it is
        before or among the parameters or within the frames, where nothing has a place of its own.
        """
        if block >= self.after_frames:
            return block - self.after_frames + new.after_frames
        return block - self.data + new.data if self.after_parameters <= block < self.data else 0


def rotations_at(section: Section) -> int:
    """Return the block, from 1, in which the rotations of segments begin, as the group ROTATION states; 0 if
    the file has none.
    """
    n_segment = section.number("ROTATION", "USED")
    return int(section.number("ROTATION", "DATA_START") or 0) if n_segment else 0


def ranges_at(data: bytes | bytearray, section: Section) -> int:
    """Return the block, from 1, in which the section of labels and ranges begins, as the header `data`
    states; 0 if the file has none.
    """
    key, block = struct.unpack_from(f"{_order(section)}HH", data, AT_RANGES)
    return int(block) if key == KEY else 0


def move_rotations(section: Section, old: Edges, new: Edges) -> None:
    """Let ROTATION:DATA_START state where the rotations begin in a file with other edges; ConfigError if they
    are not apart from parameters and frames, or if the block has no number of 16 bits.
    """
    block = rotations_at(section)
    if not block:
        return
    moved = old.moved(block, new)
    if not 0 < moved <= LAST_BLOCK:
        raise ConfigError(
            f"the rotations of segments (group ROTATION) begin in block {block} of the file, "
            + (f"and in the new file they would begin in block {moved}" if moved
               else "which is not apart from its parameters and frames"),
            where=section.where, allowed=f"up to {LAST_BLOCK}" if moved else None,
            remedy="write the results as .mot, .csv or .mcap",
        )  # fmt: skip
    section.put_number("ROTATION", "DATA_START", moved)


def move_ranges(head: bytearray, section: Section, old: Edges, new: Edges) -> None:
    """Let the header, changed in place, state where the section of labels and ranges begins in a file with
    other edges. Unchanged if it is among the parameters.
    """
    moved = old.moved(ranges_at(head, section), new)
    if 0 < moved <= LAST_BLOCK:
        struct.pack_into(f"{_order(section)}H", head, AT_RANGES + 2, moved)


def edges_of(data: bytes, section: Section, n_byte: int) -> Edges:
    """Return the edges of a file from its bytes and the parameters read from them; n_byte : size of its
    frames
    """
    (data_start,) = struct.unpack_from(f"{_order(section)}H", data, 16)
    return Edges(data[0] + -(-section.size // BLOCK), data_start, data_start + -(-n_byte // BLOCK))


def tail_of(data: bytes, section: Section, edges: Edges) -> bytes:
    """Return the blocks behind the frames, if header or parameters refer to them; else b"", as frames that
    nothing counts would be wrong ones behind frames of another size.
    """
    is_known = max(rotations_at(section), ranges_at(data, section)) >= edges.after_frames
    return data[BLOCK * (edges.after_frames - 1) :] if is_known else b""


def tell_left_out(data: bytes, section: Section, edges: Edges) -> list[str]:
    """Return a note if blocks behind the frames, which nothing refers to, are not only zeros."""
    rest = data[BLOCK * (edges.after_frames - 1) :]
    if tail_of(data, section, edges) or not rest.strip(b"\0"):
        return []
    return [
        f"{len(rest)} bytes behind the frames of the recording, to which neither its header nor its "
        "parameters refer, are not in the new file"
    ]


def rotations_of(data: bytes, where: str) -> bytes:
    """Return the bytes of a file from the rotations of segments on, without zeros at their end; b"" if it has
    none. where : name of the file, for errors
    """
    at = rotations_at(Section(data[BLOCK * (data[0] - 1) :], where))
    return data[BLOCK * (at - 1) :].rstrip(b"\0") if at else b""


def _order(section: Section) -> str:
    """Return the byte order of a file as in the module struct."""
    return ">" if section.words.code == MIPS else "<"
