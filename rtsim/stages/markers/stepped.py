"""Check for segments that have jumped: displaced as one body within one frame by more than any motion
explains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.stepped import find_steps, new_steps
from rtsim.methods.kinematics.multibody import MultibodyEstimator

STEPPED = "segment_stepped"
SAID = (
    "All markers of {segments} jumped together, faster than a person moves: was a cluster knocked or "
    "rotated, or are the data late? Frames are suspect until the markers jump back."
)
"""Name of the counter of frames with such a segment, and message about it."""


class SteppedSegments:
    """Check of one stream's markers for segments that jump as a whole; it does not depend on the kinematic
    method.

    off : (n_body,) int64, 1 or more = the segment has jumped, and up to the newest frame has not jumped back
    """

    def __init__(self, estimator: MultibodyEstimator) -> None:
        model = estimator.model
        self._names = model.names.bodies
        self._steps = new_steps(len(model.names.markers), len(self._names))
        self.off: NDArray[np.int64] = self._steps.state
        self._waited = 0.0
        arguments = (
            model.markers, model.tree.parent, estimator.pose[1], 0.0, estimator.options.health,
            estimator.health, self._steps,
        )  # fmt: skip
        self._find = hold(find_steps, arguments, given=(2, 3))

    def forget(self) -> None:
        """Forget the motion of all markers."""
        steps = self._steps
        fresh = new_steps(len(steps.motion.age), len(self._names))
        parts = zip((*steps.motion, *steps[1:]), (*fresh.motion, *fresh[1:]), strict=True)
        for old, new in parts:
            old[...] = new
        self._waited = 0.0

    def look(self, rotation: NDArray[np.float64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether the markers of a segment have jumped, all at once and faster than a
        person moves, and have not jumped back.

        rotation : (n_body, 3, 3) axes of the bodies in ground
        dt : time since the previous frame [s], 0 = unknown
        solved : whether this frame has a pose that was computed from its own markers
        """
        if not solved:
            self._waited += dt
            return bool(self.off.any())
        n = self._find(rotation, dt + self._waited)
        self._waited = 0.0
        return n > 0

    def said(self) -> str:
        """Return a sentence that names the segments that have jumped."""
        return SAID.format(segments=", ".join(self._names[b] for b in np.flatnonzero(self.off)))
