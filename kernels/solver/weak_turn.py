"""The rotation of a body that its markers resist least, from which the search for an alternative
configuration starts.

A small rotation about an axis through the mean of the markers raises the objective by half of the squared
angle times sum w (distance from the axis)^2, with the markers' weights w. The joint is rotated about its own
origin, along the axis for which that sum is least; the result is only a start for the solver. Why this axis:
the elements leave a mechanism several configurations, and markers decide between them. A configuration that
markers cannot exclude differs from the published one by no more than the markers' errors, and so mainly by
the rotation that they resist least.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.markers.marker_cost import weight_of
from kernels.solver.initial_pose import jacobi_eigen

REACH = 3.0
"""Average displacement of the markers by that rotation, in standard deviations of the markers."""
LEAST_TURN, MOST_TURN = 0.1, 0.6
"""Bounds of that rotation [rad]."""


@njit
def weak_turn(tree, markers, place, weight, size, pose, b, fit, delta_out):
    """Write the tangent step that rotates free joint b about the axis that its markers resist least.

    tree : Tree - joint tree of the bodies
    markers : ModelMarkers - markers of the model, with their bodies and positions
    place : (n_marker, 3) - model markers in ground [m]
    weight : (n_marker,) - weights of the markers in this frame
    size : (n_marker,) - standard deviation of each marker along one axis [m]
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    b : int - index of the body that the joint carries
    fit : BodyFitWork - working space of rigid fits; its fields K, V and vectors are written
    delta_out : (n_v,) - the step [rad], zero where the body has no markers, written
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
