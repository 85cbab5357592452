"""Check for joints whose centre, computed from each of the two adjacent segments, lies at two different
places, because all markers of a segment are displaced together from their calibrated positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.apart import find_apart, new_gaps
from kernels.faults.calibrated import CalibratedShape
from rtsim.subjects.subject import kind_of_segment

APART = "joint_apart"
SAID = (
    "The two segments at a joint do not meet as in the calibration: {joints}. Were all markers of one "
    "segment re-applied elsewhere, or do they slide on the skin? The frames are suspect."
)
"""Name of the counter of frames with such a joint, and message about it."""
LIMITS = {("shank", "foot"): (0.020, 0.5), ("thigh", "shank"): (0.036, 1.0)}
"""Distance [m] and time constant [s] of each joint: see docs/damage.md. Hips are not judged: in squats the
skin of pelvis and thigh brings the two places of their centre apart by 57 mm."""
NOT_JUDGED = (np.inf, 1.0)


class JointsApart:
    """Check of a person's joints for adjacent segments whose joint centres do not coincide.

    Attributes
    ----------
    off : (n_body,) int64 - above 0 = in the newest frame the segment does not meet its neighbour at their
      joint
    """

    def __init__(self, names: tuple[str, ...], shape: CalibratedShape) -> None:
        """Prepare the check.

        names : names of the bodies
        shape : shape of their markers, which the kernel updates in each frame before `look` reads it
        """
        n = len(names)
        self._names, self._ends = names, shape.body
        kinds = [tuple(kind_of_segment(names[b]) for b in ends) for ends in shape.body.tolist()]
        limits = np.array([LIMITS.get((a, b), NOT_JUDGED) for a, b in kinds]).reshape(-1, 2)
        self._gaps = new_gaps(limits[:, 0].copy(), limits[:, 1].copy())
        self.off: NDArray[np.int64] = np.zeros(n, np.int64)
        self._waited = 0.0
        self._find = hold(find_apart, (shape, np.zeros(n, np.int64), 0.0, self._gaps), given=(1, 2))

    def forget(self) -> None:
        """Discard the evidence of all earlier frames."""
        for array in (*self._gaps[2:], self.off):
            array[...] = 0
        self._waited = 0.0

    def look(self, off: NDArray[np.int64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether segments do not meet at a joint.

        off : (n_body,) above 0 = another check has found that the markers of the segment are implausible in
          this frame
        dt : time since the previous frame [s], 0 = unknown; solved : whether the frame has a new solution
        """
        if not solved:
            self._waited += dt
            return bool(self.off.any())
        n = self._find(off, dt + self._waited if dt > 0.0 else 0.0)
        self._waited = 0.0
        self.off[:] = 0
        if n:
            self.off[self._ends[self._gaps.off == 1]] = 1
        return n > 0

    def said(self) -> str:
        """Return a sentence that names the segments that do not meet at their joint, and the distance between
        their joint centres."""
        apart = [
            f"{self._names[a]} and {self._names[b]}, {1e3 * self._gaps.size[j]:.0f} mm apart"
            for j, (a, b) in enumerate(self._ends.tolist())
            if self._gaps.off[j]
        ]
        return SAID.format(joints="; ".join(apart))
