"""Marker trials of any supported file in one frame: metres, Y up, NaN for missing."""

from __future__ import annotations

from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.markers.trc import read_trc, write_trc
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.files.recording import read_recorded_markers

__all__ = ["MARKER_SUFFIXES", "MarkerTrial", "read_markers", "write_trc"]

MARKER_SUFFIXES = (".trc", ".c3d", ".mcap")


def read_markers(
    path: str | Path,
    up: str | None = None,
    units: str | None = None,
    *,
    person: str = "",
    virtual: bool = False,
    unnamed: bool = False,
) -> MarkerTrial:
    """The marker trial of a .trc, .c3d or .mcap (own recording) file in the ground frame.

    up : axis of the file that points up ("Y", "Z", "-Y", ...), where the file or the guess is wrong
    units : unit of length of the file ("m", "cm", "mm", ...), where the file is wrong
    person : whose markers are taken where the file has several persons'; "" = everybody's
    virtual : keep positions that a model computed (joint centres, segment axes) in a C3D file
    unnamed : keep trajectories without names in a C3D file

    Everything that was converted, assumed or dropped stands in `notes`. ConfigError for other suffixes and
    for files that cannot be read.
    """
    check_kind(path)
    suffix = Path(path).suffix.lower()
    if suffix == ".trc":
        return read_trc(path, up=up, units=units, person=person)
    if suffix == ".c3d":
        return read_c3d(path, up=up, units=units, person=person, virtual=virtual, unnamed=unnamed)
    return read_recorded_markers(path, up=up, units=units, person=person)


def check_kind(path: str | Path) -> None:
    """ConfigError for a folder, and for a file whose name does not say that it has markers."""
    suffix = Path(path).suffix.lower()
    if Path(path).is_dir() or suffix not in MARKER_SUFFIXES:
        kind = "a folder" if Path(path).is_dir() else f"files of type {suffix or '(no suffix)'!r}"
        raise ConfigError(
            f"markers of {kind} cannot be read",
            where=str(path),
            allowed=", ".join(MARKER_SUFFIXES),
            remedy="export the trial as TRC or C3D",
        )


def near_statics(source: str) -> str:
    """A hint at static trials next to a trial's file, by their names; empty where there are none."""
    path = Path(source)
    if not path.is_file():
        return ""
    near = [
        p.name
        for p in sorted(path.parent.iterdir())
        if "static" in p.stem.lower() and p.suffix.lower() in MARKER_SUFFIXES and p != path
    ]
    return f" (next to it: {name_some(near, 3)})" if near else ""
