"""Stations of muscle paths in order from origin to insertion: a station is a point of a body or a wrapping
surface.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.algebra.functions import evaluate
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground

POINT, CONDITIONAL, MOVING, WRAP = 0, 1, 2, 3
YIELDS, PASSING = 1, 2
"""Bits of a wrap station's manner. YIELDS: the surface is left out where an end of the path's piece lies
inside it, where otherwise there would be no path. PASSING: the surface is touched only where the straight
line runs through it, whichever side is given."""


class Stations(NamedTuple):
    """Stations (points and wrapping surfaces) of the paths of n_muscle muscles, path by path; each path
    begins and ends with a point.
    """

    start: np.ndarray  # (n_muscle + 1,) int64 - first station of each muscle
    kind: np.ndarray  # (n_station,) int64 - POINT, CONDITIONAL, MOVING, WRAP
    body: np.ndarray  # (n_station,) int64 - -1 = ground; of a wrap the surface's body
    point: np.ndarray  # (n_station, 3) - in the body [m]
    coordinate: np.ndarray  # (n_station,) int64 - index in q of what switches or moves it, -1 = none
    dof: np.ndarray  # (n_station,) int64 - its index in v
    range: np.ndarray  # (n_station, 2) - a conditional point is there while range[0] <= q <= range[1]
    function: np.ndarray  # (n_station, 3) int64 - of that coordinate: x, y, z of a moving point [m]
    surface: np.ndarray  # (n_station,) int64 - of a wrap, -1 otherwise
    side: np.ndarray  # (n_station, 3) - of a wrap: direction of passing; zeros = shortest way
    manner: np.ndarray  # (n_station,) int64 - of a wrap: bits YIELDS, PASSING


@njit
def place_station(tree, stations, pose, q, s, local, point_out, slip_out):
    """Write the position of path point s in ground; return False for a conditional point that is not active
    at q.

    tree : Tree - the joint tree
    stations : Stations - path points and wrapping surfaces (stations) of all paths
    pose : Pose - positions and orientations of all bodies in ground
    q : (n_q,) - generalized coordinates [rad, m]
    s : int - index of the station, which is a point
    local : (3,) - working space
    point_out : (3,) - the point in ground [m], written
    slip_out : (3,) - derivative of a moving point within its body with respect to its coordinate, in ground;
      zeros for other points
    """
    kind, body = stations.kind[s], stations.body[s]
    for i in range(3):
        slip_out[i] = 0.0
    if kind == CONDITIONAL:
        x = q[stations.coordinate[s]]
        if not (stations.range[s, 0] <= x <= stations.range[s, 1]):
            return False
    if kind == POINT or kind == CONDITIONAL:
        point_in_ground(pose, body, stations.point[s], point_out)
        return True
    if kind != MOVING:
        point_out[:] = math.nan
        return True
    x = q[stations.coordinate[s]]
    local[0], sx, _ = evaluate(tree.functions, stations.function[s, 0], x)
    local[1], sy, _ = evaluate(tree.functions, stations.function[s, 1], x)
    local[2], sz, _ = evaluate(tree.functions, stations.function[s, 2], x)
    point_in_ground(pose, body, local, point_out)
    slip_out[0], slip_out[1], slip_out[2] = sx, sy, sz
    if body >= 0:
        R = pose.rotation[body]
        for i in range(3):
            slip_out[i] = R[i, 0] * sx + R[i, 1] * sy + R[i, 2] * sz
    return True
