"""Angles outside the ranges of their joints: anatomical ones of a person, those of the file of another model.

A frame in which an angle is beyond what a joint can reach is no measurement, however well its markers fit: a
knee that is bent forwards, or a hip that is turned backwards, fits its markers as well as the right pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels._jit import hold
from kernels.ranges import find_outside
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
        model = estimator.model
        self._named = bool(model.names.joint_angles)
        if self._named:
            self.names = model.names.joint_angles
            self.low, self.high = model.joint_ranges.T.copy()
            raw, index, signs = (
                estimator.outputs.angles,
                np.arange(len(self.names)),
                model.joint_signs.ravel(),
            )
        else:
            turns = np.flatnonzero(model.coordinates.is_angle)
            self.names = tuple(model.coordinates.names[k] for k in turns)
            self.low, self.high = ranges_of_coordinates(model)[turns].T.copy()
            raw, index, signs = estimator.q, model.coordinates.q[turns], np.ones(len(turns))
        self.given = bool(np.isfinite([self.low, self.high]).any())
        n = len(self.names)
        self.outside, self._values, self._all_told = np.zeros(n), np.zeros(n), np.zeros(n, bool)
        arguments = (
            raw.reshape(-1), index.astype(np.int64), signs, self.low - LEEWAY, self.high + LEEWAY,
            self._all_told, self._values, self.outside,
        )  # fmt: skip
        self._find = hold(find_outside, arguments, given=(5,))

    def look(self, unknown: NDArray[np.bool_]) -> bool:
        """Bring `outside` up to date; whether an angle is.

        unknown : (n,) - angles that are not published; of named angles alone
        """
        return bool(self._find(unknown if self._named else self._all_told))

    def forget(self) -> None:
        """Nothing is outside: the frame has no pose."""
        self.outside[:] = 0.0

    def said(self) -> str:
        """The angles that are outside, with their values and ranges."""
        return ", ".join(
            f"{self.names[k]} {DEGREES * self._values[k]:.0f} ({DEGREES * self.low[k]:.0f} to "
            f"{DEGREES * self.high[k]:.0f})"
            for k in np.flatnonzero(self.outside)
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
