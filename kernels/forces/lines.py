"""Straight lines of force between points of two bodies: ligaments and spring-dampers.

A line goes from the point b on body B to the point a on body A; L is its length, n its unit direction, and xi
: (6,) a small twist of A relative to B. With g = (a x n, n) the length changes by g . xi, and the wrench on A
is -F g with the tension F. g itself changes by G xi, G = [b~; 1] T [-a~, 1], where a~ is the matrix of the
cross product with a, and T = (1 - n n')/L.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined
from kernels.forces.ligament import line_force
from kernels.forces.pairs import BY_PLACE, BY_SPEED, VELOCITY
from kernels.forces.places import add_force, add_stiffness, place

LENGTH, RATE, TENSION = 0, 1, 2
N_LINE_OUT = 3

END, NORMAL, INVERSE, BY_LENGTH, BY_RATE = 3, 6, 9, 10, 11
"""Further columns of LineWork.state: the end a (3), the direction n (3), 1/L, dF/dL, dF/drate."""
N_STATE = 12


class LineElements(NamedTuple):
    """Ligaments and springs, each with the pair of bodies that it joins."""

    pair: np.ndarray  # (n_line,) int64
    law: np.ndarray  # (n_line,) int64 - of kernels/forces/ligament
    point_a: np.ndarray  # (n_line, 3) - on body A of the pair [m]
    point_b: np.ndarray  # (n_line, 3)
    parameter: np.ndarray  # (n_line, N_LIGAMENT) - of kernels/forces/ligament


class LineWork(NamedTuple):
    """Tensions and their derivatives for all lines of force."""

    # length [m], its rate [m/s], tension [N]; what the slopes need
    state: Annotated[np.ndarray, Floats("n_line", N_STATE)]


def new_line_work(n_line: int) -> LineWork:
    """Allocate a LineWork: tensions of the lines of force, and their derivatives."""
    return allocate(LineWork, n_line=n_line)


@inlined
def add_lines(pairs, lines, pose, work, pair_work):
    """Add the wrench of every line of force to that of its pair of bodies, and write work.state.

    A line whose ends coincide has no direction, and carries no force.

    pairs : Pairs - the two bodies of every pair
    lines : LineElements - points, laws and parameters of all lines
    pose : Pose - positions and orientations of all bodies in ground
    work : LineWork - results of the lines, written
    pair_work : PairWork - motions are read, wrenches added to
    """
    for e in range(lines.pair.shape[0]):
        p, row = lines.pair[e], work.state[e]
        ax, ay, az = place(pose, pairs.body_a[p], lines.point_a[e])
        bx, by, bz = place(pose, pairs.body_b[p], lines.point_b[e])
        nx, ny, nz = ax - bx, ay - by, az - bz
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        inverse = 1.0 / length if length > 0.0 else 0.0
        nx, ny, nz = inverse * nx, inverse * ny, inverse * nz
        V = pair_work.motion[p, VELOCITY]
        rate = nx * (V[3] + V[1] * az - V[2] * ay)
        rate += ny * (V[4] + V[2] * ax - V[0] * az) + nz * (V[5] + V[0] * ay - V[1] * ax)
        F, F_L, F_rate = line_force(lines.law[e], lines.parameter[e], length, rate)
        add_force(ax, ay, az, -F * nx, -F * ny, -F * nz, pair_work.wrench[p])
        row[LENGTH], row[RATE], row[TENSION] = length, rate, F
        row[END], row[END + 1], row[END + 2] = ax, ay, az
        row[NORMAL], row[NORMAL + 1], row[NORMAL + 2] = nx, ny, nz
        row[INVERSE], row[BY_LENGTH], row[BY_RATE] = inverse, F_L, F_rate


@inlined
def add_line_slopes(lines, work, pair_work):
    """Add the derivatives of the lines' wrenches with respect to relative pose and velocity to those of the
    pairs.

    It is called after add_lines. A displacement x of the end a changes the force -F n by -(n (m . x) + (F/L)
    x), with m = (F_L - F/L) n + F_rate T u; u is the velocity, relative to B, of the point of A that
    coincides with the end b. A change x of the velocity of a changes the force by -F_rate n (n . x). F_L and
    F_rate are the derivatives of the tension.
    """
    for e in range(lines.pair.shape[0]):
        row, p = work.state[e], lines.pair[e]
        F, F_L, F_rate = row[TENSION], row[BY_LENGTH], row[BY_RATE]
        if F == 0.0 and F_L == 0.0 and F_rate == 0.0:
            continue
        V = pair_work.motion[p, VELOCITY]
        ax, ay, az = row[END], row[END + 1], row[END + 2]
        nx, ny, nz = row[NORMAL], row[NORMAL + 1], row[NORMAL + 2]
        bx, by, bz = ax - row[LENGTH] * nx, ay - row[LENGTH] * ny, az - row[LENGTH] * nz
        pull, swing = F * row[INVERSE], F_rate * row[INVERSE]
        tx, ty, tz = V[3] + V[1] * bz - V[2] * by, V[4] + V[2] * bx - V[0] * bz, V[5] + V[0] * by - V[1] * bx
        along = F_L - pull - swing * (tx * nx + ty * ny + tz * nz)
        mx, my, mz = along * nx + swing * tx, along * ny + swing * ty, along * nz + swing * tz
        D = (
            -nx * mx - pull, -nx * my, -nx * mz,
            -ny * mx, -ny * my - pull, -ny * mz,
            -nz * mx, -nz * my, -nz * mz - pull,
        )  # fmt: skip
        pair_work.loaded[p] = 1
        add_stiffness(D, (ax, ay, az), (bx, by, bz), pair_work.slopes[p, BY_PLACE])
        if F_rate != 0.0:
            cx, cy, cz = F_rate * nx, F_rate * ny, F_rate * nz
            D = (-nx * cx, -nx * cy, -nx * cz, -ny * cx, -ny * cy, -ny * cz, -nz * cx, -nz * cy, -nz * cz)
            add_stiffness(D, (ax, ay, az), (bx, by, bz), pair_work.slopes[p, BY_SPEED])
