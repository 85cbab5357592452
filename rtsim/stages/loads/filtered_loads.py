"""Loads of force plates on each foot, or on other bodies that load plates, filtered like the motion, so that
both refer to the same time.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.rates.manifold import OK, plain
from rtsim.methods.kinematics.rates import RateEstimator
from rtsim.stages.loads.applied_loads import AppliedLoads
from rtsim.stages.rates import FilteredMotion


class FootWrenches(Protocol):
    """Wrenches of the ground on feet, or on other bodies that load force plates, at the time of the filtered
    motion.

    loads : the plate loads that the wrenches come from; None if they have another source
    wrench : (n_bearer, 6) moment about the ground origin [N m] and force [N] on each of these bodies; NaN =
        not known
    """

    loads: AppliedLoads | None
    wrench: NDArray[np.float64]

    def begin(self, anew: bool) -> None:
        """Begin a session of the input stream.

        anew : whether it is a new session, so that the history is discarded; False = the same one continues
        """

    def take(self, time: float) -> None:
        """Compute the wrenches at the time of a frame [s]."""

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Return the index, among the feet or bodies on which plates act, of the one that carries these
        markers; if none carries them, of the one on this side.
        """


class FilteredLoads:
    """Loads of force plates on each foot, or on other bodies that load plates, filtered like the motion."""

    def __init__(self, motion: FilteredMotion, loads: AppliedLoads) -> None:
        self.motion = motion
        self.loads: AppliedLoads | None = loads
        self._plates = loads
        self.wrench: NDArray[np.float64] = np.full((len(loads.bearers), 6), math.nan)
        self._raw = np.zeros(6)
        self._filters: list[RateEstimator] = []

    def begin(self, anew: bool) -> None:
        """Begin a session of the input stream; if it is a new one (anew), create filters like that of the
        motion."""
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(plain(6), rate) for _ in self.wrench] if rate else []

    def take(self, time: float) -> None:
        """Compute the filtered wrenches at the time of a frame [s]."""
        self.wrench[:] = math.nan
        for k, smooth in enumerate(self._filters):
            self._raw[:3], self._raw[3:] = self._plates.moment[k], self._plates.force[k]
            if smooth.take(time, self._raw) == OK:
                self.wrench[k] = smooth.rates.q

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Return the index, among the feet or bodies on which plates act, of the one that carries these
        markers; if none carries them, of the one on this side.
        """
        return self._plates.bearer_with(markers, side)
