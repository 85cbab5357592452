"""Checks of the bytes of a C3D file before ezc3d reads it: damaged ones crash its C++ code."""

from __future__ import annotations

import math
import struct
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from rtsim.config.reading import file_faults
from rtsim.errors import ConfigError
from streams.recording.opening import open_regular

MOST_BYTES = 1_000_000_000
BLOCK = 512  # [bytes] unit of C3D files
C3D_KEY = 0x50  # second byte of every C3D file
INTEL, BIG_ENDIAN = 84, 86  # processor byte of the parameter section; big-endian is that of MIPS machines
MAX_COUNTED = 256  # blocks of parameters read even where the header does not say where the data begin
TYPES = (-1, 1, 2, 4)  # text, byte, 16-bit integer, float; the size of an entry is the absolute value


class Head(NamedTuple):
    """Fields of the header of a C3D file, in words of 16 bits, and the file's size.

    n_point, n_value : number of points, and of analog values, of a frame
    first, last : numbers of the first and the last frame, from 1
    data_start : block in which the data begin, from 1
    n_byte : size of the file [bytes]
    processor : 84 Intel, 85 DEC, 86 MIPS
    """

    n_point: int
    n_value: int
    first: int
    last: int
    data_start: int
    n_byte: int
    processor: int = INTEL

    @property
    def n_frame(self) -> int:
        """Number of frames that the header announces, modulo 65536."""
        return self.last - self.first + 1


def check_c3d(path: Path) -> Head:
    """Check the bytes of a C3D file and return its header; ConfigError if the file is damaged.

    A file counts as damaged if it is not a C3D file, is cut off before its data, or has a damaged parameter
    section.
    """
    with file_faults(path), BufferedReader(open_regular(path)) as file:
        head = file.read(BLOCK) or b""  # nothing at all of what the kernel keeps others from
        if len(head) < BLOCK or head[1] != C3D_KEY or head[0] < 2:
            raise ConfigError(
                "this is not a C3D file", where=str(path), remedy="export the trial as C3D or TRC"
            )
        file.seek(BLOCK * (head[0] - 1))
        processor = int.from_bytes(file.read(4)[3:], "little") or INTEL
        order = ">" if processor == BIG_ENDIAN else "<"
        n_point, n_value, first, last = struct.unpack_from(f"{order}4H", head, 2)
        (data_start,) = struct.unpack_from(f"{order}H", head, 16)
        file.seek(BLOCK * (head[0] - 1))
        section = file.read(BLOCK * max(data_start - head[0], MAX_COUNTED))
        n_byte = file.seek(0, 2)
    if n_byte > MOST_BYTES:
        raise ConfigError(
            f"larger than {MOST_BYTES / 1e6:.6g} MB",
            where=str(path),
            remedy="cut the trial into shorter ones",
        )
    if n_byte <= BLOCK * (data_start - 1):
        raise ConfigError(
            "the C3D file is cut off before its data",
            where=str(path),
            remedy="copy the file or export the trial again",
        )
    if not _is_sound(section, order):
        raise ConfigError(
            "the parameter section of the C3D file is damaged", where=str(path), remedy="export it again"
        )
    return Head(
        n_point=n_point,
        n_value=n_value,
        first=first,
        last=last,
        data_start=data_start,
        n_byte=n_byte,
        processor=processor,
    )


def _is_sound(section: bytes, order: str) -> bool:
    """Return whether the chain of group and parameter records is unbroken, and each has the size it
    declares.
    """
    at = 4
    while True:
        if at + 2 > len(section):
            return False
        n_name, group = struct.unpack_from("<bb", section, at)
        if n_name == 0 or group == 0:
            return True
        body = at + 2 + abs(n_name)
        if body + 2 > len(section):
            return False
        (length,) = struct.unpack_from(f"{order}H", section, body)
        end = body + length if length else len(section)
        if end > len(section) or (group > 0 and not _fits(section[body + 2 : end])):
            return False
        if length == 0:
            return True
        at = end


def _fits(record: bytes) -> bool:
    """Return whether type, dimensions and data of a parameter fit into its record."""
    if len(record) < 2:
        return False
    kind, n_dimension = struct.unpack_from("<bB", record)
    if kind not in TYPES or n_dimension > 7 or len(record) < 2 + n_dimension:
        return False
    return 2 + n_dimension + abs(kind) * math.prod(record[2 : 2 + n_dimension]) <= len(record)
