"""Targets and ranges that a method sets for single coordinates, and how the solver keeps coordinates within
their ranges.

Only coordinates of hinges, sliders and chains can have them, as there the coordinate changes as much as the
dof (dq/d dof = 1).

Ranges are enforced by a projected Newton method (Bertsekas 1982, SIAM Journal on Control and Optimization 20,
221-246). A coordinate at its bound is fixed as long as a step against the gradient of the Lagrangian would
carry it beyond the bound. It is released when the derivative of the Lagrangian along the coordinate has the
opposite sign. A step that would carry a coordinate beyond a bound is solved again with that coordinate ending
at the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import njit

FREE_TO_MOVE, AT_LOWER, AT_UPPER = 0, -1, 1


class CoordinateTargets(NamedTuple):
    """Targets of coordinates: they add 1/2 W sum weight (q - target)^2 to the objective.

    W is the sum of the weights of the visible markers. Multiplying the targets by W has the same effect as
    dividing the markers' part of the objective by W. A coordinate appears at most once.
    """

    coordinate: np.ndarray  # (n_task,) int64 - index in q
    dof: np.ndarray  # (n_task,) int64 - index in v
    weight: np.ndarray  # (n_task,) [m^2/rad^2, 1]
    target: np.ndarray  # (n_task,) [rad, m] - may change from frame to frame


class CoordinateRanges(NamedTuple):
    """Ranges lower <= q <= upper of single coordinates; coordinates that couplers give have none."""

    coordinate: np.ndarray  # (n_limit,) int64 - index in q
    dof: np.ndarray  # (n_limit,) int64 - index in v
    lower: np.ndarray  # (n_limit,) [rad, m]
    upper: np.ndarray  # (n_limit,)


@njit
def set_tasks(tasks, total, hold_out, q_hold_out):
    """Write the weights and targets of the coordinates that have targets into hold_out and q_hold_out, from
    which the terms 1/2 hold (q - q_hold)^2 of the objective are computed.

    tasks : CoordinateTargets - None without targets, then nothing is written
    total : float - sum of the weights of the visible markers, by which the weights are multiplied
    hold_out : (n_v,) - weights; only entries of those coordinates are written
    q_hold_out : (n_q,) - targets [rad, m]; only entries of those coordinates are written
    """
    if tasks is None:
        return
    for k in range(tasks.dof.shape[0]):
        hold_out[tasks.dof[k]] = total * tasks.weight[k]
        q_hold_out[tasks.coordinate[k]] = tasks.target[k]


@njit
def clamp(limits, q):
    """Limit every coordinate of q : (n_q,) that has a range to this range; limits : CoordinateRanges or
    None.
    """
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        c = limits.coordinate[k]
        q[c] = min(max(q[c], limits.lower[k]), limits.upper[k])


@njit
def find_bounds(limits, q, bound_out):
    """Write into bound_out : (n_v,) int64 whether each coordinate with a range is at a bound: FREE_TO_MOVE,
    AT_LOWER or AT_UPPER.

    limits : CoordinateRanges or None; q : (n_q,) - generalized coordinates [rad, m].
    """
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        x = q[limits.coordinate[k]]
        side = AT_LOWER if x <= limits.lower[k] else (AT_UPPER if x >= limits.upper[k] else FREE_TO_MOVE)
        bound_out[limits.dof[k]] = side


@njit
def bind_bounds(limits, bound, slope, fixed_out, gap_out):
    """Fix the coordinates at a bound that a step against the gradient would carry beyond it, and release the
    others.

    limits : CoordinateRanges, or None
    bound : (n_v,) int64 - FREE_TO_MOVE, AT_LOWER or AT_UPPER
    slope : (n_v,) - gradient of the Lagrangian; set to zero for the coordinates that become fixed
    fixed_out : (n_v,) int64 - 1 = fixed, 0 = released, written
    gap_out : (n_v,) - step of a fixed coordinate to its bound, written as 0
    """
    if limits is None:
        return
    for k in range(limits.dof.shape[0]):
        d = limits.dof[k]
        pressed = bound[d] != FREE_TO_MOVE and not bound[d] * slope[d] > 0.0
        pressed = pressed or limits.lower[k] == limits.upper[k]  # both bounds are the same: none releases it
        fixed_out[d], gap_out[d] = int(pressed), 0.0
        if pressed:
            slope[d] = 0.0


@njit
def block(limits, q, delta, fixed, gap):
    """Fix the coordinates that a step would carry beyond a bound, so that they end at the bound; return
    whether there are any.

    limits : CoordinateRanges, or None
    q, delta : (n_q,), (n_v,) - pose at which the step begins, and the step [rad, m]
    fixed : (n_v,) int64 - 1 = fixed, updated
    gap : (n_v,) - step of a fixed coordinate to its bound [rad, m], updated
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
