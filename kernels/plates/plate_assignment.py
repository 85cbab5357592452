"""Plate assignment: which foot stands on which force plate, by the distances of the feet from the centres of
pressure.

A foot is taken as the line from its heel to the tip of its toes. It may be on a plate if the centre of
pressure is no farther from this line, along the plate, than about half the foot's width. The foot on a plate
stays assigned up to a somewhat larger distance, and another foot takes over only when it is nearer for
several successive frames. A plate whose moments have an error m has an error m / F of the centre of pressure
at the normal force F: on a lightly loaded plate this is added to each allowed distance, and a foot is
assigned only where no other foot is possible. A centre of pressure farther from every foot than any such
error shows that the plate is at another place or has other units than stated: then each low foot that is on
no plate may be on this one. Two feet are on one plate when both have a low point on its surface without
relative motion: a foot that swings past a standing one has such motion, also on a treadmill.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.plates.plate_contact import LOADED, NOT_MEASURED

NONE = 0
BEARS = 1
UNSURE = 2

OFF_PLATE = 1
FAR = 2
TWO_FEET = 4
CHANGED = 8
UNSEEN = 16
UNMEASURED = 32


class AssignmentRules(NamedTuple):
    """Limits (distances, speeds, frames) of the plate assignment; `new_rules` gives their defaults."""

    reach: float  # largest distance of the centre of pressure from the line of a foot on the plate [m]
    keep: float  # the same for the foot that was on the plate in the frame before [m]
    nearer: float  # another foot takes over when it is nearer by at least this distance [m] ...
    patience: int  # ... for this number of successive frames
    low: float  # greatest height above the plate of a point of a foot that may touch it [m]
    slip: float  # greatest relative speed of two points that stand on the same ground [m/s]
    moment: float  # error of a plate's moments; over the force it is that of the centre of pressure [N m]
    edge: float  # distance from a plate's edges at which a point is surely outside or inside [m]
    stray: float  # centres of pressure farther from every foot show that the plate is misplaced [m]


class PlateAssignment(NamedTuple):
    """Foot on each of n_plate plates, and positions and speeds of n_foot feet, kept from frame to frame."""

    bearer: Annotated[np.ndarray, Integers("n_plate", fill=-1)]  # foot assigned to the plate; -1 = none
    rival: Annotated[np.ndarray, Integers("n_plate")]  # successive frames with another foot nearer
    # heel and tip of the toes in the frame before [m]; NaN before the first frame
    former: Annotated[np.ndarray, Floats("n_foot", 2, 3, fill=math.nan)]
    # velocities of heel and toes [m/s]; NaN = not known
    speed: Annotated[np.ndarray, Floats("n_foot", 2, 3, fill=math.nan)]
    # distance of the present plate's centre of pressure from the line of each foot [m]
    distance: Annotated[np.ndarray, Floats("n_foot", fill=math.inf)]


def new_rules() -> AssignmentRules:
    """Return the default limits: half the width of a shod foot, with a margin for its markers' positions, and
    the moment error of plates in several laboratories, with which centres of pressure are wrong by 0.2 m
    (docs/forces.md).
    """
    return AssignmentRules(
        reach=0.06, keep=0.09, nearer=0.03, patience=3, low=0.1, slip=0.8, moment=2.5, edge=0.02, stray=0.3
    )


def new_plate_assignment(n_plate: int, n_foot: int) -> PlateAssignment:
    """Return the state of the plate assignment before the first frame, without a foot on any plate."""
    return allocate(PlateAssignment, n_plate=n_plate, n_foot=n_foot)


@njit
def assign_feet(plates, force, centre, loaded, feet, dt, rules, state, share_out, status_out):
    """Decide for one frame which foot stands on which plate, and so on which foot the plate's wrench acts.

    plates : Plates - n_plate of them
    force : (n_plate, 3) - forces of the plates on the person [N]
    centre : (n_plate, 3) - centres of pressure [m]
    loaded : (n_plate,) int64 - LOADED, EMPTY or NOT_MEASURED (kernels.plates.plate_contact.contacts)
    feet : (n_foot, 2, 3) - heel and tip of the toes of each foot [m]; NaN = occluded
    dt : float - time since the frame before [s]; not positive where there was none
    rules : AssignmentRules - limits of the plate assignment
    state : PlateAssignment - state of plates and feet, kept from frame to frame, written
    share_out : (n_plate, n_foot) int64 - BEARS = the plate's wrench acts on it, NONE = not, UNSURE = maybe
    status_out : (n_plate,) int64 - bits: OFF_PLATE: the centre of pressure is outside the edges; FAR: it is
        far from every foot; TWO_FEET: two feet are on the plate; CHANGED: another foot took over; UNSEEN: an
        occluded foot may be on it; UNMEASURED: it has no wrench; 0 = in order or empty
    Returns the number of plates with a status other than 0.
    """
    find_speeds(feet, dt, state)
    n_odd = 0
    for p in range(loaded.shape[0]):
        for f in range(feet.shape[0]):
            share_out[p, f] = NONE
        status_out[p] = 0
        if loaded[p] == LOADED:
            status_out[p] = assign_plate(plates, p, force[p], centre[p], feet, rules, state, share_out[p])
        else:
            state.bearer[p] = -1
            state.rival[p] = 0
            if loaded[p] == NOT_MEASURED:
                status_out[p] = UNMEASURED
                mark_possible(plates, p, feet, rules, share_out[p])
        n_odd += status_out[p] != 0
    for p in range(loaded.shape[0]):
        if status_out[p] & FAR and is_outlier(plates, p, force[p], centre[p], feet, rules):
            doubt_idle_feet(plates, p, feet, rules, share_out)
    return n_odd


@njit
def is_outlier(plates, p, force, centre, feet, rules):
    """Return whether the centre of pressure of plate p is farther from every foot than its error can explain.

    plates : Plates - positions of the force plates in ground
    p : int - index of the plate
    force, centre : (3,) - force on the person [N], and centre of pressure [m]
    feet : (n_foot, 2, 3) - heel and tip of the toes [m], all visible
    rules : AssignmentRules - limits of the plate assignment
    """
    nearest = math.inf
    for f in range(feet.shape[0]):
        nearest = min(nearest, distance_to_foot(plates.axes[p, 2], centre, feet[f]))
    return nearest > rules.stray + rules.moment / pressing_force(plates, p, force)


@njit
def doubt_idle_feet(plates, p, feet, rules, share_out):
    """Mark every foot that is assigned to no plate, but is low enough to be on plate p, as UNSURE on it.

    plates : Plates - positions of the force plates in ground
    p : int - index of the plate
    feet : (n_foot, 2, 3) - heel and tip of the toes [m]
    rules : AssignmentRules - limits of the plate assignment
    share_out : (n_plate, n_foot) int64 - NONE, BEARS or UNSURE for each plate and foot; row p is written
    """
    for f in range(feet.shape[0]):
        idle = True
        for q in range(share_out.shape[0]):
            idle = idle and share_out[q, f] != BEARS
        low = (
            height_above(plates, p, feet[f, 0]) <= rules.low
            or height_above(plates, p, feet[f, 1]) <= rules.low
        )
        if idle and low:
            share_out[p, f] = UNSURE


@njit
def foot_wrenches(share, force, moment, force_out, moment_out):
    """Write the wrench on each foot, the sum over the plates on which it stands (BEARS), with the moment
    about the ground origin.

    share : (n_plate, n_foot) int64 - NONE, BEARS or UNSURE for each plate and foot, by assign_feet
    force, moment : (n_plate, 3) - wrenches of the plates [N], [N m]
    force_out, moment_out : (n_foot, 3) - written [N], [N m]; NaN for a foot that is UNSURE on a plate
    Returns the number of feet with NaN.
    """
    n_unknown = 0
    for f in range(share.shape[1]):
        known = True
        for i in range(3):
            force_out[f, i] = moment_out[f, i] = 0.0
        for p in range(share.shape[0]):
            known = known and share[p, f] != UNSURE
            if share[p, f] == BEARS:
                for i in range(3):
                    force_out[f, i] += force[p, i]
                    moment_out[f, i] += moment[p, i]
        if not known:
            n_unknown += 1
            for i in range(3):
                force_out[f, i] = moment_out[f, i] = math.nan
    return n_unknown


@njit
def find_speeds(feet, dt, state):
    """Write state.speed, velocities of heels and toes since the last frame; feet : (n_foot, 2, 3) [m]."""
    for f in range(feet.shape[0]):
        for k in range(2):
            for i in range(3):
                state.speed[f, k, i] = (feet[f, k, i] - state.former[f, k, i]) / dt if dt > 0.0 else math.nan
                state.former[f, k, i] = feet[f, k, i]


@njit
def assign_plate(plates, p, force, centre, feet, rules, state, share_out):
    """Decide which foot stands on a loaded plate; return its status bits, OFF_PLATE to UNSEEN, or 0.

    plates : Plates - positions of the force plates in ground
    p : int - index of the plate
    force : (3,) - force of the plate on the person [N]
    centre : (3,) - centre of pressure [m]
    feet : (n_foot, 2, 3) - heel and tip of the toes [m]
    rules : AssignmentRules - limits of the plate assignment
    state : PlateAssignment - state of plates and feet, kept from frame to frame, written
    share_out : (n_foot,) int64 - NONE before; BEARS or UNSURE is written for feet on the plate
    """
    n_foot = feet.shape[0]
    status = OFF_PLATE if beyond_edge(plates, p, centre) > rules.edge else 0
    nearest, unseen = -1, False
    for f in range(n_foot):
        state.distance[f] = distance_to_foot(plates.axes[p, 2], centre, feet[f])
        unseen = unseen or math.isnan(state.distance[f])
        if not math.isnan(state.distance[f]) and (nearest < 0 or state.distance[f] < state.distance[nearest]):
            nearest = f
    blur = rules.moment / pressing_force(plates, p, force)
    partner = other_foot(plates, p, centre, blur, feet, rules, state)
    chosen = choose(p, nearest, blur, rules, state)
    if partner:
        status |= TWO_FEET
        mark_possible(plates, p, feet, rules, share_out)
        return status
    if chosen >= 0:
        if state.bearer[p] >= 0 and state.bearer[p] != chosen:
            status |= CHANGED
        state.bearer[p] = chosen
        share_out[chosen] = BEARS
        return status
    status |= UNSEEN if unseen else FAR
    for f in range(n_foot):
        blamed = f == nearest and not unseen  # somebody presses it, and there is nobody else
        if blamed or not state.distance[f] > rules.keep + blur:  # NaN, not seen, may be anywhere
            share_out[f] = UNSURE
    return status


@njit
def pressing_force(plates, p, force):
    """Return the normal force of plate p [N], the component of force : (3,) along its upward normal."""
    return dot(plates.axes[p, 2], force)


@njit
def choose(p, nearest, blur, rules, state):
    """Return the foot on plate p by its distance from the centre of pressure, -1 = none or not certain; the
    foot that was on the plate before stays until another is clearly nearer.

    p : int - index of the plate
    nearest : int - the nearest foot, -1 = none is visible
    blur : float - error of the centre of pressure [m]
    rules : AssignmentRules - limits of the plate assignment
    state : PlateAssignment - its distance, bearer and rival are read, rival is written
    """
    old = state.bearer[p]
    if nearest < 0:
        return -1
    if old < 0 or math.isnan(state.distance[old]) or state.distance[old] > rules.keep + blur:
        state.rival[p] = 0
        return nearest if is_under(nearest, blur, rules, state) else -1
    if nearest != old and state.distance[nearest] + rules.nearer + blur < state.distance[old]:
        state.rival[p] += 1
        if state.rival[p] >= rules.patience:
            state.rival[p] = 0
            return nearest
    else:
        state.rival[p] = 0
    return old


@njit
def is_under(nearest, blur, rules, state):
    """Return whether a centre of pressure with the error blur [m] surely belongs to the nearest foot."""
    if state.distance[nearest] <= rules.reach:
        return True
    for f in range(state.distance.shape[0]):
        if f != nearest and state.distance[f] <= rules.reach + blur:
            return False
    return state.distance[nearest] <= rules.reach + blur


@njit
def other_foot(plates, p, centre, blur, feet, rules, state):
    """Return whether two feet stand on plate p together: without relative motion, and either both on its
    surface or, if its edges are unknown, on opposite sides of a centre of pressure that is under neither.

    plates : Plates - positions of the force plates in ground
    p : int - index of the plate
    centre : (3,) - centre of pressure [m]
    blur : float - error of the centre of pressure [m]
    feet : (n_foot, 2, 3) - heel and tip of the toes [m]
    rules : AssignmentRules - limits of the plate assignment
    state : PlateAssignment - distance and speed are read
    """
    bounded = math.isfinite(plates.half[p, 0] + plates.half[p, 1])
    for f in range(feet.shape[0]):
        for g in range(f):
            if bounded:
                near = True
            else:
                near = min(state.distance[f], state.distance[g]) > rules.reach + blur
                near = near and between(centre, feet[f], feet[g])
            if near and stand_together(plates, p, feet, f, g, rules, state):
                return True
    return False


@njit
def stand_together(plates, p, feet, f, g, rules, state):
    """Return whether feet f and g each have a point on plate p, without relative motion of these points.

    plates : Plates - positions of the force plates in ground
    p, f, g : int - indices of the plate and of the two feet
    feet : (n_foot, 2, 3) - heel and tip of the toes [m]
    rules : AssignmentRules - limits of the plate assignment
    state : PlateAssignment - speed is read
    """
    for k in range(2):
        if not touches(plates, p, feet[f, k], rules):
            continue
        for m in range(2):
            if not touches(plates, p, feet[g, m], rules):
                continue
            square = 0.0
            for i in range(3):
                square += (state.speed[f, k, i] - state.speed[g, m, i]) ** 2
            if not square > rules.slip * rules.slip:  # not known before the second frame: then they may
                return True
    return False


@njit
def mark_possible(plates, p, feet, rules, share_out):
    """Mark every foot that may be on plate p as UNSURE: those with a point on the plate, and those occluded.

    plates : Plates - positions of the force plates in ground
    p : int - index of the plate
    feet : (n_foot, 2, 3) - heel and tip of the toes [m]
    rules : AssignmentRules - limits of the plate assignment
    share_out : (n_foot,) int64 - written
    """
    for f in range(feet.shape[0]):
        for k in range(2):
            if math.isnan(feet[f, k, 0]) or touches(plates, p, feet[f, k], rules):
                share_out[f] = UNSURE


@njit
def touches(plates, p, point, rules):
    """Return whether a point (3,) is on plate p: low enough above its surface and inside its edges."""
    return height_above(plates, p, point) <= rules.low and beyond_edge(plates, p, point) <= -rules.edge


@njit
def height_above(plates, p, point):
    """Return the height [m] of a point (3,) above the surface of plate p, along the plate's normal."""
    n, c = plates.axes[p, 2], plates.centre[p]
    return n[0] * (point[0] - c[0]) + n[1] * (point[1] - c[1]) + n[2] * (point[2] - c[2])


@njit
def beyond_edge(plates, p, point):
    """Return how far [m] a point (3,) is outside the edges of plate p, along its surface; negative inside."""
    beyond = -math.inf
    for k in range(2):
        along = 0.0
        for i in range(3):
            along += plates.axes[p, k, i] * (point[i] - plates.centre[p, i])
        beyond = max(beyond, abs(along) - plates.half[p, k])
    return beyond


@njit
def distance_to_foot(normal, point, foot):
    """Return the distance of a point (3,) from the line of a foot (2, 3), seen along the normal [m]."""
    ux, uy, uz = foot[1, 0] - foot[0, 0], foot[1, 1] - foot[0, 1], foot[1, 2] - foot[0, 2]
    wx, wy, wz = point[0] - foot[0, 0], point[1] - foot[0, 1], point[2] - foot[0, 2]
    u_n = ux * normal[0] + uy * normal[1] + uz * normal[2]
    w_n = wx * normal[0] + wy * normal[1] + wz * normal[2]
    ux, uy, uz = ux - u_n * normal[0], uy - u_n * normal[1], uz - u_n * normal[2]
    wx, wy, wz = wx - w_n * normal[0], wy - w_n * normal[1], wz - w_n * normal[2]
    square = ux * ux + uy * uy + uz * uz
    share = (ux * wx + uy * wy + uz * wz) / square if square > 0.0 else square
    share = share if math.isnan(share) else min(1.0, max(0.0, share))
    wx, wy, wz = wx - share * ux, wy - share * uy, wz - share * uz
    return math.sqrt(wx * wx + wy * wy + wz * wz)


@njit
def between(point, foot, other):
    """Return whether, seen from a point (3,), the midpoints of two feet (2, 3) are in nearly opposite
    directions, more than 135 degrees apart.
    """
    dot = a2 = b2 = 0.0
    for i in range(3):
        a = 0.5 * (foot[0, i] + foot[1, i]) - point[i]
        b = 0.5 * (other[0, i] + other[1, i]) - point[i]
        dot, a2, b2 = dot + a * b, a2 + a * a, b2 + b * b
    return dot < 0.0 and dot * dot > 0.5 * a2 * b2
