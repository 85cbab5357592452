"""First pose of a skeleton where there is no prediction: each body is fitted to its own markers, and the
joint coordinates follow.

The rigid fit is that of Horn (1987, J. Opt. Soc. Am. A 4, 629-642): the unit quaternion is the dominant
eigenvector of a symmetric 4 x 4 matrix, found by cyclic Jacobi rotations.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy, copy_matrix
from kernels.algebra.rotation import multiply, quaternion_to_matrix, rotate
from kernels.compiler.jit import njit
from kernels.joints.chain_fit import fit_chain
from kernels.joints.couplers import place_followers
from kernels.joints.kinds import is_chain, is_loose, joint_coordinates
from kernels.joints.tree import pose

N_CHAIN = 6  # coordinates of a chain joint that is fitted; one of more is left where it is


class BodyFitWork(NamedTuple):
    """Working space for fitting rigid bodies and chain joints to markers."""

    K: Annotated[np.ndarray, Floats(4, 4)]
    V: Annotated[np.ndarray, Floats(4, 4)]
    matrices: Annotated[np.ndarray, Floats(5, 3, 3)]
    vectors: Annotated[np.ndarray, Floats(4, 3)]
    quaternion: Annotated[np.ndarray, Floats(4)]
    chain_matrix: Annotated[np.ndarray, Floats(N_CHAIN, N_CHAIN)]  # this and the next five: see chain_fit
    chain_step: Annotated[np.ndarray, Floats(N_CHAIN)]
    chain_slope: Annotated[np.ndarray, Floats(N_CHAIN, 3)]
    chain_q: Annotated[np.ndarray, Floats(3, N_CHAIN)]
    chain_point: Annotated[np.ndarray, Floats(3)]
    chain_gap: Annotated[np.ndarray, Floats(3)]


def new_fit_work() -> BodyFitWork:
    """Allocate a BodyFitWork: working space of rigid fits."""
    return allocate(BodyFitWork)


@njit
def initial_pose(tree, markers, measured, weight, q_neutral, pose_work, fit, q_out):
    """Fit each body to its own markers and write the joint coordinates into q_out; return the number of
    bodies that were fitted.

    Bodies with fewer than three visible markers, or with markers on a line, keep q_neutral. A chain joint
    (several elementary motions) is fitted by least squares (kernels/joints/chain_fit). For a free joint
    inside the tree, only the rotation is taken from the fit. Its translation is set to the neutral one, which
    nearly satisfies the constraints: the true translation is small compared with the soft tissue artefact.

    tree : Tree - joint tree of the bodies
    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]
    weight : (n_marker,) - weights of the markers, 0 = not used
    q_neutral : (n_q,) - coordinates of the neutral pose [m, rad]
    pose_work : Pose - positions and orientations of the bodies in ground, and twists of all dofs, written
    fit : BodyFitWork - working space of rigid fits, written
    q_out : (n_q,) - generalized coordinates [m, rad], written
    """
    copy(q_neutral, q_out)
    n_fitted = 0
    for b in range(tree.parent.shape[0]):
        pose(tree, q_out, pose_work)
        if not fit_body(markers, b, measured, weight, fit):
            continue
        n_fitted += 1
        if is_chain(tree, b):
            place_chain(tree.chains, tree, b, pose_work, fit, q_out)
            continue
        displace(tree, b, pose_work, fit)
        if is_loose(tree, b):
            copy(q_neutral[tree.q_start[b] : tree.q_start[b] + 3], fit.vectors[3])
        joint_coordinates(tree, b, fit.matrices[3], fit.vectors[3], q_out)
        place_followers(tree.couplers, tree.functions, q_out)
    return n_fitted


@njit
def displace(tree, b, pose_work, fit):
    """Write the rotation and the displacement across joint b, between two fitted bodies, into fit.matrices[3]
    and fit.vectors[3].

    Call it after fit_body. Rotation and displacement are those of the joint frame on the fitted child
    relative to the joint frame on the parent. The pose of the parent is read from pose_work.
    """
    R, x, p = fit.matrices[0], fit.vectors[0], tree.parent[b]
    parent_frame, child_frame, joint = fit.matrices[1], fit.matrices[2], fit.matrices[3]
    origin, gap = fit.vectors[1], fit.vectors[2]
    if p < 0:
        copy_matrix(tree.rotation_in_parent[b], parent_frame)
        copy(tree.position_in_parent[b], origin)
    else:
        multiply(pose_work.rotation[p], tree.rotation_in_parent[b], parent_frame)
        rotate(pose_work.rotation[p], tree.position_in_parent[b], origin)
        for i in range(3):
            origin[i] += pose_work.position[p, i]
    multiply(R, tree.rotation_in_child[b], child_frame)
    rotate(R, tree.position_in_child[b], gap)
    for i in range(3):
        gap[i] += x[i] - origin[i]
    for i in range(3):
        for j in range(3):
            s = 0.0
            for k in range(3):
                s += parent_frame[k, i] * child_frame[k, j]
            joint[i, j] = s
        fit.vectors[3, i] = (
            parent_frame[0, i] * gap[0] + parent_frame[1, i] * gap[1] + parent_frame[2, i] * gap[2]
        )


@njit
def place_chain(chains, tree, b, pose_work, fit, q_out):
    """Compute the coordinates of chain joint b from the fitted pose of its body; call it after fit_body.

    chains : Chains - tree.chains; None = there are no chains, and nothing is done
    tree : Tree - joint tree of the bodies
    b : int - body that the joint carries
    pose_work : Pose - positions and orientations of the bodies in ground, and twists of all dofs, written
    fit : BodyFitWork - working space of rigid fits, written
    q_out : (n_q,) - generalized coordinates [m, rad], written
    """
    if chains is None:
        return
    fit_chain(tree, b, fit.matrices[0], fit.vectors[0], pose_work, fit, q_out)
    place_followers(tree.couplers, tree.functions, q_out)


@njit
def fit_body(markers, body, measured, weight, fit):
    """Fit one rigid body to its visible markers: write its rotation into fit.matrices[0], its origin into
    fit.vectors[0]. Return False if fewer than three markers are visible or they lie on a line.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    body : int - index of the body
    measured : (n_marker, 3) - measured marker positions in ground [m]
    weight : (n_marker,) - weights of the markers, 0 = not used
    fit : BodyFitWork - working space of rigid fits, written
    """
    R, C = fit.matrices[0], fit.matrices[4]
    local_mean, mean = fit.vectors[1], fit.vectors[2]
    local_mean[:] = 0.0
    mean[:] = 0.0
    n = 0
    for m in range(markers.body.shape[0]):
        if markers.body[m] == body and weight[m] > 0.0:
            n += 1
            for i in range(3):
                local_mean[i] += markers.position[m, i]
                mean[i] += measured[m, i]
    if n < 3:
        return False
    C[:, :] = 0.0
    for i in range(3):
        local_mean[i] /= n
        mean[i] /= n
    for m in range(markers.body.shape[0]):
        if markers.body[m] == body and weight[m] > 0.0:
            for i in range(3):
                for j in range(3):
                    C[i, j] += (markers.position[m, i] - local_mean[i]) * (measured[m, j] - mean[j])
    if not dominant_rotation(C, fit.K, fit.V, fit.quaternion, R):
        return False
    rotate(R, local_mean, fit.vectors[0])
    for i in range(3):
        fit.vectors[0, i] = mean[i] - fit.vectors[0, i]
    return True


@njit
def dominant_rotation(C, K, V, q, R_out):
    """Write the rotation that best rotates points a onto points b (least squares); return False if it is not
    unique.

    C : (3, 3) - sum of a b' over the points
    K, V : (4, 4) - working space
    q : (4,) - the rotation as a quaternion, written
    R_out : (3, 3) - written
    """
    K[0, 0] = C[0, 0] + C[1, 1] + C[2, 2]
    K[1, 1] = C[0, 0] - C[1, 1] - C[2, 2]
    K[2, 2] = -C[0, 0] + C[1, 1] - C[2, 2]
    K[3, 3] = -C[0, 0] - C[1, 1] + C[2, 2]
    K[0, 1] = C[1, 2] - C[2, 1]
    K[0, 2] = C[2, 0] - C[0, 2]
    K[0, 3] = C[0, 1] - C[1, 0]
    K[1, 2] = C[0, 1] + C[1, 0]
    K[1, 3] = C[2, 0] + C[0, 2]
    K[2, 3] = C[1, 2] + C[2, 1]
    for i in range(4):
        for j in range(i):
            K[i, j] = K[j, i]
    jacobi_eigen(K, V)
    best = 0
    for i in range(1, 4):
        if K[i, i] > K[best, best]:
            best = i
    second = -math.inf
    for i in range(4):
        if i != best:
            second = max(second, K[i, i])
    # collinear points leave the two largest eigenvalues equal
    if not K[best, best] - second > 1e-6 * abs(K[best, best]):
        return False
    for i in range(4):
        q[i] = V[i, best]
    quaternion_to_matrix(q, R_out)
    return True


@njit
def jacobi_eigen(K, V):
    """Diagonalise the symmetric matrix K : (4, 4) in place by Jacobi rotations; write its eigenvectors into
    the columns of V : (4, 4).
    """
    V[:, :] = 0.0
    for i in range(4):
        V[i, i] = 1.0
    for _ in range(30):
        off = 0.0
        for i in range(4):
            for j in range(i):
                off += K[i, j] * K[i, j]
        if off < 1e-30:
            return
        for p in range(4):
            for r in range(p + 1, 4):
                if abs(K[p, r]) < 1e-300:
                    continue
                theta = 0.5 * (K[r, r] - K[p, p]) / K[p, r]
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(4):
                    a, b = K[k, p], K[k, r]
                    K[k, p], K[k, r] = c * a - s * b, s * a + c * b
                for k in range(4):
                    a, b = K[p, k], K[r, k]
                    K[p, k], K[r, k] = c * a - s * b, s * a + c * b
                for k in range(4):
                    a, b = V[k, p], V[k, r]
                    V[k, p], V[k, r] = c * a - s * b, s * a + c * b
