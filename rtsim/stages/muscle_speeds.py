"""Muscle speeds: the rates at which muscles lengthen in the filtered motion."""

from __future__ import annotations

import math

import numpy as np

from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FORCES, MASS, MUSCLES, OWN_MARKERS, StageDeclaration
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.receiving.ring import ReceivedFrame


class MuscleSpeeds(Stage):
    """Rates of the lengths of a model's muscles at the coordinates and speeds of the filter."""

    def __init__(self, motion: FilteredMotion) -> None:
        super().__init__()
        self.motion, self._estimator = motion, motion.kinematics.estimator
        placed = {method: self._estimator.placed_by(method) for method in self._estimator.methods}
        of_model = {
            id(model): MomentArms(model, roles._replace(tasks=None, limits=None))
            for model, roles, *_ in placed.values()
        }
        self._of = {method: of_model[id(model)] for method, (model, *_) in placed.items()}
        self._speeds = np.full(len(self._estimator.model.names.muscles), math.nan)
        self._deviations, self._covariance_version = self._speeds.copy(), -1

    def warm(self) -> None:
        """Compute the speeds once by every method, to compile the kernels."""
        for arms in self._of.values():
            arms.speeds(arms.model.q_neutral.copy(), np.zeros(arms.model.n_v), self._speeds)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the speeds at the time of the filtered motion; NaN where there is no motion, or where a
        muscle path cannot be computed.
        """
        self.n_frame += 1
        if self.motion.settled:
            rates, arms = self.motion.rates, self._of[self._estimator.method]
            arms.speeds(rates.q, rates.v, self._speeds)
            if self.motion.unsettled.any():
                dofs = self.motion.unsettled[arms.model.tree.dof_body]
                self._speeds[arms.moved_by(dofs)] = math.nan
        else:
            self._speeds[:] = math.nan
        return FINE

    def report(self) -> None:
        """Publish standard deviations of the speeds whenever the covariance of the pose was computed anew."""
        found, of_rates = self._estimator.deviations, self.motion.deviations
        if found is None or of_rates is None:
            return
        covariance_version = found.covariance_version if self.motion.settled else -1
        if covariance_version != self._covariance_version:
            self._covariance_version = covariance_version
            arms = self._of[self._estimator.method]
            self._deviations[:] = of_rates.speeds_of(arms.slopes) if of_rates.known else math.nan
            self._deviations[np.isnan(self._speeds)] = math.nan

    def quantities(self) -> list[Quantity]:
        """Return one speed for each muscle, as a quantity."""
        self._covariance_version = -1
        return [
            Quantity(
                "muscle_speeds", self._speeds, "m/s", self._estimator.model.names.muscles,
                meaning="velocity d(length)/dt of muscle and tendon in the filtered motion: positive "
                    "where they lengthen; NaN = the path fails; filtered",
                deviation=self._deviations if self.motion.deviations is not None else None,
            ),
        ]  # fmt: skip


def make(setting: StageContext) -> MuscleSpeeds:
    """Return the stage for a model with muscles. The stage `rates`, which filters the motion and computes its
    speeds, must come before it; LookupError otherwise.
    """
    return MuscleSpeeds(setting.stage(FilteredMotion))


STAGE = StageDeclaration(
    make=make, needs=("kinematics", "rates"), inputs=(MUSCLES,), usual=(FORCES, MASS, OWN_MARKERS), order=70,
    kernels={"moment-arms": (OWN_MARKERS,)},
)  # fmt: skip
