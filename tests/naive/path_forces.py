"""Muscles in motion, with all their states and nothing eliminated: slow and obvious.

The state is y = (theta, v, a, x): the tangent step from the step's start, speeds, activations, fibre lengths
along the tendon (0 of rigid ones). Forces are those of virtual work on the lengths of paths.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.system import System
from kernels.forces.path_forces import PathForces
from tests.naive import hill, muscle_path
from tests.naive.differences import first_derivative
from tests.naive.dynamics import inverse_dynamics, mass_matrix
from tests.naive.ligament import line_force
from tests.naive.rosenbrock_step import local_rate
from tests.naive.tree import integrate

Array = NDArray[np.floating]


def generalized_forces(
    system: System, pulls: PathForces, q: Array, v: Array, inner: Array, e: Array
) -> tuple:
    """Return tau (n_v,), the rates of the inner states (2 n_pull,), and forces along the tendons [N]."""
    muscles, n = pulls.muscles, len(e)
    lengths = lambda at: muscle_path.lengths(system.tree, pulls.stations, pulls.surfaces, at)  # noqa: E731
    length, by_q = lengths(q), first_derivative(lengths, system.tree, q)
    force, rate = np.zeros(n), np.zeros(2 * n)
    for m in range(n):
        if pulls.law[m] >= 0:
            force[m] = line_force(int(pulls.law[m]), pulls.parameter[m], length[m], float(by_q[m] @ v))
            continue
        rate[m] = hill.activation_rate(muscles, m, e[m], inner[m])
        if muscles.elastic[m]:
            force[m], rate[n + m] = hill.elastic_tendon(muscles, m, length[m], inner[m], inner[n + m])
        else:
            strength, passive = hill.rigid_tendon(muscles, m, length[m], float(by_q[m] @ v))
            force[m] = inner[m] * strength + passive
    return -force @ by_q, rate, force


def motion(system: System, pulls: PathForces, start: Array, e: Array) -> Callable[[Array], Array]:
    """Return f, the rate of y = (theta, v, a, x), theta from the coordinates `start` (n_q,)."""
    n_v = len(system.tree.dof_body)
    none = np.zeros((len(system.tree.parent), 6))

    def f(y: Array) -> Array:
        theta, v, inner = y[:n_v], y[n_v : 2 * n_v], y[2 * n_v :]
        q = integrate(system.tree, start, theta)
        tau, rate, _ = generalized_forces(system, pulls, q, v, inner, e)
        bias = inverse_dynamics(system, q, v, np.zeros(n_v), none)
        v_dot = np.linalg.solve(mass_matrix(system, q), tau - bias)
        return np.concatenate([local_rate(system.tree, theta, v), v_dot, rate])

    return f
