"""Consequences of a fault: a marker is left out of the frame, or all markers of its segment are marked as
suspect and keep their weight.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.markers.marker_health import SEGMENT, is_blamed, is_seen


@njit
def in_doubt(b, options, segments):
    """Return whether body b is in doubt: some of its markers were at fault or suspect in the last frame, but
    not for long enough to be learnt at their new positions.
    """
    return 0.0 < segments.doubted[b] <= options.relearn


@njit
def leave_out(m, fault, health):
    """Leave marker m out of this frame because of a fault."""
    health.weight[m] = 0.0
    health.fault[m] = fault


@njit
def suspect(markers, b, health):
    """Mark those markers of body b that are used and have no fault of their own as suspect, as markers of a
    faulty segment; they keep their weight.
    """
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0 and not is_blamed(m, health):
            health.fault[m] = SEGMENT


@njit
def keep_in(measured, health):
    """Restore the weights and received labels of markers at fault, for a run that only reports faults."""
    copy_matrix(measured, health.labelled)
    for m in range(measured.shape[0]):
        health.certain[m] = 0
        if is_seen(measured, m):
            health.weight[m] = 1.0


@njit
def is_lost(health):
    """Return whether most visible markers belong to suspect segments; the caller then has the next frame
    solved without a prediction.
    """
    n_seen, n_lost = 0, 0
    for m in range(health.fault.shape[0]):
        n_seen += int(is_seen(health.labelled, m))
        n_lost += int(health.fault[m] == SEGMENT)
    return 2 * n_lost > n_seen
