"""Conversions between time derivatives of steps along the tangent of the coordinates and generalized speeds.

They differ where the last three speeds of a joint are the angular velocity of one rotation, and the step is
its rotation vector.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined
from kernels.joints.kinds import counts_in_numbers, turns_at_once
from kernels.joints.turning import local_turning, local_turning_solve, turn


@inlined
def joint_speeds(tree, b, step, v, v_dot):
    """Convert the first and second time derivatives of a tangent step of joint b into generalized speeds and
    accelerations at its end, in place.

    tree : Manifold - kinds and first speeds of the joints
    b : int - index of the body that the joint carries
    step : (n_v,) - tangent step [rad, m]
    v : (n_v,) - rates of the step on entry, speeds on return [rad/s, m/s]
    v_dot : (n_v,) - second rates of the step on entry, accelerations on return [rad/s^2, m/s^2]
    """
    if turns_at_once(tree.kind[b]):
        d = tree.v_start[b + 1] - 3
        turn(step[d : d + 3], v[d : d + 3], v_dot[d : d + 3])
    elif not counts_in_numbers(tree.kind[b]):
        v[tree.v_start[b] : tree.v_start[b + 1]] = math.nan
        v_dot[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_local_rate(tree, b, theta, v, rate_out):
    """Convert the speeds of joint b, in rate_out, into the time derivative of the tangent step theta (see
    kernels/rosenbrock/local).

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    theta : (n_v,) - tangent step from the start [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    rate_out : (n_v,) - v on entry, theta-dot on return [rad/s, m/s]
    """
    if turns_at_once(tree.kind[b]):
        local_turning(tree.v_start[b + 1] - 3, theta, v, rate_out)
    elif not counts_in_numbers(tree.kind[b]):
        rate_out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_local_solve(tree, b, v, shift, sign, x, out):
    """Solve (shift 1 - A) out = x for the dofs of joint b, where A is the derivative of d theta/dt with
    respect to the tangent step theta, at theta = 0 (see kernels/rosenbrock/local).

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s, m/s]
    shift : float - shift of the matrix [1/s]
    sign : float - +1, or -1 for the transposed matrix
    x : (n_v,) - right-hand side
    out : (n_v,) - x / shift on entry, the solution on return
    """
    if turns_at_once(tree.kind[b]):
        local_turning_solve(tree.v_start[b + 1] - 3, v, shift, sign, x, out)
    elif not counts_in_numbers(tree.kind[b]):
        out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan
