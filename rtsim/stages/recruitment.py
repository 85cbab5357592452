"""Recruitment: activations and forces of muscles that balance the moments of inverse dynamics."""

from __future__ import annotations

import math

import numpy as np

from kernels.recruitment.problem import NOT_CONVERGED, VIOLATED
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.methods.muscles.recruitment import MuscleRecruitment
from rtsim.quantity import ACTIVATIONS, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import (
    FORCES,
    MASS,
    MUSCLES,
    OWN_MARKERS,
    RECRUITMENT,
    StageDeclaration,
)
from rtsim.stages.inverse_dynamics import ModelLoads
from rtsim.stages.loads.recruited_runs import RECRUITMENT_USE, check_recruited
from rtsim.stages.loads.unbalanced_dofs import unbalanced_dofs
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame


class SharedLoads(Stage):
    """Muscle recruitment in every frame: the generalized forces of inverse dynamics are distributed among the
    muscles of a model with its own markers.
    """

    def __init__(self, loads: ModelLoads, spec: RecruitmentSpec) -> None:
        super().__init__()
        self.loads, self.spec = loads, spec
        self._estimator = loads.kinematics.estimator
        placed = {method: self._estimator.placed_by(method) for method in self._estimator.methods}
        of_model = {
            (id(model), roles.mode.tobytes()): MuscleRecruitment(model, roles, spec)
            for model, roles, *_ in placed.values()
        }
        self._of = {
            method: of_model[id(model), roles.mode.tobytes()] for method, (model, roles, *_) in placed.items()
        }
        self.counters["not_recruited"] = self.counters["load_not_borne"] = 0

    @property
    def sharing(self) -> MuscleRecruitment:
        """The recruitment solver of the method in use."""
        return self._of[self._estimator.method]

    def warm(self) -> None:
        """Distribute the load among the muscles once by every method, to compile the kernels."""
        for method, sharing in self._of.items():
            model, *_ = self._estimator.placed_by(method)
            sharing.share(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))
            sharing.forget()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute activations and forces of the muscles at the time of the filtered motion; NaN if the motion
        or the external forces are unknown then.
        """
        self.n_frame += 1
        motion, tau = self.loads.motion, self.loads.dynamics.tau
        if not (motion.settled and math.isfinite(tau.sum())):
            self.sharing.forget()
            return FINE
        status = self.sharing.share(motion.rates.q, motion.rates.v, tau)
        if status == NOT_CONVERGED:
            self.count(
                "not_recruited",
                "No activations: the path of a muscle cannot be computed, or the solver found no solution.",
            )
            return StageOutcome(Status.NOT_CONVERGED)
        if status == VIOLATED:
            self.count("load_not_borne", f"The muscles cannot bear the load; missing: {self._lacking()}.")
            return StageOutcome(Status.DEGRADED)
        return FINE

    def _lacking(self) -> str:
        """Describe the degrees of freedom along which the load is least balanced, and by how much."""
        sharing, model = self.sharing, self._estimator.model
        turns = dict(zip(model.names.angles, model.angle_is_rotation, strict=True))
        return unbalanced_dofs(sharing.rows, sharing.violation, [turns[row] for row in sharing.rows])

    def quantities(self) -> list[Quantity]:
        """Return the published quantities: activations and forces of muscles, moments of reserve actuators,
        unilateral reactions, the part of each generalized force that muscles and reserves cannot balance, and
        the relative difference between the criterion and a lower bound of its minimum."""
        sharing = self.sharing
        reserves = [
            Quantity(
                "reserve_moments", sharing.reserves, "N m", sharing.reserve_names,
                meaning="moments of the reserve actuators of the run; forces [N] for coordinates that "
                    "are lengths; filtered",
            )
        ]  # fmt: skip
        reactions = [
            Quantity(
                "unilateral_reactions", sharing.reactions, "N", sharing.reaction_names,
                meaning="forces of elements that can push or pull in one direction only; filtered",
            )
        ]  # fmt: skip
        return [
            Quantity(
                "muscle_activations", sharing.activations, "1", sharing.muscles, curves=ACTIVATIONS,
                meaning="activation of each muscle found by recruitment, 0 to 1, as a fraction of its "
                    "strength; filtered",
            ),
            Quantity(
                "muscle_forces", sharing.forces, "N", sharing.muscles,
                meaning="force along the tendon, activation times strength plus passive force; filtered",
            ),
            *(reserves if sharing.reserve_names else []),
            *(reactions if sharing.reaction_names else []),
            Quantity(
                "load_not_borne", sharing.violation, "N m", sharing.rows,
                meaning="the part of each coordinate's generalized force that muscles and reserves "
                    "cannot bear ([N] for lengths), found by least squares with each row relative to "
                    "its strongest muscle; filtered",
            ),
            Quantity(
                "recruitment_gap", sharing.gap, "1",
                meaning="relative gap between the criterion and a lower bound of its minimum; NaN = the "
                    "muscles cannot bear the load",
            ),
        ]  # fmt: skip


def make(setting: StageContext) -> SharedLoads:
    """Return the stage for a model with muscles that brings its own markers. The stage `inverse_dynamics`,
    which computes the loads that the muscles share, must come before it; LookupError otherwise.
    """
    return SharedLoads(setting.stage(ModelLoads), setting.run.recruitment or RecruitmentSpec())


STAGE = StageDeclaration(
    make=make, needs=("inverse_dynamics",), inputs=(OWN_MARKERS, MUSCLES),
    usual=(FORCES, MASS, RECRUITMENT), order=90, kernels={"recruitment": (RECRUITMENT,), "moment-arms": ()},
    tables={RECRUITMENT: RECRUITMENT_USE}, check=check_recruited,
)  # fmt: skip
