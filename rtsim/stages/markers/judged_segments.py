"""Base of the checks that find implausible segments by means over many frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.faults.calibrated import FIXES
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.tracked import TrackedModel
from rtsim.subjects.subject import kind_of_segment


class JudgedSegments:
    """Base of checks in which a kernel averages a property of each segment over many frames, and compares the
    mean with a limit.

    Parameters
    ----------
    find : kernel that processes a frame and returns how many segments are implausible; its arguments are
        markers, rotation, off, dt, health, moments
    moments : NamedTuple of the kernel's arrays of averages; the first array contains the limits of the
        segments and is never reset

    Attributes
    ----------
    off : (n_body,) int64, 1 = the segment is implausible, after the newest frame
    """

    def __init__(self, find: Callable[..., int], moments: Any, estimator: MultibodyEstimator) -> None:
        model = estimator.model
        self.names = model.names.bodies
        self.off: NDArray[np.int64] = moments.off
        self._moments, self._waited = moments, 0.0
        none_off = np.zeros(len(self.names), np.int64)
        arguments = (model.markers, estimator.pose[1], none_off, 0.0, estimator.health, moments)
        self._find = hold(find, arguments, given=(1, 2, 3))

    def forget(self) -> None:
        """Discard the means of all earlier frames."""
        for array in self._moments[1:]:
            array[...] = 0
        self._waited = 0.0

    def look(self, rotation: NDArray[np.float64], off: NDArray[np.int64], dt: float, solved: bool) -> bool:
        """Check a frame; return whether a segment is implausible.

        rotation : (n_body, 3, 3) axes of the bodies in ground
        off : (n_body,) above 0 = another check has found that the markers of the segment are implausible in
            this frame
        dt : time since the previous frame [s], 0 = unknown
        solved : whether there is a new pose of new markers
        """
        if not solved:
            self._waited += dt
            return bool(self.off.any())
        n = self._find(rotation, off, dt + self._waited)
        self._waited = 0.0
        return n > 0


def limits_of(
    limits: Mapping[str, float], estimator: MultibodyEstimator, tracked: TrackedModel
) -> NDArray[np.float64]:
    """Return the limit that a checked property of each segment may not exceed, (n_body,).

    It is infinite, so that the segment is never found implausible, for a kind without a limit, for a segment
    that is not rigid enough to be checked, and for one with fewer than three markers.

    limits : kind of segment, such as "shank" -> limit
    """
    names, body = estimator.model.names.bodies, estimator.model.markers.body
    judged = [name in tracked.errors and int((body == b).sum()) >= FIXES for b, name in enumerate(names)]
    return np.array(
        [
            limits.get(kind_of_segment(name), np.inf) if ok else np.inf
            for ok, name in zip(judged, names, strict=True)
        ]
    )
