"""State of every marker from frame to frame: gaps, mean residual, expected position, and the fault of this
frame.

Every marker's residual is averaged in its body's frame. This mean, made of soft tissue artefact and error of
the model, may not leave the neighbourhood of a mean over a longer time, and that one may not leave the
neighbourhood of the calibrated position, so that a lasting fault is not learnt as normal. Frames in which a
marker is at fault are left out of its mean. Faults are found by kernels/faults; on clean data all weights
stay exactly 1.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import njit

OUTLIER, FROZEN, EXCHANGED, SEGMENT, MOVED = 1, 2, 3, 4, 5
"""Faults. OUTLIER: the marker disagrees with its segment, the prediction or the pose; FROZEN: it is constant
to the last bit while others move; EXCHANGED: it is at another label's place; SEGMENT: its segment or the
frame is at fault as a whole; MOVED: it has moved for good, and was learnt anew."""
BALL = 0.025
"""Largest distance of the mean residual from the slow mean:
in clean walks the residual varies by up to 22 mm [m]."""
SLOW = 0.1
"""Rate of the slow mean relative to that of the mean [1]."""
STILL = 1.0
"""Time constant of the place of a marker that may have moved for good [s]."""
RECENT = 0.3
"""Longest time since a residual for which it counts as recent [s]."""
FAR = 0.1
"""Distance from its slow mean above which a marker is not learnt anew,
as it belongs to something else [m]."""


class Health(NamedTuple):
    """State of each marker that is kept from frame to frame: weight, mean residual, expected position, fault,
    gaps.
    """

    weight: Annotated[np.ndarray, Floats("n_marker", fill=1.0)]  # weight of this frame; 0 = takes no part
    gap_age: Annotated[np.ndarray, Floats("n_marker")]  # time since last seen [s]
    # mean residual, measured - model, in the body frame [m]
    mean: Annotated[np.ndarray, Floats("n_marker", 3)]
    # mean residual over a longer time, near which `mean` is kept [m]
    mean_residual: Annotated[np.ndarray, Floats("n_marker", 3)]
    # residual near which mean_residual is kept: 0, or where the marker was learnt anew [m]
    origin: Annotated[np.ndarray, Floats("n_marker", 3)]
    n_seen: Annotated[np.ndarray, Integers("n_marker")]  # frames it was seen in without a fault
    spread: Annotated[np.ndarray, Floats("n_marker")]  # mean square distance from mean_residual [m^2]
    swap_with: Annotated[np.ndarray, Integers("n_marker", fill=-1)]  # marker at whose place it is, -1 = none
    # where it is expected, in ground; NaN = not [m]
    expected: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]
    innovation: Annotated[np.ndarray, Floats("n_marker")]  # distances from there, sorted [m]
    fault: Annotated[np.ndarray, Integers("n_marker")]  # of this frame, 0 = none
    last: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]  # measured in the last frame [m]
    # measured - model of the present frame, in the body frame [m]
    residual: Annotated[np.ndarray, Floats("n_marker", 3)]
    good: Annotated[np.ndarray, Floats("n_marker", 3)]  # that of its last frame without a fault [m]
    # how long ago that was, inf = there was none [s]
    good_age: Annotated[np.ndarray, Floats("n_marker", fill=math.inf)]
    n_same: Annotated[np.ndarray, Integers("n_marker")]  # frames in which it has not changed at all
    # samples so far, and those that repeat one or two coordinates
    n_sample: Annotated[np.ndarray, Integers(2)]
    # measured positions of the present frame, with labels corrected where that is certain [m]
    labelled: Annotated[np.ndarray, Floats("n_marker", 3, fill=math.nan)]
    # how long a marker at fault has been where it is in its body [s]
    still: Annotated[np.ndarray, Floats("n_marker")]
    still_at: Annotated[np.ndarray, Floats("n_marker", 3)]  # that place, as a residual [m]
    # 1 = its exchanged label was corrected with certainty: it is used like any other marker
    certain: Annotated[np.ndarray, Integers("n_marker")]
    waited: Annotated[np.ndarray, Floats(1)]  # time for which the same sample has been repeated [s]


class HealthOptions(NamedTuple):
    """Settings of the checks of single markers: allowed distances, times, and whether markers at fault are
    left out.
    """

    downweight: np.ndarray  # (1,) int64 - 1 = leave markers at fault out, 0 = only report; may change
    floor: float  # allowed distance of a residual from its usual value, at the solution [m]
    unknown: float  # the same before a marker is learnt; also of mean_residual from origin [m]
    agreement: float  # allowed distance from the position that its segment's other markers give [m]
    n_learn: int  # frames to learn a marker
    time_constant: float  # of the mean [s]
    swap_distance: float  # closest two markers that are checked for a swap [m]
    stray_speed: float  # allowed speed of motion that was not predicted [m/s]
    relearn: float  # time for which a marker must stay elsewhere to be learnt anew [s]
    slack: np.ndarray  # (n_marker,) - factor of all bounds of a marker that are distances [1]


def new_health(n_marker: int) -> Health:
    """Allocate the Health of n_marker markers before the first frame."""
    return allocate(Health, n_marker=n_marker)


@njit
def is_seen(measured, m):
    """Return whether marker m of a frame is visible: all its coordinates are finite."""
    return math.isfinite(measured[m, 0]) and math.isfinite(measured[m, 1]) and math.isfinite(measured[m, 2])


@njit
def visibility(measured, dt, health):
    """Begin a new frame: set the weights, 0 for occluded markers and 1 for others, clear the faults, and
    advance the ages of gaps; return the number of visible markers.

    measured : (n_marker, 3) - measured positions [m], NaN = occluded; dt : float - time since the last frame
        [s]; health : Health - state of each marker, written.
    """
    n_visible = 0
    for m in range(measured.shape[0]):
        seen = is_seen(measured, m)
        health.weight[m] = 1.0 if seen else 0.0
        health.swap_with[m] = -1
        health.fault[m] = health.certain[m] = 0
        health.gap_age[m] = 0.0 if seen else health.gap_age[m] + dt
        n_visible += int(seen)
    return n_visible


@njit
def is_known(m, options, health):
    """Return whether marker m has been visible without a fault for enough frames that its mean residual can
    be used.

    options : HealthOptions - its field n_learn is that number; health : Health - state of each marker.
    """
    return health.n_seen[m] >= options.n_learn


@njit
def expect(markers, pose, model, options, health):
    """Write the expected position of each marker, the model marker plus an expected residual, into
    health.expected : (n_marker, 3) [m].

    The expected residual is the last one without a fault if that is recent, else the mean one. For a marker
    that has not been visible for enough frames, it is the residual of the calibration.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - predicted positions and orientations of the bodies in ground
    model : (n_marker, 3) - model markers in the predicted pose, in ground [m]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame; its field expected is written
    """
    for m in range(markers.body.shape[0]):
        b, usual = markers.body[m], health.mean[m]
        if is_recent(m, health):
            usual = health.good[m]
        elif not is_known(m, options, health):
            usual = health.origin[m]
        for i in range(3):
            health.expected[m, i] = (
                model[m, i]
                + pose.rotation[b, i, 0] * usual[0]
                + pose.rotation[b, i, 1] * usual[1]
                + pose.rotation[b, i, 2] * usual[2]
            )


@njit
def is_recent(m, health):
    """Return whether marker m was visible without a fault within the last RECENT seconds."""
    return health.good_age[m] <= RECENT


@njit
def expect_nothing(health):
    """Set all expected positions health.expected : (n_marker, 3) to NaN, for a frame without a prediction."""
    health.expected[:, :] = math.nan


@njit
def forget_unseen(health):
    """Set health.expected : (n_marker, 3) to NaN for markers that were occluded in the last frame.

    It is called where a dof was held fixed in that frame because no visible marker determined it; then the
    positions of the occluded markers are not known.
    """
    for m in range(health.gap_age.shape[0]):
        if health.gap_age[m] > 0.0:
            health.expected[m, :] = math.nan


@njit
def is_foreseen(m, health):
    """Return whether marker m is used in this frame and has an expected position."""
    return health.weight[m] > 0.0 and math.isfinite(health.expected[m, 0])


@njit
def innovation_of(m, measured, health):
    """Return the innovation of marker m: the distance of its measured from its expected position [m]."""
    total = 0.0
    for i in range(3):
        total += (measured[m, i] - health.expected[m, i]) ** 2
    return math.sqrt(total)


@njit
def median(x, n):
    """Return the lower median of x[:n], an array of floats, which is sorted in place (by insertion, as n is
    small).
    """
    for i in range(1, n):
        value, k = x[i], i
        while k > 0 and x[k - 1] > value:
            x[k] = x[k - 1]
            k -= 1
        x[k] = value
    return x[(n - 1) // 2]


@njit
def residuals(markers, pose, model, measured, health):
    """Write the residuals at a pose, measured minus model marker, into health.residual : (n_marker, 3) [m],
    in the axes of the markers' bodies; NaN for occluded markers.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground
    model : (n_marker, 3) - model markers in ground [m]
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    health : Health - state of each marker, kept from frame to frame; its field residual is written
    """
    for m in range(measured.shape[0]):
        b = markers.body[m]
        for i in range(3):
            r = 0.0
            for k in range(3):
                r += pose.rotation[b, k, i] * (measured[m, k] - model[m, k])
            health.residual[m, i] = r


@njit
def unusual(m, options, health):
    """Return the deviation of marker m's residual from its usual value, divided by the allowed deviation;
    above 1 the marker is at fault.

    The deviation is the distance of the residual from its mean or from its mean over a longer time, whichever
    is smaller: a fault that is noticed late has changed the first mean, but hardly the second. For a marker
    that has not been visible for enough frames, it is the distance from the calibrated position.
    """
    if is_known(m, options, health):
        r = health.residual[m]
        away = min(distance_between(r, health.mean[m]), distance_between(r, health.mean_residual[m]))
        return away / (options.slack[m] * options.floor)
    return distance_between(health.residual[m], health.origin[m]) / (options.slack[m] * options.unknown)


@njit
def distance_between(a, b):
    """Return |a - b| of two points a, b : (3,)."""
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit
def keep_near(centre, radius, x):
    """Limit x : (3,), in place, to a ball: if x is farther than radius [m] from centre : (3,), move it to the
    nearest point of the ball.
    """
    d = distance_between(x, centre)
    if d > radius:
        for i in range(3):
            x[i] = centre[i] + radius / d * (x[i] - centre[i])


@njit
def learn(markers, dt, options, health, silent):
    """Update the mean residual of every marker that is not at fault; call it after a frame is solved and
    `residuals` are written.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame, written
    silent : (n_body,) int64 - 1 = the means of the body's markers are not updated, as its pose is no
        measurement: missing markers of it were filled in, or a dof that moves it was held fixed
    """
    for m in range(health.weight.shape[0]):
        r = health.residual[m]
        if not math.isfinite(r[0] + r[1] + r[2]):
            continue
        if health.fault[m] == OUTLIER:
            watch(m, dt, options, health)
            continue
        health.still[m] = 0.0
        copy(r, health.still_at[m])
        if is_wrong(m, options, health):
            continue
        copy(r, health.good[m])
        health.good_age[m] = 0.0
        if silent[markers.body[m]] == 1:
            continue
        health.n_seen[m] += 1
        first, rate = 1.0 / health.n_seen[m], min(1.0, dt / options.time_constant)
        for i in range(3):
            health.mean_residual[m, i] += max(first, SLOW * rate) * (r[i] - health.mean_residual[m, i])
            health.mean[m, i] += max(first, rate) * (r[i] - health.mean[m, i])
        keep_near(health.origin[m], options.slack[m] * options.unknown, health.mean_residual[m])
        keep_near(health.mean_residual[m], BALL, health.mean[m])
        away = distance_between(r, health.mean_residual[m])
        health.spread[m] += max(first, SLOW * rate) * (away * away - health.spread[m])


@njit
def is_wrong(m, options, health):
    """Return whether marker m is at fault in this frame, so that its mean residual is not updated.

    A marker whose label was exchanged with that of another marker is not, if the exchange has been corrected
    and the marker is used in the fit.
    """
    put_right = health.fault[m] == EXCHANGED and health.weight[m] > 0.0 and options.downweight[0] == 1
    return health.fault[m] != 0 and not put_right


@njit
def is_blamed(m, health):
    """Return whether marker m is reported as at fault in this frame. It is not if only labels were exchanged
    and it is certain which label belongs to which marker.
    """
    certain = health.fault[m] == EXCHANGED and health.certain[m] == 1
    return health.fault[m] != 0 and not certain


@njit
def watch(m, dt, options, health):
    """Observe a marker at fault; if it stays long enough at one other place of its body, learn this as its
    new position.

    m : int - index of the marker
    dt : float - time since the last frame [s]
    options : HealthOptions - settings of the checks of single markers
    health : Health - fields still and still_at are written; where the marker is learnt anew, also mean,
        mean_residual, origin and fault
    """
    r, at = health.residual[m], health.still_at[m]
    near = (
        distance_between(r, at) <= options.agreement and distance_between(r, health.mean_residual[m]) <= FAR
    )
    health.still[m] = health.still[m] + dt if near else 0.0
    part = min(1.0, dt / STILL) if near else 1.0
    for i in range(3):
        at[i] += part * (r[i] - at[i])
    if near and health.still[m] >= options.relearn:
        health.fault[m], health.still[m] = MOVED, 0.0
        copy(at, health.origin[m])
        copy(at, health.mean_residual[m])
        copy(at, health.mean[m])
