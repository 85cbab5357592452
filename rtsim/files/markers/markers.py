"""Marker trials of any supported file in one convention: metres, Y up, NaN for missing."""

from __future__ import annotations

from pathlib import Path

from rtsim.config.reading import is_file
from rtsim.files.formats import MARKERS, FileFormat, check_format, has_format, read
from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial, name_some

__all__ = ["MarkerTrial", "read_markers", "write_trc"]


def read_markers(
    path: str | Path,
    up: str | None = None,
    units: str | None = None,
    *,
    person: str = "",
    virtual: bool = False,
    unnamed: bool = False,
) -> MarkerTrial:
    """Read the marker trial of a file of any supported format (such as .trc, .c3d, .mcap) in the ground
    frame.

    up : axis of the file that points up ("Y", "Z", "-Y", ...); by default that stated in the file, or else
        inferred from the data
    units : unit of length of the file ("m", "cm", "mm", ...), which overrides that of the file
    person : the person whose markers are used, if the file has several; "" = all
    virtual : keep positions that a model computed (joint centres, segment axes) in a C3D file
    unnamed : keep trajectories without names in a C3D file

    All conversions, assumptions and omissions are listed in `notes`. ConfigError for other suffixes and for
    files that cannot be read.
    """
    trial: MarkerTrial = read(
        check_kind(path), path, up=up, units=units, person=person, virtual=virtual, unnamed=unnamed
    )
    return trial


def check_kind(path: str | Path) -> FileFormat:
    """Return the format of a marker file; ConfigError for a folder and for the suffix of another kind of
    file.
    """
    return check_format(path, MARKERS, "markers", "export the trial as TRC or C3D")


def near_statics(source: str) -> str:
    """Return a phrase for an error that names possible static trials in the same folder, whose names contain
    "static"; "" if there are none.
    """
    path = Path(source)
    if not is_file(path):
        return ""
    near = [
        p.name
        for p in sorted(path.parent.iterdir())
        if "static" in p.stem.lower() and has_format(p, MARKERS) and p != path
    ]
    return f" (next to it: {name_some(near, 3)})" if near else ""
