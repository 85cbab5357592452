"""What the markers of a frame say of two assemblies, and what their frames in succession do.

Markers m stand for one of two optima x1, x2 by how far they are from the plane between them: with D = x2 - x1
the objective of the other is more by T = sum w D . ((x1 + x2) / 2 - m). Where one of them is true, T has the
mean +-sum w D^2 / 2 and, by the errors of the markers, the variance V = D'W Sigma W D: the logarithm of their
odds is (sum w D^2) T / V; of errors of one size s that are each marker's own, T / s^2. Errors last, and so
does an assembly: what its frames tell adds up as often as errors are others, and is forgotten by and by.
Odds in succession: Wald 1945, Annals of Mathematical Statistics 16, 117-186.
"""

from __future__ import annotations

import math

from kernels.algebra.spatial import vector_product
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground
from kernels.markers.marker_cost import weight_of

KEPT = 1.0
"""Time for which what was seen of an assembly counts, about a stride [s]."""
MOST_ODDS = 30.0
"""Largest logarithm of odds."""


@njit
def evidence(model, problem, skin, variance, at, work):
    """Logarithm of the odds for the published pose against the other, by the markers of the frame.

    model : Skeleton
    problem : Problem
    skin : SkinMotion - what markers of a segment share
    variance : (n_marker,) - of each marker's own errors along an axis [m^2]
    at : Work - of the other pose
    work : AlternativeWork - here; drawn, vectors written
    """
    markers, here, beyond, drawn = model.markers, work.here, at.marker.model, work.drawn
    more, apart, spread = 0.0, 0.0, 0.0
    for m in range(drawn.shape[0]):
        w = weight_of(markers.weight, m, problem.weight[m])
        drawn[m, :] = 0.0
        if w > 0.0:
            for i in range(3):
                d = beyond[m, i] - here[m, i]
                drawn[m, i] = w * d
                more += w * d * (0.5 * (here[m, i] + beyond[m, i]) - problem.measured[m, i])
                apart += w * d * d
                spread += w * d * w * d * variance[m]
    for b in range(skin.shift.shape[0]):
        spread += shared_spread(markers, at.pose, beyond, b, skin, work)
    return apart * more / spread if spread > 0.0 else 0.0


@njit
def shared_spread(markers, pose, place, b, skin, work):
    """Variance of sum drawn . error by the skin of body b that shifts and turns as one [m^4].

    markers : Markers
    pose : Pose
    place : (n_marker, 3) - of the markers in ground [m]
    b : int - body
    skin : SkinMotion
    work : AlternativeWork - drawn; vectors written
    """
    force, centre, lever = work.vectors[0], work.vectors[1], work.vectors[2]
    force[:] = 0.0
    point_in_ground(pose, b, skin.centre[b], centre)
    x, y, z = 0.0, 0.0, 0.0
    for m in range(place.shape[0]):
        if markers.body[m] == b:
            f = work.drawn[m]
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
    """Logarithm of odds with what a frame tells.

    odds : float - before
    told : float - by the frame alone
    known : bool - whether there are odds before
    since : float - time since then [s]
    lasting : float - time for which errors of markers are the same [s]
    """
    if known:
        told = odds * math.exp(-since / KEPT) + told * min(since / lasting, 1.0)
    return min(max(told, -MOST_ODDS), MOST_ODDS)
