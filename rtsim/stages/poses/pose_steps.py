"""Check for joints that jump when the set of markers in the solution changes.

If a marker that does not agree with the others is left out or returns, all joints that depend on it jump.
These include joints whose own markers are right.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.poses.joint_status import JointStatus

Array = NDArray[np.float64]

POSE_STEPPED = "pose_stepped"
"""Name of the counter of frames in which joints jump."""
STEP_RAD = math.radians(1.0)
"""Largest change of a joint's rotation from one frame to the next, beyond its rotation between the two frames
before [rad]. It is our choice: smaller than what matters in an angle, and hardly ever reached by skin motion
in walking."""
N_NAMED = 4


class PoseSteps:
    """Check for jumps of the pose when markers are left out or used again."""

    def __init__(self, estimator: MultibodyEstimator) -> None:
        self._estimator = estimator
        model = estimator.model
        self._names = model.names.markers
        self._taken = np.zeros(len(self._names), bool)
        self._changed = np.zeros(len(self._names), bool)
        self._axes = np.zeros((2, len(model.names.bodies), 3, 3))  # one frame ago, and two
        self._times = [math.nan, math.nan]  # from each of these to the frame after it [s]
        self._said = ""
        self.forget()

    def forget(self) -> None:
        """Discard the poses of all earlier frames."""
        self._n_known, self._waited = 0, 0.0
        self._stepped: NDArray[np.int64] = np.zeros(0, np.int64)

    def look(
        self, by_joint: JointStatus, dt: float, solved: bool, lost: NDArray[np.bool_], again: bool = False
    ) -> bool:
        """Check the present frame; return whether joints jump, which are then marked as suspect.

        dt : time since the previous frame [s]
        solved : whether the markers of this frame have determined a new pose; after a pose that was kept from
          an earlier frame no jump is reported
        lost : (n_body,) bool, segments whose pose is not known; their joints cannot jump
        again : whether the frame before was sent again, so that its results, and its faults, are repeated
        """
        if again:
            self._waited += dt
            if self._stepped.size:
                by_joint.suspect(self._stepped)
            return bool(self._stepped.size)
        if not solved:
            self.forget()
            return False
        dt, self._waited = dt + self._waited if dt > 0.0 else 0.0, 0.0
        self._stepped = self._stepped[:0]
        taken = self._estimator.health.weight > 0.0
        np.not_equal(taken, self._taken, out=self._changed)
        rotation = np.where(lost[:, None, None], math.nan, self._estimator.pose[1])
        found = self._n_known > 1 and bool(self._changed.any()) and self._steps(by_joint, rotation, dt)
        self._taken[:] = taken
        self._axes[1], self._axes[0] = self._axes[0], rotation
        self._times = [dt, self._times[0]]
        self._n_known += 1
        return found

    def said(self) -> str:
        """Return a sentence on the newest frame in which joints jumped: which joints, and why."""
        return self._said

    def _steps(self, by_joint: JointStatus, rotation: Array, dt: float) -> bool:
        """Return whether joints rotate from the previous frame to this one by more than their motion before
        explains; mark these joints as suspect in `by_joint`, and store a sentence on them.

        rotation : (n_body, 3, 3) axes of the bodies in ground, NaN = not known
        dt : time since the previous frame [s]
        """
        before = self._times[0]
        if not (dt > 0.0 and before > 0.0):
            return False
        proximal, distal = by_joint.ends
        newest, last, older = (
            np.swapaxes(R[proximal], 1, 2) @ R[distal] for R in (rotation, self._axes[0], self._axes[1])
        )
        turned = _vector(np.swapaxes(last, 1, 2) @ newest) - dt / before * _vector(
            np.swapaxes(older, 1, 2) @ last
        )
        size = np.linalg.norm(turned, axis=1)
        joints = np.flatnonzero(size > STEP_RAD)
        if not joints.size:
            return False
        by_joint.suspect(joints)
        self._stepped = joints
        markers = some_of([self._names[m] for m in np.flatnonzero(self._changed)])
        names = some_of([by_joint.names[j] for j in joints])
        self._said = (
            f"The pose jumps where {markers} is left out or used again, and the frame is suspect; joints: "
            f"{names} (by up to {math.degrees(float(size[joints].max())):.0f} degrees)."
        )
        return True


def some_of(names: list[str]) -> str:
    """Return the first of these names in one line, and how many more there are."""
    more = f" and {len(names) - N_NAMED} more" if len(names) > N_NAMED else ""
    return ", ".join(names[:N_NAMED]) + more


def _vector(R: Array) -> Array:
    """Return rotation vectors (n, 3) of small rotations (n, 3, 3): axis times the sine of the angle."""
    return 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
