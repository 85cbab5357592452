"""Detection of feet that may stand on the floor beside the force plates, where their load is not measured."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.plates.plate_contact import NOT_MEASURED

STANDS = 0.25
"""Largest speed of a point of a foot that may stand on the floor [m/s]."""


@njit
def may_stand(plates, loaded, share, feet, former, dt, floor, rules, stands_out):
    """Find the feet that may stand on the floor beside the plates.

    A foot is one of them if it neither is nor may be on a plate, and its heel or its toes are occluded, or
    are low, slow and not above a measured plate.

    plates : Plates - positions of n_plate plates in ground
    loaded : (n_plate,) int64 - LOADED, EMPTY or NOT_MEASURED (kernels.plates.plate_contact.contacts)
    share : (n_plate, n_foot) int64 - by plate_assignment.assign_feet; 0 = the foot is not on the plate
    feet, former : (n_foot, 2, 3) - heel and tip of the toes now and in the frame before [m]; NaN = occluded
    dt : float - time between the two frames [s]; not positive where there was no frame before
    floor : float - height of the floor [m]
    rules : AssignmentRules - limits of the plate assignment
    stands_out : (n_foot,) int64 - 1 = the foot may stand on the floor, else 0, written
    Returns the number of these feet.
    """
    n = 0
    for f in range(feet.shape[0]):
        stands_out[f] = 0
        bears = False
        for p in range(share.shape[0]):
            bears = bears or share[p, f] != 0
        for k in range(2):
            if bears or feet[f, k, 1] - floor > rules.low:
                continue
            square = 0.0
            for i in range(3):
                square += (feet[f, k, i] - former[f, k, i]) ** 2
            moves = dt > 0.0 and square > (STANDS * dt) ** 2
            if not moves and not is_above_plate(plates, loaded, feet[f, k]):
                stands_out[f] = 1
        n += stands_out[f]
    return n


@njit
def is_above_plate(plates, loaded, point):
    """Return whether a point, seen from above, is inside the edges of any plate that was measured and has
    known edges.

    plates : Plates - positions of the force plates in ground
    loaded : (n_plate,) int64 - LOADED, EMPTY or NOT_MEASURED (kernels.plates.plate_contact.contacts)
    point : (3,) - in ground [m]
    """
    for p in range(loaded.shape[0]):
        if loaded[p] == NOT_MEASURED:
            continue
        inside = True
        for k in range(2):
            along = 0.0
            for i in range(3):
                along += plates.axes[p, k, i] * (point[i] - plates.centre[p, i])
            inside = inside and abs(along) <= plates.half[p, k] < math.inf
        if inside:
            return True
    return False
