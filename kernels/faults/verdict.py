"""What becomes of markers at fault: left out, or suspect as a whole segment with their weight kept."""

from __future__ import annotations

from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.markers.marker_health import SEGMENT, is_blamed, is_seen


@njit
def in_doubt(b, options, segments):
    """Whether markers of body b were at fault in the last frame, but for less than what is learnt anew."""
    return 0.0 < segments.doubted[b] <= options.relearn


@njit
def leave_out(m, fault, health):
    """Marker m takes no part in this frame, for a fault."""
    health.weight[m] = 0.0
    health.fault[m] = fault


@njit
def suspect(markers, b, health):
    """The markers of body b that take part without a fault are at fault as a whole, and keep their weight."""
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0 and not is_blamed(m, health):
            health.fault[m] = SEGMENT


@njit
def keep_in(measured, health):
    """Give markers at fault their weight back, with the labels that they had: they are only reported."""
    copy_matrix(measured, health.labelled)
    for m in range(measured.shape[0]):
        health.certain[m] = 0
        if is_seen(measured, m):
            health.weight[m] = 1.0


@njit
def is_lost(health):
    """Whether most visible markers are of segments in which nothing agrees: the next frame starts anew."""
    n_seen, n_lost = 0, 0
    for m in range(health.fault.shape[0]):
        n_seen += int(is_seen(health.labelled, m))
        n_lost += int(health.fault[m] == SEGMENT)
    return 2 * n_lost > n_seen
