"""Detection of all faults of the markers of a frame before its pose is solved, as a faulty marker would
change the pose.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.faults.exchanged import find_swaps, put_right
from kernels.faults.frozen import find_frozen
from kernels.faults.innovation import VOID, find_strays, median_surprise
from kernels.faults.segment import judge_segment


@njit
def find_faults(markers, measured, dt, options, health, segments, fit):
    """Find the faults of all markers; return how many exchanges of labels were found: pairs, and rings
    (cyclic exchanges of three or more labels).

    Call it after `visibility` and `expect` of kernels/markers/marker_health, which determine the visible
    markers and their expected positions. Markers whose position is frozen are found first, then exchanged
    labels. The other checks use the corrected labels.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]; 0 = unknown
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame; its fields fault, swap_with, weight and
        labelled are written
    segments : Segments - state of each segment, kept from frame to frame; its field sound is written
    fit : BodyFitWork - working space of rigid fits, written
    """
    find_frozen(markers, measured, dt, health)
    n_swap = find_swaps(measured, options.health, health)
    labelled = health.labelled
    copy_matrix(measured, labelled)
    if n_swap > 0:
        put_right(markers, measured, dt, options, health, segments, fit)
    usual = median_surprise(labelled, health)
    for b in range(segments.sound.shape[0]):
        judge_segment(markers, b, labelled, dt, options, health, segments, fit)
    if usual <= VOID:
        find_strays(markers, labelled, dt, usual, options.health, health, segments)
    return n_swap
