"""The base class of the stages that compute inverse dynamics, for persons and for models with their own
markers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rtsim.methods.inverse_dynamics import InverseDynamics
from rtsim.methods.kinematics.rate_errors import LASTING, NOISE, VALUE
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.loads.filtered_loads import FootWrenches
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

DEVIATE_S = 0.04
"""Time after which the standard deviations of moments and forces are computed anew [s]."""


class JointLoads(Stage):
    """Inverse dynamics from filtered motion and the forces on the feet at the same time.

    If the force on a foot is unknown, or the filtered motion of a body, all results that depend on it are
    NaN.
    """

    def __init__(
        self,
        of: Mapping[str, InverseDynamics],
        motion: FilteredMotion,
        wrenches: FootWrenches,
        feet: Sequence[tuple[int, int]],
    ) -> None:
        """Combine inverse dynamics with the filtered motion and the wrenches on the feet.

        of : inverse dynamics of each method, by name
        feet : for each body that bears a load its index in the model, and its index among the wrenches
        """
        super().__init__()
        self.motion, self.wrenches = motion, wrenches
        self.kinematics: Kinematics = motion.kinematics
        self._of, self._feet = of, feet
        self._sign = np.ones(6)
        self._deviated_at = math.nan
        self.counters["moments_unknown"] = 0

    @property
    def dynamics(self) -> InverseDynamics:
        """The inverse dynamics that belongs to the kinematic method in use."""
        return self._of[self.kinematics.estimator.method]

    @property
    def told(self) -> tuple[str, ...]:
        """Sentences for the user, reported at the start of a run, such as the mass with which inverse
        dynamics is computed, and the bodies on which plates act.
        """
        return ()

    def warm(self) -> None:
        """Call all kernels once."""
        for method, dynamics in self._of.items():
            model, *_ = self.kinematics.estimator.placed_by(method)
            dynamics.compute(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), create filters for the forces, like that of the
        motion."""
        if anew:
            self.sentences.append(f"{'; '.join(self.told)}.")
        self.wrenches.begin(anew)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the joint moments at the time of the filtered motion."""
        self.n_frame += 1
        dynamics = self.dynamics
        dynamics.clear()
        known = self.motion.settled
        self.wrenches.take(frame.time)
        for body, foot in self._feet:
            dynamics.external[body] = self._sign * self.wrenches.wrench[foot]
            self.counters["moments_unknown"] += known and math.isnan(dynamics.external[body, 0])
        if known:
            dynamics.compute(*self.motion.rates)
            if self.motion.linked.any():
                dynamics.leave_out(self.motion.linked)
            if not 0.0 <= frame.time - self._deviated_at < DEVIATE_S:
                self._deviated_at = frame.time
                self._deviate()
        else:
            self._deviated_at = math.nan
            for array in (dynamics.tau, *dynamics.results, *dynamics.deviations):
                array[...] = math.nan
        return FINE

    def stated(self, deviation: np.ndarray) -> np.ndarray | None:
        """Return the array `deviation` of standard deviations if the run computes them, else None.

        They are computed if the standard deviations of the coordinates are known, and plates measure the
        forces.
        """
        told = self.motion.deviations is not None and self.wrenches.loads is not None
        return deviation if told else None

    def _deviate(self) -> None:
        """Compute the standard deviations of the present joint moments from the errors of pose, masses and
        plates."""
        found, of_rates = self.kinematics.estimator.deviations, self.motion.deviations
        loads = self.wrenches.loads
        if found is None or of_rates is None or loads is None:
            return
        errors, products = self.dynamics.errors, of_rates.products
        errors.covariance[LASTING] = found.covariance - found.noise_covariance
        errors.covariance[NOISE] = found.noise_covariance
        errors.rates[:] = independent_parts(products)
        errors.mass[:] = 0.01 * found.stated.segment_mass_percent
        errors.wrench[:] = 0.0
        lasting, noise = products[LASTING, VALUE, VALUE], products[NOISE, VALUE, VALUE]
        for body, foot in self._feet:
            force = self._sign[3:] * self.dynamics.external[body, 3:]
            total = noise * loads.noise_of(foot) + lasting * loads.noise.pressed(force)
            if np.isfinite(total).all():
                errors.wrench[body] = self._sign * columns_of(total)
        self.dynamics.deviate()


def take_over(deviation: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
    """Copy the standard deviations of a result, `deviation`, into `out`, with NaN where the result, `value`,
    is NaN.
    """
    out[...] = deviation
    out[np.isnan(value)] = math.nan


@lru_cache(maxsize=8)
def _independent(rows: bytes) -> np.ndarray:
    """Return `independent_parts` of two covariances that are given as bytes: results are cached, as the same
    covariances often come again.
    """
    return np.array([columns_of(products) for products in np.frombuffer(rows).reshape(2, 3, 3)])


def independent_parts(products: np.ndarray) -> np.ndarray:
    """Return two covariances (2, 3, 3) as sums of independent errors: each row of a (3, 3) matrix of the
    result is one such error, and the outer products of the three rows add up to the covariance.

    products : (2, 3, 3) two covariances of value, speed and acceleration, as a filter computes them
    """
    return _independent(products.tobytes())


def columns_of(covariance: np.ndarray) -> np.ndarray:
    """Return a square root of a covariance (n, n): a matrix (n, n) whose rows have outer products that add up
    to the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)
