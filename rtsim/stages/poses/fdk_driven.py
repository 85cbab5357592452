"""Force-dependent kinematics with a known motion in place of markers: determinate kinematics.

Source: Andersen et al. 2017, eqs 1 to 3. This stage does not need the stage of the kinematics before it
(docs/fdk.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.fdk.problem import NOT_PLACED
from kernels.solver.constraints import Roles
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.choice import method_of
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from rtsim.quantity import Quantity
from rtsim.simulation.drivers import KEY, Drivers
from rtsim.stages.poses.balance import KNOWN, Balance
from rtsim.stages.poses.coordinates import CoordinateValues
from rtsim.stages.stage import StageOutcome
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame


class DrivenJoint(Balance):
    """Equilibrium of a model that moves as a file states, at the times of the frames.

    Raises ConfigError if the number of driven coordinates and constraints together differs from the number of
    degrees of freedom. Raises it also if no pose satisfies all of them at the start of the motion.
    """

    unplaced = (
        "No pose or no speeds: the driven coordinates and the constraints of the method contradict each "
        "other there."
    )

    def __init__(
        self, model: Model, roles: Roles, spec: FdkSpec, recruitment: RecruitmentSpec, drivers: Drivers,
        method: str,
    ) -> None:  # fmt: skip
        super().__init__(model, roles, spec, recruitment)
        self.drivers, self._method = drivers, method
        self._coordinates, self._q = CoordinateValues(model), np.full(len(model.q_neutral), math.nan)
        if self._balance(float(drivers.times[0])) == NOT_PLACED:
            n_driver, n_held = int(drivers.driven.sum()), len(self.balanced.hard)
            raise ConfigError(
                f"no pose was found for the start of the motion: {n_driver} of {model.n_v} degrees of "
                f"freedom are driven, and the method {method} has {n_held} hard constraints",
                where=KEY,
                allowed="at most as many driven coordinates as the constraints leave degrees of freedom",
            )

    def _balance(self, time: float) -> int:
        """Find the equilibrium at a time [s]; return its status."""
        drivers = self.drivers
        drivers.go_to(time)
        return self.balanced.drive(drivers.q, drivers.v, drivers.v_dot, drivers.driven)

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), forget the equilibria of earlier frames."""
        if anew:
            self.balanced.forget()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Find the equilibrium for the motion at the frame's time."""
        self.n_frame += 1
        status = self._balance(frame.time)
        # alpha is a part of the pose: without a balance neither is known
        self._q[:] = self.balanced.q if status in KNOWN else math.nan
        return self.come_to(status)

    def report(self) -> None:
        self._coordinates.report(self._q)

    def quantities(self) -> list[Quantity]:
        """Return all coordinates, then the results of the equilibrium, as quantities."""
        return [*self._coordinates.quantities(), *super().quantities()]

    def meta(self) -> dict[str, Any]:
        return {"model": self.balanced.model.name, "method": self._method}


def driven_joint(run: RunConfig, note: Callable[[str], None]) -> DrivenJoint:
    """Build the stage for a run whose source is a motion, in place of kinematics and fdk.

    note : called with a sentence on irregularities of the motion
    """
    spec = load_model(run.model)
    method = method_of(run, spec)
    model, recruitment = build(spec, None, method), run.recruitment or RecruitmentSpec()
    return DrivenJoint(
        model=model,
        roles=roles_of(spec, method),
        spec=run.fdk,
        recruitment=recruitment,
        drivers=Drivers(spec, model, run.fdk.drivers, run.source, note),
        method=method,
    )
