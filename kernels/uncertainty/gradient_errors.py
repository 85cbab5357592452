"""Covariance of the gradient of the marker cost, from errors of single markers and errors that the markers of
a segment share.

Soft tissue moves the markers of a segment together as one body, by a translation and a rotation, and each
marker on its own in addition. With the weights w and the measured markers m, the cost has the gradient sum w
J' (x - m), with J = S T for a model marker at x on a body with the dofs' twists T, S = [-[x]x 1], where [x]x
is the matrix of the cross product. A marker's own errors give sum T' (w^2 variance S'S) T; a translation and
rotation of all markers of a body by the twist p changes the gradient by T' A p, with A = sum w S'S. The 6 x 6
matrices of every body, about one point, add up over subtrees as inertias do (composite rigid bodies,
Featherstone 2008, table 6.2), which does not require that they are inertias.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.spatial import power
from kernels.compiler.jit import inlined, njit
from kernels.joints.tree import point_in_ground
from kernels.markers.marker_cost import weight_of

N_SUM = 10
"""Number of sums over markers: of weight, weight x (3), weight x x' (xx, xy, xz, yy, yz, zz)."""


class SkinMotion(NamedTuple):
    """Soft tissue artefact that all markers of a segment share: standard deviations of a rotation about, and
    a translation along, each axis.
    """

    # centre of the rotation, in the body frame [m]
    centre: Annotated[np.ndarray, Floats("n_body", 3)]
    turn: Annotated[np.ndarray, Floats("n_body")]  # [rad]
    shift: Annotated[np.ndarray, Floats("n_body")]  # [m]


class GradientErrorWork(NamedTuple):
    """Working space for the covariance of the gradient of the marker cost (gradient_covariance)."""

    # sums weighted by w; by w^2 times the variance of the marker's own error
    total: Annotated[np.ndarray, Floats(2, "n_body", N_SUM)]
    matrix: Annotated[np.ndarray, Floats("n_body", 6, 6)]  # of every body, then of its subtree
    inertia: Annotated[np.ndarray, Floats(6, 6)]  # A of one body
    wrench: Annotated[np.ndarray, Floats(6)]
    point: Annotated[np.ndarray, Floats(3)]  # [m]


def new_gradient_error_work(n_body: int) -> GradientErrorWork:
    """Allocate a GradientErrorWork: working space for the covariance of the gradient of the marker cost."""
    return allocate(GradientErrorWork, n_body=n_body)


@njit
def gradient_covariance(tree, markers, pose, model, weight, variance, skin, work, M_out):
    """Write the covariance of the gradient of the marker cost, which follows from the errors of the markers,
    into M_out.

    tree : Tree - joint tree of the bodies
    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    model : (n_marker, 3) - model markers in ground [m]
    weight : (n_marker,) - weights of the markers in this frame
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    skin : SkinMotion - soft tissue artefact that all markers of a segment share
    work : GradientErrorWork - working space of gradient_covariance, written
    M_out : (n_v, n_v) - lower triangle, written
    """
    body_covariances(tree, markers, pose, model, weight, variance, skin, work)
    matrix, twist, y = work.matrix, pose.twist, work.wrench
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        p = tree.parent[b]
        if p >= 0:
            for i in range(6):
                for k in range(6):
                    matrix[p, i, k] += matrix[b, i, k]
    M_out[:, :] = 0.0
    for j in range(tree.dof_parent.shape[0]):
        K = matrix[tree.dof_body[j]]
        for k in range(6):
            y[k] = 0.0
        for i in range(6):
            rate = twist[j, i]
            for k in range(6):
                y[k] += rate * K[i, k]
        i = j
        while i >= 0:
            M_out[j, i] = power(twist[i], y)
            i = tree.dof_parent[i]


@inlined
def body_covariances(tree, markers, pose, model, weight, variance, skin, work):
    """Compute, for each body, the covariance of the change of the gradient by the errors of its markers.

    The change is stated as a wrench, moment first, about the origin of body 0: its product with the twist of
    a dof is the change of the derivative with respect to that dof. The covariances of the wrenches are
    written into work.matrix : (n_body, 6, 6).

    tree : Tree - joint tree of the bodies
    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    model : (n_marker, 3) - model markers in ground [m]
    weight : (n_marker,) - weights of the markers in this frame
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    skin : SkinMotion - soft tissue artefact that all markers of a segment share
    work : GradientErrorWork - working space of gradient_covariance, written
    """
    sum_markers(markers, pose, model, weight, variance, work)
    for b in range(tree.parent.shape[0]):
        expand(work.total[1, b], work.matrix[b])
        if work.total[0, b, 0] > 0.0:
            expand(work.total[0, b], work.inertia)
            add_skin(pose, b, skin, work)


@njit
def sum_markers(markers, pose, model, weight, variance, work):
    """Write the sums of weights and of first and second moments over the markers of every body into
    work.total.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    model : (n_marker, 3) - model markers in ground [m]; moments are about the origin of body 0
    weight : (n_marker,) - weights of the markers in this frame
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    work : GradientErrorWork - working space of gradient_covariance, written
    """
    work.total[:, :, :] = 0.0
    origin = pose.position[0]
    for m in range(markers.body.shape[0]):
        w, b = weight_of(markers.weight, m, weight[m]), markers.body[m]
        if w <= 0.0 or b < 0:
            continue
        x, y, z = model[m, 0] - origin[0], model[m, 1] - origin[1], model[m, 2] - origin[2]
        for k in range(2):
            s, row = w if k == 0 else w * w * variance[m], work.total[k, b]
            row[0] += s
            row[1] += s * x
            row[2] += s * y
            row[3] += s * z
            row[4] += s * x * x
            row[5] += s * x * y
            row[6] += s * x * z
            row[7] += s * y * y
            row[8] += s * y * z
            row[9] += s * z * z


@njit
def expand(total, A_out):
    """Write the matrix A = sum w S'S (module docstring), moment first, into A_out : (6, 6), from the sums
    total : (N_SUM,) over the markers of a body.
    """
    w, x, y, z = total[0], total[1], total[2], total[3]
    xx, xy, xz, yy, yz, zz = total[4], total[5], total[6], total[7], total[8], total[9]
    A_out[:, :] = 0.0
    A_out[0, 0], A_out[1, 1], A_out[2, 2] = yy + zz, xx + zz, xx + yy
    A_out[1, 0] = A_out[0, 1] = -xy
    A_out[2, 0] = A_out[0, 2] = -xz
    A_out[2, 1] = A_out[1, 2] = -yz
    A_out[3, 3] = A_out[4, 4] = A_out[5, 5] = w
    A_out[0, 4] = A_out[4, 0] = -z
    A_out[0, 5] = A_out[5, 0] = y
    A_out[1, 3] = A_out[3, 1] = z
    A_out[1, 5] = A_out[5, 1] = -x
    A_out[2, 3] = A_out[3, 2] = -y
    A_out[2, 4] = A_out[4, 2] = x


@njit
def add_skin(pose, b, skin, work):
    """Add the covariance from soft tissue that moves all markers of body b together to work.matrix[b].

    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    b : int - index of the body; A C A' is added, with A = work.inertia and the covariance C of that motion
    skin : SkinMotion - soft tissue artefact that all markers of a segment share
    work : GradientErrorWork - working space of gradient_covariance; its fields matrix, point and wrench are
        written
    """
    A, K, y, c = work.inertia, work.matrix[b], work.wrench, work.point
    point_in_ground(pose, b, skin.centre[b], c)
    for i in range(3):
        c[i] -= pose.position[0, i]
    for k in range(6):
        if k < 3:  # about axis k through c: at the origin of body 0 the skin moves by c x e_k
            n, p = (k + 1) % 3, (k + 2) % 3
            for i in range(6):
                y[i] = skin.turn[b] * (A[k, i] + c[p] * A[3 + n, i] - c[n] * A[3 + p, i])
        else:
            for i in range(6):
                y[i] = skin.shift[b] * A[k, i]
        for i in range(6):
            for j in range(6):
                K[i, j] += y[i] * y[j]
