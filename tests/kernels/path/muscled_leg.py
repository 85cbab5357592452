"""The made-up leg with its muscles: what the kernel says of it, and what its twins say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.joints.joint_angles import joint_angles
from kernels.joints.kinds import HINGE
from kernels.joints.tree import new_pose, pose, without_tables
from kernels.path.joint_arms import JointLeverage, joint_moment_arms, new_joint_leverage_work
from kernels.solver.constraints import SOFT
from rtsim.models.model import Model
from tests.kernels import leg
from tests.naive import differences
from tests.naive.constraints import derivatives, value
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]


class Leg(NamedTuple):
    """The made-up leg with its muscles, by one method."""

    leverage: JointLeverage
    model: Model
    muscles: tuple[str, ...]

    @property
    def n_v(self) -> int:
        return self.model.n_v

    def angle(self, name: str) -> int:
        return self.model.names.joint_angles.index(name)

    def dofs(self, body: str) -> list[int]:
        """Return the dofs of a body's own joint."""
        b = self.model.names.bodies.index(body)
        return [d for d, owner in enumerate(self.model.tree.dof_body) if owner == b]


class Arms(NamedTuple):
    """What the kernel says at one pose."""

    lengths: Array  # (n_muscle,)
    arms: Array  # (n_muscle, n_angle)
    gradient: Array  # (n_angle, n_v)
    coupling: Array  # (n_angle, n_v)
    status: Array  # (n_angle,)
    n_failed: int
    path_status: Array  # (n_muscle,)


@cache
def leg_by(method: str) -> Leg:
    """Return the leg by a method; not to be written to."""
    model = leg.built(method)
    constraints = model.constraints(leg.roles(method))
    tree = without_tables(model.tree)  # as live runs have it, whose kernels are compiled already
    leverage = JointLeverage(tree, constraints, model.stations, model.surfaces, model.joints)
    return Leg(leverage, model, model.names.muscles)


def swing(of: Leg, phase: float = 1.2) -> Array:
    """Return coordinates of a leg in swing; on the constraints of `zero` where the method is that."""
    if of is leg_by("zero"):
        return leg.exact_trial(1).q[0]
    q = leg.rough_coordinates(phase)
    tree = of.model.tree
    if len(of.model.q_neutral) == len(q):
        return q
    # a knee of one angle, or of a ball, instead of position and orientation
    start, foot = tree.q_start[2], tree.q_start[3]
    knee = [-0.6] if tree.kind[2] == HINGE else q[start + 3 : start + 7]
    return np.concatenate([q[:start], knee, q[-(len(of.model.q_neutral) - foot) :]])


def arms_at(of: Leg, q: Array) -> Arms:
    """Return lengths and moment arms by the kernel at coordinates q."""
    tree, n_angle = of.leverage.tree, len(of.model.names.joint_angles)
    placed = new_pose(len(tree.parent), of.n_v)
    pose(tree, q, placed)
    work = new_joint_leverage_work(of.leverage)
    lengths, arms = np.zeros(len(of.muscles)), np.zeros((len(of.muscles), n_angle))
    # as live runs call it: no other machine code is made, and this is the one that is tried
    n_failed = hold(joint_moment_arms, (of.leverage, placed, q, work, lengths, arms))()
    angle = work.angle
    return Arms(lengths, arms, angle.gradient, angle.coupling, angle.status, n_failed, work.path.status)


def angles_at(of: Leg, q: Array) -> Array:
    """Return the joint angles (n_angle,) by kernels.joints.joint_angles, which the arms are about."""
    tree, joints = of.leverage.tree, of.model.joints
    placed = new_pose(len(tree.parent), of.n_v)
    pose(tree, q, placed)
    angles, displacements = np.zeros((2, len(joints.proximal), 3))
    joint_angles(joints, placed, np.zeros((3, 3, 3)), angles, displacements)
    return angles.ravel()


def values_at(of: Leg, q: Array, mode: int) -> Array:
    """Return Phi of the method's elements of one mode."""
    constraints = of.leverage.constraints
    chosen = np.flatnonzero(constraints.roles.mode == mode)
    at = state(of.leverage.tree, q)
    return np.array([value(at, constraints.elements, e, 0.0) for e in chosen])


def rows_at(of: Leg, q: Array, mode: int) -> Array:
    """Return the rows (n, n_v) of the method's elements of one mode, by derivatives of their points."""
    constraints = of.leverage.constraints
    chosen = np.flatnonzero(constraints.roles.mode == mode)
    at = state(of.leverage.tree, q)
    return np.array([derivatives(at, constraints.elements, e)[0] for e in chosen])


def weights(of: Leg) -> Array:
    """Return the weights of the soft elements."""
    roles = of.leverage.constraints.roles
    return roles.weight[roles.mode == SOFT]


def heavier(of: Leg, times: float) -> Leg:
    """Return the leg with soft elements of so many times the weight."""
    constraints = of.leverage.constraints
    roles = constraints.roles._replace(weight=times * constraints.roles.weight)
    return of._replace(leverage=of.leverage._replace(constraints=constraints._replace(roles=roles)))


def moved_by_joint(of: Leg, q: Array, body: str, goal: Callable[[Array], Array]) -> Array:
    """Return q after least-norm Newton steps of one joint alone that bring goal(q) to zero."""
    own = of.dofs(body)
    for _ in range(20):
        gap = goal(q)
        if np.abs(gap).max() < 1e-13:
            break
        J = differences.first_derivative(goal, of.leverage.tree, q)[:, own]
        delta = np.zeros(of.n_v)
        delta[own] = -np.linalg.lstsq(J, gap, rcond=None)[0]
        q = integrate(of.leverage.tree, q, delta)
    assert np.abs(goal(q)).max() < 1e-11
    return q
