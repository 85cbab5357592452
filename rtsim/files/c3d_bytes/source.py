"""A C3D file to which results are appended: its bytes, parameters, frames, axes and units."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.append import layout_of
from rtsim.files.c3d_bytes.frames import Layout, points_of, rows_of
from rtsim.files.c3d_bytes.lists import list_of
from rtsim.files.c3d_bytes.processor import read_all
from rtsim.files.c3d_bytes.section import REAL, Section
from rtsim.files.markers.axes import ROTATIONS
from rtsim.files.markers.c3d import raw_markers, whole_content
from rtsim.files.markers.c3d_check import BLOCK, check_c3d
from rtsim.files.markers.c3d_process import Content
from rtsim.files.markers.ground import settle
from rtsim.files.markers.persons import of_person

FloatArray = NDArray[np.float64]
MOST = 65_536
SUFFIX = ".c3d"
ALIKE = 1e-5
"""Largest difference of a coordinate as two readers find it, relative to the farthest point."""


class C3dSource(NamedTuple):
    """The content of a C3D file, and the facts needed to append results to it.

    data : its bytes
    section : its parameters, to be changed
    layout : layout of its frames
    n_frame : number of its frames
    first : index of its first frame in the capture, counted from 0
    rate : frame rate [Hz]
    scale : metres per unit of length
    up : the axis of the file that points up, such as "+Z"
    labels : labels of the points
    content : what ezc3d read from the file
    notes : sentences for the user
    """

    path: Path
    data: bytes
    section: Section
    layout: Layout
    n_frame: int
    first: int
    rate: float
    scale: float
    up: str
    labels: tuple[str, ...]
    content: Content
    notes: tuple[str, ...]

    def from_ground(self, vectors: FloatArray) -> FloatArray:
        """Rotate vectors (..., 3) from ground (Y up) into the axes of the file; the unit is unchanged."""
        rotated: FloatArray = vectors @ ROTATIONS[self.up]
        return rotated

    def prefix_of(self, person: str) -> str:
        """Return the prefix of a person's labels, such as "Anna:". If no label has this person's prefix,
        return that of the only person in the labels, or "" if there are none or several.
        """
        persons = {label.rpartition(":")[0] for label in self.labels if ":" in label}
        alike = [name for name in persons if name.casefold() == person.casefold()]
        found = alike or list(persons)
        return f"{found[0]}:" if len(found) == 1 else ""

    def frames_of(self, times: FloatArray) -> NDArray[np.int64]:
        """Return the index of the frame of the file at each time of the trial (n,) [s]; -1 where the file
        has no such frame.
        """
        with np.errstate(invalid="ignore"):
            place = np.rint(times * self.rate) - self.first
        known = np.isfinite(place) & (place >= 0) & (place < self.n_frame)
        return np.where(known, np.where(known, place, 0.0).astype(np.int64), -1)


def open_source(
    path: str | Path, up: str | None = None, units: str | None = None, person: str = ""
) -> C3dSource:
    """Open a C3D file for a copy with added results.

    up, units : axis that points up and unit of length that the user gave for its markers; None = as in the
        file
    person : whose markers were solved, if the file has those of several persons

    ConfigError for a damaged C3D file, and if the points that ezc3d reads differ from those in its bytes.
    """
    path = Path(path)
    head = check_c3d(path)
    content, announced = whole_content(path)
    data = read_all(path)
    section = Section(data[BLOCK * (data[0] - 1) :], str(path))
    settled = settle(of_person(raw_markers(content, path, announced), person), up, units)
    n_frame, n_point, _ = content.points.shape
    layout = layout_of(section, head.n_point, head.n_value)
    rows = rows_of(data, BLOCK * (head.data_start - 1), n_frame, layout, str(path))
    if head.n_point != n_point or not _are_found(content.points, points_of(rows, layout, section.words)):
        raise ConfigError(
            "the frames of the file are not where the header says, so no results can be added to the frames",
            where=str(path), remedy="export the trial again, or write the results as .mot, .csv or .mcap",
        )  # fmt: skip
    notes: tuple[str, ...] = ()
    if announced != n_frame and announced % MOST != n_frame % MOST and n_frame < MOST:
        data = _count_frames(data, section, n_frame, content.first)
        notes = (
            f"the header stated {announced} frames; it was corrected to {n_frame}, the number that "
            "the file contains",
        )
    labels = list_of(section, "POINT", "LABELS")[:n_point]
    return C3dSource(
        path=path, data=data, section=section, layout=layout, n_frame=n_frame, first=content.first,
        rate=content.rate, scale=settled.scale, up=settled.up,
        labels=(*labels, *[""] * (n_point - len(labels))), content=content, notes=notes,
    )  # fmt: skip


def _are_found(points: FloatArray, own: FloatArray) -> bool:
    """Return whether the positions that ezc3d returned (n, n_point, 3) equal those read from the bytes
    (`own`, (n, n_point, 4)), except for missing ones.
    """
    seen = np.isfinite(points).all(axis=2)
    if not seen.any():
        return True
    farthest = float(np.abs(points[seen]).max())
    with np.errstate(invalid="ignore", over="ignore"):
        same = np.abs(own[..., :3][seen] - points[seen]) <= ALIKE * farthest
    return bool(same.all())


def _count_frames(data: bytes, section: Section, n_frame: int, first: int) -> bytes:
    """Return the file's bytes with the number of frames set to n_frame in the header, and set it in the
    parameters, too.

    first : index of the first frame, from 0
    """
    order = ">" if section.words.integer.str.startswith(">") else "<"
    head = bytearray(data[:BLOCK])
    last = min(first + n_frame, MOST - 1)
    struct.pack_into(f"{order}H", head, 8, last)
    section.put_number("POINT", "FRAMES", n_frame)
    if (end := section.parameter("TRIAL", "ACTUAL_END_FIELD")) is not None and len(end.data) == 4:
        low, high = (first + n_frame) % MOST, (first + n_frame) // MOST
        section.put("TRIAL", "ACTUAL_END_FIELD", end._replace(data=section.words.from_integers([low, high])))
    if section.parameter("POINT", "LONG_FRAMES") is not None:
        section.put_number("POINT", "LONG_FRAMES", n_frame, REAL)
    return bytes(head) + data[BLOCK:]
