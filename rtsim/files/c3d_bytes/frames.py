"""The data of a C3D file as an array of bytes with one row for each frame, and functions that add points to
these rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.words import Words

FloatArray = NDArray[np.float64]
Bytes = NDArray[np.uint8]
MISSING = -1.0
"""Fourth word of a point that was not seen."""


class Layout(NamedTuple):
    """Layout of a frame of a C3D file.

    n_point : number of points; each has four words: x, y, z, and one for residual and cameras
    n_value : number of analog values of a frame
    scale : POINT:SCALE; if it is negative, a word is a real number of 32 bits, else an integer of 16 bits
    is_unsigned : whether analog integers range from 0 to 65 535
    """

    n_point: int
    n_value: int
    scale: float
    is_unsigned: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether coordinates and analog values are stored as 16-bit integers."""
        return self.scale > 0.0

    @property
    def n_byte(self) -> int:
        """Size of a frame [bytes]."""
        return (2 if self.is_integer else 4) * (4 * self.n_point + self.n_value)


def rows_of(data: bytes, start: int, n_frame: int, layout: Layout, where: str) -> Bytes:
    """Return the frames of a C3D file as rows of bytes, (n_frame, n_byte), from byte `start` of the file on.

    layout : layout of a frame, which determines n_byte
    where : name of the file, for the error if it is too short
    """
    n_byte = n_frame * layout.n_byte
    if start <= 0:
        raise ConfigError(
            "the header of the C3D file does not say where its frames begin", where=where,
            remedy="export it again",
        )  # fmt: skip
    if start + n_byte > len(data):
        raise ConfigError("the C3D file ends before its last frame", where=where, remedy="export it again")
    return np.frombuffer(data, np.uint8, n_byte, start).reshape(n_frame, layout.n_byte)


def as_reals(rows: Bytes, layout: Layout, words: Words) -> tuple[Bytes, Layout]:
    """Convert frames from integers to real numbers of 32 bits; return them and their layout. Real numbers are
    unchanged.

    Positions are scaled. The fourth word (residual and cameras) and analog counts keep their values, so
    ANALOG:SCALE and OFFSET remain valid.

    rows : (n_frame, n_byte) bytes of the frames
    words : number format of the file's processor
    """
    if not layout.is_integer:
        return rows, layout
    counts = words.integers(rows.tobytes()).reshape(len(rows), -1)
    points = counts[:, : 4 * layout.n_point].reshape(len(rows), layout.n_point, 4).astype(np.float64)
    points[..., :3] *= layout.scale
    values = counts[:, 4 * layout.n_point :]
    if layout.is_unsigned:
        values = values % 65_536
    reals = np.concatenate([points.reshape(len(rows), -1), values.astype(np.float64)], axis=1)
    wide = layout._replace(scale=-layout.scale)
    return np.frombuffer(words.from_floats(reals), np.uint8).reshape(len(rows), wide.n_byte), wide


def points_of(rows: Bytes, layout: Layout, words: Words) -> FloatArray:
    """Return the points of frames, (n_frame, n_point, 4): position in the unit of the file, and the fourth
    word, which holds residual and cameras.

    rows : (n_frame, n_byte) bytes of the frames
    words : number format of the file's processor
    """
    n_byte = (2 if layout.is_integer else 4) * 4 * layout.n_point
    raw = np.ascontiguousarray(rows[:, :n_byte])
    if layout.is_integer:
        points = words.integers(raw.tobytes()).astype(np.float64).reshape(len(rows), layout.n_point, 4)
        points[..., :3] *= layout.scale
        return points
    return words.floats(raw.tobytes()).reshape(len(rows), layout.n_point, 4)


def widened(rows: Bytes, layout: Layout, values: FloatArray, words: Words) -> bytes:
    """Return the bytes of frames of real numbers with new points appended to the points of each frame.

    rows, layout : (n_frame, n_byte) bytes of the frames, and their layout
    values : (n_frame, n_new, 3) positions of the new points. NaN = missing, written as zeros with the fourth
        word -1; other points get the fourth word 0 (no residual, as they are computed)
    words : number format of the file's processor
    """
    n_frame, n_new, _ = values.shape
    missing = np.isnan(values.sum(axis=2)) | np.isinf(values).any(axis=2)
    four = np.zeros((n_frame, n_new, 4))
    four[..., :3] = np.where(missing[..., None], 0.0, values)
    four[..., 3] = np.where(missing, MISSING, 0.0)
    new = np.frombuffer(words.from_floats(four), np.uint8).reshape(n_frame, 16 * n_new)
    n_old = 16 * layout.n_point
    return np.concatenate([rows[:, :n_old], new, rows[:, n_old:]], axis=1).tobytes()
