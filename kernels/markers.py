"""Markers on the bodies of a tree: cost, gradient and Hessian from composite moments.

Cost 1/2 sum w |x - m|^2 over the visible markers (Sancisi et al. 2017, eq. 5; Lu and O'Connor 1999).
With the weights taken as masses, the Gauss-Newton matrix J'WJ of all markers is the joint-space mass
matrix of the tree, and the residuals w (x - m) act like forces: both follow from the moments of each
subtree (composite rigid bodies, Featherstone 2008, table 6.2). The second-order part needs only the
subtree's sum of r f'. The work per iteration is thus independent of how many markers a body carries,
but for the moments themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.tree import point_in_ground

# Columns of the moments table, about the origin of the root body, in ground axes.
WEIGHT = 0  # sum w
FIRST = 1  # sum w x            (3)
SECOND = 4  # sum w x x'         (9)
FORCE = 13  # sum f, f = w (x - m)  (3)
STRESS = 16  # sum x f'           (9)
N_MOMENT = 25


class Markers(NamedTuple):
    """Markers of a model: the body each is on and where."""

    body: np.ndarray  # (n_marker,) int64
    position: np.ndarray  # (n_marker, 3) - in the body frame [m]


class MarkerWork(NamedTuple):
    """Working space of the marker terms."""

    model: np.ndarray  # (n_marker, 3) - model markers in ground [m]
    moments: np.ndarray  # (n_body, N_MOMENT)
    push: np.ndarray  # (3,)
    moment: np.ndarray  # (3,)
    inside: np.ndarray  # (3,)
    outside: np.ndarray  # (3,)


def new_marker_work(n_marker: int, n_body: int) -> MarkerWork:
    """Allocate a MarkerWork."""
    return MarkerWork(
        np.zeros((n_marker, 3)),
        np.zeros((n_body, N_MOMENT)),
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
    )


@njit
def model_markers(markers, pose, x_out):
    """x_out : (n_marker, 3) - model markers in ground [m]."""
    for m in range(markers.body.shape[0]):
        point_in_ground(pose, markers.body[m], markers.position[m], x_out[m])


@njit
def marker_moments(tree, markers, pose, measured, weight, work):
    """Moments of every subtree at a pose; returns the cost 1/2 sum w |x - m|^2 [m^2].

    Writes work.model and work.moments; a marker of weight 0 (occluded) takes no part.
    """
    model_markers(markers, pose, work.model)
    moments, origin = work.moments, pose.position[0]
    moments[:, :] = 0.0
    cost = 0.0
    for m in range(markers.body.shape[0]):
        w = weight[m]
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
    return 0.5 * cost


@njit
def marker_gradient(tree, pose, work, gradient_out):
    """gradient_out : (n_v,) = J'W (x - m), from the moments."""
    axis, centre, moments = pose.axis, pose.centre, work.moments
    for d in range(tree.dof_body.shape[0]):
        b = tree.dof_body[d]
        a0, a1, a2 = axis[d, 0], axis[d, 1], axis[d, 2]
        fx, fy, fz = moments[b, FORCE], moments[b, FORCE + 1], moments[b, FORCE + 2]
        if tree.dof_rotates[d] == 0:
            gradient_out[d] = a0 * fx + a1 * fy + a2 * fz
            continue
        cx = centre[d, 0] - pose.position[0, 0]
        cy = centre[d, 1] - pose.position[0, 1]
        cz = centre[d, 2] - pose.position[0, 2]
        # sum (x - c) x f from the antisymmetric part of sum x f'
        tx = moments[b, STRESS + 5] - moments[b, STRESS + 7] - cy * fz + cz * fy
        ty = moments[b, STRESS + 6] - moments[b, STRESS + 2] - cz * fx + cx * fz
        tz = moments[b, STRESS + 1] - moments[b, STRESS + 3] - cx * fy + cy * fx
        gradient_out[d] = a0 * tx + a1 * ty + a2 * tz


@njit
def marker_hessian(tree, pose, work, second_order, H_out):
    """H_out : (n_v, n_v) = J'WJ + second_order * sum f . d2x, lower triangle.

    Entry (i, j), i nearer to ground: axis_i . (sum w x' x J_j + K_j) for a rotation i, where J_j is
    the motion of a marker by dof j and K_j = sum J_j x f; axis_i . sum w J_j for a translation i.
    """
    axis, centre = pose.axis, pose.centre
    push, moment, inside, outside = work.push, work.moment, work.inside, work.outside
    dof_group, dof_parent, dof_rotates = tree.dof_group, tree.dof_parent, tree.dof_rotates
    ox, oy, oz = pose.position[0, 0], pose.position[0, 1], pose.position[0, 2]
    H_out[:, :] = 0.0
    for j in range(dof_group.shape[0]):
        column_vectors(tree, pose, work, j, second_order)
        px, py, pz = push[0], push[1], push[2]
        i = j
        while i >= 0:
            wx, wy, wz = axis[i, 0], axis[i, 1], axis[i, 2]
            if dof_rotates[i] == 0:
                h = wx * px + wy * py + wz * pz
            else:
                cx, cy, cz = centre[i, 0] - ox, centre[i, 1] - oy, centre[i, 2] - oz
                mx = moment[0] - cy * pz + cz * py
                my = moment[1] - cz * px + cx * pz
                mz = moment[2] - cx * py + cy * px
                # inside a ball the rotations act at once: the symmetric part of the stress
                if dof_group[i] == dof_group[j]:
                    mx, my, mz = mx + inside[0], my + inside[1], mz + inside[2]
                else:
                    mx, my, mz = mx + outside[0], my + outside[1], mz + outside[2]
                h = wx * mx + wy * my + wz * mz
            H_out[j, i] = h
            i = dof_parent[i]


@njit
def column_vectors(tree, pose, work, j, second_order):
    """Vectors of column j: push = sum w J, moment = sum w x X J, and second_order * K, as seen from a
    dof inside the same joint and from one outside it."""
    moments, b = work.moments, tree.dof_body[j]
    push, moment, inside, outside = work.push, work.moment, work.inside, work.outside
    a0, a1, a2 = pose.axis[j, 0], pose.axis[j, 1], pose.axis[j, 2]
    w = moments[b, WEIGHT]
    fx, fy, fz = moments[b, FORCE], moments[b, FORCE + 1], moments[b, FORCE + 2]
    sx, sy, sz = moments[b, FIRST], moments[b, FIRST + 1], moments[b, FIRST + 2]
    if tree.dof_rotates[j] == 0:
        push[0], push[1], push[2] = w * a0, w * a1, w * a2
        moment[0], moment[1], moment[2] = sy * a2 - sz * a1, sz * a0 - sx * a2, sx * a1 - sy * a0
        outside[0] = second_order * (a1 * fz - a2 * fy)
        outside[1] = second_order * (a2 * fx - a0 * fz)
        outside[2] = second_order * (a0 * fy - a1 * fx)
        inside[0], inside[1], inside[2] = outside[0], outside[1], outside[2]
        return
    cx = pose.centre[j, 0] - pose.position[0, 0]
    cy = pose.centre[j, 1] - pose.position[0, 1]
    cz = pose.centre[j, 2] - pose.position[0, 2]
    rx, ry, rz = sx - w * cx, sy - w * cy, sz - w * cz
    push[0], push[1], push[2] = a1 * rz - a2 * ry, a2 * rx - a0 * rz, a0 * ry - a1 * rx
    # A = sum w x (x - c)'; sum w x X (axis X (x - c)) = tr(A) axis - A' axis
    trace = moments[b, SECOND] + moments[b, SECOND + 4] + moments[b, SECOND + 8]
    trace -= sx * cx + sy * cy + sz * cz
    along = sx * a0 + sy * a1 + sz * a2
    moment[0], moment[1], moment[2] = (
        trace * a0 + cx * along,
        trace * a1 + cy * along,
        trace * a2 + cz * along,
    )
    for i in range(3):
        moment[i] -= (
            moments[b, SECOND + i] * a0 + moments[b, SECOND + 3 + i] * a1 + moments[b, SECOND + 6 + i] * a2
        )
    # M = sum (x - c) f': K = M axis - tr(M) axis
    m00, m01, m02 = (
        moments[b, STRESS] - cx * fx,
        moments[b, STRESS + 1] - cx * fy,
        moments[b, STRESS + 2] - cx * fz,
    )
    m10, m11, m12 = (
        moments[b, STRESS + 3] - cy * fx,
        moments[b, STRESS + 4] - cy * fy,
        moments[b, STRESS + 5] - cy * fz,
    )
    m20, m21, m22 = (
        moments[b, STRESS + 6] - cz * fx,
        moments[b, STRESS + 7] - cz * fy,
        moments[b, STRESS + 8] - cz * fz,
    )
    outside[0] = second_order * (m01 * a1 + m02 * a2 - (m11 + m22) * a0)
    outside[1] = second_order * (m10 * a0 + m12 * a2 - (m00 + m22) * a1)
    outside[2] = second_order * (m20 * a0 + m21 * a1 - (m00 + m11) * a2)
    xy, xz, yz = 0.5 * (m01 + m10), 0.5 * (m02 + m20), 0.5 * (m12 + m21)
    inside[0] = second_order * (xy * a1 + xz * a2 - (m11 + m22) * a0)
    inside[1] = second_order * (xy * a0 + yz * a2 - (m00 + m22) * a1)
    inside[2] = second_order * (xz * a0 + yz * a1 - (m00 + m11) * a2)
