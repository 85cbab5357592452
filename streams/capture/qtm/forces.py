"""Conversion of QTM's forces to forces and moments about the laboratory's origin.

QTM gives force F, moment M and application point p of each sample, but not the point o to which the moment
refers. Possible points are the laboratory's origin, the plate's centre and p itself. About its application
point a force has only a vertical moment. So the right point o is the one for which the components of M - (p -
o) x F along the surface are smallest. The result is p x F plus the remaining vertical moment.

Below a threshold p is only noise, or 0, 0, 0. Such small forces count, too: they are the drift of an empty
plate, and the beginning of a step. Their result is M + o x F; as long as o is not known, p x F if p is on the
plate, else the force acts at the plate's centre.
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
ORIGIN, CENTRE, POINT = range(3)
"""Points to which a moment may refer: the laboratory's origin, the plate's centre, the application point."""


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
    n_without_point : number of samples above 20 N that were taken as not measured, because they came without
      an application point, and their moment does not show where they act
    """

    def __init__(self, description: CaptureDescription, numbers: tuple[int, ...], metres: float) -> None:
        self._place = {number: k for k, number in enumerate(numbers)}
        self._plates, self._metres = description.plates, metres
        self._up = "XYZ".index(description.up[1]) if description.up else 2
        self._centres = [np.mean(p.corners, axis=0) if p.corners else np.zeros(3) for p in self._plates]
        self._level = [axis for axis in range(3) if axis != self._up]
        self._misfit = np.zeros((len(self._plates), 3))
        self.n_unknown = self.n_beside = self.n_without_point = 0

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
        given: BoolArray = are_finite(point) & point[:, self._level].any(axis=1)  # 0, 0 is no point
        loaded: BoolArray = are_finite(values) & pressed & given
        about = self._chosen(k, force[loaded], moment[loaded], point[loaded])
        on_plate = given & ~self._is_beside(k, point)
        about_origin = self._of_unloaded(k, about, force, moment, np.where(on_plate[:, None], point, np.nan))
        if about is not None:
            rest = moment - np.cross(point - self._origins(k, point)[about], force)
            of_point = np.cross(point, force)
            of_point[:, self._up] += rest[:, self._up]
            about_origin = np.where(loaded[:, None], of_point, about_origin)
        beside = loaded & ~on_plate
        self.n_beside += int(beside.sum())
        lost = pressed & ~loaded & are_finite(force)
        if about in (ORIGIN, CENTRE):
            lost &= ~are_finite(moment)
        self.n_without_point += int(lost.sum())
        measured = (are_finite(force) & ~beside & ~lost)[:, None]
        return np.where(measured, force, np.nan), np.where(measured, about_origin, np.nan)

    def _origins(self, k: int, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the points to which moments of plate k may refer; point : (n, 3) application points."""
        return np.zeros(3), self._centres[k], point

    def _chosen(self, k: int, force: FloatArray, moment: FloatArray, point: FloatArray) -> int | None:
        """Return which of the points ORIGIN, CENTRE and POINT moments of plate k refer to, judged by all its
        loaded samples so far; None as long as there are none.

        force, moment, point : (n, 3) of further loaded samples
        """
        for which, origin in enumerate(self._origins(k, point)):
            rest = moment - np.cross(point - origin, force)
            self._misfit[k, which] += float(np.sum(rest[:, self._level] ** 2))
        return int(np.argmin(self._misfit[k])) if self._misfit[k].any() else None

    def _of_unloaded(
        self, k: int, about: int | None, force: FloatArray, moment: FloatArray, point: FloatArray
    ) -> FloatArray:
        """Return moments (n, 3) about the laboratory's origin of samples whose application point is only
        noise.

        about : the point to which moments refer, ORIGIN, CENTRE or POINT; None = not known yet
        force, moment, point : (n, 3); point = NaN where it is not on the plate
        """
        at = np.where(np.isfinite(point), point, self._centres[k])
        of_force = np.cross(at, force)
        if about is None:
            return of_force
        moved = moment + np.cross(self._origins(k, at)[about], force)
        return np.where(are_finite(moment)[:, None], moved, of_force)

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
