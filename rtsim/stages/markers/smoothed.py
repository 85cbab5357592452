"""Check for segments whose markers were smoothed although those of the other segments were not."""

from __future__ import annotations

import numpy as np

from kernels.faults.smoothed import find_smoothed, new_smoothing
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.stages.markers.judged_segments import JudgedSegments, limits_of

SMOOTHED = "segment_smoothed"
SAID = (
    "The markers of {segments} move more smoothly than the motion of the other segments allows: were they "
    "filtered more strongly than the other markers? The frames are suspect."
)
"""Name of the counter of frames with such a segment, and message about it."""
LIMITS = {"thigh": 0.6e-3, "shank": 0.4e-3, "foot": 0.25e-3}
"""Evidence from which a segment of a person was smoothed [s^2]: see docs/damage.md. No others are judged."""


class SmoothedSegments(JudgedSegments):
    """Check of one stream's markers for segments whose markers were smoothed more than those of the
    others.
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        super().__init__(find_smoothed, new_smoothing(limits_of(LIMITS, estimator, tracked)), estimator)

    def said(self) -> str:
        """Return a sentence that names the smoothed segments."""
        return SAID.format(segments=", ".join(self.names[b] for b in np.flatnonzero(self.off)))
