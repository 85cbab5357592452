"""Loads given from outside: a force at a point of a body, fixed in ground or turning with the body.

How much of each acts is held over a step (`level`), so that a pulse or a device's command is constant within it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, njit
from kernels.contact.contacts import direction_in_ground
from kernels.contact.slopes import unit_motion
from kernels.tree import point_in_ground


class Loads(NamedTuple):
    """Forces on points of bodies."""

    pair: np.ndarray  # (n_load,) int64 - the body with ground
    point: np.ndarray  # (n_load, 3) - on the body [m]
    force: np.ndarray  # (n_load, 3) [N]
    turns: np.ndarray  # (n_load,) int64 - 1 = the force is given in the body's axes, 0 = in ground's
    start: np.ndarray  # (n_load,) - [s]
    stop: np.ndarray  # (n_load,) - [s]


class LoadWork(NamedTuple):
    """Working space."""

    level: np.ndarray  # (n_load,) - part of each force that acts in this step
    row: np.ndarray  # (3, 3)


def new_load_work(n_load: int) -> LoadWork:
    """Allocate a LoadWork."""
    return LoadWork(np.zeros(n_load), np.zeros((3, 3)))


@njit
def set_levels(loads, gain, t, work):
    """work.level : (n_load,) at the time t [s]: gain : (n_load,) inside each load's time, else 0."""
    for e in range(loads.pair.shape[0]):
        work.level[e] = gain[e] if loads.start[e] <= t < loads.stop[e] else 0.0


@inlined
def add_loads(pairs, loads, pose, derive, work, pair_work):
    """Wrenches of all loads, with derive also their derivatives."""
    origin, x, f, move = pose.position[0], work.row[0], work.row[1], work.row[2]
    for e in range(loads.pair.shape[0]):
        level = work.level[e]
        if level == 0.0:
            continue
        p, turns = loads.pair[e], loads.turns[e]
        body, w = pairs.body_a[p], pair_work.wrench[p]
        point_in_ground(pose, body, loads.point[e], x)
        direction_in_ground(pose, body if turns else -1, loads.force[e], f)
        for i in range(3):
            x[i] -= origin[i]
            f[i] *= level
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            w[i] += x[j] * f[k] - x[k] * f[j]
            w[3 + i] += f[i]
        if derive:
            by_place = pair_work.by_place[p]
            for c in range(6):
                unit_motion(c, x, move)
                for i in range(3):
                    j, k = (i + 1) % 3, (i + 2) % 3
                    by_place[i, c] += move[j] * f[k] - move[k] * f[j]
                if turns and c < 3:
                    j, k = (c + 1) % 3, (c + 2) % 3
                    add_turned(x, j, k, f, by_place, c)


@njit
def add_turned(x, j, k, f, by_place, c):
    """Column c of by_place += the wrench of the force's change e_c x f at x; (c, j, k) in cyclic order."""
    by_place[3 + j, c] -= f[k]
    by_place[3 + k, c] += f[j]
    by_place[c, c] += x[j] * f[j] + x[k] * f[k]
    by_place[j, c] -= x[c] * f[j]
    by_place[k, c] -= x[c] * f[k]
