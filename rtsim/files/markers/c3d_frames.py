"""The data of a C3D file read from its bytes, where counts of 16 bits hide frames or samples from ezc3d, the
library that reads C3D files.

Frame counts end at 65 535 or wrap to 0; samples and offsets of an unsigned converter look negative above 32
767. Frames are added only if those that ezc3d returned are found again in the bytes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.c3d_check import BLOCK, Head
from rtsim.files.markers.c3d_process import Content
from rtsim.files.markers.trial import count_of

FloatArray = NDArray[np.float64]
MOST = 65_536  # what 16 bits count
FIRST_OF_DATA = 3  # block: before them are a header and parameters; a header with less does not say it
FULL = MOST - 1  # a count that may have been cut to fit
LATEST = 1_000_000_000  # no trial begins at a later frame, or has more of them
HALF_RANGE = -16_384  # an offset below is that of an unsigned converter: no signed one has its zero there
ALIKE = 1e-4  # in units of the file: what was read must be found again as nearly


class Scaling(NamedTuple):
    """Scaling of integers to values: value = factor * (count - offset).

    factor, offset : (n_channel,)
    is_unsigned : whether 16-bit counts range from 0 to 65 535
    """

    factor: FloatArray
    offset: FloatArray
    is_unsigned: bool
    notes: tuple[str, ...]


def with_all_frames(path: Path, head: Head, content: Content) -> Content:
    """Return the content of a C3D file, as read by ezc3d, completed from the bytes of the file.

    Added are the frames and analog samples that ezc3d did not read correctly because of 16-bit counts, and
    the true number of the first frame; sentences on what was done are added to the content's notes.
    """
    content = content._replace(first=_first(head, content))
    n_read, n_point, _ = content.points.shape
    n_channel = content.analogs.shape[1]
    scaling = _scaling(content, n_channel)
    content = content._replace(notes=(*content.notes, *scaling.notes))
    told = content.analogs.size > 0 and (scaling.is_unsigned or bool((scaling.offset < 0.0).any()))
    width = 4 * n_point + content.n_value  # by which the frames were read, as check_frames has confirmed
    is_integer = content.is_integer
    size = (2 if is_integer else 4) * width
    if n_read == 0 or n_point == 0 or head.n_point != n_point or head.data_start < FIRST_OF_DATA:
        return content
    n_held = (head.n_byte - BLOCK * (head.data_start - 1)) // size
    n_spare = n_held - n_read
    doubtful = n_spare * size >= BLOCK or n_read >= FULL
    if not (doubtful or told):
        return content
    dtype = np.dtype("<i2" if is_integer else "<f4")
    rows = np.fromfile(path, dtype, n_held * width, offset=BLOCK * (head.data_start - 1))
    rows = rows.reshape(-1, width)
    n_frame = n_read
    if doubtful:
        n_frame, notes = _n_frame(content, rows, size)
        if n_frame > n_read and not _is_found_again(content, rows, is_integer):
            n_frame, notes = (
                n_read,
                [f"the file contains more than {n_read} frames; only the first {n_read} frames were read"],
            )
        content = content._replace(notes=(*content.notes, *notes))
    if n_frame != n_read:
        points = _points(rows[n_read:n_frame], content, is_integer)
        content = content._replace(points=np.concatenate([content.points[:n_frame], points]))
    if content.analogs.size and (told or n_frame != n_read) and len(rows) >= n_frame:
        analogs = _samples(rows[:n_frame, 4 * n_point :], n_channel, scaling, is_integer)
        content = content._replace(analogs=analogs)
    return content


def without_rotations(head: Head, content: Content) -> tuple[Head, Content]:
    """Return header and content of a file with rotations of segments behind its frames (group ROTATION):
    `n_byte` of the header ends where they begin, and a note tells that they are not used.
    """
    n_segment = int(_number(content, "ROTATION", "USED")) % MOST
    if not n_segment:
        return head, content
    n_frame, n_point, _ = content.points.shape
    n_byte = (2 if content.is_integer else 4) * n_frame * (4 * n_point + content.n_value)
    start = BLOCK * (int(_number(content, "ROTATION", "DATA_START")) % MOST - 1)
    if BLOCK * (head.data_start - 1) + n_byte <= start < head.n_byte:
        head = head._replace(n_byte=start)
    note = f"the rotations of {count_of(n_segment, 'segment')} (group ROTATION) are not used"
    return head, content._replace(notes=(*content.notes, note))


def _first(head: Head, content: Content) -> int:
    """Return the index of the first frame, from TRIAL:ACTUAL_START_FIELD if the 16 bits of the header cannot
    represent it.
    """
    start = _long(content, "ACTUAL_START_FIELD")
    cut = head.first in (start % MOST, FULL)
    return start - 1 if FULL <= start <= LATEST and cut else content.first


def _long(content: Content, name: str) -> int:
    """Return an integer that the group TRIAL stores as two 16-bit integers, the lower half first; 0 if the
    parameter `name` is missing.
    """
    words = content.parameters["TRIAL"].get(name, [])
    if len(words) != 2 or any(isinstance(word, str) or not math.isfinite(word) for word in words):
        return 0
    low, high = (int(word) % MOST for word in words)
    return low + MOST * high


def _number(content: Content, group: str, name: str) -> float:
    """Return the first number of a parameter; 0 if the parameter is missing or not finite."""
    values = content.parameters[group].get(name, [])
    if not values or isinstance(values[0], str) or not math.isfinite(values[0]):
        return 0.0
    return float(values[0])


def stated_counts(head: Head, content: Content) -> set[int]:
    """Return the numbers of frames that header and parameters state, those of 16 bits modulo 65536."""
    counts = {
        head.n_frame % MOST,
        int(_number(content, "POINT", "FRAMES")) % MOST,
        int(_number(content, "POINT", "LONG_FRAMES")),
        _long(content, "ACTUAL_END_FIELD") - _first(head, content),
    }
    return {count for count in counts if count > 0}


def _n_frame(content: Content, rows: NDArray[np.generic], size: int) -> tuple[int, list[str]]:
    """Return how many of the rows of `size` bytes are frames, and notes for the user.

    The number is taken from the counts in the file that are not limited to 16 bits, or from the number of
    frames that ezc3d returned plus the multiple of 65 536 that fits the data. For a count at its maximum,
    frames end where only zeros follow.
    """
    n_read, n_held = len(content.points), len(rows)
    told = [
        _long(content, "ACTUAL_END_FIELD") - content.first,
        int(_number(content, "POINT", "LONG_FRAMES")),
        n_read + MOST * ((n_held - n_read) // MOST) if n_held - n_read >= MOST else 0,
    ]
    # Data fill whole blocks: what is not a frame is less than one.
    last = max(0, n_held - (BLOCK - 1) // size)
    known = [n for n in told if last <= n <= n_held]
    if known:
        n_frame = known[0]
    elif n_read >= FULL:  # the reader may have gone on to the end of the file
        filled = np.flatnonzero((rows[last:] != 0).any(axis=1))
        n_frame = last + (int(filled[-1]) + 1 if filled.size else 0)
    elif (rows[n_read:] != 0).any():
        n_more = n_held - n_read
        return n_read, [
            f"the file states {n_read} frames, but contains data for {n_more} more frames, which were "
            "left out"
        ]
    else:
        return n_read, []
    if n_frame <= n_read:
        return n_frame, []
    said = (
        f"the file states {n_read} frames in a 16-bit number, but contains {n_frame} frames; all "
        "frames were read"
    )
    return n_frame, [said]


def _is_found_again(content: Content, rows: NDArray[np.generic], is_integer: bool) -> bool:
    """Return whether the positions decoded from the bytes of the frames agree with those that ezc3d returned.

    rows : words of the file, one row for each frame
    is_integer : whether words are 16-bit integers, else 32-bit real numbers
    """
    ours = _points(rows[: len(content.points)], content, is_integer)
    same = np.abs(ours - content.points) <= ALIKE
    return bool((same | (np.isnan(ours) & np.isnan(content.points))).all())


def _points(rows: NDArray[np.generic], content: Content, is_integer: bool) -> FloatArray:
    """Return the points of frames, (n, n_point, 3); those with a negative fourth word are missing.

    rows : words of the file, one row for each frame
    is_integer : whether words are 16-bit integers, else 32-bit real numbers
    """
    n_point = content.points.shape[1]
    words = rows[:, : 4 * n_point].reshape(len(rows), n_point, 4).astype(np.float64)
    scale = _number(content, "POINT", "SCALE") if is_integer else 1.0
    return np.where(words[..., 3:] < 0.0, np.nan, scale * words[..., :3])


def _samples(rows: NDArray[np.generic], n_channel: int, scaling: Scaling, is_integer: bool) -> FloatArray:
    """Return the scaled analog samples of frames, (n_sample, n_channel).

    rows : words of the file, one row for each frame
    is_integer : whether words are 16-bit integers, else 32-bit real numbers
    """
    counts = np.ascontiguousarray(rows)
    if is_integer and scaling.is_unsigned:
        counts = counts.view("<u2")
    return scaling.factor * (counts.reshape(-1, n_channel).astype(np.float64) - scaling.offset)


def _scaling(content: Content, n_channel: int) -> Scaling:
    """Return the scaling of the analog channels from ANALOG:GEN_SCALE, SCALE, OFFSET and FORMAT."""
    group = content.parameters["ANALOG"]
    general = _number(content, "ANALOG", "GEN_SCALE") if group.get("GEN_SCALE") else 1.0
    factor, offset = (
        _of_channels(group, "SCALE", n_channel, 1.0),
        _of_channels(group, "OFFSET", n_channel, 0.0),
    )
    word = str(next(iter(group.get("FORMAT", [])), "")).strip().upper()
    is_unsigned = word.startswith("UNSIGNED")
    notes: tuple[str, ...] = ()
    if not word and bool((offset <= HALF_RANGE).any()):
        is_unsigned = True
        notes = (
            f"ANALOG:OFFSET is {offset.min() % MOST:.0f} and no FORMAT is stated; the samples were "
            "read as unsigned 16-bit numbers",
        )
    return Scaling(general * factor, np.where(is_unsigned, offset % MOST, offset), is_unsigned, notes)


def _of_channels(group: dict[str, list[object]], name: str, n_channel: int, usual: float) -> FloatArray:
    """Return one number for each channel from a parameter with its continuations (SCALE, SCALE2, ...);
    usual : the default.
    """
    values: list[float] = []
    key, number = name, 2
    while key in group:
        values += [float(value) for value in group[key] if isinstance(value, (int, float))]
        key, number = f"{name}{number}", number + 1
    return np.array([*values[:n_channel], *[usual] * (n_channel - len(values))])
