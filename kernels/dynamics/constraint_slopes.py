"""Derivatives of the second time derivative of a constraint's value Phi with respect to q and v, at fixed
v_dot.

Let p be the position of a point that is fixed in a body carried by dof e, and S the twist of the dof, with
the angular part s. With V and A, the spatial velocity and acceleration of the body, psi_dot and psi_ddot are
defined by dV/dq_e = psi_dot + S x V and dA/dq_e = psi_ddot + psi_dot x V + S x A, and psi_s_dot = psi_dot +
dS/dt (kernels/dynamics/derivatives); psi_dot also stands for its angular part. The derivatives of p, its
velocity and its acceleration are, with the cross product x, with respect to q_e,
  dp = S o p,   dp_dot = s x p_dot + psi_dot o p,   dp_ddot = s x p_ddot + psi_ddot o p + 2 psi_dot x p_dot
and, with respect to v_e,
  dp_dot = S o p,   dp_ddot = psi_s_dot o p + 2 s x p_dot,
where (w, u) o p = u + w x p is the velocity of the point under a twist. For a direction in place of a point,
u is left out. The chain rule gives the derivatives of Phi, which is a function of two such points and a
normal (kernels/solver/constraints). A dof that moves both bodies changes nothing. This is our own derivation.
"""

from __future__ import annotations

from kernels.algebra.spatial import vector_product
from kernels.compiler.jit import inlined, njit
from kernels.solver.constraints import DISTANCE

A, B, N = 0, 3, 6
"""First rows of `motion`: of the end on body A, of the end on body B and of the normal. Each is followed by
its first and second time derivative."""
N_MOTION = 9
PLACE, SPEED, ONSET, ONSET_BY_SPEED = 0, 1, 2, 3
"""Rows of `change`: derivative by q of a point, of its velocity and of its acceleration; derivative of its
acceleration by v. The derivative of its velocity by v is the row PLACE."""
N_CHANGE = 8
"""Four rows for an end, then four for the normal."""


@njit
def element_motion(elements, pose, bodies, gravity, e, element, motion_out):
    """Compute positions, velocities and accelerations of both end points of constraint element e, and the
    normal with its derivatives.

    Elements that constrain an angle are not supported.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    bodies : (velocities, accelerations) - spatial vectors of the bodies, (n_body, 6) each; accelerations
        contain gravity, as if ground accelerated by -gravity
    gravity : (3,) - in ground axes [m/s^2]
    e : int - index of the element
    element : ElementWork - after element_values
    motion_out : (9, 3) - of the end on body A, the end on body B and the normal, three rows each: position
        relative to the origin of body 0 (or direction), first and second time derivative
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
    """Compute the velocity and the acceleration of a point or direction that is fixed in a body.

    V, acceleration : (6,) - spatial velocity and spatial acceleration of the body
    linear : float - 1 for a point, 0 for a direction
    x : (3, 3) - row 0 holds the position or direction; its velocity is written into row 1, its acceleration
      into row 2
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
    """Compute the derivatives of a point or direction, and of its velocity and acceleration, with respect to
    coordinate and speed of a dof that carries it.

    d : int - index of the dof
    twist : (n_v, 6) - twists of all dofs, about the origin of body 0
    rates : DerivativeWork - its psi_dot, psi_ddot and psi_s_dot (see the module) of the dof are read
    linear : float - 1 for a point, 0 for a direction
    x : (3, 3) - position or direction with its velocity and acceleration, rows of element_motion
    out : (4, 3) - derivatives of position, velocity and acceleration by the coordinate, and of acceleration
        by the speed; written
    """
    for row, part in (
        (PLACE, twist[d]),
        (SPEED, rates.psi_dot[d]),
        (ONSET, rates.psi_ddot[d]),
        (ONSET_BY_SPEED, rates.psi_s_dot[d]),
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
    """Compute the derivatives of the second time derivative of the value Phi of constraint element e with
    respect to q and v, at fixed v_dot.

    elements : Elements - geometry of the constraint elements
    e : int - index of the element, which is not an angle
    twist : (n_v, 6) - twists of all dofs, about the origin of body 0
    rates : DerivativeWork - its psi_dot, psi_ddot and psi_s_dot (see the module) are read
    motion : (9, 3) - position, velocity and acceleration of the end on body A, of the end on body B, and of
        the normal
    change : (8, 3) - working space, overwritten
    by_q_out : (n_v,) - dPhi-double-dot/dq
    by_v_out : (n_v,) - dPhi-double-dot/dv
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
    """Return the derivatives of the second time derivative of a constraint's value with respect to the
    coordinate and to the speed of one dof, at fixed v_dot.

    kind : int - kind of the element
    side : float - +1 where the dof moves body A, -1 where it moves body B and with it the normal
    motion : (9, 3) - position, velocity and acceleration of the end on body A, of the end on body B, and of
        the normal
    change : (8, 3) - derivatives of the end point, then of the normal, in the rows PLACE to ONSET_BY_SPEED
        each
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
