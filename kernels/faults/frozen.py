"""Markers that stand still while others move.

A label whose marker is gone may go on with the last coordinates that it had. Measured coordinates never
repeat to the last bit, unless a file has rounded them.
"""

from __future__ import annotations

from kernels._jit import njit
from kernels.copying import copy
from kernels.faults.verdict import leave_out
from kernels.health import FROZEN, distance_between, is_seen

N_SAME = 2
"""Frames without any change from which a marker is frozen."""
SAME_LONG = 1 << 20
"""What that count starts from once the marker is called frozen."""
MOVES = 0.05
"""Speed above that of a person who stands [m/s]."""
FINE, N_FINE = 0.05, 100
"""A stream is fine if at most this part of its samples, and there are so many, repeats single coordinates."""


@njit
def find_frozen(measured, dt, health):
    """Markers that have not changed in any coordinate for N_SAME frames while most others move: left out.

    From a frame in which the others do, until it changes. Streams whose single coordinates often repeat are
    too coarse for that.

    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    health : Health - last, n_same, n_sample, fault, weight written
    """
    n_moving, n_there = 0, 0
    for m in range(measured.shape[0]):
        equal = 0
        for i in range(3):
            equal += int(measured[m, i] == health.last[m, i])
        if is_seen(measured, m) and is_seen(health.last, m):
            n_there += 1
            if equal < 3:
                n_moving += int(distance_between(measured[m], health.last[m]) > MOVES * dt)
                health.n_sample[0] += 1
                health.n_sample[1] += int(equal > 0)
        health.n_same[m] = health.n_same[m] + 1 if equal == 3 else 0
        copy(measured[m], health.last[m])
    fine = health.n_sample[0] >= N_FINE and health.n_sample[1] <= FINE * health.n_sample[0]
    move = 2 * n_moving > n_there
    for m in range(measured.shape[0]):
        if fine and move and N_SAME <= health.n_same[m] < SAME_LONG:
            health.n_same[m] = SAME_LONG
        if health.n_same[m] >= SAME_LONG:
            leave_out(m, FROZEN, health)
