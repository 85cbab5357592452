"""Standard deviations of dofs that no marker determines, and which are therefore held near their last values.

To hold a dof near its last value counts as a measurement of that value. The standard deviation of this
measurement grows with the time for which the dof has been held, as fast as a joint of a walking person
rotates (docs/uncertainty.md).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.joints.motions import TRANSLATES

MOST_ANGLE, MOST_LENGTH = math.pi / math.sqrt(3.0), 1.0
"""Standard deviation of an angle that is not known at all, uniform on a circle [rad],
and of such a length [m]."""
HELD_ANGLE, HELD_LENGTH = 0.15, 0.05
"""Standard deviation of a dof at the moment when it begins to be held [rad, m] ..."""
HELD_ANGLE_SPEED, HELD_LENGTH_SPEED = 3.0, 1.0
"""... and the speed at which a joint of a walking person leaves its pose [rad/s, m/s]."""
FOLDED = -1
"""Value in place of a body's number of visible markers where the body and its neighbour both have too few."""
NEVER = 1e9
"""Time since a dof was determined, where it never was [s]."""


@njit
def age(hold, is_open, dt, held_for):
    """Add the duration of a frame to the times for which undetermined dofs have been held.

    hold : (n_v,) - weights that hold dofs, 0 = free
    is_open : (n_v,) int64 - 1 = held because it was undetermined, not by a target of its coordinate
    dt : float - time since the last frame [s]
    held_for : (n_v,) - grows by dt where a dof is held, 0 where it is determined [s], written
    """
    for d in range(hold.shape[0]):
        held_for[d] = held_for[d] + dt if hold[d] > 0.0 and is_open[d] == 1 else 0.0


@njit
def add_held(tree, hold, is_open, held_for, M):
    """Add the variances of held dofs to the covariance of the objective's gradient: for each dof (weight
    times standard deviation) squared.

    A dof that no marker determines is held near its last value; this counts as a measurement that is less
    certain the longer the dof is held.

    tree : Tree - joint tree of the bodies
    hold : (n_v,) - weights that hold dofs, 0 = free
    is_open : (n_v,) int64 - 1 = held because it was undetermined
    held_for : (n_v,) - time since it was determined [s]
    M : (n_v, n_v) - covariance of the gradient; its diagonal written
    """
    for d in range(hold.shape[0]):
        if hold[d] > 0.0 and is_open[d] == 1:
            M[d, d] += (hold[d] * deviation_left(tree, d, held_for[d])) ** 2


@njit
def deviation_left(tree, d, time):
    """Return the standard deviation [rad, m] of dof d, which no marker has determined for a time [s]."""
    if tree.dof_rotates[d] == TRANSLATES:
        return min(math.hypot(HELD_LENGTH, HELD_LENGTH_SPEED * time), MOST_LENGTH)
    return angle_left(time)


@njit
def angle_left(time):
    """Return the standard deviation [rad] of an angle that nothing has determined for a time [s]."""
    return min(math.hypot(HELD_ANGLE, HELD_ANGLE_SPEED * time), MOST_ANGLE)


@njit
def age_folded(model, enough, weight, dt, sight, folded_for):
    """Update the times for which two neighbouring bodies have had too few visible markers.

    A chain of two such bodies can fold to either side: the knee may bend backwards if only pelvis and foot
    are visible. There are then two optima, and the curvature at one contains nothing about the other. Bodies
    without markers are skipped.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    enough : (n_body,) int64 - number of visible markers that a body needs; 0 = it has no markers
    weight : (n_marker,) - weights of the markers in this frame
    dt : float - time since the last frame [s]
    sight : (n_body,) int64 - number of visible markers, or FOLDED where a body and its neighbour have too
        few, written
    folded_for : (n_body,) - grows by dt where FOLDED, else 0 [s], written
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
