"""Angles outside the ranges of their joints: anatomical ones of a person, those of the file of another model.

A frame in which an angle is beyond what a joint can reach is no measurement, however well its markers fit: a
knee that is bent forwards, or a hip that is turned backwards, fits its markers as well as the right pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.multibody import MultibodyEstimator
from rtsim.models.model import Model
from rtsim.units import DEGREES

Array = NDArray[np.float64]

LEEWAY = 0.5 / DEGREES
"""By which an angle may exceed its range: a clamped coordinate rests on its end [rad]."""


class AngleRanges:
    """Which of the published angles are outside their ranges; those of the method in use, at the start.

    Attributes
    ----------
    names : of the angles
    low, high : (n,) - their ranges, infinite where there is none [rad]
    outside : (n,) - 1 = outside, of the frame that was looked at last
    given : whether one of them has a range
    """

    def __init__(self, estimator: MultibodyEstimator) -> None:
        self._estimator, model = estimator, estimator.model
        self._named = bool(model.names.joint_angles)
        if self._named:
            self.names = model.names.joint_angles
            self.low, self.high = model.joint_ranges.T.copy()
            self._signs = model.joint_signs.ravel()
        else:
            turns = np.flatnonzero(model.coordinates.is_angle)
            self.names = tuple(model.coordinates.names[k] for k in turns)
            self.low, self.high = ranges_of_coordinates(model)[turns].T.copy()
            self._q, self._signs = model.coordinates.q[turns], np.ones(len(turns))
        self.given = bool(np.isfinite([self.low, self.high]).any())
        self.outside = np.zeros(len(self.names))
        self._values, self._beyond = np.zeros(len(self.names)), np.zeros(len(self.names), bool)

    def look(self, unknown: NDArray[np.bool_]) -> bool:
        """Bring `outside` up to date; whether an angle is.

        unknown : (n,) - angles that are not published; of named angles alone
        """
        raw = self._estimator.outputs.angles.reshape(-1) if self._named else self._estimator.q[self._q]
        np.multiply(raw, self._signs, out=self._values)
        np.greater(self._values, self.high + LEEWAY, out=self._beyond)
        np.logical_or(self._beyond, self._values < self.low - LEEWAY, out=self._beyond)
        if self._named:
            self._beyond[unknown] = False
        self.outside[:] = self._beyond
        return bool(self._beyond.any())

    def forget(self) -> None:
        """Nothing is outside: the frame has no pose."""
        self.outside[:] = 0.0

    def said(self) -> str:
        """The angles that are outside, with their values and ranges."""
        return ", ".join(
            f"{self.names[k]} {DEGREES * self._values[k]:.0f} ({DEGREES * self.low[k]:.0f} to "
            f"{DEGREES * self.high[k]:.0f})"
            for k in np.flatnonzero(self._beyond)
        )

    def in_degrees(self) -> dict[str, list[float]]:
        """Lower and upper end by angle, of those that have both."""
        return {
            name: [round(DEGREES * low, 6), round(DEGREES * high, 6)]
            for name, low, high in zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
            if np.isfinite([low, high]).all()
        }


def ranges_of_coordinates(model: Model) -> Array:
    """(n_coordinate, 2) - how far coordinates go [rad, m], infinite where that is no property of a body.

    Where in the laboratory a body is says nothing, so the coordinates of a joint at ground that also moves
    along it have no range; nor have followers, which are where others put them.
    """
    coordinates, tree = model.coordinates, model.tree
    found = coordinates.range.copy()
    body = tree.dof_body[coordinates.dof]
    for b in np.flatnonzero(tree.parent < 0):
        own = body == b
        if not coordinates.is_angle[own].all():
            found[own] = -np.inf, np.inf
    found[np.isin(coordinates.q, model.couplers.coordinate)] = -np.inf, np.inf
    return found
