"""Friction along a direction under a constant load: a block on a belt, a brake, a guide.

With the direction t, fixed in body B, through a point a of A and g = (a x t, t): v = g . V - drift, the wrench on
A is -F(v, load) g, and g changes by (delta a x t, 0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, njit
from kernels.contact.contacts import direction_in_ground
from kernels.friction import friction_force
from kernels.tree import point_in_ground

SPEED, FORCE = 0, 1
N_FRICTION_OUT = 2


class Frictions(NamedTuple):
    """Sliding points, by the pair of bodies that rub."""

    pair: np.ndarray  # (n_friction,) int64
    law: np.ndarray  # (n_friction,) int64 - of kernels/friction
    point: np.ndarray  # (n_friction, 3) - on body A [m]
    direction: np.ndarray  # (n_friction, 3) - unit, on body B
    drift: np.ndarray  # (n_friction,) - speed of B's surface along the direction [m/s]
    load: np.ndarray  # (n_friction,) - normal force [N]
    parameter: np.ndarray  # (n_friction, N_FRICTION)


class FrictionWork(NamedTuple):
    """Results and working space."""

    out: (
        np.ndarray
    )  # (n_friction, N_FRICTION_OUT) - sliding speed [m/s], friction on A along the direction [N]
    rate: np.ndarray  # (n_friction,) - sliding acceleration [m/s^2]
    arm: np.ndarray  # (n_friction, 6) - g
    row: np.ndarray  # (3, 3)


def new_friction_work(n_friction: int) -> FrictionWork:
    """Allocate a FrictionWork."""
    return FrictionWork(
        np.zeros((n_friction, N_FRICTION_OUT)),
        np.zeros(n_friction),
        np.zeros((n_friction, 6)),
        np.zeros((3, 3)),
    )


@inlined
def add_frictions(pairs, frictions, pose, derive, step, work, pair_work):
    """Wrenches of all sliding points; with derive also their derivatives and work.out; step as for contacts."""
    origin, a, t, turn = pose.position[0], work.row[0], work.row[1], work.row[2]
    for e in range(frictions.pair.shape[0]):
        p, law = frictions.pair[e], frictions.law[e]
        V, w = pair_work.relative[p], pair_work.wrench[p]
        point_in_ground(pose, pairs.body_a[p], frictions.point[e], a)
        direction_in_ground(pose, pairs.body_b[p], frictions.direction[e], t)
        for i in range(3):
            a[i] -= origin[i]
        gx, gy, gz = a[1] * t[2] - a[2] * t[1], a[2] * t[0] - a[0] * t[2], a[0] * t[1] - a[1] * t[0]
        v = gx * V[0] + gy * V[1] + gz * V[2] + t[0] * V[3] + t[1] * V[4] + t[2] * V[5]
        v -= frictions.drift[e]
        F, F_v, _ = friction_force(law, frictions.parameter[e], v, frictions.load[e])
        w[0] -= F * gx
        w[1] -= F * gy
        w[2] -= F * gz
        w[3] -= F * t[0]
        w[4] -= F * t[1]
        w[5] -= F * t[2]
        if derive:
            A = pair_work.onset[p]
            rate = gx * A[0] + gy * A[1] + gz * A[2] + t[0] * A[3] + t[1] * A[4] + t[2] * A[5]
            work.out[e, SPEED], work.out[e, FORCE], work.rate[e] = v, -F, rate
            arm = work.arm[e]
            arm[0], arm[1], arm[2], arm[3], arm[4], arm[5] = gx, gy, gz, t[0], t[1], t[2]
            if step > 0.0 and v != 0.0 and v * (v + 2.0 * step * rate) <= 0.0:
                F_v = max(F_v, F / v)
            for i in range(3):
                turn[i] = t[(i + 1) % 3] * V[(i + 2) % 3] - t[(i + 2) % 3] * V[(i + 1) % 3]
            rub_slopes(a, t, turn, gx, gy, gz, F, F_v, pair_work.by_place[p], pair_work.by_speed[p])


@njit
def rub_slopes(a, t, turn, gx, gy, gz, F, F_v, by_place, by_speed):
    """by_place -= g F_v (delta a . (t x W))' + F (delta a x t, 0); by_speed -= F_v g g'."""
    for c in range(6):
        x0, x1, x2 = 0.0, 0.0, 0.0  # displacement of the point by unit twist c
        gc = gx if c == 0 else gy if c == 1 else gz if c == 2 else t[c - 3]
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
        placed = F_v * (x0 * turn[0] + x1 * turn[1] + x2 * turn[2])
        by_place[0, c] -= gx * placed + F * (x1 * t[2] - x2 * t[1])
        by_place[1, c] -= gy * placed + F * (x2 * t[0] - x0 * t[2])
        by_place[2, c] -= gz * placed + F * (x0 * t[1] - x1 * t[0])
        moved = F_v * gc
        by_speed[0, c] -= gx * moved
        by_speed[1, c] -= gy * moved
        by_speed[2, c] -= gz * moved
        for i in range(3):
            by_place[3 + i, c] -= t[i] * placed
            by_speed[3 + i, c] -= t[i] * moved
