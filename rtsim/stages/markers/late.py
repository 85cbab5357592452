"""Check for segments whose markers are late against the others, as those of another capture system."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.calibrated import FIXES
from kernels.faults.late import find_late, new_delays
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.subjects.subject import kind_of_segment

LATE = "segment_late"
SAID = (
    "The markers of {} are late or early against the other segments, by {:.0f} ms or more: from another "
    "system, or filtered otherwise? Suspect."
)
"""Counter of such frames, and sentence on them."""
LIMITS = {"pelvis": 0.016, "thigh": 0.012, "shank": 0.006, "foot": 0.006}
"""Evidence from which a segment of a person is late [s]: see docs/damage.md. No others are judged, and
none of two markers, which go with the wrong knee of a method."""


class LateSegments:
    """Check of one stream's markers for segments that are late.

    off : (n_body,) int64, 1 = late or early, after the newest frame
    """

    def __init__(self, estimator: MultibodyEstimator, tracked: TrackedModel) -> None:
        model = estimator.model
        self._names = model.names.bodies
        self._delays = new_delays(limits_of(LIMITS, estimator, tracked))
        self.off: NDArray[np.int64] = self._delays.off
        self._waited = 0.0
        arguments = (
            model.markers, estimator.pose[1], np.zeros(len(self._names), np.int64), 0.0, estimator.health,
            self._delays,
        )  # fmt: skip
        self._find = hold(find_late, arguments, given=(1, 2, 3))

    def forget(self) -> None:
        """Forget all frames."""
        for array in self._delays[1:]:
            array[...] = 0
        self._waited = 0.0

    def look(self, rotation: NDArray[np.float64], off: NDArray[np.int64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether a segment is late.

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
        """Return a sentence that names the segment with the most evidence, and its delay."""
        worst = int(np.argmax(self._delays.evidence / self._delays.limit * self.off))
        return SAID.format(self._names[worst], 1e3 * abs(float(self._delays.delay[worst])))


def limits_of(
    limits: Mapping[str, float], estimator: MultibodyEstimator, tracked: TrackedModel
) -> NDArray[np.float64]:
    """Return the limit of each body: of its kind, or infinite with none or less than three markers."""
    names, body = estimator.model.names.bodies, estimator.model.markers.body
    judged = [name in tracked.errors and int((body == b).sum()) >= FIXES for b, name in enumerate(names)]
    return np.array(
        [
            limits.get(kind_of_segment(name), np.inf) if ok else np.inf
            for ok, name in zip(judged, names, strict=True)
        ]
    )
