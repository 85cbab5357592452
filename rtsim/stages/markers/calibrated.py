"""Markers that are not at their calibrated places, judged in each frame independently of earlier ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.calibrated import find_misplaced, new_shape
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.subjects.markers.distances import LIMIT, error_of_centre

MISPLACED = "marker_misplaced"
SAID = (
    "These markers are not at their calibrated places, judged by the other markers of the segment and "
    "the adjacent joints: {}. Was a marker re-applied, or was it elsewhere in the static trial? "
    "Suspect."
)
"""Name by which such frames are counted and reported."""


class CalibratedMarkers:
    """Checks the markers of a person for deviations from their calibrated places, using rigid segments only.

    off : (n_body,) int64, 1 = a marker of the segment deviates in the newest frame
    shape : segments as calibrated, and their poses by their own markers in the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        model = estimator.model
        self._bodies, self._names = model.names.bodies, model.names.markers
        self._error = np.array([tracked.errors.get(name, np.inf) for name in self._bodies])
        at = {name: b for b, name in enumerate(self._bodies)}
        judged = at.keys() & tracked.errors.keys()
        joints = [joint for joint in tracked.ruler.joints if {joint.proximal, joint.distal} <= judged]
        ends = [(joint.proximal, joint.distal) for joint in joints]
        self.shape = new_shape(
            np.array([[at[a], at[b]] for a, b in ends], np.int64).reshape(-1, 2),
            np.array([[joint.in_proximal, joint.in_distal] for joint in joints]).reshape(-1, 2, 3),
            self._error,
            np.array([[error_of_centre(a, b), error_of_centre(b, a)] for a, b in ends]).reshape(-1, 2),
            len(self._names),
        )
        self.off: NDArray[np.int64] = self.shape.off
        self._find = hold(find_misplaced, (model.markers, LIMIT, estimator.health, self.shape), given=())

    def forget(self) -> None:
        """Forget all frames."""
        self.off[:], self.shape.sound[:] = 0, 0

    def look(self, solved: bool) -> bool:
        """Check a frame; returns whether a marker is not at its place; solved : whether there is a new
        solution.
        """
        if solved:
            self._find()
        return bool(self.off.any())

    def said(self) -> str:
        """Return a sentence with the markers, their segments and their smallest possible deviation."""
        named = [
            f"{self._names[self.shape.marker[b]]} on {self._bodies[b]}, by "
            f"{1e3 * self.shape.evidence[b] * self._error[b]:.0f} mm or more"
            for b in np.flatnonzero(self.off)
        ]
        return SAID.format("; ".join(named))
