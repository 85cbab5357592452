"""Velocities and bias accelerations of all bodies, as spatial vectors in ground axes.

Every spatial vector (angular part, linear part) is taken about one point at rest, the place where the origin
of body 0 is at this instant, as are the twists of kernels/joints/tree.Pose. Nothing has to be transformed
along the tree: velocities, forces and inertias simply add (Featherstone 2008, Rigid Body Dynamics Algorithms,
chapter 2; all bodies in one coordinate system).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined
from kernels.joints.kinds import joint_velocity


class Velocities(NamedTuple):
    """Spatial velocities of all bodies, and the accelerations that their joints add at zero generalized
    acceleration.
    """

    body: Annotated[np.ndarray, Floats("n_body", 6)]  # velocity of each body
    # acceleration that the joint adds at zero v-dot: dS/dt v
    bias: Annotated[np.ndarray, Floats("n_body", 6)]
    carrier: Annotated[np.ndarray, Floats(6)]  # working space


def new_velocities(n_body: int) -> Velocities:
    """Allocate a Velocities: spatial velocities of n_body bodies."""
    return allocate(Velocities, n_body=n_body)


@inlined
def velocities(tree, pose, v, velocities_out):
    """Compute the spatial velocities of all bodies at the generalized speeds v : (n_v,), after
    kernels/joints/tree.pose.
    """
    body, bias, carrier = velocities_out.body, velocities_out.bias, velocities_out.carrier
    for b in range(tree.parent.shape[0]):
        p, own, own_bias = tree.parent[b], body[b], bias[b]
        for i in range(6):
            own[i] = body[p, i] if p >= 0 else 0.0
            own_bias[i] = 0.0
        joint_velocity(tree, pose, b, v, carrier, own, own_bias)
