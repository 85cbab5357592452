"""Random constrained problems with a known feasible state, and calls of the solver on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.joints.couplers import Couplers
from kernels.joints.kinds import BALL, FREE, HINGE, SLIDER
from kernels.joints.tree import without_tables
from kernels.solver.constraints import DISTANCE, HARD, OFF, SOFT, SPHERE_ON_PLANE, Roles
from kernels.solver.coordinates import CoordinateRanges, CoordinateTargets
from kernels.solver.initial_pose import new_fit_work
from kernels.solver.kkt import SolverOptions, solve
from kernels.solver.kkt_step import build_hessian, newton_step
from kernels.solver.optimality import FrameProblem, Work, new_work, objective, optimality
from kernels.solver.track import TrackWork, find_open_dofs
from tests.naive import constraints, kkt, markers, random_models
from tests.naive.tree import state

Array = NDArray[np.floating]

KINDS = (FREE, BALL, FREE, HINGE, SLIDER)
PARENTS = (-1, 0, 1, 0, 3)
ELEMENTS = (DISTANCE, SPHERE_ON_PLANE, DISTANCE, SPHERE_ON_PLANE, DISTANCE, DISTANCE)
BODIES = ((1, 2), (2, 1), (2, 4), (4, 1), (-1, 2), (3, 1))
MODES = (HARD, HARD, SOFT, SOFT, HARD, OFF)


class Found(NamedTuple):
    """What the solver said, and the state it left."""

    status: int
    iterations: int
    residual: float
    cost: float
    q: Array
    multiplier: Array


def random_problem(seed: int, noise: float = 0.02) -> tuple[FrameProblem, Array]:
    """Return a problem and a state of no cost but for the markers' noise [m]: two branches tied together."""
    rng = np.random.default_rng([seed, 50])
    tree = random_models.tree_of(rng, KINDS, PARENTS)
    q = random_models.random_coordinates(rng, tree)
    elements = random_models.elements_between(rng, tree, ELEMENTS, BODIES)
    at = state(tree, q)
    target = np.array([constraints.value(at, elements, e, 0.0) for e in range(len(ELEMENTS))])
    target[elements.kind == DISTANCE] = np.sqrt(target[elements.kind == DISTANCE])
    roles = Roles(np.array(MODES, np.int64), np.where(np.array(MODES) == SOFT, 5.0, 0.0), target)
    placed = random_models.random_markers(rng, tree)._replace(
        body=np.repeat(np.arange(5), 4).astype(np.int64)
    )
    placed = placed._replace(position=rng.uniform(-0.3, 0.3, (20, 3)))
    measured = markers.model_markers(tree, placed, q) + rng.normal(0.0, noise, (20, 3))
    n_v = len(tree.dof_body)
    weight = rng.uniform(0.5, 2.0, 20)
    return FrameProblem(tree, placed, elements, roles, measured, weight, np.zeros(n_v), q.copy()), q


def work_for(problem: FrameProblem) -> Work:
    """Return working space of the right size."""
    tree = problem.tree
    return new_work(
        len(tree.parent),
        len(problem.q_hold),
        len(tree.dof_body),
        len(problem.weight),
        len(problem.elements.kind),
        problem.elements.path.shape[1],
        len(tree.chains.dof),
    )


def as_in_runs(problem: FrameProblem) -> FrameProblem:
    """Return the same problem in the types of a run, so that no other solver is compiled: without what it
    lacks, as a lower limb, or with all that a model may have, where there is none of it empty.
    """
    tree, placed, roles = without_tables(problem.tree), problem.markers, problem.roles
    if tree.chains is None and placed.weight is None and roles.tasks is None and roles.limits is None:
        return problem._replace(tree=tree)
    n, x = np.zeros(0, np.int64), np.zeros(0)
    weight = np.ones(len(problem.weight)) if placed.weight is None else placed.weight
    return problem._replace(
        tree=problem.tree._replace(couplers=problem.tree.couplers or Couplers(n, n, n, n, n)),
        markers=placed._replace(weight=weight),
        roles=roles._replace(
            tasks=roles.tasks or CoordinateTargets(n, n, x, x),
            limits=roles.limits or CoordinateRanges(n, n, x, x),
        ),
    )


def solved(problem: FrameProblem, q: Array, options: SolverOptions = SolverOptions(1e-12, 60, 0.5)) -> Found:  # noqa: B008
    """Solve from q with zero multipliers; q itself is kept."""
    q, multiplier = q.copy(), np.zeros(len(problem.elements.kind))
    status, iterations, residual, cost = solve(as_in_runs(problem), options, work_for(problem), q, multiplier)
    return Found(status, iterations, residual, cost, q, multiplier)


def kernel_step(
    problem: FrameProblem, q: Array, multiplier: Array, second_order: float
) -> tuple[bool, Array, Array]:
    """Return whether the matrix was definite, the step (n_v,) and the new multipliers (n_hard,)."""
    work, problem = work_for(problem), as_in_runs(problem)
    objective(problem, q, work)
    n_hard, _ = optimality(problem, multiplier, work)
    definite = build_hessian(problem, multiplier, n_hard, second_order, work)
    newton_step(n_hard, work)
    return definite, work.delta, work.mu[:n_hard]


def open_dofs(problem: FrameProblem, q: Array) -> int:
    """Return how many dofs nothing determines; problem.hold gets their weights."""
    n_v = len(problem.hold)
    work = TrackWork(work_for(problem), new_fit_work(), np.zeros(n_v, np.int64))
    return find_open_dofs(as_in_runs(problem), q, work, np.zeros(n_v, np.int64))


def twin_residual(problem: FrameProblem, found: Found) -> float:
    """Return the optimality residual by the twin."""
    at = kkt.terms(problem, found.q)
    return kkt.optimality(at, found.multiplier[: len(at.phi)])
