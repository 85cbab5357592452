"""The turn of a body that its own markers resist least: where another assembly of its joint may lie.

By half of sum w (distance from the axis)^2 times the square of a turn about an axis through their middle the
cost of the markers rises. The joint turns about its own origin, along that axis: a start to solve from, no
more. Elements hold a mechanism, markers choose between its assemblies: one that they do not exclude is within
what their errors allow, along the turn that they feel least.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.markers.marker_cost import weight_of
from kernels.solver.initial_pose import jacobi_eigen

REACH = 3.0
"""Standard deviations of the markers that such a turn moves them by, on average."""
LEAST_TURN, MOST_TURN = 0.1, 0.6
"""Of which it is no less and no more [rad]."""


@njit
def weak_turn(tree, markers, place, weight, size, pose, b, fit, delta_out):
    """delta_out : (n_v,) - tangent step that turns free joint b about the axis that its markers feel least.

    tree : Tree
    markers : Markers
    place : (n_marker, 3) - model markers in ground [m]
    weight : (n_marker,) - of the frame
    size : (n_marker,) - deviation of each marker along an axis [m]
    pose : Pose
    b : int - body
    fit : FitWork - K, V, vectors written
    delta_out : (n_v,) - written [rad]
    """
    K, V, middle, axis = fit.K, fit.V, fit.vectors[0], fit.vectors[1]
    total, square = 0.0, 0.0
    middle[:] = 0.0
    for m in range(weight.shape[0]):
        if markers.body[m] == b:
            w = weight_of(markers.weight, m, weight[m])
            total += w
            square += w * size[m] * size[m]
            for i in range(3):
                middle[i] += w * place[m, i]
    K[:, :] = 0.0
    delta_out[:] = 0.0
    if not total > 0.0:
        return
    for m in range(weight.shape[0]):
        if markers.body[m] == b:
            w, far = weight_of(markers.weight, m, weight[m]), 0.0
            for i in range(3):
                axis[i] = place[m, i] - middle[i] / total
                far += axis[i] * axis[i]
            for i in range(3):
                K[i, i] += w * far
                for j in range(3):
                    K[i, j] -= w * axis[i] * axis[j]
    jacobi_eigen(K, V)
    least = 0
    for i in range(1, 3):
        if K[i, i] < K[least, least]:
            least = i
    turn = REACH * math.sqrt(square / max(K[least, least], 1e-12))
    turn = min(max(turn, LEAST_TURN), MOST_TURN)
    for d in range(tree.v_start[b], tree.v_start[b + 1]):
        for i in range(3):
            delta_out[d] += turn * V[i, least] * pose.twist[d, i]
