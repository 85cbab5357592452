"""Straight lines of force between two points: ligaments and spring-dampers.

With g = (a x n, n) for the end a and the direction n from b to a, the length changes by g . xi, the wrench
on A is -F g, and g itself changes by G xi, G = [b~; 1] T [-a~, 1], T = (1 - n n')/L.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, njit
from kernels.ligament import line_force
from kernels.tree import point_in_ground

LENGTH, RATE, TENSION = 0, 1, 2
N_LINE_OUT = 3


class Lines(NamedTuple):
    """Ligaments and springs, by the pair of bodies that they join."""

    pair: np.ndarray  # (n_line,) int64
    law: np.ndarray  # (n_line,) int64 - of kernels/ligament
    point_a: np.ndarray  # (n_line, 3) - on body A of the pair [m]
    point_b: np.ndarray  # (n_line, 3)
    parameter: np.ndarray  # (n_line, N_LIGAMENT) - of kernels/ligament


class LineWork(NamedTuple):
    """Results and working space of the lines."""

    out: np.ndarray  # (n_line, N_LINE_OUT) - length [m], its rate [m/s], tension [N]
    ends: np.ndarray  # (5, 3)


def new_line_work(n_line: int) -> LineWork:
    """Allocate a LineWork."""
    return LineWork(np.zeros((n_line, N_LINE_OUT)), np.zeros((5, 3)))


@inlined
def add_lines(pairs, lines, pose, derive, work, pair_work):
    """Wrenches of all lines; with derive also their derivatives and work.out.

    Two ends that coincide have no direction: such a line carries no force.
    """
    origin, a, b, n = pose.position[0], work.ends[0], work.ends[1], work.ends[2]
    for e in range(lines.pair.shape[0]):
        p = lines.pair[e]
        V = pair_work.relative[p]
        point_in_ground(pose, pairs.body_a[p], lines.point_a[e], a)
        point_in_ground(pose, pairs.body_b[p], lines.point_b[e], b)
        square = 0.0
        for i in range(3):
            a[i] -= origin[i]
            b[i] -= origin[i]
            n[i] = a[i] - b[i]
            square += n[i] * n[i]
        length = math.sqrt(square)
        inverse = 1.0 / length if length > 0.0 else 0.0
        for i in range(3):
            n[i] *= inverse
        gx, gy, gz = a[1] * n[2] - a[2] * n[1], a[2] * n[0] - a[0] * n[2], a[0] * n[1] - a[1] * n[0]
        rate = gx * V[0] + gy * V[1] + gz * V[2] + n[0] * V[3] + n[1] * V[4] + n[2] * V[5]
        F, F_L, F_rate = line_force(lines.law[e], lines.parameter[e], length, rate)
        w = pair_work.wrench[p]
        w[0] -= F * gx
        w[1] -= F * gy
        w[2] -= F * gz
        w[3] -= F * n[0]
        w[4] -= F * n[1]
        w[5] -= F * n[2]
        if derive:
            work.out[e, LENGTH], work.out[e, RATE], work.out[e, TENSION] = length, rate, F
            if F != 0.0 or F_L != 0.0 or F_rate != 0.0:
                stiffness = pair_work.by_place[p], pair_work.by_speed[p]
                line_stiffness(gx, gy, gz, inverse, V, F, F_L, F_rate, work, stiffness)


@njit
def line_stiffness(gx, gy, gz, inverse, V, F, F_L, F_rate, work, stiffness):
    """by_place -= g (F_L g + F_rate G'V)' + F G; by_speed -= F_rate g g'."""
    by_place, by_speed = stiffness
    a, b, n, turn, steer = work.ends[0], work.ends[1], work.ends[2], work.ends[3], work.ends[4]
    # G'V = (a x t, t), t = T (velocity of the line's end on B as if A carried it)
    across = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn[i] = V[3 + i] + V[j] * b[k] - V[k] * b[j]
        across += turn[i] * n[i]
    for i in range(3):
        turn[i] = (turn[i] - across * n[i]) * inverse
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        steer[i] = a[j] * turn[k] - a[k] * turn[j]
    for c in range(6):
        gc = gx if c == 0 else gy if c == 1 else gz if c == 2 else n[c - 3]
        along = F_L * gc + F_rate * (steer[c] if c < 3 else turn[c - 3])
        damped = F_rate * gc
        # column c of G: displacement x of the end on A, its part across the line, and the moment about b
        x0, x1, x2 = 0.0, 0.0, 0.0
        if c == 0:
            x1, x2 = -a[2], a[1]
        elif c == 1:
            x0, x2 = a[2], -a[0]
        elif c == 2:
            x0, x1 = -a[1], a[0]
        elif c == 3:
            x0 = 1.0
        elif c == 4:
            x1 = 1.0
        else:
            x2 = 1.0
        inward = x0 * n[0] + x1 * n[1] + x2 * n[2]
        pull = F * inverse
        x0, x1, x2 = pull * (x0 - inward * n[0]), pull * (x1 - inward * n[1]), pull * (x2 - inward * n[2])
        by_place[0, c] -= gx * along + b[1] * x2 - b[2] * x1
        by_place[1, c] -= gy * along + b[2] * x0 - b[0] * x2
        by_place[2, c] -= gz * along + b[0] * x1 - b[1] * x0
        by_place[3, c] -= n[0] * along + x0
        by_place[4, c] -= n[1] * along + x1
        by_place[5, c] -= n[2] * along + x2
        by_speed[0, c] -= gx * damped
        by_speed[1, c] -= gy * damped
        by_speed[2, c] -= gz * damped
        by_speed[3, c] -= n[0] * damped
        by_speed[4, c] -= n[1] * damped
        by_speed[5, c] -= n[2] * damped
