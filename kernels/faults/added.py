"""Unsteady motion of each segment: the displacement (shift) and the rotation (turn) by which one frame
departs from motion at constant velocity.

In walking these departures are some millimetres and tenths of a degree, caused by acceleration. They are
compared with their own root mean squares over the frames before, and with the size from which they change a
joint angle noticeably. A departure above both is a step, if all markers of the segment are displaced as a
rigid body. If all segments depart along their velocities, the cause is the time of the frame: a frame is
missing, or has the time of another one.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.markers.marker_health import is_seen, median

SHIFT, TURN = 0.025, math.radians(5.0)
"""Shift and turn below which no angle changes by more than its limit [m, rad]: flexions change by 1.3 to 2.8
degrees for 10 mm of a segment (docs/damage.md)."""
TIMES = 6.0
"""Least ratio of a step to the root mean square of the departures in earlier frames [1]."""
ACCELERATION, SPIN = 20.0, 150.0
"""Root mean squares that are assumed before those of a person are known [m/s^2, rad/s^2] ..."""
N_SUPPOSED, N_LASTING = 25.0, 1000.0
"""... with the weight of so many frames, and the largest number of frames in a mean."""
LATELY, TIMES_LATELY = 0.1, 5.0
"""Weight of a frame in the mean square of the latest departures, and least ratio of a step to its root: noise
stays below it, though some ten frames determine its size only roughly [1]."""
FORESEEN_S = 0.06
"""Longest gap after which the place of a marker is still predicted [s]."""
RIGID = 0.5
"""Largest ratio of what a shift and a turn leave of the markers' displacements to these displacements, as
root mean squares, for a segment that steps."""
MOVED = 0.25
"""Part of the largest displacement from which a marker counts as moved, as all but one of a segment that
steps must: where only some markers move, their own faults are found elsewhere. Markers near the axis of a
turn stay in place, as the toes of a foot that rises: of four or more it is enough that two move, if a rigid
displacement predicts all to within this part."""
ENOUGH = 4
"""Markers from which a rigid displacement that fits all of them is no coincidence: three fit wherever one of
them moves across their plane."""
LINEAR = 0.8
"""Largest turn [rad] to which the linearised fit of a turn applies."""
FLAT = 0.02
"""Ridge on moments of inertia, as a part of their mean:
markers do not determine a turn about their own line."""
MOVES = 0.2
"""Speed of a segment from which its displacement shows an error of the clock [m/s]."""
FEWEST_CLOCKS = 3
"""Least number of segments for a median of errors of the clock."""


class MarkerMotion(NamedTuple):
    """State of the motion of markers and segments, and the departure of the current frame from constant
    velocity.
    """

    # position of each marker in the last frame that used it [m]
    at: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]
    # and its velocity there, NaN = not known [m/s]
    speed: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]
    age: Annotated[np.ndarray, Floats("n_marker", fill=math.inf)]  # time since then [s]
    over: Annotated[np.ndarray, Floats("n_marker")]  # time over which its speed is taken [s]
    # departure of this frame from constant velocity [m]; NaN = not known
    way: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]
    # mean squares of shifts and turns, as accelerations [m^2/s^4, rad^2/s^4]
    usual: Annotated[np.ndarray, Floats("n_body", 2)]
    n: Annotated[np.ndarray, Floats("n_body")]  # number of frames in these means
    lately: Annotated[np.ndarray, Floats("n_body", 2)]  # mean squares of the latest [m^2, rad^2]
    # number of predicted markers, sums of way * speed and of speed^2
    shown: Annotated[np.ndarray, Floats("n_body", 3)]
    # error of the time of the frame by its motion [s]; NaN = it moves too slowly to show one
    clock: Annotated[np.ndarray, Floats("n_body", fill=math.nan)]
    others: Annotated[np.ndarray, Floats("n_body")]  # working space
    added: Annotated[np.ndarray, Floats("n_body", 2, 3)]  # shift and rotation of the departure [m, rad]
    span2: Annotated[np.ndarray, Floats("n_body")]  # departure per unit of acceleration [s^2]
    # largest shift and rotation that are no step [m, rad]; 0 = not judged
    allowed: Annotated[np.ndarray, Floats("n_body", 2)]
    found: Annotated[np.ndarray, Integers("n_body")]  # 1 = the departure is a step


def new_motion(n_marker: int, n_body: int) -> MarkerMotion:
    """Allocate the MarkerMotion of n_marker markers on n_body bodies before the first frame."""
    return allocate(MarkerMotion, n_marker=n_marker, n_body=n_body)


@njit
def find_added(body, dt, health, motion):
    """Write the shift and the rotation by which each body departs in this frame from constant velocity, and
    whether that is a step: larger than allowed, with all markers displaced as a rigid body.

    body : (n_marker,) int64 - body of each marker
    dt : float - time since the last frame [s]; 0 = unknown
    health : Health - state of each marker, kept from frame to frame; its fields labelled and weight are read
    motion : MarkerMotion - motion of markers and segments up to the current frame; its fields way, shown,
        clock, added, span2, allowed and found are written
    """
    shown = motion.shown
    shown[:, :] = 0.0
    for m in range(body.shape[0]):
        since, b = motion.age[m] + dt, body[m]
        known = dt > 0.0 and since <= FORESEEN_S and takes_part(m, health)
        for i in range(3):
            going = motion.at[m, i] + since * motion.speed[m, i] if known else math.nan
            motion.way[m, i] = health.labelled[m, i] - going
        if b >= 0 and math.isfinite(motion.way[m, 0]):
            shown[b, 0] += 1.0
            for i in range(3):
                shown[b, 1] += motion.way[m, i] * motion.speed[m, i]
                shown[b, 2] += motion.speed[m, i] ** 2
    for b in range(motion.n.shape[0]):
        moves = shown[b, 2] > shown[b, 0] * MOVES * MOVES
        motion.clock[b] = shown[b, 1] / shown[b, 2] if moves else math.nan
    for b in range(motion.n.shape[0]):
        judge_step(body, b, dt, motion)


@njit
def takes_part(m, health):
    """Return whether marker m is visible and not left out of this frame."""
    return health.weight[m] > 0.0 and is_seen(health.labelled, m)


@njit
def clock_of_others(b, motion):
    """Return by how much the time of the frame seems wrong [s]: the median of the time errors that follow
    from the motions of all segments but b; 0 if too few segments move.
    """
    n = 0
    for k in range(motion.clock.shape[0]):
        if k != b and math.isfinite(motion.clock[k]):
            motion.others[n] = motion.clock[k]
            n += 1
    return median(motion.others, n) if n >= FEWEST_CLOCKS else 0.0


@njit
def moves_as_one(body, b, n, mean, motion):
    """Return whether the current frame displaces the markers of body b nearly as a rigid body.

    At least all markers but one must move. Of four or more markers it is enough that two move, if the rigid
    displacement predicts all of them: the others, such as those near the axis of the rotation, stay in place.

    body : (n_marker,) int64 - body of each marker
    b : int - body
    n : int - number of its markers that are compared
    mean : (float, float, float) - mean of their last places [m]
    motion : MarkerMotion - motion of markers and segments up to the current frame
    """
    shift, turn = motion.added[b, 0], motion.added[b, 1]
    left = moved = most = worst = 0.0
    for m in range(body.shape[0]):
        if body[m] == b and math.isfinite(motion.way[m, 0]):
            x, y, z = motion.at[m, 0] - mean[0], motion.at[m, 1] - mean[1], motion.at[m, 2] - mean[2]
            u, v, w = motion.way[m, 0], motion.way[m, 1], motion.way[m, 2]
            square = u * u + v * v + w * w
            moved += square
            most = max(most, square)
            u -= shift[0] + turn[1] * z - turn[2] * y
            v -= shift[1] + turn[2] * x - turn[0] * z
            w -= shift[2] + turn[0] * y - turn[1] * x
            left += u * u + v * v + w * w
            worst = max(worst, u * u + v * v + w * w)
    n_moved = 0
    for m in range(body.shape[0]):
        if body[m] == b and math.isfinite(motion.way[m, 0]):
            u, v, w = motion.way[m, 0], motion.way[m, 1], motion.way[m, 2]
            n_moved += int(u * u + v * v + w * w > MOVED * MOVED * most)
    fits = n >= ENOUGH and worst <= MOVED * MOVED * most
    return left <= RIGID * RIGID * moved and n_moved >= (2 if fits else max(2, n - 1))


@njit
def turn_of(ixx, iyy, izz, ixy, ixz, iyz, t, turn):
    """Write the rotation vector that fits the displacements of points best, by least squares; zeros where the
    points determine none.

    ixx, iyy, izz, ixy, ixz, iyz : float - second moments of the points, as those of inertia [m^2]
    t : (float, float, float) - sum of the vector products of positions and displacements, about the means
        [m^2]
    turn : (3,) - rotation vector [rad], written
    """
    ridge = FLAT * (ixx + iyy + izz) / 3.0
    ixx, iyy, izz = ixx + ridge, iyy + ridge, izz + ridge
    cxx, cxy, cxz = iyy * izz - iyz * iyz, ixz * iyz - ixy * izz, ixy * iyz - ixz * iyy
    cyy, cyz, czz = ixx * izz - ixz * ixz, ixy * ixz - ixx * iyz, ixx * iyy - ixy * ixy
    size = ixx * cxx + ixy * cxy + ixz * cxz
    turn[:] = 0.0
    if size > 0.0:
        turn[0] = (cxx * t[0] + cxy * t[1] + cxz * t[2]) / size
        turn[1] = (cxy * t[0] + cyy * t[1] + cyz * t[2]) / size
        turn[2] = (cxz * t[0] + cyz * t[1] + czz * t[2]) / size


@njit
def is_unreliable(b, motion):
    """Return whether the departure of body b from constant velocity in the current frame is larger than
    allowed, and its rotation small enough for the linearised fit; write the allowed shift and rotation into
    motion.allowed.
    """
    shift, turn = length(motion.added[b, 0]), length(motion.added[b, 1])
    motion.allowed[b, 0] = max(SHIFT, allowed_of(b, 0, ACCELERATION, motion))
    motion.allowed[b, 1] = max(TURN, allowed_of(b, 1, SPIN, motion))
    return (shift > motion.allowed[b, 0] or turn > motion.allowed[b, 1]) and turn <= LINEAR


@njit
def judge_step(body, b, dt, motion):
    """Judge whether body b makes a step in the current frame: whether it departs from motion at constant
    velocity by more than is allowed, with all markers displaced as a rigid body.

    body : (n_marker,) int64 - body of each marker
    b : int - body
    dt : float - time since the last frame [s]
    motion : MarkerMotion - motion of markers and segments up to the current frame. Written are added (shift
        and rotation by which the body departs), allowed (their largest sizes that are no step) and found
        (1 = a step)
    """
    motion.found[b], motion.allowed[b, 0] = 0, 0.0
    if motion.shown[b, 0] < 2.0:
        return
    n, span2 = 0, 0.0
    mx = my = mz = sx = sy = sz = 0.0
    late = clock_of_others(b, motion)
    for m in range(body.shape[0]):
        if body[m] == b and math.isfinite(motion.way[m, 0]):
            n += 1
            since = motion.age[m] + dt
            span2 = max(span2, 0.5 * since * (since + motion.over[m]))
            for i in range(3):
                motion.way[m, i] -= late * motion.speed[m, i]
            mx += motion.at[m, 0]
            my += motion.at[m, 1]
            mz += motion.at[m, 2]
            sx += motion.way[m, 0]
            sy += motion.way[m, 1]
            sz += motion.way[m, 2]
    mx, my, mz, sx, sy, sz = mx / n, my / n, mz / n, sx / n, sy / n, sz / n
    motion.added[b, 0, 0], motion.added[b, 0, 1], motion.added[b, 0, 2] = sx, sy, sz
    ixx = iyy = izz = ixy = ixz = iyz = tx = ty = tz = 0.0
    for m in range(body.shape[0]):
        if body[m] == b and math.isfinite(motion.way[m, 0]):
            x, y, z = motion.at[m, 0] - mx, motion.at[m, 1] - my, motion.at[m, 2] - mz
            u, v, w = motion.way[m, 0] - sx, motion.way[m, 1] - sy, motion.way[m, 2] - sz
            ixx += y * y + z * z
            iyy += x * x + z * z
            izz += x * x + y * y
            ixy -= x * y
            ixz -= x * z
            iyz -= y * z
            tx += y * w - z * v
            ty += z * u - x * w
            tz += x * v - y * u
    turn = motion.added[b, 1]
    turn_of(ixx, iyy, izz, ixy, ixz, iyz, (tx, ty, tz), turn)
    motion.span2[b] = span2
    if is_unreliable(b, motion) and moves_as_one(body, b, n, (mx, my, mz), motion):
        motion.found[b] = 1


@njit
def allowed_of(b, k, supposed, motion):
    """Return the largest departure of body b from constant velocity that does not count as a step: a shift
    [m] for k = 0, a rotation [rad] for k = 1.

    supposed : float - root mean square of its acceleration that is assumed before it is known [m/s^2,
        rad/s^2]
    """
    n = motion.n[b]
    mean = (n * motion.usual[b, k] + N_SUPPOSED * supposed * supposed) / (n + N_SUPPOSED)
    return max(TIMES * motion.span2[b] * math.sqrt(mean), TIMES_LATELY * math.sqrt(motion.lately[b, k]))


@njit
def length(x):
    """Return the length of x : (3,)."""
    return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@njit
def learn_added(b, motion):
    """Update the mean squares of the shifts and rotations by which body b departs from constant velocity.

    Those of the current frame are added; where they are larger than allowed, the allowed size is added
    instead.
    """
    motion.n[b] = min(motion.n[b] + 1.0, N_LASTING)
    for k in range(2):
        size = min(length(motion.added[b, k]), motion.allowed[b, k])
        motion.lately[b, k] += LATELY * (size * size - motion.lately[b, k])
        rate = size / motion.span2[b]
        motion.usual[b, k] += (rate * rate - motion.usual[b, k]) / motion.n[b]


@njit
def go_on(body, whole, dt, health, motion):
    """Store positions and velocities of the current frame for the next one; markers of a segment that was
    displaced by a step keep their earlier velocities.

    body : (n_marker,) int64 - body of each marker
    whole : bool - whether most segments were displaced by a step, so that no velocity is known
    dt : float - time since the last frame [s]
    health : Health - state of each marker, kept from frame to frame
    motion : MarkerMotion - motion of markers and segments up to the current frame; its fields at, speed, age
        and over are written
    """
    for m in range(body.shape[0]):
        motion.age[m] += dt
        if not takes_part(m, health):
            continue
        if body[m] < 0 or motion.found[body[m]] == 0:
            known = dt > 0.0 and motion.age[m] <= FORESEEN_S and not whole
            rate = 1.0 / motion.age[m] if known else math.nan
            for i in range(3):
                motion.speed[m, i] = rate * (health.labelled[m, i] - motion.at[m, i])
            motion.over[m] = motion.age[m]
        for i in range(3):
            motion.at[m, i] = health.labelled[m, i]
        motion.age[m] = 0.0
