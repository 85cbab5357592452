"""Rates of tangent steps of joints: they differ from speeds where the last three speeds turn at once."""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined
from kernels.joints.kinds import counts_in_numbers, turns_at_once
from kernels.joints.turning import local_turning, local_turning_solve, turn


@inlined
def joint_speeds(tree, b, step, v, v_dot):
    """v, v_dot : (n_v,) of joint b, rates of a tangent step, become speeds and accelerations at its end.

    tree : Manifold
    b : int - body that the joint carries
    step : (n_v,) [rad, m]
    v : (n_v,) - changed [rad/s, m/s]
    v_dot : (n_v,) - changed [rad/s^2, m/s^2]
    """
    if turns_at_once(tree.kind[b]):
        d = tree.v_start[b + 1] - 3
        turn(step[d : d + 3], v[d : d + 3], v_dot[d : d + 3])
    elif not counts_in_numbers(tree.kind[b]):
        v[tree.v_start[b] : tree.v_start[b + 1]] = math.nan
        v_dot[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_local_rate(tree, b, theta, v, rate_out):
    """rate_out : (n_v,), which holds v, of joint b: theta-dot at theta (kernels/rosenbrock/local).

    tree : Tree
    b : int - body that the joint carries
    theta : (n_v,) - tangent step from the start [rad, m]
    v : (n_v,) - speeds [rad/s, m/s]
    rate_out : (n_v,) - changed
    """
    if turns_at_once(tree.kind[b]):
        local_turning(tree.v_start[b + 1] - 3, theta, v, rate_out)
    elif not counts_in_numbers(tree.kind[b]):
        rate_out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_local_solve(tree, b, v, shift, sign, x, out):
    """out : (n_v,), which holds x / shift, of joint b: (shift 1 - A)^-1 x (kernels/rosenbrock/local).

    tree : Tree
    b : int - body that the joint carries
    v : (n_v,) - speeds [rad/s, m/s]
    shift : float - [1/s]
    sign : float - +1, or -1 for the transposed matrix
    x : (n_v,)
    out : (n_v,) - changed
    """
    if turns_at_once(tree.kind[b]):
        local_turning_solve(tree.v_start[b + 1] - 3, v, shift, sign, x, out)
    elif not counts_in_numbers(tree.kind[b]):
        out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan
