"""Linear springs and dampers on single coordinates, such as those of hinged orthoses, of joint stops, or of
the passive stiffness of a joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import njit


class Springs(NamedTuple):
    """Linear springs with dampers on single coordinates: each gives the generalized force m - k (q - q0) - c
    v with a constant part m, stiffness k, rest position q0 and damping c.
    """

    coordinate: np.ndarray  # (n_spring,) int64 - index in q
    dof: np.ndarray  # (n_spring,) int64 - index in v
    rest: np.ndarray  # (n_spring,) - q0 [rad, m]
    stiffness: np.ndarray  # (n_spring,) [N m/rad, N/m]
    damping: np.ndarray  # (n_spring,) [N m s/rad, N s/m]
    moment: np.ndarray  # (n_spring,) - m, applied by a device, constant over a step [N m, N]


@njit
def add_springs(springs, q, v, tau):
    """Add the generalized forces of all springs [N m, N] to tau : (n_v,).

    q : (n_q,) - generalized coordinates [rad, m]; v : (n_v,) - generalized speeds [rad/s, m/s].
    """
    for e in range(springs.dof.shape[0]):
        d = springs.dof[e]
        stretch = q[springs.coordinate[e]] - springs.rest[e]
        tau[d] += springs.moment[e] - springs.stiffness[e] * stretch - springs.damping[e] * v[d]


@njit
def add_spring_slopes(springs, tau_q, tau_v):
    """Add the derivatives of the springs' forces with respect to q to tau_q and with respect to v to tau_v,
    both (n_v, n_v).
    """
    for e in range(springs.dof.shape[0]):
        d = springs.dof[e]
        tau_q[d, d] -= springs.stiffness[e]
        tau_v[d, d] -= springs.damping[e]
