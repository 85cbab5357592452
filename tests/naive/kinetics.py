"""Net joint moments and forces by sums over bodies, powers by differences of poses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.system import System
from kernels.joints.joint_angles import JointAxes
from tests.naive import dynamics, joint_angles
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]


class Crossing(NamedTuple):
    """What crosses one joint, on the distal body."""

    centre: Array  # (3,)
    moment: Array  # (4, 3) - in ground, proximal, distal axes; projections on the joint's axes
    force: Array  # (4, 3)
    power: float  # of both


def frame(system: System, q: Array, body: int) -> Array:
    """Return the place of a body as (4, 4); ground's for -1."""
    return state(system.tree, q).body[body] if body >= 0 else np.eye(4)


def projected(proximal: Array, distal: Array, x: Array) -> Array:
    """Return a vector (3,) in ground, in proximal and distal axes, and its projections on e1, e2, e3."""
    oblique = joint_angles.axes_of_displacement(proximal, distal)
    return np.array([x, proximal.T @ x, distal.T @ x, oblique.T @ x])


def crossing(
    system: System,
    joints: JointAxes,
    j: int,
    q: Array,
    v: Array,
    v_dot: Array,
    wrench: Array,
    on_proximal: bool = False,
) -> Crossing:
    """Return what crosses joint j; wrench (n_body, 6) as in naive.dynamics.

    on_proximal : the joint's centre is fixed in its proximal body
    """
    p, d = int(joints.proximal[j]), int(joints.distal[j])
    through = dynamics.reactions(system, q, v, v_dot, wrench)[d]
    above, below = frame(system, q, p), frame(system, q, d)
    centre = below[:3, :3] @ joints.point_distal[j] + below[:3, 3]
    if on_proximal:
        centre = above[:3, :3] @ joints.point_proximal[j] + above[:3, 3]
    moment, force = through[:3] - np.cross(centre, through[3:]), through[3:]
    proximal, distal = above[:3, :3] @ joints.axes_proximal[j], below[:3, :3] @ joints.axes_distal[j]

    def seen_from_proximal(s: float) -> Array:
        """Where the distal body is at time s, carried by the proximal body as it stands at time 0."""
        moved = integrate(system.tree, q, s * v)
        return above @ np.linalg.inv(frame(system, moved, p)) @ frame(system, moved, d)

    step = 1e-5
    rate = (seen_from_proximal(step) - seen_from_proximal(-step)) / (2.0 * step)
    spin = rate[:3, :3] @ below[:3, :3].T
    w = 0.5 * np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
    there = below[:3, :3].T @ (centre - below[:3, 3])
    drift = rate[:3, :3] @ there + rate[:3, 3]
    return Crossing(
        centre,
        projected(proximal, distal, moment),
        projected(proximal, distal, force),
        float(moment @ w + force @ drift),
    )
