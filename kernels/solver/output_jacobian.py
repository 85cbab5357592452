"""Derivatives of the published numbers of a frame with respect to the pose: one column for each number.

The derivative of a number y that depends only on the pose of body A relative to body B is a wrench w: dy = w
. (twist of A - twist of B). So the derivative of y along a dof is +-(twist of the dof) . w if the dof lies
between the two bodies, and zero otherwise.

Columns, in this order: angles (n_joint, 3), displacements of some joints (n_displaced, 3), lengthening
(n_ligament,), contact points (n_contact, 3). Angles about and displacements along the axes of the joint
coordinate system (Grood and Suntay 1983) are read with the dual basis of these axes: a relative angular
velocity is the sum of the angles' rates times the axes.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.rotation import multiply
from kernels.algebra.spatial import power, vector_product
from kernels.compiler.jit import njit
from kernels.joints.tree import point_in_ground
from kernels.solver.constraints import element_wrench

PARALLEL = 1e-12
"""Square of the sine between the first and the third axis below which it is taken as this value, so that the
derivatives of angles stay finite."""


class JacobianWork(NamedTuple):
    """Working space for the derivatives of a frame's published numbers (joint angles and displacements,
    lengthening of ligaments, contact points) with respect to the pose."""

    frame: Annotated[np.ndarray, Floats(2, 3, 3)]  # axes of a joint's two bodies in ground, as columns
    axis: Annotated[np.ndarray, Floats(3, 3)]  # e1, e2, e3 of the joint coordinate system, one a row
    dual: Annotated[np.ndarray, Floats(3, 3)]  # those with dual . axis' = 1
    point: Annotated[np.ndarray, Floats(3, 3)]  # [m]
    wrench: Annotated[np.ndarray, Floats(6)]


def new_jacobian_work() -> JacobianWork:
    """Allocate a JacobianWork: working space for derivatives of published numbers."""
    return allocate(JacobianWork)


@njit
def output_jacobian(model, displaced, pose, element, work, F_out):
    """Write the derivatives of all published numbers with respect to the pose; call it after element_values.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    displaced : (n_displaced,) int64 - joints with published displacements, ascending
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    element : ElementWork - end points, deviations, derivatives of the elements
    work : JacobianWork - working space for derivatives of published numbers, written
    F_out : (n_v, n_output) - derivatives of each number in a column [rad, m, 1 per rad or m], written
    """
    F_out[:, :] = 0.0
    n_joint, n_done = model.joints.proximal.shape[0], 0
    for j in range(n_joint):
        joint_frame(model.joints, pose, j, work)
        angle_rows(model, pose, j, work, 3 * j, F_out)
        if n_done < displaced.shape[0] and displaced[n_done] == j:
            displacement_rows(model, pose, j, work, 3 * (n_joint + n_done), F_out)
            n_done += 1
    column = 3 * (n_joint + n_done)
    for k in range(model.ligaments.shape[0]):
        lengthening_row(model, pose, k, element, work, column + k, F_out)
    column += model.ligaments.shape[0]
    for k in range(model.contacts.shape[0]):
        contact_rows(model, pose, model.contacts[k], element, work, column + 3 * k, F_out)


@njit
def add_column(tree, pose, body_a, body_b, wrench, column, F_out):
    """Write one column of derivatives: the power of a wrench between two bodies at unit speed of each dof.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    body_a, body_b : int - indices of the bodies, -1 = ground; the wrench acts on A and its opposite on B
    wrench : (6,) - moment about the origin of body 0, and force
    column : int - index of the column
    F_out : (n_v, n_output) - entries of the dofs between the two bodies written
    """
    i = tree.last_dof[body_a] if body_a >= 0 else -1
    j = tree.last_dof[body_b] if body_b >= 0 else -1
    while i != j:  # where the ways to ground join, what is left moves both
        if i > j:
            F_out[i, column] = power(pose.twist[i], wrench)
            i = tree.dof_parent[i]
        else:
            F_out[j, column] = -power(pose.twist[j], wrench)
            j = tree.dof_parent[j]


@njit
def joint_frame(joints, pose, j, work):
    """Write the axes of the joint coordinate system of joint j into work.axis and their dual basis into
    work.dual.

    As the axes e1 and e3 become parallel, the dual basis grows without bound; the constant PARALLEL keeps it
    finite.
    """
    P, D, axis, dual = work.frame[0], work.frame[1], work.axis, work.dual
    multiply(pose.rotation[joints.proximal[j]], joints.axes_proximal[j], P)
    multiply(pose.rotation[joints.distal[j]], joints.axes_distal[j], D)
    cosine = 0.0
    for i in range(3):
        axis[0, i], axis[2, i] = P[i, 2], D[i, 1]
        cosine += P[i, 2] * D[i, 1]
    square = max(1.0 - cosine * cosine, PARALLEL)
    x, y, z = vector_product(axis[2], axis[0])
    size = math.sqrt(square)
    axis[1, 0], axis[1, 1], axis[1, 2] = x / size, y / size, z / size
    for i in range(3):
        dual[0, i] = (axis[0, i] - cosine * axis[2, i]) / square
        dual[1, i] = axis[1, i]
        dual[2, i] = (axis[2, i] - cosine * axis[0, i]) / square


@njit
def angle_rows(model, pose, j, work, column, F_out):
    """Write three columns: the derivatives of the angles of joint j, whose rates are dual . (relative
    angular velocity).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    j : int - index of the joint
    work : JacobianWork - after joint_frame
    column : int - index of the first of these columns
    F_out : (n_v, n_output) - derivatives of the published numbers, one in each column; written
    """
    w = work.wrench
    for k in range(3):
        for i in range(3):
            w[i], w[3 + i] = work.dual[k, i], 0.0
        add_column(model.tree, pose, model.joints.distal[j], model.joints.proximal[j], w, column + k, F_out)


@njit
def displacement_rows(model, pose, j, work, column, F_out):
    """Write three columns: the derivatives of the displacements c of joint j, where x = c1 e1 + c2 e2 + c3 e3
    is the vector to its distal point.

    Relative to the proximal body, x moves with the distal point, e1 is fixed, e2 rotates about e1 at the rate
    of the first angle and e3 rotates with the distal body: c-dot = dual . (x-dot - c2 e2-dot - c3 e3-dot).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    j : int - index of the joint
    work : JacobianWork - after joint_frame; its field point is written
    column : int - index of the first of these columns
    F_out : (n_v, n_output) - derivatives of the published numbers, one in each column; written
    """
    joints, axis, dual, point, w = model.joints, work.axis, work.dual, work.point, work.wrench
    point_in_ground(pose, joints.proximal[j], joints.point_proximal[j], point[0])
    point_in_ground(pose, joints.distal[j], joints.point_distal[j], point[1])
    across, far = 0.0, 0.0
    for i in range(3):
        gap = point[1, i] - point[0, i]
        across += dual[1, i] * gap
        far += dual[2, i] * gap
        point[1, i] -= pose.position[0, i]
    # the lever of the distal point, without the part along e3 that turns with it
    for i in range(3):
        point[2, i] = point[1, i] - far * axis[2, i]
    ax, ay, az = vector_product(axis[0], axis[1])
    for k in range(3):
        turned = across * (dual[k, 0] * ax + dual[k, 1] * ay + dual[k, 2] * az)
        w[0], w[1], w[2] = vector_product(point[2], dual[k])
        for i in range(3):
            w[i] -= turned * dual[0, i]
            w[3 + i] = dual[k, i]
        add_column(model.tree, pose, joints.distal[j], joints.proximal[j], w, column + k, F_out)


@njit
def lengthening_row(model, pose, k, element, work, column, F_out):
    """Write one column: the derivatives of the relative lengthening of ligament k, from those of its squared
    length L^2, 2 L dL.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    k : int - index among the published ligaments
    element : ElementWork - after element_values
    work : JacobianWork - working space for derivatives of published numbers; its field wrench is written
    column : int - index of the column
    F_out : (n_v, n_output) - derivatives of the published numbers, one in each column; written
    """
    e, w = model.ligaments[k], work.wrench
    w[0], w[1], w[2], w[3], w[4], w[5] = element_wrench(model.elements, pose, e, element)
    length = 0.5 * math.sqrt(w[3] * w[3] + w[4] * w[4] + w[5] * w[5])
    scale = 0.5 / (length * model.neutral_length[e]) if length > 0.0 else 0.0
    for i in range(6):
        w[i] *= scale
    add_column(model.tree, pose, model.elements.body_a[e], model.elements.body_b[e], w, column, F_out)


@njit
def contact_rows(model, pose, e, element, work, column, F_out):
    """Write three columns: the derivatives of the contact point of element e, in the axes of the body that
    carries its plane, or of ground.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    element : ElementWork - after element_values
    work : JacobianWork - working space for derivatives of published numbers; its fields point and wrench are
        written
    column : int - index of the first of these columns
    F_out : (n_v, n_output) - derivatives of the published numbers, one in each column; written
    """
    a, b = model.elements.body_a[e], model.elements.body_b[e]
    lever, slide, w = work.point[0], work.point[1], work.wrench
    n = element.normal[e]
    for i in range(3):
        lever[i] = element.end_a[e, i] - pose.position[0, i]
    for k in range(3):
        along = 0.0
        for i in range(3):
            slide[i] = float(int(i == k)) if b < 0 else pose.rotation[b, i, k]
            along += slide[i] * n[i]
        for i in range(3):
            slide[i] -= along * n[i]
            w[3 + i] = slide[i]
        w[0], w[1], w[2] = vector_product(lever, slide)
        add_column(model.tree, pose, a, b, w, column + k, F_out)
