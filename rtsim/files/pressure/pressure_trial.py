"""The result of every reader of pressure files: frames of pressure on a grid of cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.units import METRES

FloatArray = NDArray[np.float64]

PASCALS = {
    "pa": 1.0,
    "kpa": 1e3,
    "mpa": 1e6,
    "n/cm2": 1e4,
    "n/mm2": 1e6,
    "psi": 6894.757293168,
    "mmhg": 133.322387415,
    "kg/cm2": 98066.5,
    "g/cm2": 98.0665,
}
"""Pascals per unit (NIST SP 811, 2008, appendix B)."""
MOST_CELLS = 50_000_000
"""Largest number of cells in all frames of a file."""
LARGEST_CELL = 0.1
"""Longest edge of a cell [m]."""
GREATEST = 1e8
"""Largest plausible pressure, a hundred times the range of any sensor under a foot [Pa]."""


class PressureTrial(NamedTuple):
    """Pressure under a foot, frame by frame, on a grid of equal cells.

    times : (n,) float64 time of each frame, the first at 0 [s]; (0,) for an image of peaks
    rate : nominal rate [Hz]; 0 for an image of peaks
    cell : (2,) float64 distance between rows and between columns [m]
    pressure : (n, n_row, n_column) float64 [Pa]; NaN = there is no cell
    origin : (2,) float64 position of the centre of the first cell relative to the device's first cell, along
        rows and along columns [m]
    peak : whether the only frame holds the greatest pressure of a step in each cell
    source : the file it came from
    notes : sentences on everything that was converted, assumed, dropped or repaired
    """

    times: FloatArray
    rate: float
    cell: FloatArray
    pressure: FloatArray
    origin: FloatArray
    peak: bool
    source: str
    notes: tuple[str, ...] = ()

    @property
    def force(self) -> FloatArray:
        """Force of each frame (n,), the sum over its cells [N]; meaningless for an image of peaks."""
        return np.asarray(np.nansum(self.pressure, axis=(1, 2)) * self.cell.prod())

    @property
    def centre(self) -> FloatArray:
        """Centre of pressure of each frame (n, 2), in the axes of `origin` [m]; NaN without pressure."""
        total = np.nansum(self.pressure, axis=(1, 2))
        total = np.where(total > 0.0, total, np.nan)
        along = np.nansum(self.pressure, axis=2) @ np.arange(self.pressure.shape[1]) / total
        across = np.nansum(self.pressure, axis=1) @ np.arange(self.pressure.shape[2]) / total
        return self.origin + self.cell * np.stack([along, across], axis=1)


def pascals_per_unit(unit: str, where: str) -> float:
    """Pascals in a unit of pressure; ConfigError for an unknown one, such as raw counts of a sensor."""
    plain = unit.strip().lower().replace(" ", "").replace("^", "").replace("²", "2")
    if plain not in PASCALS:
        raise ConfigError(
            f"pressure in {unit.strip()!r} cannot be converted to pascals",
            where=where,
            allowed=", ".join(PASCALS),
            remedy="export calibrated pressure",
        )
    return PASCALS[plain]


def metres_per_cell_unit(unit: str, where: str) -> float:
    """Return the metres in a unit of length; ConfigError for an unknown one."""
    if unit.strip().lower() not in METRES:
        raise ConfigError(f"{unit.strip()!r} is not a unit of length", where=where,
                          allowed=", ".join(METRES), remedy="correct the header")  # fmt: skip
    return METRES[unit.strip().lower()]


def frame_step(numbers: Sequence[int], where: str) -> tuple[int, list[str]]:
    """Return by how much the frame numbers in a file increase from frame to frame, and a note if it is more
    than 1; ConfigError naming `where` if they do not increase evenly, as the times are then unknown.
    """
    steps = {after - before for before, after in pairwise(numbers)}
    step = min(steps, default=1)
    if len(steps) > 1 or step < 1:
        raise ConfigError(
            "the numbers of the frames do not increase evenly, so the times of the frames are unknown",
            where=where, allowed="numbers such as 1, 2, 3 or 1, 3, 5",
            remedy="export all frames of the trial",
        )  # fmt: skip
    told = (
        f"the numbers of the frames increase by {step}, so the frames are {step} times as far apart in time"
    )
    return step, [told] if step > 1 else []


def pressure_trial(
    source: str,
    rate: float,
    cell: Sequence[float],
    pressure: FloatArray,
    origin: Sequence[float],
    notes: Sequence[str],
) -> PressureTrial:
    """Check frames and return their trial; ConfigError for impossible values. A rate of 0 means an image of
    peaks.

    cell : distance between rows and between columns [m]
    pressure : (n, n_row, n_column) [Pa], NaN = no cell
    origin : centre of the first cell relative to the device's first cell, along rows and along columns [m]
    """
    if pressure.size == 0:
        raise ConfigError("the file contains no frame of pressure", where=source, remedy="export it again")
    if not all(0.0 < edge <= LARGEST_CELL for edge in cell):
        raise ConfigError(
            f"the cells measure {' x '.join(f'{1e3 * edge:g}' for edge in cell)} mm",
            where=source,
            allowed=f"cells of up to {1e3 * LARGEST_CELL:g} mm",
            remedy="check the unit of the distances",
        )
    if ((pressure < 0.0) | (pressure > GREATEST)).any():
        worst = float(pressure[(pressure < 0.0) | (pressure > GREATEST)][0])
        raise ConfigError(
            f"a pressure is {1e-3 * worst:.4g} kPa", where=source,
            allowed=f"pressures of 0 to {1e-3 * GREATEST:g} kPa",
            remedy="export calibrated pressure",
        )  # fmt: skip
    if not np.isfinite(pressure).any():
        raise ConfigError(
            "no cell has a pressure: every value is missing", where=source, remedy="export it again"
        )
    times = np.arange(len(pressure)) / rate if rate > 0.0 else np.zeros(len(pressure))
    return PressureTrial(
        times=times,
        rate=rate,
        cell=np.array(cell),
        pressure=pressure,
        origin=np.array(origin),
        peak=rate == 0.0,
        source=source,
        notes=tuple(notes),
    )


def check_cells(n_frame: int, n_row: int, n_column: int, where: str) -> None:
    """Raise ConfigError for an invalid grid, or for one that would fill memory."""
    if n_frame < 1 or n_row < 1 or n_column < 1 or n_frame * n_row * n_column > MOST_CELLS:
        raise ConfigError(
            f"the file has {n_frame} frames of {n_row} x {n_column} cells",
            where=where,
            allowed=f"at least one frame, row and column, and at most {MOST_CELLS} cells altogether",
            remedy="export fewer frames",
        )
