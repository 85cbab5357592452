"""Similarity of two footprints: of the shapes of two images of the peak pressure under a foot, whatever their
position and orientation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import griddata

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import PressureTrial

Array = NDArray[np.float64]

RASTER = 0.005
"""Edge of the cells on which they are compared [m]."""
REACH = (0.16, 0.07)
"""Half of the length and width that is compared [m]."""
SHIFTS = np.arange(-0.02, 0.0201, 0.005)
"""Shifts along the foot that are tried after the centres of both images are aligned [m]: a footprint has toes
that the model lacks."""


def likeness(cells: Array, peak: Array, footprint: PressureTrial) -> float:
    """Return the greatest correlation of two pressure images with aligned principal axes, also mirrored.

    cells : (n_cell, 2) [m]
    peak : (n_cell,) greatest pressure of a step [Pa]
    footprint : a recorded pressure image; if it has several frames, the greatest pressure of each cell is
      used

    ConfigError if there is no pressure.
    """
    felt = np.nan_to_num(footprint.pressure).max(axis=0)
    rows, columns = np.meshgrid(*(np.arange(n) for n in felt.shape), indexing="ij")
    places = footprint.cell * np.stack([rows.ravel(), columns.ravel()], axis=1)
    along, across = np.arange(-REACH[0], REACH[0], RASTER), np.arange(-REACH[1], REACH[1], RASTER)
    raster = np.stack(np.meshgrid(along, across, indexing="ij"), axis=-1).reshape(-1, 2)
    goal = _laid(places, felt.ravel(), raster, footprint.source)
    best = -1.0
    for flip in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        for shift in SHIFTS:
            found = _laid(cells, peak, (raster - [shift, 0.0]) * flip, "the simulated step")
            if found.any():
                best = max(best, float(np.corrcoef(found, goal)[0, 1]))
    return best


def _laid(cells: Array, pressure: Array, raster: Array, source: str) -> Array:
    """Interpolate a pressure image at the points (n, 2) of a raster whose origin is the image's centre of
    pressure and whose axes are its principal axes.

    cells, pressure : (n_cell, 2) places [m] and (n_cell,) pressure [Pa]; source : the image, for the error
    """
    if not pressure.max(initial=0.0) > 0.0:
        raise ConfigError("the pressure is 0 in all cells", where=source)
    share = pressure / pressure.sum()
    centre = share @ cells
    _, axes = np.linalg.eigh((cells - centre).T @ (share[:, None] * (cells - centre)))
    own = (cells - centre) @ axes[:, ::-1]
    return np.asarray(griddata(own, pressure, raster, method="linear", fill_value=0.0))
