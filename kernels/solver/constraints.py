"""Elements between two bodies, each with a scalar deviation Phi that is zero (hard) or weighted (soft).

SPHERE_ON_PLANE: Phi = (a - b) . n - target, a sphere centre on body A, point b and unit normal n on B
  (point-on-plane: target 0). Sancisi et al. 2017, section 2.1.
DISTANCE: Phi = |a - b|^2 - target^2 [m^2] (eq. 4).
AZIMUTH, ELEVATION: Phi = angle - target of a direction a fixed in body A, with respect to axes of B. The
  azimuth is counted about n from b, two orthogonal directions on B; the elevation is that above the plane
  with normal n. Of joint angles about three successive axes, z of B, a floating axis and y of A (Grood and
  Suntay 1983, kernels/joints/joint_angles), the first is an azimuth, the second an elevation, and the third
  an azimuth of z of B in A. The force of such an element is a couple that does no work along the other two.
PATH_LENGTH: Phi = L - target, with the length L of a path through points and over surfaces of any bodies
  (kernels/path/lengths). Its value needs the generalized coordinates and is computed there.

Only the dofs on the path in the tree between the two bodies change Phi: dofs nearer to ground move both
alike. A dof with side +1 moves body A, one with side -1 moves body B. A new kind is one branch in
`element_values`, `element_wrench`, `add_curvature` and `element_bias` (kernels/dynamics/constraints), its
line here and a row in tests/kernels/solver/test_constraints.py.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy
from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.joints.kinds import order_joint
from kernels.joints.tree import along, point_in_ground
from kernels.path.lengths import add_length_curvature, length_slope
from kernels.solver.coordinates import CoordinateRanges, CoordinateTargets

SPHERE_ON_PLANE, DISTANCE, AZIMUTH, ELEVATION, PATH_LENGTH = 0, 1, 2, 3, 4
OFF, SOFT, HARD = 0, 1, 2


class Elements(NamedTuple):
    """The scalar constraints between two bodies (elements): their kinds, the points and directions in the
    bodies that define them, and the dofs between the bodies, which change their values."""

    kind: np.ndarray  # (n_element,) int64
    body_a: np.ndarray  # (n_element,) int64
    body_b: np.ndarray  # (n_element,) int64
    point_a: np.ndarray  # (n_element, 3) - in body A [m]; of angles a direction, unit
    point_b: np.ndarray  # (n_element, 3) - in body B [m]; of an azimuth a direction across normal_b, unit
    normal_b: np.ndarray  # (n_element, 3) - in body B, unit; not of distances
    n_path: np.ndarray  # (n_element,) int64 - number of dofs between the bodies
    path: np.ndarray  # (n_element, n_path_max) int64 - those dofs, ground first within a side
    side: np.ndarray  # (n_element, n_path_max) float64 - +1 moves A, -1 moves B; of path lengths +1
    lengths: Any = None  # kernels/path/lengths.PathLengths; None where no element is a path's length


class Roles(NamedTuple):
    """How a kinematic method uses each scalar constraint of a model (element): whether it is ignored,
    weighted or satisfied exactly, and its target; also targets and ranges of coordinates."""

    mode: np.ndarray  # (n_element,) int64 - OFF, SOFT or HARD
    weight: np.ndarray  # (n_element,) - of a soft element [1/m^2 for DISTANCE, 1 for planes]
    target: np.ndarray  # (n_element,) - radius, or length [m]; angle [rad]
    tasks: CoordinateTargets | None = None
    limits: CoordinateRanges | None = None


class ElementWork(NamedTuple):
    """Working space of elements (constraints): end points, deviations from targets, and their derivatives."""

    value: Annotated[np.ndarray, Floats("n_element")]  # deviation Phi from the target
    row: Annotated[np.ndarray, Floats("n_element", "n_path_max")]  # derivatives of Phi along those dofs
    end_a: Annotated[np.ndarray, Floats("n_element", 3)]  # in ground [m]; of angles the direction
    end_b: Annotated[np.ndarray, Floats("n_element", 3)]
    normal: Annotated[np.ndarray, Floats("n_element", 3)]
    motion: Annotated[np.ndarray, Floats("n_path_max", 3)]  # velocity of A's (or B's) end per dof speed
    turn: Annotated[np.ndarray, Floats("n_path_max", 3)]  # rate of the normal, likewise
    lever: Annotated[np.ndarray, Floats("n_path_max", 3)]  # (a - b), or normal, X rotation of the dof
    lever_turn: Annotated[np.ndarray, Floats("n_path_max", 3)]  # (a - b) X rotation of the dof
    wrench: Annotated[np.ndarray, Floats(6)]  # of one element
    lengths: Any = None  # kernels/path/lengths.LengthWork; None where no element is a path's length


def new_element_work(n_element: int, n_path: int, lengths: Any = None) -> ElementWork:
    """Allocate an ElementWork, the working space of constraint elements.

    n_element, n_path : int - number of elements, and the largest number of dofs between the two bodies of one
    lengths : LengthWork - if any element is the length of a path, else None
    """
    return allocate(ElementWork, n_element=n_element, n_path_max=n_path, lengths=lengths)


@njit
def element_values(elements, pose, target, work):
    """Write the deviations Phi of all elements at a pose, and their end points and normals in ground, into
    work.

    Values of path lengths are written by kernels/path/lengths.length_values instead.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    target : (n_element,) - target length, radius or angle of each element [m, rad]
    work : ElementWork - its value, end_a, end_b and normal are written
    """
    for e in range(elements.kind.shape[0]):
        a, b, n = work.end_a[e], work.end_b[e], work.normal[e]
        if is_angle(elements.kind[e]):
            direction_in_ground(pose, elements.body_a[e], elements.point_a[e], a)
            direction_in_ground(pose, elements.body_b[e], elements.point_b[e], b)
            direction_in_ground(pose, elements.body_b[e], elements.normal_b[e], n)
            work.value[e] = angle_from(elements.kind[e], a, b, n, target[e])
            continue
        point_in_ground(pose, elements.body_a[e], elements.point_a[e], a)
        point_in_ground(pose, elements.body_b[e], elements.point_b[e], b)
        dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
        if elements.kind[e] == SPHERE_ON_PLANE:
            direction_in_ground(pose, elements.body_b[e], elements.normal_b[e], n)
            work.value[e] = dx * n[0] + dy * n[1] + dz * n[2] - target[e]
        elif elements.kind[e] == DISTANCE:
            work.value[e] = dx * dx + dy * dy + dz * dz - target[e] * target[e]
        elif elements.kind[e] != PATH_LENGTH:  # which is written elsewhere
            work.value[e] = math.nan


@njit
def is_angle(kind):
    """Return whether an element of this kind is an angle between two bodies; its force is then a couple."""
    return kind == AZIMUTH or kind == ELEVATION


@njit
def direction_in_ground(pose, body, x, y_out):
    """Write a direction x : (3,) of a body (-1 = ground) in axes of ground into y_out : (3,)."""
    if body < 0:
        copy(x, y_out)
    else:
        rotate(pose.rotation[body], x, y_out)


@njit
def angle_from(kind, a, b, n, target):
    """Return the azimuth or elevation of a direction minus a target [rad]; an azimuth's difference is within
    -pi to pi.

    kind : int - AZIMUTH or ELEVATION; NaN is returned for other kinds
    a : (3,) - the direction, unit
    b : (3,) - direction from which an azimuth is counted, unit, orthogonal to n
    n : (3,) - axis of the azimuth, unit
    target : float - angle that is subtracted [rad]
    """
    if kind == ELEVATION:
        return math.asin(min(1.0, max(-1.0, a[0] * n[0] + a[1] * n[1] + a[2] * n[2]))) - target
    if kind != AZIMUTH:
        return math.nan
    x = n[1] * b[2] - n[2] * b[1]
    y = n[2] * b[0] - n[0] * b[2]
    z = n[0] * b[1] - n[1] * b[0]
    along_b = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    found = math.atan2(a[0] * x + a[1] * y + a[2] * z, along_b) - target
    return found - 2.0 * math.pi * math.floor(0.5 * found / math.pi + 0.5)


@njit
def couple(kind, a, n):
    """Return the couple (moment) on body A of an angle element with the multiplier 1, as three floats.

    It is the gradient of the angle with respect to a rotation of A relative to B: (n - c a) / (1 - c^2) for
    an azimuth, a X n / sqrt(1 - c^2) for an elevation, with c = a . n.

    kind : int - AZIMUTH or ELEVATION; NaN is returned for other kinds
    a, n : (3,) - unit direction on A and unit axis on B, in ground, not parallel
    """
    c = a[0] * n[0] + a[1] * n[1] + a[2] * n[2]
    across = 1.0 - c * c
    if kind == AZIMUTH:
        return (n[0] - c * a[0]) / across, (n[1] - c * a[1]) / across, (n[2] - c * a[2]) / across
    if kind != ELEVATION:
        return math.nan, math.nan, math.nan
    s = 1.0 / math.sqrt(across)
    return (
        s * (a[1] * n[2] - a[2] * n[1]),
        s * (a[2] * n[0] - a[0] * n[2]),
        s * (a[0] * n[1] - a[1] * n[0]),
    )


@njit
def couple_rate(kind, a, n, da, dn, out):
    """Write the change of the moment that `couple` returns where a and n change by da and dn.

    kind : int - AZIMUTH or ELEVATION
    a, n : (3,) - unit direction on A and unit axis on B, in ground
    da, dn : (3,) - their changes, orthogonal to a and n
    out : (3,) - the derivative, written
    """
    m = couple(kind, a, n)
    c, dc = 0.0, 0.0
    for i in range(3):
        c += a[i] * n[i]
        dc += da[i] * n[i] + a[i] * dn[i]
    g = 1.0 / (1.0 - c * c)
    if kind == AZIMUTH:
        for i in range(3):
            out[i] = g * (dn[i] - dc * a[i] - c * da[i] + 2.0 * c * dc * m[i])
        return
    if kind != ELEVATION:
        out[:] = math.nan
        return
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turned = da[j] * n[k] - da[k] * n[j] + a[j] * dn[k] - a[k] * dn[j]
        out[i] = math.sqrt(g) * turned + g * c * dc * m[i]


@njit
def element_rows(elements, pose, work):
    """Write the derivatives of Phi of each element along the dofs between its two bodies into work.row.

    The derivative along a dof is its twist times the wrench of the element on body A (element_wrench), with
    the opposite sign if the dof moves body B. The wrench is (r X F, F) with the end point r and F = n for a
    plane and 2 (a - b) for a distance, and a couple for an angle. Call it after element_values.
    """
    for e in range(elements.kind.shape[0]):
        if elements.kind[e] == PATH_LENGTH:
            for k in range(elements.n_path[e]):
                work.row[e, k] = length_slope(elements.lengths, e, elements.path[e, k], work.lengths)
            continue
        mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, work)
        for k in range(elements.n_path[e]):
            work.row[e, k] = elements.side[e, k] * along(
                pose.twist, elements.path[e, k], mx, my, mz, fx, fy, fz
            )


@njit
def element_wrench(elements, pose, e, work):
    """Return the wrench of element e with the multiplier 1 on body A, as six floats: moment about the origin
    of body 0, force. On body B acts the opposite. Call it after element_values; not for PATH_LENGTH.
    """
    end_a, end_b, normal, origin = work.end_a, work.end_b, work.normal, pose.position[0]
    if is_angle(elements.kind[e]):
        mx, my, mz = couple(elements.kind[e], end_a[e], normal[e])
        return mx, my, mz, 0.0, 0.0, 0.0
    fx, fy, fz = normal[e, 0], normal[e, 1], normal[e, 2]
    if elements.kind[e] == DISTANCE:
        fx = 2.0 * (end_a[e, 0] - end_b[e, 0])
        fy = 2.0 * (end_a[e, 1] - end_b[e, 1])
        fz = 2.0 * (end_a[e, 2] - end_b[e, 2])
    elif elements.kind[e] != SPHERE_ON_PLANE:
        fx, fy, fz = math.nan, math.nan, math.nan
    x, y, z = end_a[e, 0] - origin[0], end_a[e, 1] - origin[1], end_a[e, 2] - origin[2]
    return y * fz - z * fy, z * fx - x * fz, x * fy - y * fx, fx, fy, fz


@njit
def path_motions(elements, pose, e, work):
    """Write the velocities of ends and normal of element e per unit speed of each dof between its two bodies.

    Second derivatives are computed from them. Into work.motion goes the velocity of the end that the dof
    moves, into turn the rate of the normal; lever = x X w, with x the vector between the ends (distance) or
    the normal (plane) and w the angular part of the dof's twist; lever_turn = (vector between ends) X w.
    """
    end_a, end_b, normal, twist, origin = work.end_a, work.end_b, work.normal, pose.twist, pose.position[0]
    nx, ny, nz = normal[e, 0], normal[e, 1], normal[e, 2]
    gx, gy, gz = end_a[e, 0] - end_b[e, 0], end_a[e, 1] - end_b[e, 1], end_a[e, 2] - end_b[e, 2]
    plane = elements.kind[e] == SPHERE_ON_PLANE
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        wx, wy, wz = twist[d, 0], twist[d, 1], twist[d, 2]
        end = end_a if elements.side[e, k] > 0.0 else end_b
        x, y, z = end[e, 0] - origin[0], end[e, 1] - origin[1], end[e, 2] - origin[2]
        cross_into(wx, wy, wz, x, y, z, work.motion[k])
        for i in range(3):
            work.motion[k, i] += twist[d, 3 + i]
        if plane:
            cross_into(wx, wy, wz, nx, ny, nz, work.turn[k])
            cross_into(nx, ny, nz, wx, wy, wz, work.lever[k])
            cross_into(gx, gy, gz, wx, wy, wz, work.lever_turn[k])
        else:
            cross_into(gx, gy, gz, wx, wy, wz, work.lever[k])


@njit
def cross_into(ax, ay, az, bx, by, bz, c_out):
    """Write the vector product c = a X b into c_out.

    ax, ay, az, bx, by, bz : float - components of a and b
    c_out : (3,) - written
    """
    c_out[0], c_out[1], c_out[2] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit
def add_curvature(tree, elements, pose, e, factor, work, H):
    """Add factor * d2Phi/dq2 of element e to the lower triangle of H, after element_values.

    Let x be the vector between the ends (DISTANCE) or the normal (plane), w the angular parts of the dofs'
    twists and m the derivatives of an end. Its second derivative along x, for dof i nearer to ground than k,
    is x . (w_i X m_k) = (x X w_i) . m_k: the levers x X w_i are computed once per dof. For two dofs of one
    joint, `order_path` corrects H.

    tree : Tree - joint tree of the bodies
    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    factor : float - factor of the second derivatives
    work : ElementWork - end points, deviations, derivatives of the elements; its fields motion, turn, lever,
        lever_turn and wrench are written
    H : (n_v, n_v) - sum of second derivatives; its lower triangle is written
    """
    if elements.kind[e] == PATH_LENGTH:
        dofs = elements.path[e, : elements.n_path[e]]
        add_length_curvature(tree, elements.lengths, e, factor, dofs, work.lengths, H)
        return
    if is_angle(elements.kind[e]):
        add_angle_curvature(elements, pose, e, factor, work, H)
        order_path(tree, elements, pose, e, factor, work, H)
        return
    path_motions(elements, pose, e, work)
    motion, turn, lever, lever_turn = work.motion, work.turn, work.lever, work.lever_turn
    plane = elements.kind[e] == SPHERE_ON_PLANE
    scale = 2.0 * factor if elements.kind[e] == DISTANCE else (factor if plane else math.nan)
    for k in range(elements.n_path[e]):
        q, side_k = elements.path[e, k], elements.side[e, k]
        for i in range(k + 1):
            p, side_i = elements.path[e, i], elements.side[e, i]
            h = side_i * dot(lever, i, motion, k) if side_i == side_k else 0.0
            if not plane:
                h += side_i * side_k * dot(motion, i, motion, k)
            else:
                if side_i < 0.0:
                    h += side_k * dot(turn, i, motion, k)
                    if side_k < 0.0:
                        h += dot(lever_turn, i, turn, k)
                if side_k < 0.0:
                    h += side_i * dot(turn, k, motion, i)
            H[max(p, q), min(p, q)] += scale * h
    order_path(tree, elements, pose, e, factor, work, H)


@njit
def add_angle_curvature(elements, pose, e, factor, work, H):
    """Add factor times the second derivatives of an angle element to H, without the correction by order_path.

    The derivative of the angle by dof k, a rotation w_k, is w_k . m with the couple m (see `couple`). A dof i
    nearer to ground rotates w_k, by w_i X w_k, if both move the same body, and it changes m.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    factor : float - factor of the second derivatives
    work : ElementWork - end points, deviations, derivatives of the elements; its fields motion, turn, lever
        and wrench are written
    H : (n_v, n_v) - sum of second derivatives; its lower triangle is written
    """
    kind, a, n, w = elements.kind[e], work.end_a[e], work.normal[e], work.wrench
    mx, my, mz = couple(kind, a, n)
    for k in range(elements.n_path[e]):
        q, side_k, row = elements.path[e, k], elements.side[e, k], work.motion[k]
        for i in range(3):
            row[i] = pose.twist[q, i]
        for i in range(6):
            w[i] = 0.0
        if side_k > 0.0:
            cross_into(row[0], row[1], row[2], a[0], a[1], a[2], w[:3])
        else:
            cross_into(row[0], row[1], row[2], n[0], n[1], n[2], w[3:])
        couple_rate(kind, a, n, w[:3], w[3:], work.turn[k])
        cross_into(mx, my, mz, row[0], row[1], row[2], work.lever[k])
        for i in range(k + 1):
            p, h = elements.path[e, i], dot(work.turn, i, work.motion, k)
            if elements.side[e, i] == side_k:
                h += dot(work.lever, i, work.motion, k)
            H[max(p, q), min(p, q)] += factor * side_k * h


@njit
def order_path(tree, elements, pose, e, factor, work, H):
    """Make the second derivatives H independent of the order of two dofs of one joint (see order_joint).

    tree : Tree - joint tree of the bodies
    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    factor : float - factor of the second derivatives
    work : ElementWork - end points, deviations, derivatives of the elements; its field wrench is written
    H : (n_v, n_v) - sum of second derivatives; its lower triangle is written
    """
    w = work.wrench
    w[0], w[1], w[2], w[3], w[4], w[5] = element_wrench(elements, pose, e, work)
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        b = tree.dof_body[d]
        if d == tree.v_start[b]:
            order_joint(tree, pose, b, factor * elements.side[e, k], w, H)


@njit
def dot(a, i, b, k):
    """Return the scalar product of row i of a : (., 3) and row k of b : (., 3)."""
    return a[i, 0] * b[k, 0] + a[i, 1] * b[k, 1] + a[i, 2] * b[k, 2]
