"""Detection of frozen markers: those that stand still while others move.

When a marker is lost, some systems continue to send its label with the last coordinates. Measured coordinates
never repeat to the last bit, unless they were rounded in a file.
"""

from __future__ import annotations

from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.faults.verdict import leave_out
from kernels.markers.marker_health import FROZEN, distance_between, is_seen

N_SAME = 2
"""Number of samples without any change from which markers are frozen: successive ones of one marker, or
together those of several of a segment."""
SAME_LONG = 1 << 20
"""Value of that count once the marker is known to be frozen."""
N_STALLED, STALLED_S = 3, 0.025
"""Number of samples, and time [s], without any change of any marker from which a source has stalled: one that
sends every frame two or three times has not."""
MOVES = 0.05
"""Speed that is above that of a standing person [m/s]."""
FINE, N_FINE = 0.05, 100
"""A stream is fine if at most this part of its samples, of which there are at least so many,
repeats single coordinates."""


@njit
def find_frozen(markers, measured, dt, health):
    """Leave out markers that have not changed in any coordinate for N_SAME frames while most others move.

    A marker counts as frozen until one of its coordinates changes. Where several markers of a segment stop in
    the same frame, that frame is enough: each is evidence for the other, and the pose of a segment that
    stands still is wrong at once. If all markers repeat, the source has stalled, as even a standing person
    moves by more than the resolution; then all are left out. Streams in which single coordinates often repeat
    are too coarse for this check.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    health : Health - state of each marker, kept from frame to frame; its fields last, n_same, n_sample,
        fault and weight are written
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
    """Return whether a frame equals the previous one to the last bit because the source has sent it again;
    False once the source counts as stalled.

    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]
    health : Health - where the frame is a repetition, its field n_same is increased
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
    """Return the number of unchanged samples that suggest that marker m is frozen; 0 if it moves, or is
    already known to be frozen.

    These are its own unchanged samples in a row, plus one for each other marker of its segment that repeats
    its position as well.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    m : int - marker
    health : Health - state of each marker, kept from frame to frame; its field n_same is read
    """
    own = health.n_same[m]
    if own == 0 or own >= SAME_LONG:
        return 0
    n = own
    for k in range(markers.body.shape[0]):
        if k != m and markers.body[k] == markers.body[m] and 0 < health.n_same[k] <= SAME_LONG:
            n += 1
    return n
