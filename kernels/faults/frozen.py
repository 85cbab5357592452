"""Markers that stand still while others move.

A label whose marker is gone may go on with the last coordinates that it had. Measured coordinates never
repeat to the last bit, unless a file has rounded them.
"""

from __future__ import annotations

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.verdict import leave_out
from kernels.markers.marker_health import FROZEN, distance_between, is_seen

N_SAME = 2
"""Samples without any change from which markers are frozen: of one in a row, or of several of a segment."""
SAME_LONG = 1 << 20
"""What that count starts from once the marker is called frozen."""
N_STALLED, STALLED_S = 3, 0.025
"""Samples, and time [s], without any change of any marker from which a source repeats itself: one that sends
every frame twice or three times does not yet."""
MOVES = 0.05
"""Speed above that of a person who stands [m/s]."""
FINE, N_FINE = 0.05, 100
"""A stream is fine if at most this part of its samples, and there are so many, repeats single coordinates."""


@njit
def find_frozen(markers, measured, dt, health):
    """Markers that have not changed in any coordinate for N_SAME frames while most others move: left out.

    From a frame in which the others do, until it changes. Where several of a segment stop in the same frame,
    each is evidence for the other, and that frame is enough: the pose of a segment that stands still is wrong
    at once. A source that stalls repeats all of them, which nobody who stands does. Streams whose single
    coordinates often repeat are too coarse for that.

    markers : Markers
    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    health : Health - last, n_same, n_sample, fault, weight written
    """
    n_moving, n_there, stalled = 0, 0, True
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
        n = health.n_same[m]
        stalled = stalled and (not is_seen(measured, m) or (n >= N_STALLED and n * dt >= STALLED_S))
        copy(measured[m], health.last[m])
    fine = health.n_sample[0] >= N_FINE and health.n_sample[1] <= FINE * health.n_sample[0]
    move = 2 * n_moving > n_there
    for m in range(measured.shape[0]):
        if fine and move and repeats(markers, m, health) >= N_SAME:
            health.n_same[m] = SAME_LONG
        if fine and stalled and n_there > 0 and is_seen(measured, m):
            health.n_same[m] = SAME_LONG
        if health.n_same[m] >= SAME_LONG:
            leave_out(m, FROZEN, health)


@njit
def is_sent_again(measured, dt, health):
    """Whether a frame is the one before to the last bit: a source that sends each more than once, or fills
    in what it lost. That is no motion and no evidence, but where it lasts, as of a source that stalls.

    measured : (n_marker, 3) - in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]
    health : Health - n_same written where it is
    """
    n_there, stalled = 0, True
    for m in range(measured.shape[0]):
        there = is_seen(measured, m)
        if there != is_seen(health.last, m):
            return False
        if there:
            for i in range(3):
                if measured[m, i] != health.last[m, i]:
                    return False
            n = health.n_same[m] + 1
            n_there += 1
            stalled = stalled and n >= N_STALLED and n * dt >= STALLED_S
    if n_there == 0 or stalled:
        return False
    for m in range(measured.shape[0]):
        if is_seen(measured, m):
            health.n_same[m] += 1
    return True


@njit
def repeats(markers, m, health):
    """Samples without any change that speak for marker m being frozen now; 0 = it is known to be, or moves.

    Its own in a row, and those of others of its segment that stopped with it: not of those known before.

    markers : Markers
    m : int - marker
    health : Health - n_same
    """
    own = health.n_same[m]
    if own == 0 or own >= SAME_LONG:
        return 0
    n = own
    for k in range(markers.body.shape[0]):
        if k != m and markers.body[k] == markers.body[m] and 0 < health.n_same[k] <= SAME_LONG:
            n += 1
    return n
