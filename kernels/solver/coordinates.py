"""What a method asks of single coordinates: targets that draw them, and ranges that they keep.

Only coordinates that are their own tangent have them (of hinges, sliders and chains): d q / d dof = 1.

A range is kept by a projected Newton method (Bertsekas 1982, SIAM Journal on Control and Optimization 20,
221-246): a coordinate at its bound is fixed there while the slope of the Lagrangian along it, its multiplier,
presses it against the bound; with the other sign it is released. A step that would carry a coordinate beyond
a bound is solved again with the coordinate going just there, and all others with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import njit

FREE_TO_MOVE, AT_LOWER, AT_UPPER = 0, -1, 1


class CoordinateTargets(NamedTuple):
    """Objective + 1/2 W sum weight (q - target)^2, W the sum of the weights of the markers that are seen: the
    same as dividing the markers' part by W. The same coordinate at most once."""

    coordinate: np.ndarray  # (n_task,) int64 - index in q
    dof: np.ndarray  # (n_task,) int64 - index in v
    weight: np.ndarray  # (n_task,) [m^2/rad^2, 1]
    target: np.ndarray  # (n_task,) [rad, m] - may change from frame to frame


class CoordinateRanges(NamedTuple):
    """lower <= q <= upper; not for followers of couplers."""

    coordinate: np.ndarray  # (n_limit,) int64 - index in q
    dof: np.ndarray  # (n_limit,) int64 - index in v
    lower: np.ndarray  # (n_limit,) [rad, m]
    upper: np.ndarray  # (n_limit,)


@njit
def set_tasks(tasks, total, hold_out, q_hold_out):
    """hold_out : (n_v,), q_hold_out : (n_q,) - weights and targets of the tasks, where there are any.

    total : float - sum of the weights of the markers that are seen
    """
    if tasks is None:
        return
    for k in range(tasks.dof.shape[0]):
        hold_out[tasks.dof[k]] = total * tasks.weight[k]
        q_hold_out[tasks.coordinate[k]] = tasks.target[k]


@njit
def clamp(limits, q):
    """q : (n_q,) - every limited coordinate into its range."""
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        c = limits.coordinate[k]
        q[c] = min(max(q[c], limits.lower[k]), limits.upper[k])


@njit
def find_bounds(limits, q, bound_out):
    """bound_out : (n_v,) int64 - which coordinates are at a bound: FREE_TO_MOVE, AT_LOWER or AT_UPPER."""
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        x = q[limits.coordinate[k]]
        side = AT_LOWER if x <= limits.lower[k] else (AT_UPPER if x >= limits.upper[k] else FREE_TO_MOVE)
        bound_out[limits.dof[k]] = side


@njit
def bind_bounds(limits, bound, slope, fixed_out, gap_out):
    """Fix what is pressed against its bound, release the rest.

    limits : Limits, or None
    bound : (n_v,) int64 - FREE_TO_MOVE, AT_LOWER or AT_UPPER
    slope : (n_v,) - of the Lagrangian, set to zero where it presses a coordinate against its bound
    fixed_out, gap_out : (n_v,) int64, (n_v,) - 1 and no way to go there; 0 where the coordinate is released
    """
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        d = limits.dof[k]
        pressed = bound[d] != FREE_TO_MOVE and not bound[d] * slope[d] > 0.0
        fixed_out[d], gap_out[d] = int(pressed), 0.0
        if pressed:
            slope[d] = 0.0


@njit
def block(limits, q, delta, fixed, gap):
    """Fix coordinates that a step would carry beyond a bound: they go to it; returns whether there are any.

    limits : Limits, or None
    q, delta : (n_q,), (n_v,) - where the step begins, and the step
    fixed, gap : (n_v,) int64, (n_v,) - 1 and the way to the bound [rad, m], updated
    """
    if limits is None:
        return False
    found = False
    for k in range(limits.dof.shape[0]):
        d, x = limits.dof[k], q[limits.coordinate[k]]
        if fixed[d] == 1:
            continue
        if delta[d] < limits.lower[k] - x:
            fixed[d], gap[d], found = 1, limits.lower[k] - x, True
        elif delta[d] > limits.upper[k] - x:
            fixed[d], gap[d], found = 1, limits.upper[k] - x, True
    return found
