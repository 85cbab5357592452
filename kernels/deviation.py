"""Standard deviations of the numbers of a frame, from the optimum itself (docs/uncertainty.md).

The optimum of a frame moves with the markers m by dq = -P dg, dg = -J' W dm the change of the gradient
(kernels/sensitivity). A number with the slopes f has x = P f and the variance x' M x, M the covariance of the
gradient (kernels/gradient_errors). Covariance: Bar-Shalom et al. 2001, section 3.4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import entry, njit
from kernels.constraints import HARD, SOFT
from kernels.copying import copy
from kernels.couplers import fold_matrix
from kernels.gradient_errors import GradientErrorWork, gradient_covariance, new_gradient_error_work
from kernels.held import MOST_ANGLE, MOST_LENGTH, NEVER, add_held, age, age_folded, angle_left
from kernels.marker_errors import (
    ErrorBounds,
    MarkerErrors,
    add_doubts,
    learn_noise,
    marker_variances,
)
from kernels.optimality import Problem, objective
from kernels.output_rows import RowWork, add_column, joint_frame, new_row_work, output_rows
from kernels.sensitivity import answer, quadratic_forms, soft_answers, stand_at

KNOWN, UNKNOWN = 0, 1
"""What became of a frame's deviations: there, or there is no minimum that they could belong to."""


class DeviationOptions(NamedTuple):
    """Numbers of the deviations."""

    bounds: ErrorBounds
    limit: np.ndarray  # (3,) - deviation of a joint's angles beyond which each is uncertain [rad]
    enough: np.ndarray  # (n_body,) int64 - markers that a body must show; 0 = it carries none
    displaced: np.ndarray  # (n_displaced,) int64 - joints whose displacements count, ascending
    averaging: float  # time constant of the mean of the variances [s]; 0 = none


class DeviationState(NamedTuple):
    """What goes on from frame to frame."""

    errors: MarkerErrors  # of the markers, whatever the method
    held_for: np.ndarray  # (n_v,) - time since each dof was determined [s]
    folded_for: np.ndarray  # (n_body,) - time since the body was no part of a chain that could fold [s]
    mean: np.ndarray  # (K,) - of the variances of frames that the same markers determine wholly
    n_mean: np.ndarray  # (1,) int64 - so many
    weight: np.ndarray  # (n_marker,) - in them
    away: np.ndarray  # (1,) - time since the last of them [s]


class DeviationWork(NamedTuple):
    """Working space; K = n_output."""

    rows: RowWork
    M: np.ndarray  # (n_v, n_v)
    X: np.ndarray  # (n_v, K) - slopes, then x = P f of every number
    B: np.ndarray  # (n_element, K) - answers of the numbers to the hard elements' targets
    theta: np.ndarray  # (n_joint,) - flexions in the method solved before [deg]
    X_first: np.ndarray  # (n_v, n_joint) - of the flexions in the method solved before
    B_first: np.ndarray  # (n_element, n_joint)
    gradient: GradientErrorWork
    row: np.ndarray  # (K,)
    sight: np.ndarray  # (n_body,) int64 - markers that a body shows


class Deviations(NamedTuple):
    """Standard deviations, in the order of kernels/output_rows."""

    value: np.ndarray  # (K,)
    uncertain: np.ndarray  # (3 n_joint,) - 1 = an angle whose deviation is beyond the limit


def new_deviation_state(n_v: int, n_body: int, K: int, errors: MarkerErrors) -> DeviationState:
    """Allocate what is remembered of a solution; of the markers it is shared."""
    return DeviationState(
        errors,
        np.full(n_v, NEVER),
        np.full(n_body, NEVER),
        np.zeros(K),
        np.zeros(1, np.int64),
        np.zeros(len(errors.variance)),
        np.full(1, NEVER),
    )


def new_deviation_work(n_v: int, n_body: int, n_element: int, n_joint: int, K: int) -> DeviationWork:
    """Allocate a DeviationWork."""
    return DeviationWork(
        new_row_work(),
        np.zeros((n_v, n_v)),
        np.zeros((n_v, K)),
        np.zeros((n_element, K)),
        np.zeros(n_joint),
        np.zeros((n_v, n_joint)),
        np.zeros((n_element, n_joint)),
        new_gradient_error_work(n_body),
        np.zeros(K),
        np.zeros(n_body, np.int64),
    )


def new_deviations(n_joint: int, K: int) -> Deviations:
    """Allocate a Deviations of K numbers."""
    return Deviations(np.zeros(K), np.zeros(3 * n_joint))


@entry
def deviate(model, method, dt, frame_options, options, frame_state, state, work, out):
    """Deviations of a converged frame's results, after kernels/frame.estimate; returns KNOWN or UNKNOWN.

    model : Skeleton
    method : Method
    dt : float - time since the last frame [s]; 0 = unknown
    frame_options : FrameOptions
    options : DeviationOptions
    frame_state : FrameState - as the frame left it
    state : DeviationState - updated
    work : (TrackWork, DeviationWork) - of the frame, whose scratch is written, and of the deviations
    out : Deviations - written
    """
    track, health, segments, own = frame_state.track, frame_state.health, frame_state.segments, work[1]
    at, is_open, weight = work[0].solver, work[0].open, segments.weight
    learn_noise(model.markers, at.pose, at.marker.model, health.labelled, health.weight, state.errors)
    age(track.hold, is_open, dt, state.held_for)
    age_folded(model, options.enough, health.weight, dt, own.sight, state.folded_for)
    problem = Problem(
        model.tree, model.markers, model.elements, method.roles, segments.place, weight, track.hold,
        track.q_hold,
    )  # fmt: skip
    n_hard = stand_at(problem, track.q, track.multiplier, at)
    if n_hard < 0:
        return unknown(out)
    output_rows(model, options.displaced, at.pose, at.element, own.rows, own.X)
    answer(model.tree.couplers, n_hard, at, own.X, own.B)
    errors, n_free = state.errors, own.M.shape[0] - n_hard
    marker_variances(model.markers, n_free, options.bounds, frame_options.health, health, errors)
    add_doubts(model.markers, segments, errors.variance)
    gradient_covariance(
        model.tree, model.markers, at.pose, at.marker.model, weight, errors.variance, options.bounds.skin,
        own.gradient, own.M,
    )  # fmt: skip
    add_held(model.tree, track.hold, is_open, state.held_for, own.M)
    fold_matrix(model.tree.couplers, at.coupler, 0.0, own.M)
    if method.follows == 1:
        soft_answers(model, method.roles, n_hard, at, own.X, own.B)
        if not add_method_before(model, method, frame_state, problem, at, own):
            return unknown(out)
    quadratic_forms(own.M, own.X, own.row, out.value)
    average_variances(dt, options.averaging, weight, segments.filled, is_open, state, out.value)
    conclude_deviations(model.joints, state.folded_for, options.limit, out)
    return KNOWN


@njit
def unknown(out):
    """No deviations: a pose that is no minimum belongs to no markers. Returns UNKNOWN."""
    out.value[:] = math.nan
    out.uncertain[:] = 1.0
    return UNKNOWN


@njit
def first_angle_rows(model, pose, rows, work):
    """work.X_first : (n_v, n_joint) - slopes of the first angle of every joint, work.theta the angles.

    model : Skeleton
    pose : Pose
    rows : RowWork - written
    """
    work.X_first[:, :] = 0.0
    joints, w = model.joints, rows.wrench
    for j in range(joints.proximal.shape[0]):
        joint_frame(joints, pose, j, rows)
        P, D = rows.frame[0], rows.frame[1]
        r01 = P[0, 0] * D[0, 1] + P[1, 0] * D[1, 1] + P[2, 0] * D[2, 1]
        r11 = P[0, 1] * D[0, 1] + P[1, 1] * D[1, 1] + P[2, 1] * D[2, 1]
        work.theta[j] = math.degrees(math.atan2(-r01, r11))
        for i in range(3):
            w[i], w[3 + i] = rows.dual[0, i], 0.0
        add_column(model.tree, pose, joints.distal[j], joints.proximal[j], w, j, work.X_first)


@njit
def add_method_before(model, method, frame_state, problem, solver, work):
    """work.X by the lengths that follow a flexion of the method before; False where that has no minimum.

    model : Skeleton
    method : Method
    frame_state : FrameState
    problem : Problem - of the method
    solver : Work - written; of the method again afterwards, but for its factors
    work : DeviationWork - after answer and soft_answers; X, theta, X_first, B_first written
    """
    track, first, segments = frame_state.track, frame_state.first, frame_state.segments
    before = Problem(
        model.tree, model.markers, model.elements, method.first, segments.place, segments.weight,
        first.hold, first.q_hold,
    )  # fmt: skip
    n_hard = stand_at(before, first.q, first.multiplier, solver)
    if n_hard >= 0:
        first_angle_rows(model, solver.pose, work.rows, work)
        answer(model.tree.couplers, n_hard, solver, work.X_first, work.B_first)
        add_targets(model, method, work)
    objective(problem, track.q, solver)
    return n_hard >= 0


@njit
def add_targets(model, method, work):
    """work.X : (n_v, K) - also by lengths that follow a flexion of the method before (eq. 1).

    Of a length t(theta) a number changes by 2 t t' theta's own x times its answer to the element, in B.

    model : Skeleton
    method : Method
    work : DeviationWork - X written
    """
    mode, n_hard, n_soft = method.roles.mode, 0, 0
    for e in range(mode.shape[0]):
        n_soft += int(mode[e] == HARD)
    for e in range(mode.shape[0]):
        if mode[e] == HARD:
            row = work.B[n_hard]
            n_hard += 1
        elif mode[e] == SOFT:
            row = work.B[n_soft]
            n_soft += 1
        else:
            continue
        slope = target_slope(model, e, work.theta[method.flexion[e]])
        if slope != 0.0:
            add_product(2.0 * method.roles.target[e] * slope, work.X_first, method.flexion[e], row, work.X)


@njit
def target_slope(model, e, theta):
    """dt/dtheta [m/rad] of eq. 1 of element e at a flexion [deg]; 0 where its length follows none."""
    s, polynomial = 0.0, model.polynomial[e]
    for k in range(polynomial.shape[0] - 1, -1, -1):
        s = s * theta + (k + 1) * polynomial[k]
    return math.degrees(s) * model.neutral_length[e] if s != 0.0 else 0.0


@njit
def add_product(scale, X_first, j, row, X):
    """X : (n_v, K) += scale * (column j of X_first) row'.

    scale : float
    X_first : (n_v, n_joint)
    j : int
    row : (K,)
    X : (n_v, K) - written
    """
    for d in range(X.shape[0]):
        s = scale * X_first[d, j]
        for k in range(X.shape[1]):
            X[d, k] += s * row[k]


@njit
def average_variances(dt, time_constant, weight, filled, is_open, state, value):
    """value : (K,) - from the variances of a frame to their running mean.

    A variance is that of the pose at hand, which is itself off: where the slopes of a number change within
    that, as near a turning point, poses nearby count as well, and those of the last frames are such. Where
    other markers take part or with other weights, places are filled in or dofs are held, it is the frame's
    own, but no less than the mean before; markers that stay away for a time constant begin a new mean.

    dt : float - time since the last frame [s]
    time_constant : float - of the mean [s]; 0 = none
    weight : (n_marker,) - of the frame
    filled : (n_body,) int64 - 1 = markers of it are filled in
    is_open : (n_v,) int64 - 1 = held, as no marker determines it
    state : DeviationState - mean, n_mean, weight, away written
    value : (K,) - written
    """
    same, whole = 0.0 < dt < time_constant, True
    for m in range(weight.shape[0]):
        same = same and weight[m] == state.weight[m]
    for b in range(filled.shape[0]):
        whole = whole and filled[b] == 0
    for d in range(is_open.shape[0]):
        whole = whole and is_open[d] == 0
    if same and whole:
        state.away[0] = 0.0
        state.n_mean[0] += 1
        rate = max(1.0 / state.n_mean[0], dt / time_constant)
        for k in range(value.shape[0]):
            state.mean[k] += rate * (value[k] - state.mean[k])
            value[k] = state.mean[k]
        return
    for k in range(value.shape[0]):
        value[k] = max(value[k], state.mean[k])
    state.away[0] += dt
    if whole and state.away[0] > time_constant:
        copy(weight, state.weight)
        state.away[0] = 0.0
        state.n_mean[0] = 0


@njit
def conclude_deviations(joints, folded_for, limit, out):
    """out.value : (K,) - from variances to deviations, none larger than of what nothing is known.

    joints : JointAxes
    folded_for : (n_body,) [s]
    limit : (3,) - [rad]
    out : Deviations - uncertain written
    """
    n_angle = out.uncertain.shape[0]
    for k in range(out.value.shape[0]):
        most = MOST_ANGLE if k < n_angle else MOST_LENGTH
        out.value[k] = min(math.sqrt(max(out.value[k], 0.0)), most)
    for k in range(n_angle):
        time = max(folded_for[joints.proximal[k // 3]], folded_for[joints.distal[k // 3]])
        if time > 0.0:
            out.value[k] = max(out.value[k], angle_left(time))
        out.uncertain[k] = 0.0 if out.value[k] <= limit[k % 3] else 1.0
