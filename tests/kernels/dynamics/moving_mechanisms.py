"""Mechanisms in motion under forces, and the kernel's answer as new arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constrained import constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System, new_dynamics_work
from kernels.solver.constraints import HARD
from rtsim.models.packing.tree import JointRow, build_tree
from tests.naive.constrained import within_constraints
from tests.naive.mechanisms import Mechanism, dirty, random_mechanism, without_constraints

Array = NDArray[np.floating]


class Case(NamedTuple):
    """A mechanism in motion under forces."""

    some: Mechanism
    v: Array
    tau: Array
    wrench: Array  # (n_body, 6) about ground's origin


class Answer(NamedTuple):
    """What the kernel says."""

    status: int
    v_dot: Array
    multiplier: Array


def some_case(seed: int) -> Case:
    """Return a random mechanism whose speeds its constraints allow."""
    rng, some = np.random.default_rng([seed, 17]), random_mechanism(seed)
    v = within_constraints(some.tree, some.constraints, some.q, rng.normal(0.0, 0.6, some.n_v))
    return Case(some, v, rng.normal(size=some.n_v), rng.normal(size=(len(some.tree.parent), 6)))


def answer(case: Case) -> Answer:
    """Return the kernel's answer, on dirty working space; multipliers of the spare rows are cut off."""
    some = case.some
    rows = dirty(new_constraint_work(some.constraints, some.n_v))
    work = dirty(new_dynamics_work(some.tree, len(rows.value)))
    v_dot, multiplier = np.full(some.n_v, np.nan), np.full(len(rows.value), np.nan)
    status = constrained_dynamics(
        some.system, some.constraints, some.q, case.v, case.tau, case.wrench, work, rows, v_dot, multiplier
    )
    n = np.count_nonzero(some.constraints.roles.mode == HARD) + len(some.constraints.couplers.dof)
    return Answer(status, v_dot, multiplier[:n])


def pendulum(joints: list[JointRow], mass: Array, centre: Array, inertia: float = 1e-3) -> Mechanism:
    """Return unconstrained bodies of these masses [kg] with spheres' inertia [kg m^2] about their centres."""
    tree = build_tree(joints)
    spheres = inertia * np.sign(mass)[:, np.newaxis, np.newaxis] * np.eye(3)
    system = System(tree, Bodies(mass, centre, spheres), np.array([0.0, -9.81, 0.0]))
    return Mechanism(system, without_constraints(tree), np.full(len(joints), 0.3))
