"""Torque generators: the activations that the moments of inverse dynamics require."""

from __future__ import annotations

import math

import numpy as np

from kernels.compiler.jit import hold
from kernels.torque_generator.needed import needed_activations
from rtsim.quantity import ACTIVATIONS, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FORCES, MASS, OWN_MARKERS, TORQUE_GENERATORS, StageDeclaration
from rtsim.stages.inverse_dynamics import ModelLoads
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.receiving.ring import ReceivedFrame

TOO_STIFF, TOO_WEAK = -1.0, 1.0
ROUNDING = 1e-9
"""Tolerance with which an activation lies between 0 and 1."""


class NeededActivations(Stage):
    """Activations of the joint torque generators of a model with its own markers that produce its net joint
    moments, for extensors and flexors separately.

    activations : (n_generator,) required activation [1]
    torques : (n_generator,) required torque [N m]
    limits : (n_generator,) -1 if the activation would be below 0, because the passive torque is too large; 1
      if it would be above 1, because the generator is too weak; else 0
    """

    def __init__(self, loads: ModelLoads) -> None:
        super().__init__()
        self.loads, estimator = loads, loads.kinematics.estimator
        self._names = estimator.model.names.generators
        n = len(self._names)
        self.activations, self.torques, self.limits = (np.full(n, math.nan) for _ in range(3))
        self._counts = np.zeros((2, n), np.int64)
        self._of = {}
        for method in estimator.methods:
            model, *_ = estimator.placed_by(method)
            zeros = np.zeros(len(model.q_neutral)), np.zeros(model.n_v), np.zeros(model.n_v)
            arguments = (
                model.forces.generators,
                *zeros,
                self.activations,
                self.torques,
                np.zeros(3),
                np.zeros(4),
            )
            self._of[method] = hold(needed_activations, arguments, given=(1, 2, 3))
        self.counters["generators_too_stiff"] = self.counters["generators_too_weak"] = 0

    def warm(self) -> None:
        """Call the kernel by every method once."""
        estimator = self.loads.kinematics.estimator
        for method, needed in self._of.items():
            model, *_ = estimator.placed_by(method)
            needed(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the required activations at the time of the filtered motion; NaN if the motion or the
        external forces are unknown then.
        """
        self.n_frame += 1
        motion, tau = self.loads.motion, self.loads.dynamics.tau
        if not (motion.settled and math.isfinite(tau.sum())):
            self.activations[:] = self.torques[:] = self.limits[:] = math.nan
            return FINE
        self._of[self.loads.kinematics.estimator.method](motion.rates.q, motion.rates.v, tau)
        np.sign(self.activations - 0.5, out=self.limits)
        self.limits[(self.activations >= -ROUNDING) & (self.activations <= 1.0 + ROUNDING)] = 0.0
        self._tell(
            self.limits == TOO_STIFF,
            "generators_too_stiff",
            "activation below 0: the passive torque is too high",
        )
        self._tell(
            self.limits == TOO_WEAK, "generators_too_weak", "activation above 1: the generators are too weak"
        )
        return FINE

    def _tell(self, odd: np.ndarray, name: str, words: str) -> None:
        if odd.any():
            first = self._names[int(odd.argmax())]
            self.count(name, f"A torque generator needs an activation {words} ({first}, and perhaps others).")

    def quantities(self) -> list[Quantity]:
        """Return the required activations of all torque generators, as quantities."""
        return [
            Quantity(
                "generator_activations", self.activations, "1", self._names, curves=ACTIVATIONS,
                meaning="activation needed if each generator alone makes the joint torque in its direction; "
                    "below 0: its passive torque is too high, above 1: it is too weak; filtered",
            ),
            Quantity(
                "generator_torques", self.torques, "N m", self._names,
                meaning="torque that each generator has to exert along its coordinate; filtered",
            ),
            Quantity(
                "generator_limits", self.limits, "1", self._names,
                meaning="-1 = an activation below 0 would be needed, 1 = one above 1, 0 = neither",
            ),
        ]  # fmt: skip


def make(setting: StageContext) -> NeededActivations:
    """Return the stage for a model with torque generators that brings its own markers. The stage
    `inverse_dynamics`, which computes the joint torques, must come before it; LookupError otherwise.
    """
    return NeededActivations(setting.stage(ModelLoads))


STAGE = StageDeclaration(
    make=make, needs=("inverse_dynamics",), inputs=(OWN_MARKERS, TORQUE_GENERATORS), usual=(FORCES, MASS),
    order=80, kernels={"torque-generators": ()},
)  # fmt: skip
