"""Division of the ground reaction of the whole body between the feet: wrenches on the feet without force
plates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.foot.foot_contact import FootContact
from rtsim.methods.foot.foot_share import FootShare
from rtsim.methods.vectors import vector_product
from rtsim.stages.ground_reaction import GroundReaction
from rtsim.stages.loads.applied_loads import AppliedLoads
from rtsim.stages.loads.followed_feet import FollowedFeet
from rtsim.subjects.feet.foot_marks import UP
from rtsim.subjects.markers.labs import SIDES

Array = NDArray[np.float64]


class SharedGroundForce:
    """The ground reaction of the whole body, divided between the two feet.

    The horizontal force is divided in the same proportion as the vertical force, and there is no free moment.

    vertical : (2,) vertical forces on the feet, in the order of the model's feet [N]; NaN = not known
    wrench : (2, 6) wrench on the right and the left foot, moment about the ground origin [N m] and force [N];
        written by `lay`
    """

    def __init__(
        self, total: GroundReaction, followed: FollowedFeet, feet: Sequence[FootContact], sides: Sequence[int]
    ) -> None:
        self._total, self._followed, self._feet, self._sides = total, followed, feet, sides
        self._share = FootShare(feet[0], feet[1])
        self.vertical: Array = self._share.loads
        self.loads: AppliedLoads | None = None
        self.wrench: Array = np.full((2, 6), math.nan)

    def begin(self, anew: bool) -> None:
        """Begin a session of the input stream; if it is a new one (anew), forget the earlier loads of the
        feet."""
        if anew:
            self._share.forget()

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Return the index of the foot on this side."""
        return SIDES.index(side)

    def take(self, time: float) -> None:
        """Do nothing, as the stage of the foot contact has already processed the frame."""

    def share(self, height: float) -> bool:
        """Divide the ground reaction of this frame between the feet, on level ground at a height [m]; write
        the vertical forces to `vertical`.

        Return False if the ground reaction is known, but not on which foot it acts.
        """
        load = float(self._total.force[1])
        if math.isnan(load) or not self._followed.settled.all():
            self._share.forget()
            return math.isnan(load)
        self._share.take(self._followed.place, self._total.centre_on(height), UP, load)
        return not math.isnan(self.vertical[0])

    def lay(self) -> None:
        """Write `wrench` of this frame: each loaded foot bears its part of the ground reaction, acting at its
        centre of pressure.
        """
        total = self._total.force
        for foot, side in zip(self._feet, self._sides, strict=True):
            press = float(foot.force[1])
            if not press > 0.0:
                self.wrench[side] = press  # nothing, or not known
                continue
            force = press / total[1] * total
            self.wrench[side, :3], self.wrench[side, 3:] = vector_product(foot.centre, force), force
