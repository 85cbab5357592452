"""Segments whose markers say by themselves that something is wrong, whatever the solution: those that have
stepped as one body, and those with a marker beside its calibrated place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.calibrated import MISPLACED, CalibratedMarkers
from rtsim.stages.markers.stepped import STEPPED, SteppedSegments


class OddSegments:
    """Watches the markers of one stream, segment by segment.

    Attributes
    ----------
    stepped : segments that jump as a whole; calibrated : markers of a person beside their places
    off : (n_body,) int64 - more than 0 = something is wrong with it, in the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        self.stepped, self.calibrated = SteppedSegments(estimator), CalibratedMarkers(estimator, tracked)
        self.off: NDArray[np.int64] = np.zeros(len(estimator.model.names.bodies), np.int64)
        self._found = (False, False)

    def forget(self) -> None:
        """Forget all frames."""
        self.stepped.forget()
        self.calibrated.forget()

    def look(self, rotation: NDArray[np.float64], dt: float, solved: bool) -> bool:
        """Take in a frame; whether a segment is odd.

        rotation : (n_body, 3, 3) - axes of the bodies in ground; dt : since the frame before [s], 0 = unknown
        solved : whether there is a new pose of new markers
        """
        self._found = self.stepped.look(rotation, dt, solved), self.calibrated.look(solved)
        np.add(self.stepped.off, self.calibrated.off, out=self.off)
        return any(self._found)

    def said(self) -> Iterator[tuple[str, str]]:
        """(counter, sentence) of each kind of what is wrong in the newest frame."""
        stepped, misplaced = self._found
        if stepped:
            yield STEPPED, self.stepped.said()
        if misplaced:
            yield MISPLACED, self.calibrated.said()
