"""Activations that generators need for the torques of a motion."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.torque_generator.torque import TORQUE_SIGN, activation_of


@njit
def needed_activations(driven, q, v, tau, activation_out, torque_out, point, parts):
    """Of every generator of a model: its activation where it alone bears the torque of its own direction.

    The torque of the other direction is its antagonist's, so that it is asked for none (eq. 7 of Millard et
    al. 2019, without co-contraction). Below 0 its passive torque is too high, above 1 it is too weak.

    driven : DrivenGenerators
    q : (n_q,) - coordinates [rad], v : (n_v,) - speeds [rad/s]
    tau : (n_v,) - generalized forces [N m]
    activation_out : (n_generator,) - written [1]
    torque_out : (n_generator,) - asked of each along its coordinate, written [N m]
    point : (3,), parts : (4,) - working space
    """
    for g in range(driven.dof.shape[0]):
        d = driven.dof[g]
        asked = tau[d] if tau[d] * driven.generators.parameter[g, TORQUE_SIGN] > 0.0 else 0.0
        point[0], point[1], point[2] = q[driven.coordinate[g]], v[d], asked
        torque_out[g] = asked
        activation_out[g] = activation_of(driven.generators, g, point, parts)
