"""Random systems in random states, and the kernels' answers as new arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.forward import forward_dynamics
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.motion import velocities
from kernels.dynamics.reduction import ReductionWork, follow, reduced_accelerations
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.joints.couplers import Couplers
from kernels.joints.tree import pose
from tests.naive import random_models

Array = NDArray[np.floating]

TREES = {
    "branched": random_models.branched_tree,
    "random": random_models.random_tree,
    "chained": random_models.chained_tree,
    "ellipsoidal": random_models.ellipsoidal_tree,
}


class Case(NamedTuple):
    """A system in motion under external wrenches."""

    system: System
    q: Array
    v: Array
    v_dot: Array
    wrench: Array  # (n_body, 6)


def some_case(name: str, seed: int) -> Case:
    """Return a random system in a random state, everything of the size of one."""
    rng = np.random.default_rng([seed, len(name), 3])
    tree = TREES[name](rng)
    system = random_models.random_system(rng, tree)
    q, n_v = random_models.random_coordinates(rng, tree), len(tree.dof_body)
    v, v_dot = rng.normal(size=(2, n_v))
    return Case(system, q, v, v_dot, rng.normal(size=(len(tree.parent), 6)))


def inverse(case: Case) -> Array:
    """Return tau (n_v,)."""
    return inverse_and_reactions(case)[0]


def inverse_and_reactions(case: Case) -> tuple[Array, Array]:
    """Return tau (n_v,) and the reactions (n_body, 6), moved from the reference point to ground's origin."""
    work, tau = new_dynamics_work(case.system.tree), np.full(len(case.v), np.nan)
    inverse_dynamics(case.system, case.q, case.v, case.v_dot, case.wrench, work, tau)
    moment, force = work.reaction[:, :3], work.reaction[:, 3:]
    return tau, np.hstack([moment + np.cross(work.pose.position[0], force), force])


def forward(case: Case, tau: Array) -> Array:
    """Return v_dot (n_v,) under the generalized forces tau (n_v,)."""
    v_dot = np.full(len(case.v), np.nan)
    work = new_dynamics_work(case.system.tree)
    forward_dynamics(case.system, case.q, case.v, tau, case.wrench, work, v_dot)
    return v_dot


def reduced(
    system: System, couplers: Couplers, q: Array, v: Array, tau: Array, wrench: Array, work: DynamicsWork,
    own: ReductionWork, v_dot_out: Array,
) -> int:  # fmt: skip
    """Write v_dot (n_v,) with couplers kept, in the steps of a simulation; what is given in q and v, too."""
    follow(couplers, system.tree.functions, 0.0, own, q, v)
    pose(system.tree, q, work.pose)
    velocities(system.tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    status: int = reduced_accelerations(system, couplers, v, tau, wrench, work, own, v_dot_out)
    return status


def mass(case: Case) -> Array:
    """Return the whole symmetric M (n_v, n_v)."""
    M = np.full((len(case.v), len(case.v)), np.nan)
    mass_matrix(case.system, case.q, new_dynamics_work(case.system.tree), M)
    return np.tril(M) + np.tril(M, -1).T


def assert_same(found: Array, expected: Array, tolerance: float) -> None:
    """Largest difference within this fraction of the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())
