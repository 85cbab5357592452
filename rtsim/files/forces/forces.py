"""Force plates of any supported file in one frame: newtons, metres, Y up, the force on the person."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.forces.c3d_plates import read_c3d_forces
from rtsim.files.forces.cortex_forces import read_cortex_forces
from rtsim.files.forces.force_storage import read_external_forces, read_storage_forces
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.forces.recorded_forces import read_recorded_forces
from rtsim.files.markers.trial import MarkerTrial

__all__ = ["FORCE_SUFFIXES", "ForceTrial", "read_forces"]

READERS = {
    ".c3d": read_c3d_forces,
    ".forces": read_cortex_forces,
    ".mcap": read_recorded_forces,
}
BY_MARKERS = {
    ".mot": read_storage_forces,
    ".sto": read_storage_forces,
    ".xml": read_external_forces,
}
"""Of files that do not say where plates lie: the markers of the recording may."""
FORCE_SUFFIXES = (".c3d", ".mot", ".sto", ".forces", ".mcap", ".xml")


def read_forces(
    path: str | Path, up: str | None = None, units: str | None = None, markers: MarkerTrial | None = None
) -> ForceTrial:
    """The force plates of a .c3d, .mot, .sto, .forces or .mcap (own recording) file in ground, or those that
    external loads of OpenSim (.xml) name.

    up : axis of the file that points up ("Y", "Z", "-Y", ...), where the file or the guess is wrong
    units : unit of length of the file ("m", "cm", "mm", ...), where the file is wrong; behind a comma that of
        moments ("mm,Nm")
    markers : of the same recording, if there are some: forces act where its feet are

    Everything that was converted, assumed or dropped stands in `notes`. ConfigError for other suffixes and
    for files that cannot be read.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORCE_SUFFIXES or Path(path).is_dir():
        kind = "a folder" if Path(path).is_dir() else f"files of type {suffix or '(no suffix)'!r}"
        raise ConfigError(
            f"forces of {kind} cannot be read",
            where=str(path),
            allowed=", ".join(FORCE_SUFFIXES),
            remedy="export the forces as .mot, or the trial as C3D",
        )
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes of infinities is missing, and told
        if suffix in BY_MARKERS:
            return BY_MARKERS[suffix](path, up=up, units=units, markers=markers)
        return READERS[suffix](path, up=up, units=units)
