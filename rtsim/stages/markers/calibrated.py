"""Check for markers that are not at their calibrated positions, in each frame independently of earlier
ones."""

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
    "These markers are not at their calibrated places, judged by the other markers of the segment "
    "and the adjacent joints: {markers}. Was a marker re-applied, or was it elsewhere in the static trial? "
    "The frames are suspect."
)
"""Message about frames with displaced markers."""


class CalibratedMarkers:
    """Check whether a person's markers are at their calibrated positions on their segments; only segments
    that are nearly rigid are checked.

    off : (n_body,) int64, 1 = a marker of the segment deviates in the newest frame
    shape : segments as calibrated, and their poses by their own markers in the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        model = estimator.model
        self._bodies, self._names = model.names.bodies, list(model.names.markers)
        self._body = model.markers.body
        self._error = np.array([tracked.errors.get(name, np.inf) for name in self._bodies])
        at = {name: b for b, name in enumerate(self._bodies)}
        judged = at.keys() & tracked.errors.keys()
        joints = [joint for joint in tracked.ruler.joints if {joint.proximal, joint.distal} <= judged]
        ends = [(joint.proximal, joint.distal) for joint in joints]
        beside = {(one.proximal, one.distal): one for one in tracked.beside if one.marker in self._names}
        near = [beside.get(end) for end in ends]
        self.shape = new_shape(
            np.array([[at[a], at[b]] for a, b in ends], np.int64).reshape(-1, 2),
            np.array([[joint.in_proximal, joint.in_distal] for joint in joints]).reshape(-1, 2, 3),
            self._error,
            np.array([[error_of_centre(a, b), error_of_centre(b, a)] for a, b in ends]).reshape(-1, 2),
            np.array([-1 if one is None else self._names.index(one.marker) for one in near], np.int64),
            np.array([np.zeros(3) if one is None else one.place for one in near]).reshape(-1, 3),
            np.array([np.inf if one is None else one.error for one in near], np.float64),
            len(self._names),
        )
        self._error_beside = {(one.distal, one.marker): one.error for one in tracked.beside}
        self.off: NDArray[np.int64] = self.shape.off
        self._find = hold(find_misplaced, (model.markers, LIMIT, estimator.health, self.shape), given=())

    def forget(self) -> None:
        """Discard the evidence of all earlier frames."""
        self.off[:], self.shape.sound[:] = 0, 0

    def look(self, solved: bool) -> bool:
        """Check a frame; return whether a marker is off its calibrated position; solved : whether the frame
        has a new solution
        """
        if solved:
            self._find()
        return bool(self.off.any())

    def said(self) -> str:
        """Return a sentence that names the displaced markers, their segments, and the least distance by which
        each must have moved from its calibrated position.
        """
        return SAID.format(markers="; ".join(self._named(b) for b in np.flatnonzero(self.off).tolist()))

    def _named(self, b: int) -> str:
        """Describe the marker of a body that deviates most: its name, its segment, and its smallest possible
        deviation.
        """
        m = int(self.shape.marker[b])
        name, on = self._names[m], self._bodies[int(self._body[m])]
        error = self._error_beside.get((self._bodies[b], name), float(self._error[b]))
        return f"{name} on {on}, displaced by {1e3 * self.shape.evidence[b] * error:.0f} mm or more"
