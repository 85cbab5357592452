"""Coordinates of one step: tangent vectors theta at the step's start, in which the motion is an ordinary ODE.

q = q_n moved by theta (kernels/tree.integrate). For hinges, sliders, chains and translations theta-dot = v;
for the rotations of ball and free joints, whose speeds w are in the child's frame,
theta-dot = w + theta x w / 2 + (1 - (a/2) cot(a/2))/a^2 theta x (theta x w), a = |theta|
(inverse right Jacobian of SO(3): Munthe-Kaas 1998, BIT 38, 92-111).
"""

from __future__ import annotations

import math

from kernels._jit import inlined
from kernels.tree import BALL, FREE


@inlined
def local_rate(tree, theta, v, rate_out):
    """rate_out : (n_v,) = theta-dot at theta : (n_v,) and the speeds v : (n_v,)."""
    for d in range(v.shape[0]):
        rate_out[d] = v[d]
    for b in range(tree.kind.shape[0]):
        if tree.kind[b] == BALL or tree.kind[b] == FREE:
            k = tree.v_start[b + 1] - 3
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


@inlined
def local_solve(tree, v, shift, sign, x, out):
    """out : (n_v,) = (shift 1 - A)^-1 x, A = d theta-dot/d theta at theta = 0: -w~/2 for rotations, else 0.

    tree : Tree
    v : (n_v,) - speeds [rad/s, m/s]
    shift : float - [1/s]
    sign : float - +1, or -1 for the transposed matrix; out may not be x
    x : (n_v,)
    """
    inverse = 1.0 / shift
    for d in range(v.shape[0]):
        out[d] = inverse * x[d]
    for b in range(tree.kind.shape[0]):
        if tree.kind[b] == BALL or tree.kind[b] == FREE:
            k = tree.v_start[b + 1] - 3
            half = 0.5 * sign
            wx, wy, wz = half * v[k], half * v[k + 1], half * v[k + 2]
            along = wx * x[k] + wy * x[k + 1] + wz * x[k + 2]
            scale = inverse / (shift * shift + wx * wx + wy * wy + wz * wz)
            cx = wy * x[k + 2] - wz * x[k + 1]
            cy = wz * x[k] - wx * x[k + 2]
            cz = wx * x[k + 1] - wy * x[k]
            out[k] = scale * (shift * (shift * x[k] - cx) + wx * along)
            out[k + 1] = scale * (shift * (shift * x[k + 1] - cy) + wy * along)
            out[k + 2] = scale * (shift * (shift * x[k + 2] - cz) + wz * along)
