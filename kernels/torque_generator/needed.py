"""Activations that torque generators need to exert the joint torques of a motion."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.torque_generator.torque import TORQUE_SIGN, activation_of


@njit
def needed_activations(driven, q, v, tau, activation_out, torque_out, point, parts):
    """Compute the activation that each generator needs to exert the whole torque of its joint, where this
    torque acts in its direction.

    A torque in the other direction is exerted by the antagonist; the generator itself then has to exert zero
    torque (eq. 7 of Millard et al. 2019, without co-contraction). An activation below 0 means that the
    passive torque is too high, one above 1 that the generator is too weak.

    driven : DrivenGenerators - torque generators, and their activations over time
    q : (n_q,) - generalized coordinates [rad]
    v : (n_v,) - generalized speeds [rad/s]
    tau : (n_v,) - generalized forces [N m]
    activation_out : (n_generator,) - activation of each generator [1]
    torque_out : (n_generator,) - torque that each generator has to give along its coordinate [N m]
    point : (3,) - working space
    parts : (4,) - working space
    """
    for g in range(driven.dof.shape[0]):
        d = driven.dof[g]
        asked = tau[d] if tau[d] * driven.generators.parameter[g, TORQUE_SIGN] > 0.0 else 0.0
        point[0], point[1], point[2] = q[driven.coordinate[g]], v[d], asked
        torque_out[g] = asked
        activation_out[g] = activation_of(driven.generators, g, point, parts)
