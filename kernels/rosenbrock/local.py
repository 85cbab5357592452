"""Local coordinates within one time step: tangent vectors theta from its start, in which the motion is an
ordinary differential equation.

The coordinates q are those at the start of the step, moved by theta (kernels/joints/tree.integrate). Angles
and lengths have theta-dot = v; for rotations described by quaternions see kernels/joints/turning.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined
from kernels.joints.tangent_rates import joint_local_rate, joint_local_solve


@inlined
def local_rate(tree, theta, v, rate_out):
    """Compute the time derivative of the local coordinates, rate_out : (n_v,), at theta : (n_v,) and the
    generalized speeds v : (n_v,).
    """
    for d in range(v.shape[0]):
        rate_out[d] = v[d]
    for b in range(tree.kind.shape[0]):
        joint_local_rate(tree, b, theta, v, rate_out)


@inlined
def local_solve(tree, v, shift, sign, x, out):
    """Solve (shift 1 - A) y = x with A = d theta-dot/d theta at theta = 0, and write y into out.

    A is -w~/2 for rotations with the angular velocity w (w~ is the matrix of its cross product), and zero for
    other coordinates.

    tree : Tree - joint tree of the bodies
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    shift : float - 1/(h g), with the step h and the diagonal g of the method [1/s]
    sign : float - +1 for this matrix, -1 for its transpose
    x : (n_v,) - right-hand side
    out : (n_v,) - solution; it may not be the array x
    """
    inverse = 1.0 / shift
    for d in range(v.shape[0]):
        out[d] = inverse * x[d]
    for b in range(tree.kind.shape[0]):
        joint_local_solve(tree, b, v, shift, sign, x, out)
