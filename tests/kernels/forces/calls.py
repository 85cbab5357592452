"""The kernels' answers on force elements as new arrays: the only place of these tests that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.motion import new_velocities, velocities
from kernels.dynamics.twist_rates import twist_rates
from kernels.forces import kinks
from kernels.forces.assembly import ForceWork, force_derivatives, generalized_forces, new_force_work
from kernels.joints.tree import Pose, integrate, new_pose, pose
from tests.kernels.forces.cases import Case
from tests.naive.mechanisms import dirty

Array = NDArray[np.floating]


class Slopes(NamedTuple):
    """Derivatives of the generalized forces, and what the elements left."""

    tau_q: Array
    tau_v: Array
    work: ForceWork


def posed_work(case: Case, q: Array, space: ForceWork | None = None) -> tuple[Pose, ForceWork]:
    """Return the pose at q, and dirty working space, new or this one, under the case's loads."""
    tree = case.tree
    at = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    pose(tree, q, at)
    work = dirty(space or new_force_work(case.forces, tree))
    work.loads.level[:] = case.level
    return at, work


def forces(
    case: Case, q: Array | None = None, v: Array | None = None, space: ForceWork | None = None
) -> Array:
    """Return tau (n_v,) at the case's state, or at another."""
    q, v = case.q if q is None else q, case.v if v is None else v
    at, work = posed_work(case, q, space)
    tau = np.full(len(v), np.nan)
    generalized_forces(case.forces, at, q, v, work, tau)
    return tau


def slopes(case: Case, step: float = 0.0) -> Slopes:
    """Return tau_q and tau_v (n_v, n_v) at the case's state for a step of this length [s]."""
    tree, n_v = case.tree, len(case.v)
    at, work = posed_work(case, case.q)
    moving, rates = new_velocities(len(tree.parent)), np.full((n_v, 6), np.nan)
    velocities(tree, at, case.v, moving)
    twist_rates(tree, at, case.v, moving, rates)
    generalized_forces(case.forces, at, case.q, case.v, work, np.full(n_v, np.nan))
    tau_q, tau_v = np.zeros((2, n_v, n_v))
    force_derivatives(tree, case.forces, at, moving.body, rates, case.v_dot, step, work, tau_q, tau_v)
    return Slopes(tau_q, tau_v, work)


def part_length(
    case: Case, found: Slopes, jerk: Array, fraction: float = 0.2, floor: float = 0.5, rest: float = np.inf
) -> float:
    """Return the next part of a step [s] after `slopes`."""
    at, _ = posed_work(case, case.q)
    return kinks.part_length(
        case.forces, at.twist, at.position[0].copy(), jerk, fraction, floor, rest, found.work
    )


def sticks(case: Case) -> bool:
    """Return whether something sticks."""
    return bool(kinks.sticks(case.forces, slopes(case).work))


def differences(case: Case, step: float = 5e-5) -> tuple[Array, Array]:
    """Return tau_q and tau_v (n_v, n_v) by differences of order four of the forces."""
    space, n_v = new_force_work(case.forces, case.tree), len(case.v)

    def at(q: Array, v: Array) -> Array:
        return forces(case, q, v, space)

    by_q = [difference(lambda s, d=d: at(moved(case, d, s), case.v), step) for d in range(n_v)]
    by_v = [difference(lambda s, u=u: at(case.q, case.v + s * u), step) for u in np.eye(n_v)]
    return np.array(by_q).T, np.array(by_v).T


def difference(f: Callable[[float], Array], step: float) -> Array:
    """Return df/ds at 0 by differences of order four."""
    return (8.0 * (f(step) - f(-step)) - (f(2.0 * step) - f(-2.0 * step))) / (12.0 * step)


def moved(case: Case, dof: int, size: float) -> Array:
    """Return the coordinates after a tangent step of one dof."""
    q, delta = case.q.copy(), np.zeros(len(case.v))
    delta[dof] = 1.0
    integrate(case.tree, case.q, delta, size, q)
    return q
