"""Filling in of markers that are missing for a while, from the other markers of their segment.

The pose that fits the remaining markers changes as soon as one is missing, by tens of degrees for a segment
with three markers: every marker is some millimetres off the model for whole phases of a motion, and the fit
depends on all of them. A marker that is occluded or left out is therefore put, for a while, where it would be
if it moved rigidly with the other markers of its segment, displaced by its mean residual. The other markers
may leave a rotation undetermined, such as that about the line through two markers; it continues at its last
rate and comes to rest. The longer a gap lasts, the less certain the filled-in position is, and the less
weight it gets in the solver: its standard deviation follows from the second moments of the visible markers
and from how fast the segment has been rotating. A segment with fewer than two markers left is determined by
the joints, and by the weights that hold undetermined dofs (kernels/solver/track).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy, copy_matrix
from kernels.algebra.rotation import multiply_transposed, rotate, turn_about
from kernels.compiler.jit import njit
from kernels.markers.marker_health import is_known
from kernels.solver.initial_pose import dominant_rotation

PRIOR = 1e-6
"""Second moment with which the predicted orientation counts beside markers [m^2]: it determines only what
they leave undetermined."""
WITHIN = 0.005
"""Standard deviation of a marker within its segment, apart from its mean residual [m]."""
OF_ROOT, OF_LIMB = 0.7, 1.5
"""Least angular rates that are assumed for segments [rad/s], however still they were: for limbs the root mean
square of a thigh's in walking, which swings by some 20 degrees to either side in a stride of a second; for
the root that of a pelvis, which turns by some 5 degrees to either side about each axis."""
SHARE = 0.5
"""Standard deviation of a predicted turn,
relative to the turn at the segment's usual rate in that time [1]."""
PULLS = 10.0
"""Factor of the model's misfit in the weight of a filled-in place. The misfit is no noise: it acts in one
direction in frame after frame, and would slowly move what nothing else determines."""
ANY_TURN = 0.6
"""Standard deviation of a turn that is no longer known at all [rad]."""


class Segments(NamedTuple):
    """State of each segment, and the marker positions that the solver has to fit in the current frame."""

    rotation: Annotated[np.ndarray, Floats("n_body", 3, 3)]  # orientation in the last frame
    rate: Annotated[np.ndarray, Floats("n_body", 3)]  # angular velocity in ground, smoothed [rad/s]
    swing: Annotated[np.ndarray, Floats("n_body")]  # mean square of it [rad^2/s^2]
    # orientation in the present frame, where markers are filled in
    turned: Annotated[np.ndarray, Floats("n_body", 3, 3)]
    filled: Annotated[np.ndarray, Integers("n_body")]  # 1 = markers of it are filled in
    since: Annotated[np.ndarray, Floats("n_body")]  # time since none of its markers was missed [s]
    away: Annotated[np.ndarray, Floats("n_marker")]  # time since a marker took part [s]
    place: Annotated[np.ndarray, Floats("n_marker", 3)]  # position to which it is fitted, in ground [m]
    # weight with which it is fitted; for visible markers that of Health
    weight: Annotated[np.ndarray, Floats("n_marker")]
    # standard deviation of a position that was filled in, 0 = measured [m]
    doubt: Annotated[np.ndarray, Floats("n_marker")]
    # mean square of the distances of markers from the model, lately [m^2]
    misfit: Annotated[np.ndarray, Floats(1)]
    begun: Annotated[np.ndarray, Integers(1)]  # 1 = the last frame was solved
    sound: Annotated[np.ndarray, Integers("n_body")]  # 1 = enough of its markers agree with each other
    doubted: Annotated[np.ndarray, Floats("n_body")]  # time for which markers of it have been at fault [s]
    # of that, time for which markers were left out as astray [s]
    barred: Annotated[np.ndarray, Floats("n_body")]
    # of a doubted one, time for which none has been at fault again [s]
    calm: Annotated[np.ndarray, Floats("n_body")]
    # 1 = a marker of it took part again in the last frame
    regained: Annotated[np.ndarray, Integers("n_body")]
    silent: Annotated[np.ndarray, Integers("n_body")]  # 1 = mean residuals are not updated


class FillOptions(NamedTuple):
    """Settings for filling in missing markers: longest gap, time constants, and least misfit of markers."""

    longest: float  # a marker that is missing for longer is not filled in [s]; 0 = none ever is
    smoothing: float  # time constant of the rate [s]
    rest: float  # time constant with which a predicted rotation comes to rest [s]
    least: float  # least distance of markers from the model that is assumed [m]


def new_segments(n_body: int, n_marker: int) -> Segments:
    """Allocate the Segments of n_body bodies and n_marker markers before the first frame."""
    return allocate(Segments, n_body=n_body, n_marker=n_marker)


@njit
def fill_in(markers, measured, dt, options, health, segments, fit):
    """Write the marker positions of a frame, with missing ones filled in, and their weights and standard
    deviations into segments.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    measured : (n_marker, 3) - measured marker positions in ground [m]; NaN = occluded
    dt : float - time since the last frame [s]; 0 = unknown, then nothing is filled in
    options : FrameOptions - settings for solving a frame
    health : Health - weight of the markers that are visible
    segments : Segments - state of each segment, kept from frame to frame; its fields place, weight, doubt,
        filled and turned are written
    fit : BodyFitWork - working space of rigid fits, written
    """
    for m in range(measured.shape[0]):
        copy(measured[m], segments.place[m])
        segments.weight[m] = health.weight[m]
        segments.doubt[m] = 0.0
    segments.filled[:] = 0
    if segments.begun[0] == 0 or not dt > 0.0:
        return
    for b in range(segments.filled.shape[0]):
        age = missed_for(markers, b, dt, options, health, segments)
        if not 0.0 < age <= options.fill.longest:
            continue
        if turn_segment(markers, b, measured, age, dt, options, health, segments, fit):
            segments.filled[b] = 1
            place_missed(markers, b, age, dt, options, health, segments, fit)


@njit
def is_missed(m, dt, options, health, segments):
    """Return whether marker m is unused in this frame, but was used recently enough to be filled in.

    m : int - index of the marker
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame
    """
    known = health.weight[m] == 0.0 and is_known(m, options.health, health)
    return known and segments.away[m] + dt <= options.fill.longest


@njit
def missed_for(markers, b, dt, options, health, segments):
    """Return the time since a segment was last complete [s]; 0 = it is complete now.

    A segment is complete while all of its markers are used that have not been missing for too long to be
    filled in. If markers are missing one after the other, the time runs on, as the segment is never complete
    in between.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - index of the body
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame
    """
    for m in range(markers.body.shape[0]):
        if markers.body[m] == b and is_missed(m, dt, options, health, segments):
            return segments.since[b] + dt
    return 0.0


@njit
def usual_place(markers, m, health, y_out):
    """Write the usual position of marker m in its body's frame [m] into y_out : (3,): that of the model plus
    the marker's mean residual.
    """
    for i in range(3):
        y_out[i] = markers.position[m, i] + health.mean[m, i]


@njit
def turn_segment(markers, b, measured, age, dt, options, health, segments, fit):
    """Estimate the orientation of body b from its visible markers and the predicted orientation; return
    whether that was possible.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - index of the body; with fewer than two visible markers nothing is estimated
    measured : (n_marker, 3) - measured marker positions in ground [m]
    age : float - time since the segment was complete [s]
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame; its field turned[b] is written
    fit : BodyFitWork - written: vectors[0] and [1], means of the visible markers in the body and in ground;
        matrices[4], their second moments in the body
    """
    local, middle, y = fit.vectors[0], fit.vectors[1], fit.vectors[2]
    local[:] = 0.0
    middle[:] = 0.0
    n = 0
    for m in range(measured.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0:
            usual_place(markers, m, health, y)
            n += 1
            for i in range(3):
                local[i] += y[i]
                middle[i] += measured[m, i]
    if n < 2:
        return False
    for i in range(3):
        local[i] /= n
        middle[i] /= n
    C, moments, ahead = fit.matrices[1], fit.matrices[4], fit.matrices[2]
    predict_turn(b, dt * math.exp(-age / options.fill.rest), segments, fit)
    moments[:, :] = 0.0
    for i in range(3):
        for j in range(3):
            C[i, j] = PRIOR * ahead[j, i]
    for m in range(measured.shape[0]):
        if markers.body[m] == b and health.weight[m] > 0.0:
            usual_place(markers, m, health, y)
            for i in range(3):
                for j in range(3):
                    C[i, j] += (y[i] - local[i]) * (measured[m, j] - middle[j])
                    moments[i, j] += (y[i] - local[i]) * (y[j] - local[j])
    return dominant_rotation(C, fit.K, fit.V, fit.quaternion, segments.turned[b])


@njit
def predict_turn(b, time, segments, fit):
    """Predict the orientation of body b at a time [s] after the last frame, if it rotates on at its last
    rate; write it into fit.matrices[2] : (3, 3).

    segments : Segments - orientation in the last frame and angular velocity are read
    fit : BodyFitWork - working space of rigid fits, written
    """
    R, w, axis, ahead = segments.rotation[b], segments.rate[b], fit.vectors[3], fit.matrices[2]
    speed = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    copy_matrix(R, ahead)
    if speed > 0.0:
        for i in range(3):
            axis[i] = (R[0, i] * w[0] + R[1, i] * w[1] + R[2, i] * w[2]) / speed
        turn_about(R, axis, speed * time, ahead, fit.vectors[2])


@njit
def place_missed(markers, b, age, dt, options, health, segments, fit):
    """Write positions, weights and standard deviations of a segment's missing markers; call it after
    turn_segment.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - index of the body
    age : float - time since the segment was complete [s]
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - state of each marker, kept from frame to frame
    segments : Segments - state of each segment, kept from frame to frame; its fields place, weight and doubt
        are written
    fit : BodyFitWork - means and second moments of the visible markers, from turn_segment; vectors[2],
        matrices[1] written
    """
    local, middle, a, spread = fit.vectors[0], fit.vectors[1], fit.vectors[2], fit.matrices[1]
    least = OF_ROOT if b == 0 else OF_LIMB
    usual = SHARE * max(least, math.sqrt(segments.swing[b])) * age
    spread_of_turn(fit.matrices[4], min(ANY_TURN, usual), spread)
    trace = spread[0, 0] + spread[1, 1] + spread[2, 2]
    for m in range(markers.body.shape[0]):
        if markers.body[m] != b or not is_missed(m, dt, options, health, segments):
            continue
        usual_place(markers, m, health, a)
        square, along = 0.0, 0.0
        for i in range(3):
            a[i] -= local[i]
            square += a[i] * a[i]
        for i in range(3):
            for j in range(3):
                along += a[i] * spread[i, j] * a[j]
        rotate(segments.turned[b], a, segments.place[m])
        for i in range(3):
            segments.place[m, i] += middle[i]
        variance = WITHIN * WITHIN + max(0.0, square * trace - along)
        segments.doubt[m] = math.sqrt(variance)
        own = max(options.fill.least * options.fill.least, PULLS * segments.misfit[0])
        segments.weight[m] = own / (own + variance)


@njit
def spread_of_turn(moments, prior, spread_out):
    """Write the covariance [rad^2] of the error of a segment's rotation that was estimated from its visible
    markers and from a prediction.

    It is the inverse of the sum of what markers and prediction contribute, (tr(M) 1 - M) / WITHIN^2 and 1 /
    prior^2, with the unit matrix 1 and the standard deviation WITHIN of the position of one marker.

    moments : (3, 3) - second moments M: sum of x x' over the visible markers, at x from their mean [m^2]
    prior : float - standard deviation of the predicted rotation about any axis [rad]
    spread_out : (3, 3) - covariance in the axes of the body, written
    """
    scale = 1.0 / (WITHIN * WITHIN)
    least = 1.0 / (prior * prior)
    xx = scale * (moments[1, 1] + moments[2, 2]) + least
    yy = scale * (moments[0, 0] + moments[2, 2]) + least
    zz = scale * (moments[0, 0] + moments[1, 1]) + least
    xy, xz, yz = -scale * moments[0, 1], -scale * moments[0, 2], -scale * moments[1, 2]
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    inverse = 1.0 / (xx * A + xy * B + xz * C)
    spread_out[0, 0] = inverse * A
    spread_out[1, 1] = inverse * (xx * zz - xz * xz)
    spread_out[2, 2] = inverse * (xx * yy - xy * xy)
    spread_out[0, 1] = spread_out[1, 0] = inverse * B
    spread_out[0, 2] = spread_out[2, 0] = inverse * C
    spread_out[1, 2] = spread_out[2, 1] = inverse * (xy * xz - xx * yz)


@njit
def find_silent(tree, is_open, floating_inner, segments):
    """Mark the bodies whose pose is not wholly measured: markers of the body are filled in, or a dof that
    moves it is held fixed.

    tree : Tree - joint tree of the bodies
    is_open : (n_v,) int64 - 1 = the dof is held fixed, as no marker determines it
    floating_inner : (n_v,) int64 - 1 = the dof is undetermined in every frame, and is disregarded
    segments : Segments - its field filled is read, silent : (n_body,) int64 written
    """
    silent, parent = segments.silent, tree.parent
    silent[:] = 0
    for d in range(is_open.shape[0]):
        if is_open[d] == 1 and floating_inner[d] == 0:
            silent[tree.dof_body[d]] = 1
    for b in range(parent.shape[0]):
        if parent[b] >= 0 and silent[parent[b]] == 1:
            silent[b] = 1
    for b in range(parent.shape[0]):
        silent[b] = max(silent[b], segments.filled[b])


@njit
def learn_segments(markers, pose, rms, dt, options, health, segments, fit):
    """Update the stored orientations, angular velocities and ages of gaps of all segments after a frame is
    solved.

    The angular velocity of a segment with missing markers is not updated. A segment with too few markers left
    to fill in the others also keeps its stored orientation: the pose that the joints alone give it may be far
    off.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - solved positions and orientations of the bodies in ground
    rms : float - root mean square of the distances of markers from the model [m]; NaN = the frame was not
        solved
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    health : Health - its field weight is read
    segments : Segments - state of each segment, kept from frame to frame, written
    fit : BodyFitWork - working space of rigid fits, written
    """
    began = segments.begun[0] == 1
    segments.begun[0] = int(math.isfinite(rms))
    if segments.begun[0] == 1:
        part = min(1.0, 0.1 * dt / options.fill.smoothing) if began else 1.0
        segments.misfit[0] += part * (rms * rms - segments.misfit[0])
        for b in range(segments.filled.shape[0]):
            missed = missed_for(markers, b, dt, options, health, segments)
            if began and missed == 0.0 and segments.since[b] == 0.0 and dt > 0.0:
                learn_rate(b, pose.rotation[b], dt, options.fill.smoothing, segments, fit)
            segments.since[b] = missed
            if segments.filled[b] == 1:
                copy_matrix(segments.turned[b], segments.rotation[b])
            elif not 0.0 < missed <= options.fill.longest:
                copy_matrix(pose.rotation[b], segments.rotation[b])
    segments.regained[:] = 0
    for m in range(health.weight.shape[0]):
        if health.weight[m] > 0.0 and segments.away[m] > 0.0:
            segments.regained[markers.body[m]] = 1
        segments.away[m] = 0.0 if health.weight[m] > 0.0 else segments.away[m] + dt


@njit
def learn_rate(b, R, dt, smoothing, segments, fit):
    """Update the smoothed angular velocity of body b and its mean square from the rotation since the last
    frame.

    b : int - index of the body
    R : (3, 3) - orientation of the body now
    dt : float - time since the last frame [s]
    smoothing : float - time constant of the angular velocity [s]; that of its mean square is ten times as
        long
    segments : Segments - state of each segment, kept from frame to frame; its fields rate and swing are
        written
    fit : BodyFitWork - working space of rigid fits; its field matrices[1] is written
    """
    turn, rate = fit.matrices[1], segments.rate[b]
    multiply_transposed(R, segments.rotation[b], turn)
    x, y, z = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
    sine = 0.5 * math.sqrt(x * x + y * y + z * z)
    factor = 0.5 / dt if sine < 1e-9 else 0.5 * math.asin(min(1.0, sine)) / (sine * dt)
    part, slow = min(1.0, dt / smoothing), min(1.0, 0.1 * dt / smoothing)
    rate[0] += part * (factor * x - rate[0])
    rate[1] += part * (factor * y - rate[1])
    rate[2] += part * (factor * z - rate[2])
    square = rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2]
    segments.swing[b] += slow * (square - segments.swing[b])
