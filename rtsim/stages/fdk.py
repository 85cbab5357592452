"""Force-dependent kinematics: muscle and reaction forces and the joint position in equilibrium, in every
frame.

This stage uses measured markers; for a prescribed motion it is `stages/poses/fdk_driven`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kernels.fdk.problem import NOT_BALANCED, NOT_PLACED
from kernels.rates.manifold import OK, RESTARTED, plain
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.rate_schema import RateSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.rates import RateEstimator
from rtsim.models.model import Model, build
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import (
    FORCES,
    MASS,
    MUSCLES,
    OWN_MARKERS,
    PERSON,
    RECRUITMENT,
    Facts,
    StageDeclaration,
)
from rtsim.stages.inverse_dynamics import PersonLoads
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.loads.joint_loads import JointLoads
from rtsim.stages.loads.recruited_runs import FDK_USE, RECRUITMENT_USE, check_balance, without_load_of_person
from rtsim.stages.poses.balance import NO_LOAD, Balance
from rtsim.stages.poses.fdk_driven import driven_joint
from rtsim.stages.poses.regained_bodies import RegainedBodies
from rtsim.stages.stage import StageOutcome
from rtsim.subjects.calibration.masses import with_masses
from streams.messages import Session, time_rate
from streams.receiving.ring import ReceivedFrame


class BalancedJoint(Balance):
    """Force-dependent kinematics of a model from filtered markers; all results have the delay of the filter.

    A marker that is missing, or that the kinematics leaves out, is replaced by its position in the fitted
    model. If the stage of inverse dynamics comes
    before this one, its filtered plate wrenches on the feet are used. If one of these wrenches is unknown,
    all results are NaN.
    """

    lateness, unplaced = "; filtered", "No pose or no speeds: too few markers are visible."

    def __init__(
        self, kinematics: Kinematics, spec: FdkSpec, recruitment: RecruitmentSpec, rates: RateSpec,
        loads: JointLoads | None = None, heavy: Model | None = None,
    ) -> None:  # fmt: skip
        """Prepare force-dependent kinematics with filtered markers.

        loads : stage of inverse dynamics of the same bodies, whose plate wrenches are used; None = no plates
        heavy : the model with a person's masses; None = the model's own masses
        """
        self.kinematics, self._spec, self._loads = kinematics, rates, loads
        estimator = kinematics.estimator
        model, roles, *_ = estimator.placed_by(estimator.method)
        super().__init__(heavy or model, roles, spec, recruitment)
        model = self.balanced.model
        self._method = estimator.method
        self._filter: RateEstimator | None = None
        self._regained = RegainedBodies(estimator.model, 0.0)
        self._shape = (len(model.names.markers), 3)
        self._weight = np.ones(self._shape[0])
        self._status = NOT_PLACED
        self._n_lost = 0  # frames without balance on end
        self.counters["load_unknown"] = 0

    def warm(self) -> None:
        """Solve for the equilibrium of the neutral pose once."""
        still = np.zeros(self._shape)
        self.balanced.balance(self.kinematics.estimator.outputs.markers, still, still, self._weight)
        self.balanced.forget()
        self.joints.update(known=True)
        RateEstimator(self._spec, plain(self._weight.size * 3), 1000.0).take(
            0.0, np.zeros(self._shape).ravel()
        )

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), create a filter for its rate and discard the
        equilibrium of earlier frames."""
        if not anew and self._filter is not None:
            return
        self.balanced.forget()
        estimator = self.kinematics.estimator
        self._filter, self._status, self._n_lost = None, NOT_PLACED, 0
        try:
            self._filter = RateEstimator(self._spec, plain(self._weight.size * 3), time_rate(session))
            self._regained = RegainedBodies(estimator.model, self._filter.settling_s)
        except ConfigError as fault:
            self.sentences.append(
                f"Speeds, accelerations and the balance of forces at the joint are not computed: {fault}"
            )

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Solve for the equilibrium at the newest filtered markers."""
        self.n_frame += 1
        kinematics = self.kinematics
        if self._filter is None or not kinematics.solved or kinematics.estimator.method != self._method:
            return self.without()
        model_markers = kinematics.estimator.outputs.markers
        used = np.isfinite(kinematics.measured) & (kinematics.estimator.health.weight > 0.0)[:, None]
        seen = np.where(used, kinematics.measured, model_markers)
        if not self._follow(self._filter, frame.time, seen):
            return self.without()
        if self._loads is not None:
            self.balanced.external[:] = self._loads.dynamics.external
            if not math.isfinite(self.balanced.external.sum()):
                self.count("load_unknown", NO_LOAD)
                return self.without()
        x, v, a = (row.reshape(self._shape) for row in self._filter.rates)
        if self._begins_anew():
            self.balanced.start(kinematics.estimator.q)
        self._status = status = self.balanced.balance(x, v, a, self._weight)
        self._n_lost = self._n_lost + 1 if status == NOT_BALANCED else 0
        return self.come_to(status)

    def _follow(self, smooth: RateEstimator, time: float, seen: np.ndarray) -> bool:
        """Filter the markers of a frame; return whether the filter has settled. Markers of bodies that are
        found again after they were held near their last pose start anew from rest.

        seen : (n_marker, 3) [m]
        """
        estimator, regained = self.kinematics.estimator, self._regained
        bodies = regained.look(time, estimator)
        found = np.repeat(bodies[estimator.model.markers.body], 3)
        if found.any():
            smooth.rest(seen.ravel(), found, found)
        said = smooth.take(time, seen.ravel())
        if said == RESTARTED:
            regained.forget()
        return said == OK and not regained.unsettled.any()

    def _begins_anew(self) -> bool:
        """Return whether the search for the equilibrium must start afresh instead of from the equilibrium of
        the frame before.

        It must if there is no pose. If the run states from where to begin, it must also do so in every second
        of successive frames without equilibrium, as the branch of solutions that it followed may have ended.
        """
        spec = self.balanced.spec
        lost = bool(spec.start_mm or spec.start_deg) and self._n_lost > 0 and self._n_lost % 2 == 0
        return self._status == NOT_PLACED or lost


LOADS = "inverse_dynamics"
"""Name of the stage that must come before this one for a person."""


def make(setting: StageContext) -> BalancedJoint:
    """Return the stage for a model with muscles that brings its own markers, or for a person on force
    plates."""
    kinematics, loads = setting.stage(Kinematics), setting.find(JointLoads)
    run, heavy = setting.run, None
    if setting.subject is not None:
        if not isinstance(loads, PersonLoads):
            raise without_load_of_person()
        method = kinematics.estimator.method
        heavy = build(with_masses(setting.spec, setting.subject, loads.person), setting.subject, method)
    recruitment = run.recruitment or RecruitmentSpec()
    return BalancedJoint(
        kinematics=kinematics,
        spec=run.fdk,
        recruitment=recruitment,
        rates=run.rates,
        loads=loads,
        heavy=heavy,
    )


def check(run: RunConfig, spec: ModelSpec, facts: Facts, before: Sequence[str]) -> None:
    """Raise ConfigError for settings with which the equilibrium of the run's joints cannot be found."""
    check_balance(run, spec, facts, loaded=LOADS in before)


STAGE = StageDeclaration(
    make=make, needs=("kinematics",), inputs=(MUSCLES,), usual=(FORCES, MASS, PERSON, RECRUITMENT), order=90,
    kernels={"fdk": (), "recruitment": (OWN_MARKERS, RECRUITMENT), "moment-arms": (OWN_MARKERS,)},
    tables={"fdk": FDK_USE, RECRUITMENT: RECRUITMENT_USE}, check=check, of_motion=driven_joint,
)  # fmt: skip
