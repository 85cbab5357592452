"""Hard constraints of a system as rows: value Phi, Jacobian dPhi/dq and bias, the second time derivative at
zero generalized acceleration, of each.

The rows are those of the hard elements (kernels/solver/constraints) in their order, then those of the
couplers, then those of bodies that roll without slipping (kernels/dynamics/rolling).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.functions import evaluate
from kernels.algebra.linear import cholesky_drop, solve_lower, solve_lower_transposed
from kernels.compiler.jit import njit
from kernels.joints.couplers import Couplers
from kernels.joints.tree import Tree, along
from kernels.path.lengths import length_bias, length_slope, length_values, new_length_work
from kernels.solver.constraints import (
    DISTANCE,
    HARD,
    PATH_LENGTH,
    Elements,
    ElementWork,
    Roles,
    couple,
    couple_rate,
    element_values,
    element_wrench,
    is_angle,
    new_element_work,
)
from kernels.solver.levers import SLIGHT, lever_of

DEPENDENT = SLIGHT
"""Threshold of linear dependence [1]. Where the part of a row that earlier rows do not contain, squared, is
less than this fraction of the square of its element's lever, it is rounding error, and the row counts as a
linear combination of the earlier ones."""


class Constraints(NamedTuple):
    """All scalar constraints of a system: hard elements, couplers and rolling bodies."""

    elements: Elements
    roles: Roles
    couplers: Couplers
    rolls: Any = None  # kernels/dynamics/rolling.Rolls, constraints of velocity; None where there are none


class ConstraintWork(NamedTuple):
    """Working space for the rows of the hard constraints.

    Its arrays have n_row_max = n_element + n_coupler + 3 n_roll + 1 rows, which are used in this order: one
    for each hard element, one for each coupler, and three for each rolling contact of a disc or a ball with a
    plane, first the gaps of all n_roll contacts, then the two slip velocities of each. One more row is for an
    angle that is to have a given value (kernels/path/assembly).
    """

    element: ElementWork
    value: Annotated[np.ndarray, Floats("n_row_max")]  # Phi
    row: Annotated[np.ndarray, Floats("n_row_max", "n_v")]  # G
    # lever of an element over the sum of squares of its row, at least 1 (element_row)
    reach: Annotated[np.ndarray, Floats("n_row_max", fill=1.0)]
    bias: Annotated[np.ndarray, Floats("n_row_max")]  # dG/dt v
    compliance: Annotated[np.ndarray, Floats("n_row_max")]  # zero for a hard row (kernels/path/angles)
    kernel: Annotated[np.ndarray, Floats("n_row_max", "n_row_max")]  # Cholesky factor of G G' or G M^-1 G'
    multiplier: Annotated[np.ndarray, Floats("n_row_max")]
    step: Annotated[np.ndarray, Floats("n_v")]
    motion: Annotated[np.ndarray, Floats(4, 3)]  # velocity and acceleration of an element's two ends
    roll: Annotated[np.ndarray, Floats(10, 3)]  # a roll's contact and directions (kernels/dynamics/rolling)


def new_constraint_work(constraints: Constraints, n_v: int, tree: Tree | None = None) -> ConstraintWork:
    """Allocate a ConstraintWork; tree is needed where an element constrains the length of a path."""
    lengths = None if tree is None else new_length_work(constraints.elements.lengths, tree)
    n_element, n_path = constraints.elements.path.shape
    n_roll = 0 if constraints.rolls is None else len(constraints.rolls.radius)
    n = n_element + len(constraints.couplers.dof) + 3 * n_roll + 1
    return allocate(
        ConstraintWork, n_row_max=n, n_v=n_v, element=new_element_work(n_element, n_path, lengths)
    )


@njit
def constraint_rows(tree, constraints, pose, q, work):
    """Compute value, Jacobian row and reach (a measure of how small the row is, see element_row) of all hard
    constraints at a pose; return the number of rows.

    tree : Tree - joint tree of the bodies
    constraints : Constraints - all hard constraints of the system
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    q : (n_q,) - generalized coordinates [rad, m]
    work : ConstraintWork - its value, row and reach are written
    """
    elements, couplers = constraints.elements, constraints.couplers
    own, target = work.element, constraints.roles.target
    element_values(elements, pose, target, own)
    length_values(tree, elements.lengths, pose, q, target, own.lengths, own.value)
    n = 0
    for e in range(elements.kind.shape[0]):
        if constraints.roles.mode[e] == HARD:
            work.value[n] = work.element.value[e]
            work.reach[n] = element_row(elements, pose, e, work, work.row[n])
            n += 1
    for k in range(couplers.dof.shape[0]):
        value, slope, _ = evaluate(tree.functions, couplers.function[k], q[couplers.driver[k]])
        row = work.row[n]
        for d in range(row.shape[0]):
            row[d] = 0.0
        row[couplers.driver_dof[k]] -= slope
        row[couplers.dof[k]] += 1.0
        work.value[n], work.reach[n] = q[couplers.coordinate[k]] - value, 1.0
        n += 1
    return n


@njit
def element_row(elements, pose, e, work, row_out):
    """Compute the Jacobian row dPhi/dq of element e, after element_values.

    Return the reach of the row: an upper bound of the sum of squares of its entries (lever_of) over that sum,
    at least 1. Where no dof changes the element by more than rounding, the row is exactly zero and 1 is
    returned.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    work : ConstraintWork - its element is read, after element_values
    row_out : (n_v,) - dPhi/dq
    """
    for d in range(row_out.shape[0]):
        row_out[d] = 0.0
    if elements.kind[e] == PATH_LENGTH:
        for k in range(elements.n_path[e]):
            d = elements.path[e, k]
            row_out[d] = length_slope(elements.lengths, e, d, work.element.lengths)
        return 1.0
    mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, work.element)
    size = 0.0
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        row_out[d] = elements.side[e, k] * along(pose.twist, d, mx, my, mz, fx, fy, fz)
        size += row_out[d] * row_out[d]
    lever = lever_of(elements, pose, e, work.element)
    if size <= SLIGHT * lever:  # false for NaN, which stays
        for k in range(elements.n_path[e]):
            row_out[elements.path[e, k]] = 0.0
        return 1.0
    return max(1.0, lever / size)


@njit
def constraint_bias(tree, constraints, pose, velocities, drift, q, v, work):
    """Compute the second time derivative of the value of every hard constraint at v_dot = 0; called after
    constraint_rows.

    tree : Tree - joint tree of the bodies
    constraints : Constraints - all hard constraints of the system
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0, without gravity [rad/s^2, m/s^2]
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : ConstraintWork - its bias is written
    """
    elements, couplers = constraints.elements, constraints.couplers
    n = 0
    for e in range(elements.kind.shape[0]):
        if constraints.roles.mode[e] != HARD:
            continue
        if elements.kind[e] == PATH_LENGTH:
            work.bias[n] = length_bias(tree, elements.lengths, e, v, work.element.lengths)
        else:
            work.bias[n] = element_bias(elements, pose, velocities, drift, e, work)
        n += 1
    for k in range(couplers.dof.shape[0]):
        _, _, curvature = evaluate(tree.functions, couplers.function[k], q[couplers.driver[k]])
        work.bias[n] = -curvature * v[couplers.driver_dof[k]] ** 2
        n += 1


@njit
def element_bias(elements, pose, velocities, drift, e, work):
    """Return the second time derivative of the value of constraint element e at v_dot = 0, for all kinds of
    elements except path lengths.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0 [rad/s^2, m/s^2]
    e : int - index of the element
    work : ConstraintWork - its element is read, after element_values; its field motion is overwritten
    """
    if is_angle(elements.kind[e]):
        return angle_bias(elements, velocities, drift, e, work)
    a, b, n = work.element.end_a[e], work.element.end_b[e], work.element.normal[e]
    va, aa, vb, ab = work.motion[0], work.motion[1], work.motion[2], work.motion[3]
    point_motion(pose, velocities, drift, elements.body_a[e], a, va, aa)
    point_motion(pose, velocities, drift, elements.body_b[e], b, vb, ab)
    bias = 0.0
    if elements.kind[e] == DISTANCE:
        for i in range(3):
            bias += 2.0 * ((va[i] - vb[i]) ** 2 + (a[i] - b[i]) * (aa[i] - ab[i]))
        return bias
    for i in range(3):
        bias += (aa[i] - ab[i]) * n[i]
    if elements.body_b[e] >= 0:
        w, alpha = velocities[elements.body_b[e]], drift[elements.body_b[e]]
        along_n = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
        square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            turn = w[j] * n[k] - w[k] * n[j]
            curve = alpha[j] * n[k] - alpha[k] * n[j] + w[i] * along_n - square * n[i]
            bias += 2.0 * (va[i] - vb[i]) * turn + (a[i] - b[i]) * curve
    return bias


@njit
def angle_bias(elements, velocities, drift, e, work):
    """Return the second time derivative of an angle constraint's value at v_dot = 0.

    The couple m of the element is the vector with which dPhi/dt = m . w for the relative angular velocity w;
    the result is m . dw/dt + dm/dt . w.

    elements : Elements - geometry of the constraint elements
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0 [rad/s^2, m/s^2]
    e : int - index of the element
    work : ConstraintWork - its element is read, after element_values; its field motion is overwritten
    """
    kind, a, n = elements.kind[e], work.element.end_a[e], work.element.normal[e]
    da, dn, relative, change = work.motion[0], work.motion[1], work.motion[2], work.motion[3]
    m, bias = couple(kind, a, n), 0.0
    work.motion[:3] = 0.0
    for body, x, dx, sign in ((elements.body_a[e], a, da, 1.0), (elements.body_b[e], n, dn, -1.0)):
        if body < 0:
            continue
        w = velocities[body]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            dx[i] = w[j] * x[k] - w[k] * x[j]
            relative[i] += sign * w[i]
            bias += sign * drift[body, i] * m[i]
    couple_rate(kind, a, n, da, dn, change)
    for i in range(3):
        bias += relative[i] * change[i]
    return bias


@njit
def point_motion(pose, velocities, drift, body, x, velocity_out, acceleration_out):
    """Compute velocity and acceleration of the body-fixed point that is at x : (3,) in ground.

    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0 [rad/s^2, m/s^2]
    body : int - index of the body, -1 = ground
    x : (3,) - position of the point, in ground [m]
    velocity_out : (3,) - velocity of the point [m/s]
    acceleration_out : (3,) - acceleration of the point [m/s^2]
    """
    if body < 0:
        for i in range(3):
            velocity_out[i], acceleration_out[i] = 0.0, 0.0
        return
    v, a, origin = velocities[body], drift[body], pose.position[0]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rj, rk = x[j] - origin[j], x[k] - origin[k]
        velocity_out[i] = v[3 + i] + v[j] * rk - v[k] * rj
        acceleration_out[i] = a[3 + i] + a[j] * rk - a[k] * rj
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        acceleration_out[i] += v[j] * velocity_out[k] - v[k] * velocity_out[j]


@njit
def factor_rows(n, row, reach, compliance, factor_out):
    """Compute the Cholesky factor of G G' + diag(compliance); return the number of linearly dependent rows,
    which are left out.

    n : int - number of constraint rows
    row : (n, n_v) - Jacobian G
    reach : (n,) - for each row, an upper bound of the sum of squares of its entries divided by that sum
    compliance : (n,) - compliance of each row, zero for a hard one
    factor_out : (n, n) - lower Cholesky factor
    """
    n_v = row.shape[1]
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for d in range(n_v):
                s += row[i, d] * row[j, d]
            factor_out[i, j] = s
        factor_out[i, i] += compliance[i]
    return cholesky_drop(factor_out, n, DEPENDENT, reach)


@njit
def add_transposed(n, row, factor, x, scale, v):
    """Add scale G' (factor factor')^-1 x to v : (n_v,); x : (n,) is overwritten.

    n : int - number of constraint rows
    row : (n, n_v) - Jacobian G
    factor : (n, n) - lower Cholesky factor of G G'
    x : (n,) - right-hand side; becomes (factor factor')^-1 x
    scale : float - factor of what is added
    v : (n_v,) - vector that is added to
    """
    solve_lower(factor, n, x)
    solve_lower_transposed(factor, n, x)
    for k in range(n):
        for d in range(v.shape[0]):
            v[d] += scale * row[k, d] * x[k]
