"""Discs and balls that roll on planes without slipping: constraints of velocity, not of position.

The rim of a disc touches a plane at its lowest point x = c + R e, e = -(m - (m.n) n) / |.|, with the plane's
normal m and the disc's axis n; a ball, n = 0, touches it at c - R m. The material points of both bodies at x
have the same velocity:
  m . (v_a - v_b) = 0     time derivative of the gap m . (x - p), which is a constraint of position
  t . (v_a - v_b) = 0     along both directions t of the plane: G(q) u = 0, time derivative of no Phi(q)
As x moves along both bodies, the time derivative of t . (v_a - v_b) at v_dot = 0 is
  t . (a_a + w_a x (x' - v_a) - a_b - w_b x (x' - v_b)) + t' . (v_a - v_b).
The rows come after those of elements and couplers: first the gaps of all, then the two slips of each. A
function that corrects q so that the values of constraints become zero can correct the gaps only.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.dynamics.constraints import point_motion
from kernels.joints.tree import along, point_in_ground
from kernels.solver.constraints import direction_in_ground

FLAT = 1e-9
"""Sine of the angle between axis and normal below which a disc counts as lying flat, without a lowest point.
"""
CONTACT, NORMAL, FIRST, SECOND, OUTWARDS = 0, 1, 2, 3, 4  # rows of ConstraintWork.roll
GAPS, SLIPS = (NORMAL, FIRST), (FIRST, OUTWARDS)
"""Range of directions, first included and last excluded: of the constraints of position (gaps), and of those
of velocity alone (slips)."""


class Rolls(NamedTuple):
    """Round bodies A that roll on planes of bodies B (-1 = ground)."""

    body_a: Annotated[np.ndarray, Integers("n_roll")]
    body_b: Annotated[np.ndarray, Integers("n_roll")]
    centre: Annotated[np.ndarray, Floats("n_roll", 3)]  # in A [m]
    axis: Annotated[np.ndarray, Floats("n_roll", 3)]  # of a disc, unit, in A; zero for a ball
    radius: Annotated[np.ndarray, Floats("n_roll")]  # [m]
    point: Annotated[np.ndarray, Floats("n_roll", 3)]  # of the plane, in B [m]
    # rows: unit normal towards A, two directions square to it, in B
    plane: Annotated[np.ndarray, Floats("n_roll", 3, 3)]


def no_rolls() -> Rolls:
    """Return the Rolls of a model without rolling bodies, with arrays of the same types as with them."""
    return allocate(Rolls, n_roll=0)


@njit
def rolling_rows(tree, rolls, pose, directions, n, work):
    """Write the constraint rows (value and Jacobian) of all rolling bodies along the given directions; return
    the index of the row after the last.

    Along the normal of the plane the value of a row is the gap; along directions in the plane, where only
    velocities are constrained, it is 0.

    tree : Tree - joint tree of the bodies
    rolls : Rolls - None where nothing rolls
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    directions : (2,) int - GAPS: the normal, or SLIPS: both directions in the plane
    n : int - first row
    work : ConstraintWork - its value, reach, row and roll are written
    """
    if rolls is None:
        return n
    for r in range(rolls.radius.shape[0]):
        gap = touch(rolls, pose, r, work.roll)
        for k in range(directions[0], directions[1]):
            work.value[n], work.reach[n] = gap if k == NORMAL else 0.0, 1.0
            rolling_row(tree, rolls, pose, r, work.roll[CONTACT], work.roll[k], work.row[n])
            n += 1
    return n


@njit
def touch(rolls, pose, r, roll_out):
    """Compute the contact point and the directions of rolling body r in ground, into rows CONTACT to OUTWARDS
    of roll_out.

    Return the gap between the body and the plane [m], NaN for a disc that lies flat.
    """
    a, b = rolls.body_a[r], rolls.body_b[r]
    x, m, e = roll_out[CONTACT], roll_out[NORMAL], roll_out[OUTWARDS]
    for k in range(3):
        direction_in_ground(pose, b, rolls.plane[r, k], roll_out[NORMAL + k])
    direction_in_ground(pose, a, rolls.axis[r], e)
    cosine = dot(m, e)
    size = 0.0
    for i in range(3):
        e[i] = cosine * e[i] - m[i]
        size += e[i] * e[i]
    size = math.sqrt(size)
    point_in_ground(pose, b, rolls.point[r], roll_out[OUTWARDS + 1])
    point_in_ground(pose, a, rolls.centre[r], x)
    gap = 0.0
    for i in range(3):
        e[i] = e[i] / size if size > FLAT else math.nan
        x[i] += rolls.radius[r] * e[i]
        gap += m[i] * (x[i] - roll_out[OUTWARDS + 1, i])
    return gap


@njit
def rolling_row(tree, rolls, pose, r, x, t, row_out):
    """Compute the row of the Jacobian of a rolling contact: the velocity of body A relative to body B along a
    direction t at the contact point, per unit of each generalized speed.

    tree : Tree - joint tree of the bodies
    rolls : Rolls - round bodies that roll on planes
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    r : int - index of the roll
    x : (3,) - contact point, in ground [m]
    t : (3,) - direction, in ground [1]
    row_out : (n_v,) - the row of the Jacobian
    """
    origin = pose.position[0]
    rx, ry, rz = x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]
    mx, my, mz = ry * t[2] - rz * t[1], rz * t[0] - rx * t[2], rx * t[1] - ry * t[0]
    for d in range(row_out.shape[0]):
        row_out[d] = 0.0
    for body, sign in ((rolls.body_a[r], 1.0), (rolls.body_b[r], -1.0)):
        d = tree.last_dof[body] if body >= 0 else -1
        while d >= 0:
            row_out[d] += sign * along(pose.twist, d, mx, my, mz, t[0], t[1], t[2])
            d = tree.dof_parent[d]


@njit
def rolling_bias(rolls, pose, velocities, drift, n, work):
    """Write the bias of all rolling constraints into work.bias, from row n on: the time derivatives, at v_dot
    = 0, of the relative velocities along the normal (gaps) and in the plane (slips).

    rolls : Rolls - None where nothing rolls
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0, without gravity
    n : int - first row
    work : ConstraintWork - its bias, roll and motion are written
    """
    if rolls is None:
        return
    n_roll = rolls.radius.shape[0]
    for r in range(n_roll):
        touch(rolls, pose, r, work.roll)
        contact_rate(rolls, pose, velocities, drift, r, work)
        x, v = work.roll[CONTACT], work.motion
        point_motion(pose, velocities, drift, rolls.body_a[r], x, v[0], v[1])
        point_motion(pose, velocities, drift, rolls.body_b[r], x, v[2], v[3])
        work.bias[n + r] = bias_along(velocities, rolls.body_a[r], rolls.body_b[r], work.roll[NORMAL], work)
        for k in range(2):
            t, row = work.roll[FIRST + k], n + n_roll + 2 * r + k
            work.bias[row] = bias_along(velocities, rolls.body_a[r], rolls.body_b[r], t, work)


@njit
def contact_rate(rolls, pose, velocities, drift, r, work):
    """Compute the velocity with which the contact point moves in ground, x' = c' + R e', in work.roll[9] :
    (3,); c is the centre, R the radius, e the unit vector from the centre to the contact.

    rolls : Rolls - round bodies that roll on planes
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    drift : (n_body, 6) - spatial accelerations of the bodies at v_dot = 0
    r : int - index of the roll
    work : ConstraintWork - after touch; rows 5 to 8 of its roll are overwritten
    """
    a, b, roll = rolls.body_a[r], rolls.body_b[r], work.roll
    m, e, n, rate = roll[NORMAL], roll[OUTWARDS], roll[5], roll[9]
    m_rate, n_rate, centre = roll[6], roll[7], roll[8]
    direction_in_ground(pose, a, rolls.axis[r], n)
    spun(velocities, b, m, m_rate)
    spun(velocities, a, n, n_rate)
    along_n, change, size = 0.0, 0.0, 0.0
    for i in range(3):
        along_n += m[i] * n[i]
        change += m_rate[i] * n[i] + m[i] * n_rate[i]
    for i in range(3):
        size += (m[i] - along_n * n[i]) ** 2
    outwards = 0.0
    for i in range(3):
        rate[i] = -(m_rate[i] - change * n[i] - along_n * n_rate[i]) / math.sqrt(size)
        outwards += rate[i] * e[i]
    point_in_ground(pose, a, rolls.centre[r], centre)
    point_motion(pose, velocities, drift, a, centre, m_rate, n_rate)
    for i in range(3):
        rate[i] = m_rate[i] + rolls.radius[r] * (rate[i] - outwards * e[i])


@njit
def spun(velocities, body, x, x_rate_out):
    """Write the rate of change w x x of a direction x : (3,) that is fixed in a body; ground (-1) is at
    rest."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        x_rate_out[i] = velocities[body, j] * x[k] - velocities[body, k] * x[j] if body >= 0 else 0.0


@njit
def bias_along(velocities, a, b, t, work):
    """Return the time derivative of t . (v_a - v_b) at v_dot = 0, with the velocities v_a and v_b of both
    bodies at the contact point; called after contact_rate.

    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    a, b : int - indices of bodies A and B
    t : (3,) - direction fixed in body B, in ground
    work : ConstraintWork - its motion is read; rows 5 to 7 of its roll are overwritten
    """
    roll = work.roll
    slide, carried, t_rate, rate = roll[5], roll[6], roll[7], roll[9]
    va, aa, vb, ab = work.motion[0], work.motion[1], work.motion[2], work.motion[3]
    spun(velocities, b, t, t_rate)
    bias = 0.0
    for i in range(3):
        bias += t_rate[i] * (va[i] - vb[i]) + t[i] * (aa[i] - ab[i])
    for body, v, sign in ((a, va, 1.0), (b, vb, -1.0)):
        for i in range(3):
            slide[i] = rate[i] - v[i]
        spun(velocities, body, slide, carried)
        for i in range(3):
            bias += sign * t[i] * carried[i]
    return bias


@njit
def relieve_rolling(rolls, pose, multiplier, n, work, reaction):
    """Subtract the contact forces between planes and the bodies that roll on them from the joint reactions of
    both bodies.

    rolls : Rolls - None where nothing rolls
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    multiplier : (n_row,) - multipliers of the constraints; those of the rolls begin at n
    n : int - first row of the rolls
    work : ConstraintWork - its roll is overwritten
    reaction : (n_body, 6) - moment about the origin of body 0 and force on each body, updated
    """
    if rolls is None:
        return
    n_roll = rolls.radius.shape[0]
    for r in range(n_roll):
        touch(rolls, pose, r, work.roll)
        x, origin, push = work.roll[CONTACT], pose.position[0], work.roll[5]
        for i in range(3):
            push[i] = multiplier[n + r] * work.roll[NORMAL, i]
            for k in range(2):
                push[i] += multiplier[n + n_roll + 2 * r + k] * work.roll[FIRST + k, i]
        for body, sign in ((rolls.body_a[r], -1.0), (rolls.body_b[r], 1.0)):
            if body >= 0:
                for i in range(3):
                    j, k = (i + 1) % 3, (i + 2) % 3
                    reaction[body, i] += sign * ((x[j] - origin[j]) * push[k] - (x[k] - origin[k]) * push[j])
                    reaction[body, 3 + i] += sign * push[i]
