"""Where filtered coordinates live: plain numbers, and the quaternions of balls and free joints.

A filter is linear in tangent steps from a base pose. A step phi of a ball turns R_base into
R = R_base exp(phi); with phi moving at phi', phi'' the angular velocity in the child's frame is
  w = J phi',  J = sum over k of (-1)^k phi^k / (k + 1)!  (phi as the matrix of its cross product)
and its rate J phi'' + J' phi' (Chirikjian 2012, Stochastic Models, Information Theory, and Lie Groups 2,
section 10.7.1: the right Jacobian).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import entry, njit
from kernels.tree import BALL, CHAIN, FREE, Tree, difference, integrate

OK, SETTLING, RESTARTED, IGNORED = 0, 1, 2, 3
"""Status of a frame. SETTLING: too soon after a start for the stated delay; RESTARTED: the first frame, or
one after too long a gap, taken as at rest; IGNORED: not finite, or not after the last one: nothing was
changed."""
N_TERM = 14
"""Terms of the series of J: 1e-16 up to a half turn."""


class Manifold(NamedTuple):
    """The part of a kernels/tree.Tree that tells how coordinates step."""

    parent: np.ndarray  # (n_body,) int64 - only counted
    kind: np.ndarray  # (n_body,) int64
    q_start: np.ndarray  # (n_body,) int64
    v_start: np.ndarray  # (n_body + 1,) int64


class Rates(NamedTuple):
    """Filtered coordinates with their speeds and accelerations, all at one time before now."""

    q: np.ndarray  # (n_q,)
    v: np.ndarray  # (n_v,)
    v_dot: np.ndarray  # (n_v,)


def manifold_of(tree: Tree) -> Manifold:
    """The coordinates of a tree."""
    return Manifold(tree.parent, tree.kind, tree.q_start, tree.v_start)


def plain(n: int) -> Manifold:
    """n numbers that are no joint's, as the forces and moments of plates."""
    return Manifold(*(np.array(rows, np.int64) for rows in ([-1], [CHAIN], [0], [0, n])))


def new_rates(n_q: int, n_v: int) -> Rates:
    """Allocate Rates."""
    return Rates(np.zeros(n_q), np.zeros(n_v), np.zeros(n_v))


@njit
def is_usable(t, q):
    """Whether time and coordinates : (n_q,) are finite."""
    usable = np.isfinite(t)
    for i in range(q.shape[0]):
        usable = usable and np.isfinite(q[i])
    return usable


@njit
def at_rest(q, q_out, v_out, v_dot_out):
    """q_out : (n_q,) = q, v_out, v_dot_out : (n_v,) = 0: a pose that does not move."""
    for i in range(q.shape[0]):
        q_out[i] = q[i]
    for d in range(v_out.shape[0]):
        v_out[d], v_dot_out[d] = 0.0, 0.0


@entry
def reflect(manifold, centre, q, step, q_out):
    """q_out : (n_q,) - the pose opposite to q as seen from centre; step : (n_v,) is working space.

    manifold : Manifold
    centre, q : (n_q,) - two poses
    """
    difference(manifold, centre, q, step)
    integrate(manifold, centre, step, -1.0, q_out)


@njit
def to_child_frames(manifold, step, v, v_dot):
    """v, v_dot : (n_v,), rates of the tangent step : (n_v,), become speeds and accelerations at its end."""
    for b in range(manifold.kind.shape[0]):
        d, kind = manifold.v_start[b], manifold.kind[b]
        if kind == BALL:
            turn(step[d : d + 3], v[d : d + 3], v_dot[d : d + 3])
        elif kind == FREE:
            turn(step[d + 3 : d + 6], v[d + 3 : d + 6], v_dot[d + 3 : d + 6])


@njit
def turn(phi, w, w_dot):
    """w, w_dot : (3,), the rates of the rotation vector phi : (3,), become angular velocity and its rate.

    With A = sum (-s)^k/(2k+2)!, B = sum (-s)^k/(2k+3)!, s = |phi|^2: J = 1 - A phi + B phi^2.
    """
    s = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    A, B, A_slope, B_slope = 0.0, 0.0, 0.0, 0.0  # slopes in s
    for k in range(N_TERM - 1, -1, -1):  # Horner's rule, each factor (2k+1)(2k+2) or (2k+2)(2k+3) pulled out
        A_slope = -(A + s * A_slope) / ((2 * k + 3) * (2 * k + 4))
        B_slope = -(B + s * B_slope) / ((2 * k + 4) * (2 * k + 5))
        A = 1.0 - s * A / ((2 * k + 3) * (2 * k + 4))
        B = 1.0 - s * B / ((2 * k + 4) * (2 * k + 5))
    A, A_slope, B, B_slope = 0.5 * A, 0.5 * A_slope, B / 6.0, B_slope / 6.0
    s_rate = 2.0 * (phi[0] * w[0] + phi[1] * w[1] + phi[2] * w[2])
    cx, cy, cz = crossed(phi, w[0], w[1], w[2])
    dx, dy, dz = crossed(phi, cx, cy, cz)
    ex, ey, ez = crossed(phi, w_dot[0], w_dot[1], w_dot[2])
    fx, fy, fz = crossed(phi, ex, ey, ez)
    gx, gy, gz = crossed(w, cx, cy, cz)
    A_rate, B_rate = A_slope * s_rate, B_slope * s_rate
    w_dot[0] += -A * ex + B * fx - A_rate * cx + B_rate * dx + B * gx
    w_dot[1] += -A * ey + B * fy - A_rate * cy + B_rate * dy + B * gy
    w_dot[2] += -A * ez + B * fz - A_rate * cz + B_rate * dz + B * gz
    w[0] += -A * cx + B * dx
    w[1] += -A * cy + B * dy
    w[2] += -A * cz + B * dz


@njit
def crossed(a, x, y, z):
    """The three components of a X (x, y, z), a : (3,)."""
    return a[1] * z - a[2] * y, a[2] * x - a[0] * z, a[0] * y - a[1] * x
