"""What inverse dynamics of persons and of models with their own markers have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kernels.rates.manifold import OK, plain
from rtsim.methods.inverse_dynamics import InverseDynamics
from rtsim.methods.rates import RateEstimator
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.plates import FootLoads
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Outcome, Stage
from streams.messages import Session
from streams.ring import Frame


class JointLoads(Stage):
    """Inverse dynamics from filtered motion and equally filtered forces on the feet.

    Where the force on a foot is not known, all that it reaches is NaN.
    """

    needs = ("kinematics", "rates", "plates")

    def __init__(
        self,
        of: Mapping[str, InverseDynamics],
        motion: FilteredMotion,
        loads: FootLoads,
        feet: Sequence[tuple[int, int]],
    ) -> None:
        """of : the dynamics of each method; feet : body and side (0 right, 1 left) of all feet"""
        super().__init__()
        self.motion, self.loads = motion, loads
        self.kinematics: Kinematics = motion.kinematics
        self._of, self._feet = of, feet
        self._sign = np.ones(6)
        self._filters: list[RateEstimator] = []
        self._wrench = np.zeros(6)
        self.counters["moments_unknown"] = 0

    @property
    def dynamics(self) -> InverseDynamics:
        """Of the method in use."""
        return self._of[self.kinematics.estimator.method]

    @property
    def told(self) -> tuple[str, ...]:
        """What is said at the start."""
        return ()

    def warm(self) -> None:
        """Call everything once."""
        for method, dynamics in self._of.items():
            model, *_ = self.kinematics.estimator.placed_by(method)
            dynamics.compute(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))

    def begin(self, session: Session, anew: bool) -> None:
        """Filters for the forces like that of the motion."""
        if anew:
            self.sentences.append(f"{'; '.join(self.told)}.")
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(plain(6), rate) for _ in self._feet] if rate else []

    def run(self, frame: Frame) -> Outcome:
        """Moments at the time that motion and forces are filtered for."""
        self.n_frame += 1
        dynamics = self.dynamics
        dynamics.clear()
        known = self.motion.settled and bool(self._filters)
        for (body, foot), smooth in zip(self._feet, self._filters, strict=False):
            self._wrench[:3], self._wrench[3:] = self.loads.moment[foot], self.loads.force[foot]
            if smooth.take(frame.time, self._wrench) == OK:
                dynamics.external[body] = self._sign * smooth.rates.q
            else:
                dynamics.external[body] = math.nan
                self.counters["moments_unknown"] += known
        if known:
            dynamics.compute(*self.motion.rates)
        else:
            dynamics.tau[:] = math.nan
            for array in dynamics.results:
                array[...] = math.nan
        return FINE
