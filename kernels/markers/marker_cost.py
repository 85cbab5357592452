"""Cost of markers on the bodies of a joint tree, with gradient and Hessian, from moments of subtrees.

The cost is 1/2 sum w |x - m|^2 over the visible markers, with the weight w, the model's marker x and the
measured one m (Sancisi et al. 2017, eq. 5; Lu and O'Connor 1999). With the weights taken as masses, the
Gauss-Newton matrix J'WJ of all markers is the joint-space mass matrix of the tree, and the weighted residuals
f = w (x - m) act like forces: both follow from the moments of each subtree (composite rigid bodies,
Featherstone 2008, table 6.2). The part with second derivatives needs only the subtree's sum of x f'. So apart
from these sums the work of an iteration does not depend on the number of markers.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.spatial import power
from kernels.compiler.jit import njit
from kernels.joints.kinds import order_joint
from kernels.joints.tree import along, point_in_ground

# Columns of the moments table, in ground axes about the origin of body 0 (as twists of kernels/joints/tree).
WEIGHT = 0  # sum w
FIRST = 1  # sum w x            (3)
SECOND = 4  # sum w x x'         (9)
FORCE = 13  # sum f, f = w (x - m)  (3)
STRESS = 16  # sum x f'           (9)
N_MOMENT = 25


class ModelMarkers(NamedTuple):
    """Markers of a model: the body of each, its position in that body, and its weight."""

    body: np.ndarray  # (n_marker,) int64
    position: np.ndarray  # (n_marker, 3) - in the body frame [m]
    weight: np.ndarray | None = None  # (n_marker,) - of each marker against the others; None = 1


class MarkerWork(NamedTuple):
    """Working space of the marker cost: marker positions, moments of subtrees, and columns of the Hessian."""

    model: Annotated[np.ndarray, Floats("n_marker", 3)]  # model markers in ground [m]
    moments: Annotated[np.ndarray, Floats("n_body", N_MOMENT)]
    # moment about the origin of body 0, and force, of the residuals f
    wrench: Annotated[np.ndarray, Floats("n_body", 6)]
    push: Annotated[np.ndarray, Floats(3)]
    moment: Annotated[np.ndarray, Floats(3)]


def new_marker_work(n_marker: int, n_body: int) -> MarkerWork:
    """Allocate a MarkerWork, the working space of the marker cost."""
    return allocate(MarkerWork, n_marker=n_marker, n_body=n_body)


@njit
def model_markers(markers, pose, x_out):
    """Write the positions of all model markers at a pose, in ground [m], into x_out : (n_marker, 3)."""
    for m in range(markers.body.shape[0]):
        point_in_ground(pose, markers.body[m], markers.position[m], x_out[m])


@njit
def weight_of(own, m, weight):
    """Return the weight of marker m in the cost: its weight in the model times its weight in this frame.

    own : (n_marker,) - weights in the model, None = all 1; weight : float - weight of the marker in this
        frame.
    """
    if own is None:
        return weight
    return own[m] * weight


@njit
def marker_moments(tree, markers, pose, measured, weight, work):
    """Write the moments of all subtrees at a pose, and return the marker cost 1/2 sum w |x - m|^2 [m^2].

    The moments are sums over the markers of a subtree, in the columns WEIGHT to STRESS of this module.

    tree : Tree - joint tree of the bodies
    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    measured : (n_marker, 3) - measured marker positions in ground [m]
    weight : (n_marker,) - weights of this frame, by which markers.weight is multiplied; 0 = the marker is not
        used, for example because it is occluded
    work : MarkerWork - working space of the marker cost; its fields model, moments and wrench are written
    """
    model_markers(markers, pose, work.model)
    moments, origin = work.moments, pose.position[0]
    moments[:, :] = 0.0
    cost = 0.0
    for m in range(markers.body.shape[0]):
        w = weight_of(markers.weight, m, weight[m])
        if w <= 0.0:
            continue
        row = moments[markers.body[m]]
        row[WEIGHT] += w
        for i in range(3):
            x = work.model[m, i] - origin[i]
            r = work.model[m, i] - measured[m, i]
            cost += w * r * r
            row[FIRST + i] += w * x
            row[FORCE + i] += w * r
            for j in range(3):
                row[SECOND + 3 * i + j] += w * x * (work.model[m, j] - origin[j])
                row[STRESS + 3 * i + j] += w * x * (work.model[m, j] - measured[m, j])
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        p = tree.parent[b]
        if p >= 0:
            for k in range(N_MOMENT):
                moments[p, k] += moments[b, k]
    for b in range(tree.parent.shape[0]):
        row, wrench = moments[b], work.wrench[b]
        # sum x X f from the antisymmetric part of sum x f'
        wrench[0] = row[STRESS + 5] - row[STRESS + 7]
        wrench[1] = row[STRESS + 6] - row[STRESS + 2]
        wrench[2] = row[STRESS + 1] - row[STRESS + 3]
        wrench[3], wrench[4], wrench[5] = row[FORCE], row[FORCE + 1], row[FORCE + 2]
    return 0.5 * cost


@njit
def marker_gradient(tree, pose, work, gradient_out):
    """Write the gradient J'W (x - m) of the marker cost with respect to the dofs into gradient_out : (n_v,).

    Entry d is the power of the wrench of d's subtree on the twist of d; work contains the wrenches that
    marker_moments has computed.
    """
    twist, wrench = pose.twist, work.wrench
    for d in range(tree.dof_body.shape[0]):
        gradient_out[d] = power(twist[d], wrench[tree.dof_body[d]])


@njit
def marker_hessian(tree, pose, work, second_order, H_out):
    """Write the lower triangle of the Hessian of the marker cost, J'WJ + second_order * sum f . d2x.

    For a dof i with the motion a X x + v of a marker at x, nearer to ground than dof j, entry (j, i) is a .
    moment + v . push, with the vectors of `column_vectors` for dof j; kernels/joints/kinds.order_joint then
    corrects the entries between dofs of one joint.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    work : MarkerWork - with the moments of all subtrees that marker_moments has computed; its fields push and
        moment are written
    second_order : float - 0 = Gauss-Newton, 1 = all second derivatives
    H_out : (n_v, n_v) - written
    """
    twist, push, moment, dof_parent = pose.twist, work.push, work.moment, tree.dof_parent
    H_out[:, :] = 0.0
    for j in range(dof_parent.shape[0]):
        column_vectors(work.moments[tree.dof_body[j]], twist[j], second_order, work)
        mx, my, mz, px, py, pz = moment[0], moment[1], moment[2], push[0], push[1], push[2]
        i = j
        while i >= 0:
            H_out[j, i] = along(twist, i, mx, my, mz, px, py, pz)
            i = dof_parent[i]
    if second_order != 0.0:
        for b in range(tree.parent.shape[0]):
            order_joint(tree, pose, b, second_order, work.wrench[b], H_out)


@njit
def column_vectors(moments, twist, second_order, work):
    """Write the force and the moment from which one column of the Hessian of the marker cost follows.

    They are work.push : (3,) = sum w J and work.moment : (3,) = sum w x X J + second_order * sum J X f, where
    J = a X x + v is the motion of a marker at x by the dof with the twist (a, v), and f its weighted
    residual.

    moments : (N_MOMENT,) - moments of the dof's subtree
    twist : (6,) - twist of the dof
    second_order : float - 0 = Gauss-Newton, 1 = all second derivatives
    work : MarkerWork - working space of the marker cost; its fields push and moment are written
    """
    push, moment = work.push, work.moment
    a0, a1, a2, v0, v1, v2 = twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]
    w, sx, sy, sz = moments[WEIGHT], moments[FIRST], moments[FIRST + 1], moments[FIRST + 2]
    fx, fy, fz = moments[FORCE], moments[FORCE + 1], moments[FORCE + 2]
    push[0], push[1], push[2] = (
        a1 * sz - a2 * sy + w * v0,
        a2 * sx - a0 * sz + w * v1,
        a0 * sy - a1 * sx + w * v2,
    )
    # with A = sum w x x' and B = sum x f': tr(A) a - A a and B a - tr(B) a
    so = second_order
    trace = moments[SECOND] + moments[SECOND + 4] + moments[SECOND + 8]
    trace -= so * (moments[STRESS] + moments[STRESS + 4] + moments[STRESS + 8])
    moment[0] = trace * a0 + sy * v2 - sz * v1 + so * (v1 * fz - v2 * fy)
    moment[1] = trace * a1 + sz * v0 - sx * v2 + so * (v2 * fx - v0 * fz)
    moment[2] = trace * a2 + sx * v1 - sy * v0 + so * (v0 * fy - v1 * fx)
    for i in range(3):
        k, m = SECOND + 3 * i, STRESS + 3 * i
        moment[i] += (
            (so * moments[m] - moments[k]) * a0
            + (so * moments[m + 1] - moments[k + 1]) * a1
            + (so * moments[m + 2] - moments[k + 2]) * a2
        )
