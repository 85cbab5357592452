"""Named tuples for the model of a system of bodies and for the working space of its dynamics."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.dynamics.inertia import N_INERTIA, Bodies
from kernels.dynamics.motion import Velocities, new_velocities
from kernels.joints.tree import Pose, Tree, new_pose


class System(NamedTuple):
    """A joint tree of bodies with mass, in a gravitational field."""

    tree: Tree
    bodies: Bodies
    gravity: np.ndarray  # (3,) - in ground axes [m/s^2]


class DynamicsWork(NamedTuple):
    """Working space and intermediate results of the dynamics; spatial vectors about the origin of body 0."""

    pose: Pose
    velocities: Velocities
    inertia: Annotated[np.ndarray, Floats("n_body", N_INERTIA)]
    acceleration: Annotated[np.ndarray, Floats("n_body", 6)]  # ground accelerates against gravity
    reaction: Annotated[np.ndarray, Floats("n_body", 6)]  # what the joint transmits to the body
    articulated: Annotated[np.ndarray, Floats("n_body", 6, 6)]  # articulated inertia, lower triangle
    bias_force: Annotated[np.ndarray, Floats("n_body", 6)]
    U: Annotated[np.ndarray, Floats("n_v", 6)]  # articulated inertia times twist
    D: Annotated[np.ndarray, Floats("n_v")]  # inverse of twist . U
    u: Annotated[np.ndarray, Floats("n_v")]  # generalized force left for each dof
    M: Annotated[np.ndarray, Floats("n_v", "n_v")]  # mass matrix, then its Cholesky factor
    Y: Annotated[np.ndarray, Floats("n_row_max", "n_v")]  # constraint rows times the inverse factor


def new_dynamics_work(tree: Tree, n_row: int = 0) -> DynamicsWork:
    """Allocate a DynamicsWork for up to n_row constraint rows."""
    n_body, n_v = len(tree.parent), len(tree.dof_body)
    return allocate(
        DynamicsWork,
        n_body=n_body,
        n_v=n_v,
        n_row_max=n_row,
        pose=new_pose(n_body, n_v, len(tree.chains.dof)),
        velocities=new_velocities(n_body),
    )
