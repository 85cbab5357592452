"""Check for segments whose markers alone were smoothed, as by a filter that the others did not have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.smoothed import find_smoothed, new_smoothing
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.late import limits_of

SMOOTHED = "segment_smoothed"
SAID = (
    "The markers of {} move less than the other segments make them: filtered otherwise than the rest? "
    "Suspect."
)
"""Counter of such frames, and sentence on them."""
LIMITS = {"thigh": 0.6e-3, "shank": 0.4e-3, "foot": 0.25e-3}
"""Evidence from which a segment of a person was smoothed [s^2]: see docs/damage.md. No others are judged."""


class SmoothedSegments:
    """Check of one stream's markers for segments that were smoothed.

    off : (n_body,) int64, 1 = smoothed, after the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        model = estimator.model
        self._names = model.names.bodies
        self._smoothing = new_smoothing(limits_of(LIMITS, estimator, tracked))
        self.off: NDArray[np.int64] = self._smoothing.off
        self._waited = 0.0
        arguments = (
            model.markers, estimator.pose[1], np.zeros(len(self._names), np.int64), 0.0, estimator.health,
            self._smoothing,
        )  # fmt: skip
        self._find = hold(find_smoothed, arguments, given=(1, 2, 3))

    def forget(self) -> None:
        """Forget all frames."""
        for array in self._smoothing[1:]:
            array[...] = 0
        self._waited = 0.0

    def look(self, rotation: NDArray[np.float64], off: NDArray[np.int64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether a segment was smoothed.

        rotation : (n_body, 3, 3) axes of the bodies in ground
        off : (n_body,) above 0 = a segment that is known to be off in it, by others
        dt : time since the previous frame [s], 0 = unknown
        solved : whether there is a new pose of new markers
        """
        if not solved:
            self._waited += dt
            return bool(self.off.any())
        n = self._find(rotation, off, dt + self._waited)
        self._waited = 0.0
        return n > 0

    def said(self) -> str:
        """Return a sentence that names the segments."""
        return SAID.format(", ".join(self._names[b] for b in np.flatnonzero(self.off)))
