"""Division of the ground reaction force of both feet together between the feet, without plates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.contact.prescribed import BodyMotion, new_motion
from kernels.contact.shared_load import LoadSharing, TwoFeet, new_sharing_state, share_load
from rtsim.methods.foot.foot_contact import FootContact

Array = NDArray[np.float64]

USUAL = LoadSharing(place=0.04, height=0.002, tilt=math.degrees(0.001), low=0.05, slow=0.8)
"""The centre of pressure that a person's motion tells was 15 to 60 mm off in recordings, heights of feet that
stand flat differ by 1 to 2 mm, and by 1 mm more for each degree of pitch (docs/ground_reaction.md)."""


class FootShare:
    """Division of the ground reaction force between two feet over time.

    Attributes
    ----------
    loads : (2,) normal force on each foot [N]; NaN = not known
    """

    def __init__(self, first: FootContact, second: FootContact, sharing: LoadSharing = USUAL) -> None:
        self._feet, self._sharing = (first, second), sharing
        self._two = TwoFeet(
            first=first.foot.contacts,
            second=second.foot.contacts,
            first_toes=first.foot.toes,
            second_toes=second.foot.toes,
            first_work=first.work,
            second_work=second.work,
        )
        self._state = new_sharing_state()
        self.loads: Array = np.full(2, math.nan)
        given = (self._two, new_motion(2), np.zeros(3), 0.0, sharing, self._state)
        self._share = bind(share_load, given)

    def forget(self) -> None:
        """Discard the loads of the present frame and the history of all earlier ones."""
        self.loads[:] = math.nan
        self._state[:] = new_sharing_state()

    def take(self, motion: BodyMotion, centre: Array, normal: Array, load: float) -> None:
        """Divide a ground reaction force between the feet, and store the normal force on each foot in
        `loads`.

        motion : motion of both feet; load : normal force of both feet together [N]
        centre, normal : (3,) centre of pressure of that force [m], and the normal of the ground

        A foot counts as in the air if all its contacts are high above the ground or move fast, or if it would
        bear less than the setting `least_force_N`. The loads are NaN if both feet are in the air, or if the
        contact model cannot produce the force.
        """
        least = self._feet[0].spec.least_force_N
        if load < least:
            self.loads[:] = 0.0
            return
        for foot in self._feet:
            foot.foot.contacts.contacts.point[:], foot.foot.contacts.contacts.normal[:] = centre, normal
        part = float(self._share(self._two, motion, centre, load, self._sharing, self._state))
        if min(part, 1.0 - part) * load < least:
            part = float(np.rint(part))
        self.loads[:] = (1.0 - part) * load, part * load
