"""A simulator at rest: generalized forces, their derivatives with respect to the coordinates, and the total
size of the forces on each coordinate.

The total size is the sum of the magnitudes of all forces, element by element, so that it is above zero also
in equilibrium. Residual forces are compared with it. It does not depend on the start of a search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import kernels.contact.elements
import kernels.forces.frictions
import kernels.forces.lines
from kernels.forces.path_forces import PULL
from kernels.rosenbrock.inner import fold_fibres
from kernels.rosenbrock.trace import RECORDED, Trace
from rtsim.simulation.model_state import ModelState

Array = NDArray[np.float64]

RELATIVE = 1e-9
"""Imbalance of a coordinate, of the sizes of all forces on it, that counts as none."""
ABSOLUTE = 1e-9
"""Acceleration that counts as none [m/s^2, rad/s^2], where nothing acts to compare an imbalance with."""


class Statics(NamedTuple):
    """Forces on the free dofs (those that a search for an equilibrium may move) of a model at rest:
    generalized forces F : (n,), their derivatives with respect to the coordinates K = M d(v-dot)/dq : (n,
    n), and the mass matrix M : (n, n).
    """

    F: Array  # [N, N m]
    K: Array
    M: Array
    allowed: Array  # (n,) - imbalance of each that counts as none [N, N m]

    @property
    def finite(self) -> bool:
        """Whether all forces and their derivatives are finite."""
        return all(bool(np.isfinite(x).all()) for x in (self.F, self.K, self.allowed))

    @property
    def balanced(self) -> bool:
        """Whether the residual force of every dof is negligible."""
        return bool((np.abs(self.F) <= self.allowed).all())


def statics_at(simulator: ModelState, trace: Trace, free: NDArray[np.int64]) -> Statics:
    """Compute the generalized forces and their derivatives at simulator.q, at rest; trace : room for one row
    of results; free : (n,) - indices of the dofs for which they are returned
    """
    trace.counts[RECORDED] = 0
    simulator.settle()
    simulator.run(0, 0, trace, last=True)
    stages = simulator.work.stages
    if simulator.work.inner is not None:
        fold_fibres(simulator.work.inner, simulator.work.pulls, 0.0, stages.tau_q)  # fibres follow at rest
    M = np.tril(stages.M) + np.tril(stages.M, -1).T
    square = np.ix_(free, free)
    allowed = RELATIVE * acting(simulator) + ABSOLUTE * np.diag(M)
    return Statics((M @ simulator.work.v_dot)[free], stages.tau_q[square].copy(), M[square], allowed[free])


def acting(simulator: ModelState) -> Array:
    """Return for each dof the total size of the forces that act on it, element by element and without regard
    to their signs, (n_v,) [N, N m].

    The effect of a force at a point is taken as the magnitude of the force times the speed of the point when
    the dof moves at unit speed, the largest effect that it can have.
    """
    forces, work = simulator.simulation.forces, simulator.work.forces
    total = weights(simulator)
    lines, contacts, frictions, loads = (
        work.lines.state,
        work.contacts.state,
        work.frictions.state,
        work.loads,
    )
    contact, friction, line = kernels.contact.elements, kernels.forces.frictions, kernels.forces.lines
    pressing = contacts[:, contact.PATCH] > 0.0
    applied = np.linalg.norm(loads.state[:, 3:], axis=1) * (loads.level != 0.0)
    for pairs, size, points in (
        (forces.lines.pair, lines[:, line.TENSION], lines[:, line.END : line.END + 3]),
        (
            forces.contacts.pair,
            np.linalg.norm(contacts[:, contact.FORCE : contact.FORCE + 3], axis=1) * pressing,
            contacts[:, contact.POINT : contact.POINT + 3],
        ),
        (
            forces.frictions.pair,
            frictions[:, friction.FORCE],
            frictions[:, friction.POINT : friction.POINT + 3],
        ),
        (forces.loads.pair, applied, loads.state[:, :3]),
    ):
        for pair, force, point in zip(pairs, np.abs(size), points, strict=True):
            if force > 0.0:
                path = forces.pairs.path[pair, : forces.pairs.n_path[pair]]
                total[path] += force * speeds_of(simulator, point, path)
    springs = forces.springs
    stretch = simulator.q[springs.coordinate] - springs.rest
    np.add.at(total, springs.dof, np.abs(springs.stiffness * stretch))
    pulls = simulator.work.pulls
    if pulls is not None:
        total += np.abs(pulls.state[:, PULL]) @ np.abs(pulls.path.gradient)
    couplers, reduction = simulator.simulation.couplers, simulator.work.reduction
    if couplers is not None and reduction is not None:
        for k in range(len(couplers.dof) - 1, -1, -1):
            f, d = couplers.dof[k], couplers.driver_dof[k]
            if d != f:
                total[d] += abs(reduction.coupler.slope[k]) * total[f]
    return total


def weights(simulator: ModelState) -> Array:
    """Return for each dof the total size of the weights of the bodies that it moves, (n_v,) [N, N m]: each
    weight times the speed of the body's centre of mass when the dof moves at unit speed.
    """
    system, pose = simulator.simulation.system, simulator.work.dynamics.pose
    tree, total = system.tree, np.zeros(len(system.tree.dof_body))
    g = float(np.linalg.norm(system.gravity))
    for b in range(len(tree.parent)):
        carried, d = [], int(tree.last_dof[b])
        while d >= 0:
            carried.append(d)
            d = int(tree.dof_parent[d])
        centre = pose.rotation[b] @ system.bodies.centre[b] + pose.position[b] - pose.position[0]
        total[carried] += g * system.bodies.mass[b] * speeds_of(simulator, centre, np.array(carried, int))
    return total


def speeds_of(simulator: ModelState, point: Array, dofs: NDArray[np.int64]) -> Array:
    """Return the speed of a point of a body when each of the dofs moves at unit speed, (n,).

    point : (3,) its position relative to the point about which the twists of the dofs are given [m]
    """
    twist = simulator.work.dynamics.pose.twist[dofs]
    return np.linalg.norm(twist[:, 3:] + np.cross(twist[:, :3], point), axis=1)
