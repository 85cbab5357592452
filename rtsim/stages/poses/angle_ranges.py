"""Check for angles outside the ranges of their joints: anatomical ranges for a person, those of the file for
a model.

A frame with an angle beyond the range of a joint is not a valid measurement, however well its markers fit: a
hyperextended knee, or a hip that is rotated backwards, may fit them as well as the true pose. A frame is not
valid either if the markers push a clamped coordinate, one that the solver keeps within its range, against an
end of the range.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.ranges import find_outside
from kernels.compiler.jit import hold
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.model import Model
from rtsim.units import DEGREES

Array = NDArray[np.float64]

LEEWAY = 0.5 / DEGREES
"""Angle by which an angle may exceed its range, as a clamped coordinate lies at the end of its range
[rad]."""
AT_END = 1e-9
"""Distance within which a coordinate is at a bound [rad, m]."""
PRESSED = 1e-4
"""A clamped coordinate counts as pushed against a bound if the markers would move it beyond by about this
much: rotation [rad], or displacement relative to the distance of the markers from their body's origin.
Rounding errors are smaller."""


class AngleRanges:
    """Check whether the published angles are within their ranges, for the method that was in use when this
    object was built.

    Attributes
    ----------
    names : names of the angles
    low, high : (n,) limits of their ranges, infinite if there is none [rad]
    outside : (n,) 1 = outside, in the last checked frame
    given : whether any angle has a range, or any coordinate is clamped to a range
    is_outside : whether an angle is outside in that frame
    held : names of the clamped coordinates that the markers push against an end of their range in that frame
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
        self._clamped = Clamped(estimator)
        self.given = bool(np.isfinite([self.low, self.high]).any()) or bool(self._clamped.names)
        self._rows = np.array([self._row_of(name) for name in self._clamped.names], np.int64)
        self.held: list[str] = []
        self.is_outside = False
        n = len(self.names)
        self.outside, self._values, self._all_told = np.zeros(n), np.zeros(n), np.zeros(n, bool)
        arguments = (
            raw.reshape(-1), index.astype(np.int64), signs, self.low - LEEWAY, self.high + LEEWAY,
            self._all_told, self._values, self.outside,
        )  # fmt: skip
        self._find = hold(find_outside, arguments, given=(5,))

    def look(self, unknown: NDArray[np.bool_]) -> bool:
        """Update `outside` and `held`; return whether an angle is outside its range, or whether the markers
        push a coordinate against an end of its range.

        unknown : (n,) angles that are not published, which are not checked; ignored for a model without named
            joint angles
        """
        found = bool(self._find(unknown if self._named else self._all_told))
        self.is_outside = found
        held = self._clamped.look()
        self.held = [self._clamped.names[k] for k in held]
        for row in self._rows[held]:
            if row >= 0:
                self.outside[row] = 1.0
        return found or bool(self.held)

    def _row_of(self, name: str) -> int:
        """Return the row of a coordinate among the angles; -1 where it is not one of them."""
        return self.names.index(name) if name in self.names else -1

    def forget(self) -> None:
        """Reset: the frame has no pose, so no angle is outside its range."""
        self.outside[:] = 0.0
        self.held = []

    def said(self) -> str:
        """Return the angles that are outside their ranges, with values and ranges, in words."""
        return ", ".join(
            f"{self.names[k]} {DEGREES * self._values[k]:.0f} ({DEGREES * self.low[k]:.0f} to "
            f"{DEGREES * self.high[k]:.0f})"
            for k in np.flatnonzero(self.outside)
            if self.names[k] not in self.held
        )

    def passed(self) -> str:
        """Describe the clamped coordinates that are outside the range to which the model's file clamps
        them.
        """
        return self._clamped.passed()

    def held_said(self) -> str:
        """Return in words the clamped coordinates that the markers push against an end of their range, and
        which end.
        """
        return ", ".join(f"{name} at {self._clamped.end_of(name)}" for name in self.held)

    def in_degrees(self) -> dict[str, list[float]]:
        """Return lower and upper limits [deg] by angle, of the angles that have both."""
        return {
            name: [round(DEGREES * low, 6), round(DEGREES * high, 6)]
            for name, low, high in zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
            if np.isfinite([low, high]).all()
        }


class Clamped:
    """Clamped coordinates of the model, and the ones that the markers push against a bound.

    names : names of the clamped coordinates with a range of motion
    """

    def __init__(self, estimator: MultibodyEstimator) -> None:
        self._estimator = estimator
        limits, own = estimator.roles.limits, estimator.model.coordinates
        none = np.zeros(0, np.int64)
        at, dofs = (none, none) if limits is None else (limits.coordinate, limits.dof)
        low, high = (np.zeros(0), np.zeros(0)) if limits is None else (limits.lower, limits.upper)
        moves = high > low  # else it is held by its range, as the file wants it
        self._at, self._dof, self._low, self._high = at[moves], dofs[moves], low[moves], high[moves]
        rows = [int(np.flatnonzero(own.q == c)[0]) for c in self._at]
        self.names = tuple(own.names[k] for k in rows)
        self._turns = own.is_angle[rows] if rows else np.zeros(0, bool)
        arm = np.sqrt(np.square(estimator.model.markers.position).sum(axis=1).mean()) if rows else 0.0
        self._passed = [own.names.index(name) for name in estimator.passed if name in own.names]
        self._least = PRESSED * len(estimator.model.markers.body) * np.where(self._turns, arm * arm, arm)

    def look(self) -> list[int]:
        """Return the clamped coordinates that the markers push against an end of their range in the last
        frame.
        """
        if not self.names:
            return []
        q, slope = self._estimator.q[self._at], self._estimator.pressed[self._dof]
        low = (q <= self._low + AT_END) & (slope > self._least)
        high = (q >= self._high - AT_END) & (slope < -self._least)
        return np.flatnonzero(low | high).tolist()

    def passed(self) -> str:
        """Return in words the clamped coordinates that lie outside the range to which the model's file clamps
        them.
        """
        own, q = self._estimator.model.coordinates, self._estimator.q
        return ", ".join(
            f"{own.names[k]} ({in_unit(own.range[k], bool(own.is_angle[k]))})"
            for k in self._passed
            if not own.range[k, 0] <= q[own.q[k]] <= own.range[k, 1]
        )

    def end_of(self, name: str) -> str:
        """Return in words the end of its range at which a coordinate lies."""
        k = self.names.index(name)
        ends, x = (self._low[k], self._high[k]), self._estimator.q[self._at[k]]
        return in_unit([min(ends, key=lambda end: abs(x - end))], bool(self._turns[k]))


def in_unit(values: Iterable[float], turns: bool) -> str:
    """Return values [rad, m] as text in degrees or millimetres; turns : whether they are angles"""
    unit, scale = ("degrees", DEGREES) if turns else ("mm", 1e3)
    return f"{' to '.join(f'{scale * x:.4g}' for x in values)} {unit}"


def ranges_of_coordinates(model: Model) -> Array:
    """Return the ranges of the coordinates, (n_coordinate, 2) [rad, m], infinite for a coordinate without a
    meaningful range.

    The position of a body in the laboratory is arbitrary, so the coordinates of a joint to ground that
    permits translation have no meaningful range. Coordinates that follow others have none either.
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
