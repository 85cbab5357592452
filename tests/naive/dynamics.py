"""Dynamics by sums over bodies and over pairs of motions: slow and obvious.

No recursion along the tree, no spatial algebra. Every body has the Jacobian of its centre of mass and of its
turning; Newton's and Euler's equations hold for each body on its own, in ground axes, and each dof takes
what they do along its motion (Kane's equations): tau_d = sum over bodies of J_d . (rate of momentum - force).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.system import System
from tests.naive.tree import State, cross, integrate, state, together

Array = NDArray[np.floating]


def turning(at: State, body: int) -> Array:
    """Return the angular velocity (3, n_v) of a body per speed [rad/s]."""
    J = np.zeros((3, len(at.tree.dof_body)))
    for step in at.path(body):
        if step.rotates:
            J[:, step.dof] += step.slope * step.axis
    return J


def turning_bias(at: State, body: int, v: Array) -> Array:
    """Return the angular acceleration (3,) of a body at constant speeds v (n_v,).

    Every rotation's axis is carried round by the rotations before it, and its rate changes with its slope.
    """
    bias = np.zeros(3)
    steps = [step for step in at.path(body) if step.rotates]
    for j, far in enumerate(steps):
        bias += far.curvature * v[far.dof] ** 2 * far.axis
        for near in steps[:j]:
            if not together(at.tree, near, far):
                bias += near.slope * v[near.dof] * far.slope * v[far.dof] * cross(near.axis, far.axis)
    return bias


def central_inertia(system: System, at: State, body: int) -> Array:
    """Return the inertia (3, 3) kg m^2 of a body about its centre of mass, in ground axes."""
    R = at.body[body][:3, :3]
    return R @ system.bodies.inertia[body] @ R.T


def mass_matrix(system: System, q: Array) -> Array:
    """Return M (n_v, n_v) = sum of J' m J."""
    at, n_v = state(system.tree, q), len(system.tree.dof_body)
    M = np.zeros((n_v, n_v))
    for b, mass in enumerate(system.bodies.mass):
        Jx, Jw = at.point_derivatives(b, system.bodies.centre[b])[0], turning(at, b)
        M += mass * Jx.T @ Jx + Jw.T @ central_inertia(system, at, b) @ Jw
    return M


def demands(system: System, at: State, v: Array, v_dot: Array, wrench: Array) -> Array:
    """Return what each body's joints must do to it, (n_body, 6): moment about ground's origin, and force.

    wrench : (n_body, 6) - external, moment about ground's origin [N m] and force [N].
    """
    need = np.zeros((len(system.bodies.mass), 6))
    for b, mass in enumerate(system.bodies.mass):
        c = system.bodies.centre[b]
        (Jx, Hx), Jw, inertia = at.point_derivatives(b, c), turning(at, b), central_inertia(system, at, b)
        acceleration, w = Jx @ v_dot + Hx @ v @ v, Jw @ v
        angular = Jw @ v_dot + turning_bias(at, b, v)
        force = mass * (acceleration - system.gravity)
        need[b, :3] = inertia @ angular + cross(w, inertia @ w) + cross(at.point(b, c), force)
        need[b, 3:] = force
    return need - wrench


def inverse_dynamics(system: System, q: Array, v: Array, v_dot: Array, wrench: Array) -> Array:
    """Return tau (n_v,): every body's demand along every dof."""
    at = state(system.tree, q)
    tau = np.zeros(len(v))
    for b, need in enumerate(demands(system, at, v, v_dot, wrench)):
        of_origin = at.point_derivatives(b, carried_from_origin(at, b))[0]
        tau += of_origin.T @ need[3:] + turning(at, b).T @ need[:3]
    return tau


def carried_from_origin(at: State, body: int) -> Array:
    """Return the point (3,) of a body that lies at ground's origin now."""
    T = at.body[body]
    return -T[:3, :3].T @ T[:3, 3]


def reactions(system: System, q: Array, v: Array, v_dot: Array, wrench: Array) -> Array:
    """Return what each joint transmits, (n_body, 6) about ground's origin: demands of all it carries."""
    need = demands(system, state(system.tree, q), v, v_dot, wrench)
    total = np.zeros_like(need)
    for b in range(len(need)):
        carrier = b
        while carrier >= 0:
            total[carrier] += need[b]
            carrier = int(system.tree.parent[carrier])
    return total


def motion_by_differences(system: System, q: Array, v: Array, step: float = 1e-5) -> tuple[Array, Array]:
    """Return velocities (n_body, 3) of the centres of mass and angular velocities (n_body, 3), from poses."""
    back, there = (state(system.tree, integrate(system.tree, q, s * v)) for s in (-step, step))
    at = state(system.tree, q)
    velocity, angular = np.zeros((2, len(at.body), 3))
    for b, c in enumerate(system.bodies.centre):
        velocity[b] = (there.point(b, c) - back.point(b, c)) / (2 * step)
        spin = (there.body[b] - back.body[b])[:3, :3] / (2 * step) @ at.body[b][:3, :3].T
        angular[b] = (
            0.5 * (spin[2, 1] - spin[1, 2]),
            0.5 * (spin[0, 2] - spin[2, 0]),
            0.5 * (spin[1, 0] - spin[0, 1]),
        )
    return velocity, angular


def kinetic_energy(system: System, q: Array, v: Array) -> float:
    """Return the sum of the bodies' energies [J], their velocities by differences of poses."""
    at, (velocity, angular) = state(system.tree, q), motion_by_differences(system, q, v)
    spin = sum(w @ central_inertia(system, at, b) @ w for b, w in enumerate(angular))
    return float(0.5 * (system.bodies.mass @ np.sum(velocity**2, axis=1) + spin))


def potential_energy(system: System, q: Array) -> float:
    """Return the height of all bodies in the field of gravity [J]."""
    at = state(system.tree, q)
    centres = np.array([at.point(b, c) for b, c in enumerate(system.bodies.centre)])
    return float(-system.bodies.mass @ (centres @ system.gravity))


def momentum(system: System, q: Array, v: Array) -> Array:
    """Return the angular momentum about ground's origin and the momentum of all bodies, (6,)."""
    at, total = state(system.tree, q), np.zeros(6)
    for b, mass in enumerate(system.bodies.mass):
        c = system.bodies.centre[b]
        p = mass * at.point_derivatives(b, c)[0] @ v
        spin = central_inertia(system, at, b) @ (turning(at, b) @ v)
        total += np.concatenate([spin + cross(at.point(b, c), p), p])
    return total
