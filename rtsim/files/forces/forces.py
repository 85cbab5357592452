"""Force plates of any supported file in one convention: newtons, metres, Y up, force on the person."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.formats import FORCES, check_format, read
from rtsim.files.markers.trial import MarkerTrial

__all__ = ["ForceTrial", "read_forces"]


def read_forces(
    path: str | Path, up: str | None = None, units: str | None = None, markers: MarkerTrial | None = None
) -> ForceTrial:
    """Read the force plates of a file of any supported format (such as .c3d, .mot, .sto, .forces) as forces
    in ground, or those that a file of OpenSim's external loads names.

    up : axis of the file that points up ("Y", "Z", "-Y", ...); by default that stated in the file, or else
        inferred from the data
    units : unit of length ("m", "cm", "mm", ...), which overrides that of the file; after a comma the unit of
        moments ("mm,Nm")
    markers : markers of the same recording, if any; with a wrong unit of length, forces would not act near
        the feet that these markers show

    All conversions, assumptions and omissions are listed in `notes`. ConfigError for other suffixes and for
    files that cannot be read.
    """
    form = check_format(path, FORCES, "forces", "export the forces as .mot, or the trial as C3D")
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes of infinities is missing, and told
        trial: ForceTrial = read(form, path, up=up, units=units, markers=markers)
    return trial
