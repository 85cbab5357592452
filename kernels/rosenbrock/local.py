"""Coordinates of one step: tangent vectors theta at the step's start, in which the motion is an ordinary ODE.

q = q_n moved by theta (kernels/joints/tree.integrate). For coordinates that are numbers theta-dot = v; for
rotations by quaternions see kernels/joints/turning.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined
from kernels.joints.tangent_rates import joint_local_rate, joint_local_solve


@inlined
def local_rate(tree, theta, v, rate_out):
    """rate_out : (n_v,) = theta-dot at theta : (n_v,) and the speeds v : (n_v,)."""
    for d in range(v.shape[0]):
        rate_out[d] = v[d]
    for b in range(tree.kind.shape[0]):
        joint_local_rate(tree, b, theta, v, rate_out)


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
        joint_local_solve(tree, b, v, shift, sign, x, out)
