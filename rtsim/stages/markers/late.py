"""Check for segments whose markers are delayed relative to the others, as if from another capture system."""

from __future__ import annotations

import numpy as np

from kernels.faults.late import find_late, new_delays
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.judged_segments import JudgedSegments, limits_of

LATE = "segment_late"
SAID = (
    "The markers of {segment} are late or early relative to the other segments, by {delay_ms:.0f} ms or "
    "more: do they come from another system, or are they filtered differently? The frames are suspect."
)
"""Name of the counter of frames with such a segment, and message about it."""
LIMITS = {"pelvis": 0.016, "thigh": 0.012, "shank": 0.006, "foot": 0.006}
"""Segment of a person -> evidence (delay times correlation, kernels/faults/late) above which it is late [s].
Other segments are not checked, nor those with two markers, which follow errors of a method's knee."""


class LateSegments(JudgedSegments):
    """Check of one stream's markers for segments that are delayed, or ahead, relative to the others."""

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        self._delays = new_delays(limits_of(LIMITS, estimator, tracked))
        super().__init__(find_late, self._delays, estimator)

    def said(self) -> str:
        """Return a sentence that names the segment whose delay exceeds its limit by most, and states this
        delay.
        """
        worst = int(np.argmax(self._delays.evidence / self._delays.limit * self.off))
        return SAID.format(segment=self.names[worst], delay_ms=1e3 * abs(float(self._delays.delay[worst])))
