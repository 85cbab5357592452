"""Given external loads: forces at points of bodies, constant in ground axes or in the axes of the body.

The factor of each load (`level`) is constant over a time step, so that a pulse or the command of a device
does not change within one.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined
from kernels.forces.pairs import BY_PLACE
from kernels.forces.places import add_displaced, add_force, direction, place


class PointLoads(NamedTuple):
    """External forces at points of bodies, each with the time at which it starts and the time at which it
    ends.
    """

    pair: np.ndarray  # (n_load,) int64 - the body with ground
    point: np.ndarray  # (n_load, 3) - on the body [m]
    force: np.ndarray  # (n_load, 3) [N]
    turns: np.ndarray  # (n_load,) int64 - 1 = the force is given in the body's axes, 0 = in ground's
    start: np.ndarray  # (n_load,) - [s]
    stop: np.ndarray  # (n_load,) - [s]


class LoadWork(NamedTuple):
    """Working space of external loads: of each load its factor in this step, and its point and force in
    ground axes.
    """

    level: Annotated[np.ndarray, Floats("n_load")]  # factor of each force in this step
    # its point relative to the origin of body 0 [m], the force [N]
    state: Annotated[np.ndarray, Floats("n_load", 6)]


def new_load_work(n_load: int) -> LoadWork:
    """Allocate a LoadWork: working space of n_load external loads."""
    return allocate(LoadWork, n_load=n_load)


@inlined
def set_levels(loads, gain, t, work):
    """Write work.level : (n_load,), the factor of each load at the time t [s]: its gain while it acts, else
    0.

    gain : (n_load,) - factor of each load while it acts [1]
    """
    for e in range(loads.pair.shape[0]):
        work.level[e] = gain[e] if loads.start[e] <= t < loads.stop[e] else 0.0


@inlined
def add_loads(pairs, loads, pose, work, pair_work):
    """Add the wrench of every load to that of its pair (body and ground), and write work.state.

    pairs : Pairs - the two bodies of every pair
    loads : PointLoads - points and forces of all loads
    pose : Pose - positions and orientations of all bodies in ground
    work : LoadWork - levels are read, points and forces written
    pair_work : PairWork - wrenches are added to
    """
    for e in range(loads.pair.shape[0]):
        level = work.level[e]
        if level == 0.0:
            continue
        p, row = loads.pair[e], work.state[e]
        body = pairs.body_a[p]
        x, y, z = place(pose, body, loads.point[e])
        fx, fy, fz = direction(pose, body if loads.turns[e] else -1, loads.force[e])
        fx, fy, fz = level * fx, level * fy, level * fz
        add_force(x, y, z, fx, fy, fz, pair_work.wrench[p])
        row[0], row[1], row[2], row[3], row[4], row[5] = x, y, z, fx, fy, fz


@inlined
def add_load_slopes(loads, work, pair_work):
    """Add the derivatives of the loads' wrenches with respect to the pose to those of the pairs, after
    add_loads.

    A wrench changes because the load's point moves with the body, and because a force that is given in the
    body's axes rotates with it.
    """
    for e in range(loads.pair.shape[0]):
        if work.level[e] == 0.0:
            continue
        p, row = loads.pair[e], work.state[e]
        slopes = pair_work.slopes[p, BY_PLACE]
        x, y, z, fx, fy, fz = row[0], row[1], row[2], row[3], row[4], row[5]
        pair_work.loaded[p] = 1
        add_displaced((x, y, z), fx, fy, fz, slopes)
        if loads.turns[e]:
            add_force(x, y, z, 0.0, -fz, fy, slopes[0])
            add_force(x, y, z, fz, 0.0, -fx, slopes[1])
            add_force(x, y, z, -fy, fx, 0.0, slopes[2])
