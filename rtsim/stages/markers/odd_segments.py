"""Segments whose markers are implausible by themselves, whatever the solution: those that have jumped as one
body, those with a marker that is not at its calibrated place, and those turned about the bone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.calibrated import MISPLACED, CalibratedMarkers
from rtsim.stages.markers.stepped import STEPPED, SteppedSegments
from rtsim.stages.markers.turned import TurnedMarkers


class OddSegments:
    """Checks the markers of one stream, segment by segment.

    stepped : segments that jump as a whole
    calibrated : markers that are not at their calibrated places
    turned : markers that are turned about the bone, which concerns their own limb only
    off : (n_body,) int64, above 0 = the segment jumped, or a marker is not at its place, in the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        self.stepped, self.calibrated = SteppedSegments(estimator), CalibratedMarkers(estimator, tracked)
        self.turned = TurnedMarkers(estimator, tracked, self.calibrated.shape)
        self.off: NDArray[np.int64] = np.zeros(len(estimator.model.names.bodies), np.int64)
        self._found = (False, False, False)

    def forget(self) -> None:
        """Forget all frames."""
        self.stepped.forget()
        self.calibrated.forget()
        self.turned.forget()

    def look(self, rotation: NDArray[np.float64], dt: float, solved: bool) -> bool:
        """Check a frame; returns whether a segment is implausible.

        rotation : (n_body, 3, 3) axes of the bodies in ground
        dt : time since the previous frame [s], 0 = unknown
        solved : whether there is a new pose of new markers
        """
        self._found = (
            self.stepped.look(rotation, dt, solved),
            self.calibrated.look(solved),
            self.turned.look(dt, solved),
        )
        np.add(self.stepped.off, self.calibrated.off, out=self.off)
        return any(self._found)

    def said(self) -> Iterator[tuple[str, str]]:
        """(counter, sentence) for each kind of fault in the newest frame."""
        stepped, misplaced, turned = self._found
        if stepped:
            yield STEPPED, self.stepped.said()
        if misplaced:
            yield MISPLACED, self.calibrated.said()
        if turned:
            yield from self.turned.said()
