"""The odds of two configurations of a mechanism (the published and the alternative one), from markers of
successive frames.

Let x1 and x2 be the model's markers at the two optima, D = x2 - x1, m the measured markers and w their
weights. The objective of the second is larger by T = sum w D . ((x1 + x2) / 2 - m), which measures how far m
is from the plane midway between the two. If one of them is true, T has the mean +-sum w D^2 / 2 and, by the
errors of the markers, the variance V = D'W Sigma W D, with the diagonal matrix W of the weights and the
covariance Sigma of these errors. The logarithm of the odds is therefore (sum w D^2) T / V; if all errors are
independent with one size s, it is T / s^2. Errors of markers persist over several frames. The logarithm of
the odds from one frame is therefore multiplied by the ratio (at most 1) of the time since the last frame to
the errors' correlation time, and added. The configuration can change, so old frames are forgotten. Odds in
succession: Wald 1945, Annals of Mathematical Statistics 16, 117-186.
"""

from __future__ import annotations

import math

from kernels.algebra.spatial import vector_product
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground
from kernels.markers.marker_cost import weight_of

KEPT = 1.0
"""Time constant with which earlier frames are forgotten, about a stride [s]."""
MOST_ODDS = 30.0
"""Largest absolute value of the logarithm of the odds."""


@njit
def evidence(model, problem, skin, variance, at, work):
    """Return the logarithm of the odds, by the markers of one frame, that the published pose is true and not
    a second one that fits the markers nearly as well, such as one with a knee bent the other way.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    problem : FrameProblem - model, roles of its elements, and measured markers
    skin : SkinMotion - errors that the markers of a segment share, by motion of the skin
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    at : Work - solver's working space at the second pose
    work : AlternativeWork - its field `here` contains the model markers of the first pose; `weighted_shift`,
        the weights times the differences between the markers of both poses, and `vectors`, auxiliary, are
        written
    """
    markers, here, beyond, weighted_shift = model.markers, work.here, at.marker.model, work.weighted_shift
    more, apart, spread = 0.0, 0.0, 0.0
    for m in range(weighted_shift.shape[0]):
        w = weight_of(markers.weight, m, problem.weight[m])
        weighted_shift[m, :] = 0.0
        if w > 0.0:
            for i in range(3):
                d = beyond[m, i] - here[m, i]
                weighted_shift[m, i] = w * d
                more += w * d * (0.5 * (here[m, i] + beyond[m, i]) - problem.measured[m, i])
                apart += w * d * d
                spread += w * d * w * d * variance[m]
    for b in range(skin.shift.shape[0]):
        spread += shared_spread(markers, at.pose, beyond, b, skin, work)
    return apart * more / spread if spread > 0.0 else 0.0


@njit
def shared_spread(markers, pose, place, b, skin, work):
    """Return the part of the variance V of T, the difference of the objectives of both configurations (see
    the module), that comes from errors which all markers of body b share [m^4].

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    place : (n_marker, 3) - model markers in ground [m]
    b : int - index of the body
    skin : SkinMotion - soft tissue artefact that all markers of a segment share
    work : AlternativeWork - weighted_shift : (n_marker, 3) is read, vectors are written
    """
    force, centre, lever = work.vectors[0], work.vectors[1], work.vectors[2]
    force[:] = 0.0
    point_in_ground(pose, b, skin.centre[b], centre)
    x, y, z = 0.0, 0.0, 0.0
    for m in range(place.shape[0]):
        if markers.body[m] == b:
            f = work.weighted_shift[m]
            for i in range(3):
                lever[i] = place[m, i] - centre[i]
                force[i] += f[i]
            mx, my, mz = vector_product(lever, f)
            x, y, z = x + mx, y + my, z + mz
    shift, turn = skin.shift[b], skin.turn[b]
    square = force[0] * force[0] + force[1] * force[1] + force[2] * force[2]
    return shift * shift * square + turn * turn * (x * x + y * y + z * z)


@njit
def add_up(odds, told, known, since, lasting):
    """Return the logarithm of the odds that the published pose is the true one, updated by those from one
    more frame and limited to +-MOST_ODDS.

    odds : float - logarithm of the odds up to the frame before
    told : float - logarithm of the odds from this frame alone
    known : bool - whether odds of earlier frames exist
    since : float - time since the last frame that was counted [s]
    lasting : float - correlation time of the markers' errors [s]
    """
    if known:
        told = odds * math.exp(-since / KEPT) + told * min(since / lasting, 1.0)
    return min(max(told, -MOST_ODDS), MOST_ODDS)
