"""How the second time derivative of a constraint's value changes with q and with v, at fixed v_dot.

What is fixed in a body that dof e carries, a place x with its velocity and its acceleration, changes with
q_e, beside being turned along by S_e = (s, .), by psi_dot and psi_ddot of kernels/dynamics/derivatives:
  dx = S o x,   dx_dot = s x x_dot + psi_dot o x,   dx_ddot = s x x_ddot + psi_ddot o x + 2 psi_dot x x_dot
and with v_e
  dx_dot = S o x,   dx_ddot = sway o x + 2 s x x_dot,
where (w, u) o x = u + w x x is the velocity of the place under a twist. Of a direction u is left out. With
Phi of two such places and a normal (kernels/solver/constraints) the chain rule does the rest. A dof that
moves both bodies changes nothing. Our own derivation from dV/dq and dA/dq there; d(2 w x x_dot) gathers what
is left.
"""

from __future__ import annotations

from kernels.algebra.spatial import vector_product
from kernels.compiler.jit import inlined, njit
from kernels.solver.constraints import DISTANCE

A, B, N = 0, 3, 6
"""First rows of `motion`: the end on body A, that on B, the normal; each with its first and second rate."""
N_MOTION = 9
PLACE, SPEED, ONSET, ONSET_BY_SPEED = 0, 1, 2, 3
"""Rows of `change`: of a place, its velocity and its acceleration by q; of its acceleration by v. Of its
velocity by v: PLACE."""
N_CHANGE = 8
"""Four of an end, then four of the normal."""


@njit
def element_motion(elements, pose, bodies, gravity, e, element, motion_out):
    """motion_out : (9, 3) - both ends of element e about the reference point, and its normal, with velocities
    and accelerations. No angle: those have no rows here.

    bodies : (velocities, accelerations) - (n_body, 6) each; ground accelerates against gravity
    elements : Elements
    pose : Pose
    gravity : (3,) [m/s^2]
    e : int - element
    element : ElementWork - after element_values
    """
    origin = pose.position[0]
    for first, body, x in (
        (A, elements.body_a[e], element.end_a[e]),
        (B, elements.body_b[e], element.end_b[e]),
    ):
        for i in range(3):
            motion_out[first, i] = x[i] - origin[i]
            motion_out[first + 1, i] = 0.0
            motion_out[first + 2, i] = -gravity[i]
        if body >= 0:
            carry(bodies[0][body], bodies[1][body], 1.0, motion_out[first : first + 3])
    for i in range(3):
        motion_out[N, i], motion_out[N + 1, i], motion_out[N + 2, i] = element.normal[e, i], 0.0, 0.0
    if elements.body_b[e] >= 0:
        carry(bodies[0][elements.body_b[e]], bodies[1][elements.body_b[e]], 0.0, motion_out[N : N + 3])


@njit
def carry(V, acceleration, linear, x):
    """Rows 1 and 2 of x : (3, 3) - velocity and acceleration of what lies at row 0 in a body.

    V, acceleration : (6,) - of the body
    linear : float - 1 of a place, 0 of a direction
    x : (3, 3)
    """
    for row, twist in ((1, V), (2, acceleration)):
        cx, cy, cz = vector_product(twist, x[0])
        x[row, 0] = cx + linear * twist[3]
        x[row, 1] = cy + linear * twist[4]
        x[row, 2] = cz + linear * twist[5]
    cx, cy, cz = vector_product(V, x[1])
    x[2, 0] += cx
    x[2, 1] += cy
    x[2, 2] += cz


@njit
def changes(d, twist, rates, linear, x, out):
    """out : (4, 3) - how dof d changes what is carried at x : (3, 3), with its velocity and acceleration.

    d : int - dof
    twist : (n_v, 6) - of all dofs, about the reference point
    rates : DerivativeWork - psi_dot, psi_ddot, sway
    linear : float - 1 of a place, 0 of a direction
    x : (3, 3) - rows of element_motion
    out : (4, 3) - PLACE, SPEED, ONSET, ONSET_BY_SPEED; written
    """
    for row, part in (
        (PLACE, twist[d]),
        (SPEED, rates.psi_dot[d]),
        (ONSET, rates.psi_ddot[d]),
        (ONSET_BY_SPEED, rates.sway[d]),
    ):
        cx, cy, cz = vector_product(part, x[0])
        out[row, 0] = cx + linear * part[3]
        out[row, 1] = cy + linear * part[4]
        out[row, 2] = cz + linear * part[5]
    for row, scale, part, moving in (
        (SPEED, 1.0, twist[d], x[1]),
        (ONSET, 1.0, twist[d], x[2]),
        (ONSET, 2.0, rates.psi_dot[d], x[1]),
        (ONSET_BY_SPEED, 2.0, twist[d], x[1]),
    ):
        cx, cy, cz = vector_product(part, moving)
        out[row, 0] += scale * cx
        out[row, 1] += scale * cy
        out[row, 2] += scale * cz


@njit
def onset_slopes(elements, e, twist, rates, motion, change, by_q_out, by_v_out):
    """by_q_out, by_v_out : (n_v,) - dPhi-double-dot / dq and / dv of element e at fixed v_dot.

    elements : Elements
    e : int - element; no angle
    twist : (n_v, 6) - of all dofs, about the reference point
    rates : DerivativeWork - psi_dot, psi_ddot, sway
    motion : (9, 3) - after element_motion
    change : (8, 3) - written
    by_q_out : (n_v,)
    by_v_out : (n_v,)
    """
    for d in range(by_q_out.shape[0]):
        by_q_out[d], by_v_out[d] = 0.0, 0.0
    for k in range(elements.n_path[e]):
        d, side = elements.path[e, k], elements.side[e, k]
        first = A if side > 0.0 else B
        changes(d, twist, rates, 1.0, motion[first : first + 3], change[:4])
        if side < 0.0:
            changes(d, twist, rates, 0.0, motion[N : N + 3], change[4:])
        by_q_out[d], by_v_out[d] = slopes_by(elements.kind[e], side, motion, change)


@inlined
def slopes_by(kind, side, motion, change):
    """Slopes of Phi-double-dot by q and v of one dof.

    kind : int - of the element
    side : float - +1 = the dof moves A, -1 = B, whose normal it turns
    motion : (9, 3) - of element_motion
    change : (8, 3) - of the end and of the normal
    """
    by_q, by_v = 0.0, 0.0
    for i in range(3):
        x, y = motion[A, i] - motion[B, i], motion[A + 1, i] - motion[B + 1, i]
        z = motion[A + 2, i] - motion[B + 2, i]
        moved, faster = side * change[PLACE, i], side * change[SPEED, i]
        onset, by_speed = side * change[ONSET, i], side * change[ONSET_BY_SPEED, i]
        if kind == DISTANCE:
            by_q += 2.0 * (moved * z + x * onset + 2.0 * y * faster)
            by_v += 2.0 * (x * by_speed + 2.0 * y * moved)
            continue
        n, turning, turned = motion[N, i], motion[N + 1, i], motion[N + 2, i]
        by_q += onset * n + 2.0 * faster * turning + moved * turned
        by_v += by_speed * n + 2.0 * moved * turning
        if side < 0.0:
            by_q += z * change[4 + PLACE, i] + 2.0 * y * change[4 + SPEED, i] + x * change[4 + ONSET, i]
            by_v += 2.0 * y * change[4 + PLACE, i] + x * change[4 + ONSET_BY_SPEED, i]
    return by_q, by_v
