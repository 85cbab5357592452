"""Bodies that are determined by markers again, after they were held near their last pose for a while.

Where they are found again they are somewhere else, and a filter that was fed their held pose takes the
difference for a motion. Its results are of use again when it has started anew and settled.

The solver tells which dofs it holds. These need not be those of the body that lacks markers: of a pelvis
without any, the rotation about the line of the hips is held at one of the thighs. So where a dof is held no
longer, all bodies that got markers back in that frame count as found as well.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.model import Model

Mask = NDArray[np.bool_]

ENOUGH = 3
"""Number of markers that determine a body by themselves."""


class RegainedBodies:
    """Determines from frame to frame which bodies are found again, and whose filtered motion is unknown yet.

    A body that was never determined so far, such as a leg without markers, stays where it is and disturbs
    no filter.

    Attributes
    ----------
    unsettled : (n_body,) bodies whose filtered coordinates are unknown: those found again less than the
        settling time ago, and those that they carry directly, as these are placed relative to them
    linked : (n_body,) bodies whose loads are unknown by this: the unsettled ones, all that they carry, and
        all that carry them
    """

    def __init__(self, model: Model, settling_s: float) -> None:
        """Begin with bodies of which none was held; settling_s : time until a filter has settled [s]"""
        tree, self._markers_on = model.tree, model.markers.body
        self._parent, self._dof_body, self._settling_s = tree.parent, tree.dof_body, settling_s
        n = len(tree.parent)
        self._carries = np.eye(n, dtype=bool)  # whether a body (row) carries another one, directly or not
        for b, parent in enumerate(tree.parent.tolist()):  # parents come first
            if parent >= 0:
                self._carries[:, b] |= self._carries[:, parent]
        self._held: Mask = np.zeros(len(tree.dof_body), bool)  # dofs held, and not found since
        self._enough = np.minimum(np.bincount(self._markers_on, minlength=n), ENOUGH)
        self._used = self._enough  # markers of each body in the frame before, while dofs were held
        self._found_at = np.full(n, -math.inf)
        self.unsettled: Mask = np.zeros(n, bool)
        self.linked: Mask = np.zeros(n, bool)

    def look(self, time: float, estimator: MultibodyEstimator) -> Mask:
        """Update the masks in a frame that was solved; return the bodies (n_body,) whose filter is to start
        anew.

        time : of the frame [s]; estimator : has solved the frame
        """
        undetermined, held = estimator.undetermined
        dofs, self._held = self._held & ~undetermined, held | (self._held & undetermined)
        used, before = self._enough, self._used
        if held.any() or dofs.any():
            used = np.bincount(self._markers_on[estimator.followed[1] > 0.0], minlength=len(used))
        found, self._used = np.zeros(len(used), bool), used
        if dofs.any():
            found[self._dof_body[dofs]] = True
            found |= (before < self._enough) & (used > before)
            found |= found[self._parent] & (self._parent >= 0)
            self._found_at[found] = time
        elif not self.unsettled.any():
            return found
        self.unsettled = np.asarray(time - self._found_at < self._settling_s)
        below = self._carries[self.unsettled].any(axis=0)
        self.linked = np.asarray(below | self._carries[:, self.unsettled].any(axis=1))
        return found

    def forget(self) -> None:
        """Follow a filter that has started anew as a whole, and settles as a whole."""
        self._found_at[:] = -math.inf
        self.unsettled, self.linked = np.zeros_like(self.unsettled), np.zeros_like(self.linked)
