"""Check whether the inertia of a system is the same in every pose."""

from __future__ import annotations

import numpy as np

from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.tree import integrate

N_POSE = 3
ROUNDING = 1e-12


def is_constant(system: System) -> bool:
    """Return whether mass matrix and weight are the same in every pose, and no inertial force depends on
    velocities.

    Examples are sliders, and planar bodies that rotate about their centre of mass. Mass matrix and weight are
    analytic functions of the coordinates, unless a spline drives a joint. So it suffices to compare them in a
    few random poses. If both are constant, the steps of a simulation need not compute them again.
    """
    tree = system.tree
    n_v = len(tree.dof_body)
    if len(tree.functions.kind) or tree.q_start[-1] != n_v:  # there are rotations by quaternions
        return False
    random = np.random.default_rng(1)
    work, none = new_dynamics_work(tree), np.zeros((len(tree.parent), 6))
    found = []
    for _ in range(N_POSE):
        q, v, M, tau = np.zeros(n_v), random.normal(size=n_v), np.zeros((n_v, n_v)), np.zeros(n_v)
        integrate(tree, q, random.normal(size=n_v), 1.0, q)
        mass_matrix(system, q, work, M)
        inverse_dynamics(system, q, v, np.zeros(n_v), none, work, tau)
        found.append(np.concatenate([np.tril(M).ravel(), tau]))
    largest = max(np.abs(row).max(initial=0.0) for row in found)
    return all(np.abs(row - found[0]).max(initial=0.0) <= ROUNDING * largest for row in found)
