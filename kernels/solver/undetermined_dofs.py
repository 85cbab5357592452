"""What is known of dofs and joints that no marker determines: less with every frame.

A dof that is held near its last pose is a measurement of that pose, whose deviation grows from the moment on
that it is held as fast as a joint of a walking person turns (docs/uncertainty.md).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.joints.motions import TRANSLATES

MOST_ANGLE, MOST_LENGTH = math.pi / math.sqrt(3.0), 1.0
"""Deviation of an angle of which nothing is known: uniform on a circle [rad]; of a length [m]."""
HELD_ANGLE, HELD_LENGTH = 0.15, 0.05
"""Deviation of a dof from the moment on that it is held [rad, m] ..."""
HELD_ANGLE_SPEED, HELD_LENGTH_SPEED = 3.0, 1.0
"""... and the speed at which a joint of a walking person leaves its place [rad/s, m/s]."""
FOLDED = -1
"""In place of how many markers a body shows: it and its neighbour show too few."""
NEVER = 1e9
"""Time since a dof was determined that never was [s]."""


@njit
def age(hold, is_open, dt, held_for):
    """held_for : (n_v,) - on by dt [s] where a dof is held, 0 where it is determined.

    hold : (n_v,); is_open : (n_v,) int64 - 1 = held because it was open, not by a task
    """
    for d in range(hold.shape[0]):
        held_for[d] = held_for[d] + dt if hold[d] > 0.0 and is_open[d] == 1 else 0.0


@njit
def add_held(tree, hold, is_open, held_for, M):
    """M : (n_v, n_v) += the squares of the holds times the variances of where they hold.

    A dof that nothing determines is held near its last pose; that is a measurement of which less is known the
    longer it was not determined.

    tree : Tree
    hold : (n_v,)
    is_open : (n_v,) int64 - 1 = held because it was open
    held_for : (n_v,) - for how long [s]
    M : (n_v, n_v) - written
    """
    for d in range(hold.shape[0]):
        if hold[d] > 0.0 and is_open[d] == 1:
            M[d, d] += (hold[d] * deviation_left(tree, d, held_for[d])) ** 2


@njit
def deviation_left(tree, d, time):
    """Deviation [rad, m] of dof d that nothing has determined for a time [s]; tree : Tree."""
    if tree.dof_rotates[d] == TRANSLATES:
        return min(math.hypot(HELD_LENGTH, HELD_LENGTH_SPEED * time), MOST_LENGTH)
    return angle_left(time)


@njit
def angle_left(time):
    """Deviation [rad] of an angle that nothing has determined for a time [s]."""
    return min(math.hypot(HELD_ANGLE, HELD_ANGLE_SPEED * time), MOST_ANGLE)


@njit
def age_folded(model, enough, weight, dt, sight, folded_for):
    """folded_for : (n_body,) - on by dt where two bodies in a row show too few markers, else 0.

    Such a chain can fold to either side, as a leg of which only pelvis and foot are seen can bend its knee
    backwards: the optimum is one of two, and its own curvature knows nothing of the other. Bodies that carry
    no markers are passed over.

    model : Skeleton
    enough : (n_body,) int64 - markers that a body must show; 0 = it carries none
    weight : (n_marker,) - of the frame
    dt : float - [s]
    sight : (n_body,) int64 - written
    folded_for : (n_body,) [s] - written
    """
    parent, body = model.tree.parent, model.markers.body
    sight[:] = 0
    for m in range(body.shape[0]):
        if body[m] >= 0 and weight[m] > 0.0:
            sight[body[m]] += 1
    for b in range(parent.shape[0]):
        p = parent[b]
        while p >= 0 and enough[p] == 0:
            p = parent[p]
        if p >= 0 and sight[b] < enough[b] and sight[p] < enough[p]:
            sight[b] = sight[p] = FOLDED
    for b in range(parent.shape[0]):
        folded_for[b] = folded_for[b] + dt if sight[b] == FOLDED else 0.0
