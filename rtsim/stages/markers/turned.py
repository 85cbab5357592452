"""Check for markers that are rotated about the bone: a wand marker that was moved since the static trial, or
a marker at the knee that is not on the knee's flexion axis.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.calibrated import FIXES, CalibratedShape
from kernels.faults.turned import BESIDE_AXIS, SINCE_STANDING, find_turned, new_turns
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.subjects.markers.bones import LegBones
from rtsim.units import DEGREES

MOVED, BESIDE = "marker_turned", "knee_axis_off"
MOVED_SAID = (
    "The rotation between thigh and shank differs from that of the static trial: {markers}. Was a marker "
    "re-applied or moved? Rotations of hip and knee may be wrong by the same amount. The frames are suspect."
)
BESIDE_SAID = (
    "The knee does not bend about the axis of the static trial: {markers}. Is a marker there too far "
    "forwards or backwards? Hip rotation may be wrong by the same amount, and knee adduction may "
    "follow flexion. The frames are suspect."
)
"""Name of the counter of frames with such markers, and message about them."""


class TurnedMarkers:
    """Check of a person's thighs and shanks for markers that are rotated about the bone.

    Attributes
    ----------
    off : (n_body,) int64 - above 0 = markers of the segment may be rotated, in the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel, shape: CalibratedShape) -> None:
        """Prepare the check.

        shape : shape of the markers, which the kernel updates in each frame before `look` reads it
        """
        model = estimator.model
        bodies, markers = list(model.names.bodies), list(model.names.markers)
        self._legs = legs = [leg for leg in tracked.legs if {*leg.segments} - {""} <= {*bodies}]
        self._names, n = bodies, len(legs)
        segments = [[places(bodies, name) for name in leg.segments] for leg in legs]
        used = [[places(markers, name) for name in leg.markers] for leg in legs]
        self._turns = new_turns(
            np.array(segments, np.int64).reshape(n, 3),
            np.array(used, np.int64).reshape(n, 5),
            np.array([leg.centres for leg in legs]).reshape(n, 4, 3),
            np.array([leg.axes for leg in legs]).reshape(n, 4, 3),
            np.array([leg.standing for leg in legs]).reshape(n, 2),
            np.array([leg.limit for leg in legs]).reshape(n),
        )
        self._shape, self._fixed = shape, model.markers
        self.off: NDArray[np.int64] = np.zeros(len(bodies), np.int64)
        self._waited = 0.0
        arguments = (model.markers, estimator.health, shape, 0.0, self._turns)
        self._find = hold(find_turned, arguments, given=(3,))

    def forget(self) -> None:
        """Discard the evidence of all earlier frames."""
        for array in (self._turns.turn, self._turns.swing, self._turns.found, self._turns.off, self.off):
            array[...] = 0
        self._waited = 0.0

    def look(self, dt: float, solved: bool) -> bool:
        """Check a frame; return whether markers are rotated about the bone.

        dt : time since the previous frame [s], 0 = unknown; solved : whether the frame has a new solution
        """
        if not solved:
            self._waited += dt
            return bool(self.off.any())
        before = self._turns.off.tobytes()
        n = self._find(dt + self._waited if dt > 0.0 else 0.0)
        self._waited = 0.0
        if self._turns.off.tobytes() != before:
            self.off[:] = 0
            for k in np.flatnonzero(self._turns.off).tolist():
                for name in self._blamed(k):
                    self.off[self._names.index(name)] = 1
        return n > 0

    def said(self) -> Iterator[tuple[str, str]]:
        """Yield (counter, sentence) for each kind of fault in the newest frame."""
        for bit, column, counter, words in (
            (SINCE_STANDING, 0, MOVED, MOVED_SAID), (BESIDE_AXIS, 1, BESIDE, BESIDE_SAID),
        ):  # fmt: skip
            of = np.flatnonzero(self._turns.off & bit).tolist()
            if of:
                yield counter, words.format(markers="; ".join(self._named(k, column) for k in of))

    def _named(self, k: int, column: int) -> str:
        """Describe the markers of leg k that are rotated about the bone: names, segments and angle of
        rotation.

        column : kind of the rotation: 0 = of thigh or shank since the static trial, 1 = of the thigh, whose
            marker at the knee lies beside the flexion axis
        """
        names = (self._legs[k].segments[1],) if column else self._blamed(k)
        angle = DEGREES * abs(float(self._turns.found[k, column]))
        return f"{' or '.join(self._marker(k, name) for name in names)}, rotated by {angle:.0f} degrees"

    def _marker(self, k: int, segment: str) -> str:
        """Return the name of the wand marker on a segment of leg k; if the other markers determine the
        segment, a phrase for all its markers instead."""
        leg: LegBones = self._legs[k]
        at = leg.segments.index(segment)
        body, wand = self._names.index(segment), leg.markers[2 * at - 1]
        alone = (self._fixed.body == body).sum() < FIXES
        return f"{wand} on {segment}" if alone and wand else f"the markers of {segment}"

    def _blamed(self, k: int) -> tuple[str, ...]:
        """Return the segments of a leg whose markers may be rotated about the bone.

        If the wand marker of a thigh is rotated about the bone, the rotations of hip and knee are wrong in
        opposite directions. If that of a shank is rotated, only the knee's angle is wrong.
        """
        leg, off = self._legs[k], int(self._turns.off[k])
        if not off & SINCE_STANDING:
            return leg.segments[1:2]
        hip, knee = self._turns.turn[k, 1:]
        if not np.isfinite(hip):
            return leg.segments[1:]
        return leg.segments[1:2] if -2.0 * hip * np.sign(knee) > abs(knee) else leg.segments[2:]


def places(names: list[str], name: str) -> int:
    """Return the index of a name; -1 for no name, or one that is not in the list."""
    return names.index(name) if name in names else -1
