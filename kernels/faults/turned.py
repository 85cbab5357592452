"""Detection of thighs and shanks whose markers are rotated about the bone because a wand marker was
displaced, which a rigid fit of the segment cannot show.

The pose of a thigh is computed from its own markers, or from the hip centre (by the pelvis markers), the knee
marker and one wand marker; that of a shank from its own markers, or from the knee marker, which does not
depend on the thigh's wand, the ankle marker and one wand. The rotation about the long axis, which only the
wand measures, can be checked in two ways.

In standing: while the knee is nearly straight, thigh and shank are rotated relative to each other as in the
static trial, within what a knee allows. Otherwise a wand has been moved since then; a moved wand of the thigh
rotates the hip as well, by the same angle in the opposite direction.

In bending: the shank swings in a plane. Seen along the long axis of the thigh this plane is a line, at right
angles to the flexion axis of the knee. If the calibrated axis has another direction, the wand was misplaced
already in the static trial (cross-talk; Baker et al. 1999, Hum Mov Sci 18, 655-667).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy_matrix
from kernels.compiler.jit import njit
from kernels.conventional.vectors import framed
from kernels.faults.calibrated import BY_MARKERS
from kernels.markers.marker_health import is_seen

PELVIS, THIGH, SHANK = 0, 1, 2
AT_KNEE, ON_THIGH, AT_ANKLE, ON_SHANK, SHARED = 0, 1, 2, 3, 4
"""Markers of a leg; the shared one is on the thigh, so near to the knee's axis that the shank has it, too."""
HIP_IN_PELVIS, HIP, KNEE, SHANK_BEGINS = 0, 1, 2, 3
"""Rows of LegTurns.centre: joint centres, and the place of the shared marker, or the knee, in the shank."""
SINCE_STANDING, BESIDE_AXIS = 1, 2
"""Faults of a leg, as bits of `off`: markers rotated since standing, or a knee axis calibrated wrongly."""
STRAIGHT = math.cos(math.radians(25.0))
"""Cosine of the largest knee flexion at which the turn of shank against thigh is still taken for that of
standing."""
LIMIT_AXIS = math.radians(35.0)
"""Rotation of the knee's calibrated axis from the true one above which it is a fault [rad]."""
KEPT = 0.75
"""Part of the limit below which a rotation must fall until it is no longer a fault."""
MEMORY_STANDING, MEMORY_AXIS = 0.5, 2.0
"""Time constants of the means over frames with straight knees, and over all frames [s]."""
KNOWN = 0.1
"""Time with a straight knee from which their mean counts [s]."""
SWUNG, NARROW = 0.15, 4.0
"""Least root mean square of the swing of a shank, relative to its length, and ratio of it to that across."""
USUAL_STEP = 0.01
"""Time between two frames that is assumed where the stream does not state it [s]."""
HALF, WHOLE = math.pi, 2.0 * math.pi


class LegTurns(NamedTuple):
    """The legs of a person, and means, over the frames, of the rotations of their markers about the bones."""

    body: np.ndarray  # (n, 3) int64 - pelvis, thigh and shank; -1 = no pelvis
    marker: np.ndarray  # (n, 5) int64 - AT_KNEE, ON_THIGH ...; -1 = none
    centre: np.ndarray  # (n, 4, 3) - HIP_IN_PELVIS, HIP ... [m]
    # (n, 4, 3) - of the thigh upwards, to its front, along the epicondyles; of the shank upwards
    axis: np.ndarray
    standing: np.ndarray  # (n, 2) - turn of thigh in pelvis and shank in thigh [rad]; NaN = not known
    limit: np.ndarray  # (n,) - turn from standing that no knee makes [rad]
    # time with a straight knee [s], and how far hip and knee are turned from standing then, means [rad]
    turn: Annotated[np.ndarray, Floats("n", 3)]
    # time [s]; mean of the shank's direction forwards and aside in the thigh, and their second moments [1]
    swing: Annotated[np.ndarray, Floats("n", 6)]
    # size of the turn from standing, and turn of the knee's axis [rad]
    found: Annotated[np.ndarray, Floats("n", 2)]
    off: Annotated[np.ndarray, Integers("n")]  # bits SINCE_STANDING ...
    R: Annotated[np.ndarray, Floats(2, 3, 3)]  # working space: axes of thigh and shank in ground
    point: Annotated[np.ndarray, Floats(2, 3)]  # hip's and knee's centre in ground [m]


def new_turns(body, marker, centre, axis, standing, limit):
    """Allocate the LegTurns of n legs.

    body, marker : (n, 3), (n, 5) int64 - pelvis, thigh, shank; markers at the knee, on the thigh, at the
        ankle, on the shank, and one that thigh and shank share; -1 = none
    centre, axis : (n, 4, 3) - points [m] and axes of the segments, in their bodies
    standing, limit : (n, 2), (n,) - rotations of hip and knee in the static trial, limit of their change
        [rad]
    """
    return allocate(
        LegTurns, body=body, marker=marker, centre=centre, axis=axis, standing=standing, limit=limit,
        n=len(body),
    )  # fmt: skip


@njit
def find_turned(markers, health, shape, dt, legs):
    """Add a frame to the means of all legs; return the number of legs whose markers are rotated about the
    bone.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    health : Health - state of each marker; its fields labelled and weight are read
    shape : CalibratedShape - poses of the segments in this frame; its carries, turned and middle are read
    dt : float - time since the frame before [s], 0 = unknown
    legs : LegTurns - its fields turn, swing, found, off and working space are written
    """
    n_found, step = 0, dt if dt > 0.0 else USUAL_STEP
    for k in range(legs.body.shape[0]):
        if place_thigh(k, markers, health, shape, legs) and place_shank(k, markers, health, shape, legs):
            take_in(k, step, shape, legs)
        judge(k, legs)
        n_found += int(legs.off[k] > 0)
    return n_found


@njit
def place_thigh(k, markers, health, shape, legs):
    """Write the axes of the thigh of leg k and the knee centre, in ground; return whether they are known.

    k : int - leg
    markers : ModelMarkers - markers of the model, with their bodies and positions
    health : Health - state of each marker, kept from frame to frame; its fields labelled and weight are read
    shape : CalibratedShape - points of the segments by the calibration; its fields carries, turned and
        middle are read
    legs : LegTurns - legs, and mean rotations of their markers about the bones; its fields R and point are
        written
    """
    b, pelvis, knee = legs.body[k, THIGH], legs.body[k, PELVIS], legs.point[1]
    if shape.carries[b] == BY_MARKERS:
        copy_matrix(shape.turned[b], legs.R[0])
        carry_point(shape, b, legs.centre[k, KNEE], knee)
        return True
    near, wand = legs.marker[k, AT_KNEE], legs.marker[k, ON_THIGH]
    if near < 0 or pelvis < 0 or shape.carries[pelvis] != BY_MARKERS:
        return False
    if not (is_used(health, near) and is_used(health, wand)):
        return False
    carry_point(shape, pelvis, legs.centre[k, HIP_IN_PELVIS], legs.point[0])
    own = three_axes(legs.centre[k, HIP], markers.position[near], markers.position[wand])
    seen = three_axes(legs.point[0], health.labelled[near], health.labelled[wand])
    align(own, seen, legs.R[0])
    place_from(markers, health, near, legs.centre[k, KNEE], legs.R[0], knee)
    return True


@njit
def place_shank(k, markers, health, shape, legs):
    """Write the axes of the shank of leg k in ground, called after place_thigh; return whether they are
    known.

    k : int - leg
    markers : ModelMarkers - markers of the model, with their bodies and positions
    health : Health - state of each marker, kept from frame to frame; its fields labelled and weight are read
    shape : CalibratedShape - points of the segments by the calibration; its fields carries, turned and
        middle are read
    legs : LegTurns - legs, and mean rotations of their markers about the bones; its fields R and point are
        written
    """
    b = legs.body[k, SHANK]
    if shape.carries[b] == BY_MARKERS:
        copy_matrix(shape.turned[b], legs.R[1])
        return True
    near, wand, shared = legs.marker[k, AT_ANKLE], legs.marker[k, ON_SHANK], legs.marker[k, SHARED]
    if near < 0 or (shared >= 0 and not is_used(health, shared)):
        return False
    if not (is_used(health, near) and is_used(health, wand)):
        return False
    begin = health.labelled[shared] if shared >= 0 else legs.point[1]
    own = three_axes(legs.centre[k, SHANK_BEGINS], markers.position[near], markers.position[wand])
    seen = three_axes(begin, health.labelled[near], health.labelled[wand])
    align(own, seen, legs.R[1])
    return True


@njit
def is_used(health, m):
    """Return whether marker m is visible in this frame and not left out because of a fault."""
    return health.weight[m] > 0.0 and is_seen(health.labelled, m)


@njit
def three_axes(centre, near, wand):
    """Return orthonormal axes of a bone: the third points from the marker `near` to a joint centre, the
    second towards a wand marker, the first is orthogonal to both.
    """
    along = centre[0] - near[0], centre[1] - near[1], centre[2] - near[2]
    towards = wand[0] - near[0], wand[1] - near[1], wand[2] - near[2]
    return framed(along, towards)


@njit
def align(own, seen, R_out):
    """Write the rotation that takes axes, given in a body (own), to the same axes in ground (seen) into R_out
    : (3, 3).
    """
    for i in range(3):
        for j in range(3):
            R_out[i, j] = seen[0][i] * own[0][j] + seen[1][i] * own[1][j] + seen[2][i] * own[2][j]


@njit
def carry_point(shape, b, place, x_out):
    """Write the position in ground of a point of body b, by the pose of its markers, into x_out : (3,) [m];
    place : (3,) - the point in the body [m].
    """
    R, middle = shape.turned[b], shape.middle[b]
    for i in range(3):
        x_out[i] = middle[1, i]
        for j in range(3):
            x_out[i] += R[i, j] * (place[j] - middle[0, j])


@njit
def place_from(markers, health, m, place, R, x_out):
    """Write the position in ground of a point of a body, computed from one of its markers and its axes, into
    x_out.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    health : Health - state of each marker, kept from frame to frame; its field labelled is read
    m : int - marker
    place : (3,) - the point in the body [m]
    R : (3, 3) - axes of the body in ground
    x_out : (3,) - in ground [m]
    """
    for i in range(3):
        x_out[i] = health.labelled[m, i]
        for j in range(3):
            x_out[i] += R[i, j] * (place[j] - markers.position[m, j])


@njit
def about_y(P, D):
    """Return the rotation of the axes D in the axes P, both (3, 3), about y in the sequence z, x, y [rad]."""
    side = P[0, 2] * D[0, 0] + P[1, 2] * D[1, 0] + P[2, 2] * D[2, 0]
    front = P[0, 2] * D[0, 2] + P[1, 2] * D[1, 2] + P[2, 2] * D[2, 2]
    return math.atan2(-side, front)


@njit
def wrapped(angle):
    """Return an angle [rad] moved by whole turns into the range of half a turn to either side of zero."""
    return (angle + HALF) % WHOLE - HALF


@njit
def part_along(R, a, D, b):
    """Return the cosine of the angle between two directions: a, in a body with the axes R : (3, 3), and b, in
    a body with the axes D : (3, 3).
    """
    found = 0.0
    for i in range(3):
        x = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]
        found += x * (D[i, 0] * b[0] + D[i, 1] * b[1] + D[i, 2] * b[2])
    return found


@njit
def take_in(k, dt, shape, legs):
    """Add the rotations of hip and knee of leg k in this frame, and the direction of its shank, to their
    means; dt : float - time since the last frame, the weight of this frame [s].
    """
    thigh, shank, turn, swing = legs.R[0], legs.R[1], legs.turn[k], legs.swing[k]
    up, front, side, down = legs.axis[k, 0], legs.axis[k, 1], legs.axis[k, 2], legs.axis[k, 3]
    if part_along(thigh, up, shank, down) > STRAIGHT:
        turn[0] = turn[0] * (1.0 - min(1.0, dt / MEMORY_STANDING)) + dt
        share, pelvis = dt / turn[0], legs.body[k, PELVIS]
        if pelvis >= 0 and shape.carries[pelvis] == BY_MARKERS:
            hip = wrapped(about_y(shape.turned[pelvis], thigh) - legs.standing[k, 0])
            turn[1] += share * wrapped(hip - turn[1])
        knee = wrapped(about_y(thigh, shank) - legs.standing[k, 1])
        turn[2] += share * wrapped(knee - turn[2])
    before = swing[0] * (1.0 - min(1.0, dt / MEMORY_AXIS))
    swing[0] = before + dt
    share, kept = dt / swing[0], before / swing[0]
    x = -part_along(thigh, front, shank, down) - swing[1]
    y = -part_along(thigh, side, shank, down) - swing[2]
    swing[1] += share * x
    swing[2] += share * y
    swing[3] = kept * (swing[3] + share * x * x)
    swing[4] = kept * (swing[4] + share * x * y)
    swing[5] = kept * (swing[5] + share * y * y)


@njit
def judge(k, legs):
    """Determine from the means whether the markers of leg k are rotated about the bone; write this as bits of
    legs.off, one for each of the two checks. Where the means of a check are not known yet, its bit stays.
    """
    turn, swing, found, off = legs.turn[k], legs.swing[k], legs.found[k], legs.off[k]
    if turn[0] >= KNOWN:
        found[0] = since_standing(turn[1], turn[2])
        off = marked(off, SINCE_STANDING, found[0], legs.limit[k])
    half, apart = 0.5 * (swing[3] + swing[5]), 0.5 * (swing[3] - swing[5])
    root = math.sqrt(apart * apart + swing[4] * swing[4])
    if half + root >= SWUNG * SWUNG and half + root >= NARROW * NARROW * (half - root):
        found[1] = 0.5 * math.atan2(2.0 * swing[4], 2.0 * apart)
        off = marked(off, BESIDE_AXIS, abs(found[1]), LIMIT_AXIS)
    legs.off[k] = off


@njit
def since_standing(hip, knee):
    """Return the rotation [rad] of the markers about a thigh or shank, from the rotations of hip and knee
    since standing.

    A displaced wand of the thigh changes the rotations of hip and knee in opposite directions. If the pose
    of the shank is computed from that of the thigh, the shank rotates along, and the knee shows only about
    half of the rotation. So the rotation of the hip counts, too, up to twice that of the knee.
    """
    against = hip * knee < 0.0
    return max(abs(knee), min(abs(hip), 2.0 * abs(knee))) if against else abs(knee)


@njit
def marked(off, bit, size, limit):
    """Return the bits `off` with one bit set if a size is above its limit, and cleared otherwise."""
    above = size > (KEPT * limit if off & bit else limit)
    return off | bit if above else off & ~bit
