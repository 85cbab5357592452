"""Rotations of joints by unit quaternions: steps R <- R exp(theta) by a rotation vector theta, and the
angular velocity w in the child's frame as speeds.

Where theta changes with theta' and theta'', the angular velocity in the child's frame is
  w = J theta',  J = sum over k of (-1)^k theta^k / (k + 1)!  (theta as the matrix of its cross product)
and its rate is J theta'' + J' theta' (Chirikjian 2012, Stochastic Models, Information Theory, and Lie Groups
2, section 10.7.1: the right Jacobian). Conversely (Munthe-Kaas 1998, BIT 38, 92-111)
  theta' = w + theta x w / 2 + (1 - (a/2) cot(a/2))/a^2 theta x (theta x w), a = |theta|.
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy_frame
from kernels.algebra.rotation import multiply, quaternion_step, quaternion_to_matrix
from kernels.algebra.spatial import add_scaled_cross, cross, crossed, vector_product
from kernels.compiler.jit import inlined, njit

N_TERM = 14
"""Terms of the series of J: their error is 1e-16 up to half a turn."""


@njit
def turn_by(frame, quaternion, work):
    """Rotate frame : (3, 3) in place: it becomes frame R, with the rotation matrix R of a quaternion. Two
    matrices of work are overwritten.
    """
    quaternion_to_matrix(quaternion, work[0])
    copy_frame(frame, work[1])
    multiply(work[1], work[0], frame)


@inlined
def turned_axes(frame, x, v, pose_out):
    """Write the axes of the three dofs of a rotation, from dof v on, which are the columns of frame : (3, 3),
    and their common centre x : (3,), into pose_out.
    """
    for d in range(3):
        for i in range(3):
            pose_out.axis[v + d, i] = frame[i, d]
            pose_out.centre[v + d, i] = x[i]


@inlined
def turning_step(q, k, delta, v, scale, q_out):
    """Write the quaternion from q[k] on, rotated by scale * delta[v : v + 3], into q_out[k : k + 4].

    q : (n_q,) - generalized coordinates
    k, v : int - first coordinate of the quaternion, and first of the three speeds
    delta : (n_v,) - step along the tangent of q [rad]
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    quaternion_step(
        q[k : k + 4], scale * delta[v], scale * delta[v + 1], scale * delta[v + 2], q_out[k : k + 4]
    )


@inlined
def turning_jerks(tree, twist, velocity, b, own):
    """Write two terms from which derivatives of accelerations are formed, for the last three dofs of joint b,
    the simultaneous rotations of a ball or free joint: own.psi_ddot and own.psi_s_dot.

    With V_i and A_i, the spatial velocity and acceleration of a body i that dof e moves, and S_e, the twist
    of the dof, they are defined by
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e = psi_dot_e + dS_e/dt;
    psi_dot has been written by twist_rates. Source: kernels/dynamics/derivatives.py.

    tree : Tree - the joint tree
    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    velocity : (6,) - spatial velocity of the body that the joint carries [rad/s, m/s]
    b : int - index of the body that the joint carries
    own : DerivativeWork - results, written; its field `before` contains the spatial velocity and acceleration
        before these three dofs
    """
    V, A, stop = own.before[0], own.before[1], tree.v_start[b + 1]
    for d in range(stop - 3, stop):
        S, psi_dot, psi_s_dot = twist[d], own.psi_dot[d], own.psi_s_dot[d]
        cross(velocity, S, psi_s_dot)
        for i in range(6):
            psi_s_dot[i] += psi_dot[i]
        cross(A, S, own.psi_ddot[d])
        add_scaled_cross(1.0, V, psi_dot, own.psi_ddot[d])


@njit
def order_turning(twist, start, factor, wrench, H):
    """Add the term - (S_i x S_j) . w / 2 to a Hessian H, with respect to steps of the coordinates, for pairs
    of three simultaneous rotations. H was computed as if rotation i came before j; the sum is the mean of
    both orders. S are the twists, w is the wrench.

    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    start : int - first of the three dofs
    factor : float - factor of the wrench [1]
    wrench : (6,) - moment about the origin of body 0 [N m] and force [N]
    H : (n_v, n_v) - second derivative along the tangent, of which the lower triangle is changed
    """
    for i in range(start, start + 3):
        for j in range(i + 1, start + 3):
            H[j, i] -= 0.5 * factor * crossed(twist[i], twist[j], wrench)


@njit
def local_turning(k, theta, v, rate_out):
    """Add theta' - w to rate_out: the time derivative of a rotation vector theta, less its angular velocity
    w.

    This is done for the dofs k to k + 2; rate_out contains w before and theta' afterwards.

    k : int - first of the three dofs
    theta : (n_v,) - rotation vector from the start, among other dofs [rad]
    v : (n_v,) - generalized speeds, w among them [rad/s]
    rate_out : (n_v,) - theta' [rad/s], changed
    """
    x, y, z = theta[k], theta[k + 1], theta[k + 2]
    wx, wy, wz = v[k], v[k + 1], v[k + 2]
    square = x * x + y * y + z * z
    if square < 1e-4:
        factor = (1.0 + square / 60.0) / 12.0
    else:
        half = 0.5 * math.sqrt(square)
        factor = (1.0 - half / math.tan(half)) / square
    cx, cy, cz = y * wz - z * wy, z * wx - x * wz, x * wy - y * wx
    rate_out[k] += 0.5 * cx + factor * (y * cz - z * cy)
    rate_out[k + 1] += 0.5 * cy + factor * (z * cx - x * cz)
    rate_out[k + 2] += 0.5 * cz + factor * (x * cy - y * cx)


@njit
def local_turning_solve(k, v, shift, sign, x, out):
    """Solve (shift 1 - A) y = x for the rotation of dofs k to k + 2, and write y into out.

    A is the derivative of theta', the rate of the rotation vector theta, with respect to theta at theta = 0;
    it is -w~/2, with the matrix w~ of the cross product with the angular velocity.

    k : int - first of the three dofs
    v : (n_v,) - generalized speeds [rad/s, m/s]
    shift : float - shift of the matrix [1/s]
    sign : float - +1, or -1 for the transposed matrix
    x : (n_v,) - right-hand side
    out : (n_v,) - solution, written; not x itself
    """
    half, inverse = 0.5 * sign, 1.0 / shift
    wx, wy, wz = half * v[k], half * v[k + 1], half * v[k + 2]
    along = wx * x[k] + wy * x[k + 1] + wz * x[k + 2]
    scale = inverse / (shift * shift + wx * wx + wy * wy + wz * wz)
    cx = wy * x[k + 2] - wz * x[k + 1]
    cy = wz * x[k] - wx * x[k + 2]
    cz = wx * x[k + 1] - wy * x[k]
    out[k] = scale * (shift * (shift * x[k] - cx) + wx * along)
    out[k + 1] = scale * (shift * (shift * x[k + 1] - cy) + wy * along)
    out[k + 2] = scale * (shift * (shift * x[k + 2] - cz) + wz * along)


@njit
def turn(theta, w, w_dot):
    """Convert the rates of a rotation vector into the angular velocity and its rate, in place.

    The angular velocity is J theta', with J = 1 - A theta + B theta^2 (theta as the matrix of its cross
    product), A = sum (-s)^k/(2k+2)!, B = sum (-s)^k/(2k+3)! and s = |theta|^2.

    theta : (3,) - rotation vector [rad]
    w : (3,) - theta' on entry, the angular velocity in the child's frame on return [rad/s]
    w_dot : (3,) - theta'' on entry, the rate of the angular velocity on return [rad/s^2]
    """
    s = theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]
    A, B, A_slope, B_slope = 0.0, 0.0, 0.0, 0.0  # slopes in s
    for k in range(N_TERM - 1, -1, -1):  # Horner's rule, each factor (2k+1)(2k+2) or (2k+2)(2k+3) pulled out
        A_slope = -(A + s * A_slope) / ((2 * k + 3) * (2 * k + 4))
        B_slope = -(B + s * B_slope) / ((2 * k + 4) * (2 * k + 5))
        A = 1.0 - s * A / ((2 * k + 3) * (2 * k + 4))
        B = 1.0 - s * B / ((2 * k + 4) * (2 * k + 5))
    A, A_slope, B, B_slope = 0.5 * A, 0.5 * A_slope, B / 6.0, B_slope / 6.0
    s_rate = 2.0 * (theta[0] * w[0] + theta[1] * w[1] + theta[2] * w[2])
    c, e = vector_product(theta, w), vector_product(theta, w_dot)
    d, f, g = vector_product(theta, c), vector_product(theta, e), vector_product(w, c)
    A_rate, B_rate = A_slope * s_rate, B_slope * s_rate
    for i in range(3):
        w_dot[i] += -A * e[i] + B * f[i] - A_rate * c[i] + B_rate * d[i] + B * g[i]
        w[i] += -A * c[i] + B * d[i]
