"""Muscle recruitment: activations and forces that produce the generalized forces of inverse dynamics.

The problem has one equation (row) for each coordinate on which a muscle, a reserve or a one-way reaction
acts. It is a balance of power in a motion in which this coordinate changes at unit rate, while dependent
coordinates follow by couplers and constraints, whose reactions do no work: the power of muscles, reserves and
one-way reactions must equal that of the generalized forces. Other coordinates, such as those of the root, are
left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.muscle.strengths import all_strengths
from kernels.recruitment.problem import NOT_CONVERGED, RecruitmentOptions, new_recruitment
from kernels.recruitment.reactions import reaction_rows
from kernels.recruitment.recruit import recruit
from kernels.solver.constraints import Roles, new_element_work
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.model import Model

Array = NDArray[np.float64]

N_ITERATION, RESIDUAL, GAP = 60, 1e-11, 1e-9
CROSSED = 1e-9
"""Moment arm about a coordinate up to which, in all of some poses, a muscle does not cross its joint."""
POSES, SWAY = 5, 0.1
"""Number of these poses, and largest difference of their coordinates from the neutral pose [rad, m]."""


class MuscleRecruitment:
    """Recruitment of the muscles of a model, frame by frame; all results are overwritten by the next.

    model : a model with names for all coordinates
    roles : which scalar constraints (elements) of the model its kinematic method uses, exactly or weighted; a
        one-way reaction, which can only push, takes part if the method uses the element that transmits it
    spec : criterion, strengths, reserves
    muscles : names of the muscles with a force
    rows : names of the balanced coordinates
    activations, forces, strengths : (n_muscle,) [1], [N], [N]; forces along the tendon, including passive
        ones
    reserves : (n_reserve,) moments or forces of the reserves [N m, N]
    reactions : (n_reaction,) magnitudes of the one-way reactions [N]
    violation : (n_row,) part of the load that muscles and reserves cannot bear [N m, N]
    objective, gap : value of the criterion in the newest frame, and the gap between primal and dual objective
        relative to it
    """

    def __init__(self, model: Model, roles: Roles, spec: RecruitmentSpec) -> None:
        self._pushing = model.reactions.held(roles)
        self._arms = MomentArms(model, self._pushing.released(roles._replace(tasks=None, limits=None)))
        self._spec, names, elements = spec, model.names, model.elements
        self._muscles = model.muscles
        n_reaction = len(self._pushing.names)
        self._reaction_arguments = (
            elements, self._pushing.element, roles.target, self._arms.pose,
            new_element_work(*elements.path.shape), np.zeros((n_reaction, model.n_v)),
        )  # fmt: skip
        self._rows_of = bind(reaction_rows, self._reaction_arguments)
        self._acting = np.flatnonzero(self._muscles.max_isometric_force > 0.0)
        if not self._acting.size:
            raise ConfigError(
                "no muscle of the model has an isometric force above zero",
                where="recruitment",
                remedy="give the muscles of the model their Hill parameters",
            )
        self.reserve_names = tuple(spec.reserves)
        check_reserves(spec, names.angles)
        n_all, n_angle = len(names.muscles), len(names.angles)
        self.reaction_names = self._pushing.names
        self._length, self._speed = np.full(n_all, math.nan), np.full(n_all, math.nan)
        self._arm = np.full((n_all, n_angle), math.nan)
        self._strength, self._passive = np.zeros(n_all), np.zeros(n_all)
        self._row = self._rows()
        self.muscles = tuple(names.muscles[m] for m in self._acting)
        self.rows = tuple(names.angles[a] for a in self._row)
        n, n_row, n_reserve = len(self._acting), len(self._row), len(spec.reserves)
        self._reserved = [self._row.tolist().index(names.angles.index(name)) for name in spec.reserves]
        self._reserve = np.array(list(spec.reserves.values()), float)
        self._first_reaction = n + 2 * n_reserve
        n_element = self._first_reaction + n_reaction
        most = np.concatenate([np.ones(n), np.full(2 * n_reserve, math.inf), np.ones(n_reaction)])
        power = 0 if spec.criterion == "min_max" else spec.power
        options = RecruitmentOptions(power, N_ITERATION, RESIDUAL, GAP)
        self._arguments = new_recruitment(self._weights(n_element), most, n_row, options)
        self._problem, _, self._state, _, self._out = self._arguments
        for k, (row, size) in enumerate(zip(self._reserved, self._reserve, strict=True)):
            self._problem.action[n + 2 * k, row], self._problem.action[n + 2 * k + 1, row] = size, -size
        self._run = bind(recruit, self._arguments)
        self.activations, self.forces = np.full(n, math.nan), np.full(n, math.nan)
        self.strengths = np.full(n, math.nan)
        self.reserves, self.violation = np.full(n_reserve, math.nan), np.full(n_row, math.nan)
        self.reactions = np.full(n_reaction, math.nan)
        self.objective, self.gap = self._out.objective, self._out.gap

    def share(self, q: Array, v: Array, tau: Array) -> int:
        """Distribute the generalized forces tau (n_v,) of a motion q (n_q,), v (n_v,) among the muscles;
        return OPTIMAL, VIOLATED or NOT_CONVERGED of kernels/recruitment/problem.

        All results are NaN if the forces are unknown, a muscle path cannot be computed, or no solution is
        found.
        """
        self._arms.measure_moving(q, v, self._length, self._speed, self._arm)
        n, problem = len(self._acting), self._problem
        all_strengths(self._muscles, self._length, self._speed, self._strength, self._passive)
        if self._spec.strength == "isometric":
            self._strength[:], self._passive[:] = self._muscles.max_isometric_force, 0.0
        arm = self._arm[np.ix_(self._acting, self._row)]
        strength, passive = self._strength[self._acting], self._passive[self._acting]
        problem.action[:n] = arm * strength[:, None]
        problem.action[self._first_reaction :] = self._reaction_actions()[:, self._row]
        problem.demand[:] = self._arms.couplings[self._row] @ tau - passive @ arm
        if not (np.isfinite(problem.demand).all() and np.isfinite(problem.action).all()):
            self.forget()
            return NOT_CONVERGED
        status, _ = self._run(*self._arguments)
        activation = self._out.activation
        self.activations[:], self.strengths[:] = activation[:n], strength
        np.multiply(activation[:n], strength, out=self.forces)
        self.forces += passive
        last = self._first_reaction
        self.reserves[:] = self._reserve * (activation[n:last:2] - activation[n + 1 : last : 2])
        np.multiply(activation[last:], np.abs(self._pushing.strength), out=self.reactions)
        self.violation[:] = self._out.violation
        return int(status)

    def forget(self) -> None:
        """Set all results to NaN; the next frame is solved like the first."""
        self._state.started[0] = 0
        for array in (
            self.activations, self.forces, self.strengths, self.reserves, self.reactions, self.violation,
        ):  # fmt: skip
            array[:] = math.nan
        self.objective[0] = self.gap[0] = math.nan

    def _reaction_actions(self) -> Array:
        """Return the generalized forces (n_reaction, n_angle) that each one-way reaction exerts at full
        strength on the model's coordinates, while dependent coordinates follow, in the pose measured last.
        """
        self._rows_of(*self._reaction_arguments)
        return self._pushing.strength[:, None] * (self._reaction_arguments[-1] @ self._arms.couplings.T)

    def _rows(self) -> NDArray[np.int64]:
        """Return the indices of the coordinates that need a row of their own: those that a muscle with a
        force crosses, on which a reaction works, or that have a reserve.
        """
        model = self._arms.model
        rng, names = np.random.default_rng(0), model.names.angles
        n = len(model.coordinates.names)
        most = np.zeros(n)
        for k in range(POSES):
            q = model.q_neutral.copy()
            if k:
                q[model.coordinates.q] += SWAY * rng.uniform(-1.0, 1.0, n)
            self._arms.measure(q, self._length, self._arm)
            found = np.abs(self._arm[self._acting, :n])
            most = np.fmax(most, np.nanmax(np.nan_to_num(found), axis=0))
            pushed = np.abs(self._reaction_actions()[:, :n]) / np.abs(self._pushing.strength)[:, None]
            most = np.fmax(most, pushed.max(axis=0, initial=0.0))
        return np.array(
            [a for a in range(n) if most[a] > CROSSED or names[a] in self._spec.reserves], np.int64
        )

    def _weights(self, n_element: int) -> Array:
        """Return the weights (n_element,) of elements in the criterion; reserves and reactions count as the
        heaviest muscle."""
        weight = np.ones(n_element)
        if self._spec.weight == "volume":
            muscles, acting = self._muscles, self._acting
            volume = muscles.max_isometric_force[acting] * muscles.optimal_fibre_length[acting]
            weight[: len(acting)] = volume / volume.max()
        return weight


def check_reserves(spec: RecruitmentSpec, coordinates: tuple[str, ...]) -> None:
    """Raise ConfigError for a reserve of a coordinate that the model does not have."""
    unknown = next((name for name in spec.reserves if name not in coordinates), None)
    if unknown is not None:
        raise ConfigError(
            f"unknown coordinate {unknown!r}", where="recruitment.reserves", allowed=", ".join(coordinates)
        )
