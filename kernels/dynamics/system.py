"""What the dynamics read and where they work: one system, one set of buffers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.dynamics.inertia import N_INERTIA, Bodies
from kernels.dynamics.motion import Velocities, new_velocities
from kernels.joints.tree import Pose, Tree, new_pose


class System(NamedTuple):
    """A tree of bodies with mass, in a field of gravity."""

    tree: Tree
    bodies: Bodies
    gravity: np.ndarray  # (3,) - in ground axes [m/s^2]


class DynamicsWork(NamedTuple):
    """Working space and by-products of the dynamics; spatial vectors about the origin of body 0."""

    pose: Pose
    velocities: Velocities
    inertia: np.ndarray  # (n_body, N_INERTIA)
    acceleration: np.ndarray  # (n_body, 6) - ground accelerates against gravity
    reaction: np.ndarray  # (n_body, 6) - what the joint transmits to the body
    articulated: np.ndarray  # (n_body, 6, 6) - articulated inertia, lower triangle
    bias_force: np.ndarray  # (n_body, 6)
    U: np.ndarray  # (n_v, 6) - articulated inertia times twist
    D: np.ndarray  # (n_v,) - inverse of twist . U
    u: np.ndarray  # (n_v,) - generalized force left for each dof
    M: np.ndarray  # (n_v, n_v) - mass matrix, then its Cholesky factor
    Y: np.ndarray  # (n_row_max, n_v) - constraint rows times the inverse factor


def new_dynamics_work(tree: Tree, n_row: int = 0) -> DynamicsWork:
    """Allocate a DynamicsWork for up to n_row constraints."""
    n_body, n_v = len(tree.parent), len(tree.dof_body)
    return DynamicsWork(
        new_pose(n_body, n_v, len(tree.chains.dof)),
        new_velocities(n_body),
        np.zeros((n_body, N_INERTIA)),
        np.zeros((n_body, 6)),
        np.zeros((n_body, 6)),
        np.zeros((n_body, 6, 6)),
        np.zeros((n_body, 6)),
        np.zeros((n_v, 6)),
        np.zeros(n_v),
        np.zeros(n_v),
        np.zeros((n_v, n_v)),
        np.zeros((n_row, n_v)),
    )
