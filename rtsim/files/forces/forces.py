"""Force plates of any supported file in one frame: newtons, metres, Y up, the force on the person."""

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
    """The force plates of a file of `rtsim.files.formats.FORCES` in ground, or those that external loads of
    OpenSim name.

    up : axis of the file that points up ("Y", "Z", "-Y", ...), if the file or the guess is wrong
    units : unit of length of the file ("m", "cm", "mm", ...), if the file is wrong; after a comma that of
        moments ("mm,Nm")
    markers : markers of the same recording, if any: forces act at its feet

    All conversions, assumptions and omissions are listed in `notes`. ConfigError for other suffixes and for
    files that cannot be read.
    """
    form = check_format(path, FORCES, "forces", "export the forces as .mot, or the trial as C3D")
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes of infinities is missing, and told
        trial: ForceTrial = read(form, path, up=up, units=units, markers=markers)
    return trial
