"""Conversion of QTM's forces to forces and moments about the laboratory's origin.

QTM gives force F, moment M and application point p of each sample, but not the point o to which the moment
refers. Possible points are the laboratory's origin, the plate's centre and p itself. About its application
point a force has only a vertical moment. So the right point o is the one for which the components of M - (p -
o) x F along the surface are smallest. The result is p x F plus the remaining vertical moment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streams.capture.qtm.packets import MOST_SAMPLES, QtmPlateSamples
from streams.capture.records import CaptureDescription, FloatArray, ForceSamples

BoolArray = NDArray[np.bool_]
LOADED_N = 20.0
"""Force below which the application point is only noise [N]."""
BESIDE_M = 0.1
"""Application points this far beside a plate are not in the laboratory's axes [m]."""


class QtmForces:
    """Converter of QTM's force samples, from the plates of one description, to the laboratory's axes.

    Parameters
    ----------
    description : plates with their corners; its `up` is the axis that points up
    numbers : numbers by which the data name the plates, in the order of the description
    metres : length in metres of one unit of the application points

    Attributes
    ----------
    n_unknown : number of samples from plates that the settings do not contain
    n_beside : number of samples that were taken as not measured, because their application point is more
      than 0.1 m outside the plate
    """

    def __init__(self, description: CaptureDescription, numbers: tuple[int, ...], metres: float) -> None:
        self._place = {number: k for k, number in enumerate(numbers)}
        self._plates, self._metres = description.plates, metres
        self._up = "XYZ".index(description.up[1]) if description.up else 2
        self._centres = [np.mean(p.corners, axis=0) if p.corners else np.zeros(3) for p in self._plates]
        self._misfit = np.zeros((len(self._plates), 3))
        self.n_unknown = self.n_beside = 0

    def samples(self, plates: list[QtmPlateSamples], stamp_ns: int) -> ForceSamples | None:
        """Return the force samples that came with a frame with the given time stamp; None if no sample is of
        a known plate.

        The first sample is taken as simultaneous with the frame. The others follow at the sampling rate of
        the plates.
        """
        known = [(self._place[p.plate], p) for p in plates if p.plate in self._place and len(p.values)]
        self.n_unknown += sum(len(p.values) for p in plates if p.plate not in self._place)
        if not known:
            return None
        n = min(max(len(p.values) for _, p in known), MOST_SAMPLES)
        rate = max(self._plates[k].rate for k, _ in known)
        step_ns = round(1e9 / rate) if rate > 0.0 else 1
        force = np.full((len(self._plates), n, 3), np.nan)
        moment = np.full_like(force, np.nan)
        for k, plate in known:
            values = plate.values[:n]
            force[k, : len(values)], moment[k, : len(values)] = self._of_plate(k, values)
        return ForceSamples(stamp_ns + step_ns * np.arange(n, dtype=np.int64), force, moment)

    @np.errstate(invalid="ignore", over="ignore")  # samples that are not finite, which are not used
    def _of_plate(self, k: int, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return forces and moments (n, 3) of plate k about the laboratory's origin, from samples (n, 9)."""
        force, moment, point = values[:, :3], values[:, 3:6], self._metres * values[:, 6:9]
        pressed: BoolArray = np.abs(force[:, self._up]) > LOADED_N
        loaded: BoolArray = are_finite(values) & pressed
        if not loaded.any():
            quiet = are_finite(force)
            return np.where(quiet[:, None], force, np.nan), np.where(quiet[:, None], 0.0, np.nan)
        origins = np.zeros(3), self._centres[k], point
        rests = [moment - np.cross(point - origin, force) for origin in origins]
        level = [axis for axis in range(3) if axis != self._up]
        self._misfit[k] += [float(np.sum(rest[loaded][:, level] ** 2)) for rest in rests]
        rest = rests[int(np.argmin(self._misfit[k]))]
        about_origin = np.cross(point, force)
        about_origin[:, self._up] += rest[:, self._up]
        beside = loaded & self._is_beside(k, point)
        self.n_beside += int(beside.sum())
        measured = are_finite(force) & ~beside
        about_origin[~loaded] = 0.0
        return (
            np.where(measured[:, None], force, np.nan),
            np.where(measured[:, None], about_origin, np.nan),
        )

    def _is_beside(self, k: int, point: FloatArray) -> BoolArray:
        """Return a mask of the application points that lie outside plate k; none do where its corners are
        unknown."""
        if not self._plates[k].corners:
            return np.zeros(len(point), dtype=bool)
        corners = np.array(self._plates[k].corners)
        low, high = corners.min(axis=0) - BESIDE_M, corners.max(axis=0) + BESIDE_M
        beside: BoolArray = ((point < low) | (point > high)).any(axis=1)
        return beside


def are_finite(rows: FloatArray) -> BoolArray:
    """Return a mask (n,) of the rows of an array (n, m) in which all numbers are finite."""
    finite: BoolArray = np.logical_and.reduce(np.isfinite(rows), axis=1)
    return finite
