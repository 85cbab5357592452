"""Mechanical energy of a system of bodies, and the power of all forces except gravity."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.dynamics.inertia import MASS, MOMENT, momentum
from kernels.dynamics.inverse import inverse_dynamics


@njit
def energy_and_power(system, motion, wrench, work, tau, out):
    """Compute the mechanical energy of a motion, and the rate at which the acting forces change it.

    With tau = M v_dot + h of inverse dynamics, gravity included, that rate is v . tau. If the accelerations
    are those that the acting forces cause, it is the power of these forces; any other change of the energy is
    an error of the time integration.

    system : System - joint tree of bodies with mass, in a gravitational field
    motion : (q, v, v_dot) - generalized coordinates, speeds and accelerations, (n_q,) [rad, m], (n_v,)
        [rad/s, m/s], (n_v,) [rad/s^2, m/s^2]
    wrench : (n_body, 6) - external wrenches, all zero
    work : DynamicsWork - working space, overwritten
    tau : (n_v,) - generalized forces of the motion [N m, N], written
    out : (2,) - kinetic plus gravitational potential energy [J], and its rate [W]; written
    """
    q, v, v_dot = motion
    inverse_dynamics(system, q, v, v_dot, wrench, work, tau)
    g, x0, inertia = system.gravity, work.pose.position[0], work.inertia
    energy, power = 0.0, 0.0
    for b in range(inertia.shape[0]):
        twist, impulse = work.velocities.body[b], work.acceleration[b]
        momentum(inertia, b, twist, impulse)
        for i in range(6):
            energy += 0.5 * twist[i] * impulse[i]
        for i in range(3):
            energy -= g[i] * (inertia[b, MOMENT + i] + inertia[b, MASS] * x0[i])
    for d in range(v.shape[0]):
        power += v[d] * tau[d]
    out[0], out[1] = energy, power
