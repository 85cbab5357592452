"""Checks, segment by segment, whether the markers on a segment are implausible.

The markers of such a segment have jumped as one body, are rotated about the bone, are late, or were smoothed;
or one of them is not at its calibrated position; or the segment does not meet its neighbour at the joint.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.apart import APART, JointsApart
from rtsim.stages.markers.calibrated import MISPLACED, CalibratedMarkers
from rtsim.stages.markers.late import LATE, LateSegments
from rtsim.stages.markers.smoothed import SMOOTHED, SmoothedSegments
from rtsim.stages.markers.stepped import STEPPED, SteppedSegments
from rtsim.stages.markers.turned import TurnedMarkers


class OddSegments:
    """Checks of one stream's markers, segment by segment.

    stepped : check for segments that jump as a whole
    calibrated : check for markers that are not at their calibrated positions
    turned : check for markers that are rotated about the bone, which affects their own limb only
    apart : check for segments that do not meet at their joint, which affects their own limb only
    late : check for segments whose markers are delayed relative to the others, which affects their own limb
        only
    smoothed : check for segments whose markers were smoothed more than the others, which affects their own
        limb only
    off : (n_body,) int64, above 0 = `stepped` or `calibrated` has found a fault of the segment in the newest
        frame
    off_in_limb : (n_body,) int64, above 0 = one of the other four checks has
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        self.stepped, self.calibrated = SteppedSegments(estimator), CalibratedMarkers(estimator, tracked)
        self.turned = TurnedMarkers(estimator, tracked, self.calibrated.shape)
        self.apart = JointsApart(estimator.model.names.bodies, self.calibrated.shape)
        self.late, self.smoothed = LateSegments(estimator, tracked), SmoothedSegments(estimator, tracked)
        self.off: NDArray[np.int64] = np.zeros(len(estimator.model.names.bodies), np.int64)
        self.off_in_limb: NDArray[np.int64] = self.off.copy()
        self._pulled: NDArray[np.int64] = self.off.copy()
        self._found = (False,) * 6

    def forget(self) -> None:
        """Discard the evidence of all earlier frames."""
        self.stepped.forget()
        self.calibrated.forget()
        self.turned.forget()
        self.apart.forget()
        self.late.forget()
        self.smoothed.forget()

    def look(self, rotation: NDArray[np.float64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether a segment is implausible.

        rotation : (n_body, 3, 3) axes of the bodies in ground
        dt : time since the previous frame [s], 0 = unknown
        solved : whether there is a new pose of new markers
        """
        found = (
            self.stepped.look(rotation, dt, solved),
            self.calibrated.look(solved),
            self.turned.look(dt, solved),
        )
        np.add(self.stepped.off, self.calibrated.off, out=self.off)
        apart = self.apart.look(self.off, dt, solved)
        late = self.late.look(rotation, self.off, dt, solved)
        # a segment that jumped pulls its neighbours, whose residuals are its own then
        self._pulled[:] = self.off + int(self.stepped.off.any())
        self._found = (*found, apart, late, self.smoothed.look(rotation, self._pulled, dt, solved))
        np.add(self.turned.off, self.apart.off, out=self.off_in_limb)
        self.off_in_limb += self.late.off + self.smoothed.off
        return any(self._found)

    def said(self) -> Iterator[tuple[str, str]]:
        """Yield (counter, sentence) for each kind of fault in the newest frame."""
        stepped, misplaced, turned, apart, late, smoothed = self._found
        if stepped:
            yield STEPPED, self.stepped.said()
        if misplaced:
            yield MISPLACED, self.calibrated.said()
        if turned:
            yield from self.turned.said()
        if apart:
            yield APART, self.apart.said()
        if late:
            yield LATE, self.late.said()
        if smoothed:
            yield SMOOTHED, self.smoothed.said()
