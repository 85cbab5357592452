"""Standard deviations of the published numbers of a frame, from its optimum (docs/uncertainty.md).

The optimum of a frame moves with the markers m by dq = -P dg, where dg = -J' W dm is the change of the
gradient, J and W are Jacobian and weights of the markers, and P is the inverse of the Hessian along the hard
constraints (kernels/uncertainty/sensitivity). A number with the derivatives f with respect to the pose has
the sensitivity x = P f to the gradient, and the variance x' M x, with M the covariance of the gradient
(kernels/uncertainty/gradient_errors). Propagation of covariance: Bar-Shalom et al. 2001, section 3.4.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import njit
from kernels.joints.couplers import fold_matrix
from kernels.markers.marker_health import is_wrong
from kernels.solver.alternative_configuration import AlternativeConfiguration, add_others, follow_others
from kernels.solver.optimality import FrameProblem
from kernels.solver.output_jacobian import JacobianWork, new_jacobian_work, output_jacobian
from kernels.solver.undetermined_dofs import (
    MOST_ANGLE,
    MOST_LENGTH,
    NEVER,
    add_held,
    age,
    age_folded,
    angle_left,
)
from kernels.uncertainty.followed_lengths import add_method_before
from kernels.uncertainty.gradient_errors import (
    GradientErrorWork,
    SkinMotion,
    gradient_covariance,
    new_gradient_error_work,
)
from kernels.uncertainty.marker_errors import (
    ErrorBounds,
    MarkerErrors,
    add_doubts,
    learn_noise,
    marker_variances,
)
from kernels.uncertainty.pose_errors import (
    ALL,
    NOISE,
    PoseErrors,
    add_coordinates,
    covary_kinds,
    falls_due,
    know_nothing,
    new_pose_errors,
)
from kernels.uncertainty.reliability_bound import (
    FORESIGHT,
    ReliabilityWork,
    find_unreliable,
    new_reliability_work,
)
from kernels.uncertainty.sensitivity import answer, quadratic_forms, soft_answers, stand_at
from kernels.uncertainty.variance_inflation import inflate_variance


class DeviationOptions(NamedTuple):
    """Settings for the standard deviations of a frame's numbers: error bounds of markers, limits, and time
    constants.
    """

    bounds: ErrorBounds
    limit: np.ndarray  # (3,) - deviation of a joint's angles beyond which each is uncertain [rad]
    enough: np.ndarray  # (n_body,) int64 - visible markers that a body needs; 0 = it has none
    displaced: np.ndarray  # (n_displaced,) int64 - joints with published displacements, ascending
    averaging: float  # time constant of the mean of the variances [s]; 0 = none
    lasting: float  # correlation time of errors by soft tissue [s]


class DeviationState(NamedTuple):
    """State of the standard deviations that is kept from frame to frame."""

    errors: MarkerErrors  # of the markers, whatever the method
    held_for: Annotated[np.ndarray, Floats("n_v", fill=NEVER)]  # time since each dof was determined [s]
    # time since the body was no part of a chain that could fold [s]
    folded_for: Annotated[np.ndarray, Floats("n_body", fill=NEVER)]
    # mean variances over frames that the same markers determine wholly
    mean: Annotated[np.ndarray, Floats("K")]
    n_mean: Annotated[np.ndarray, Integers(1)]  # number of these frames
    weight: Annotated[np.ndarray, Floats("n_marker")]  # of the markers in them
    usual: Annotated[np.ndarray, Floats("K")]  # last mean that used all markers of earlier ones
    most: Annotated[np.ndarray, Floats("n_marker")]  # weights of the markers in it
    away: Annotated[np.ndarray, Floats(1, fill=NEVER)]  # time since the last of these frames [s]
    pose: PoseErrors
    other: AlternativeConfiguration


class Answers(NamedTuple):
    """Sensitivities of K numbers to the gradient of the cost and to targets of the constraints, one number in
    each column."""

    X: Annotated[np.ndarray, Floats("n_v", "K")]  # derivatives f, then x = P f of every number
    B: Annotated[np.ndarray, Floats("n_element", "K")]  # sensitivities to hard elements' targets
    row: Annotated[np.ndarray, Floats("K")]
    value: Annotated[np.ndarray, Floats("K")]  # variances


class DeviationWork(NamedTuple):
    """Working space for standard deviations; K is the number of published numbers."""

    rows: JacobianWork
    M: Annotated[np.ndarray, Floats(2, "n_v", "n_v")]  # gradient's covariance by ALL errors, by NOISE
    numbers: Answers  # K
    coordinates: Answers  # K + n_v: the numbers, then all tangent coordinates
    theta: Annotated[np.ndarray, Floats("n_joint")]  # flexions in the method solved before [deg]
    X_first: Annotated[np.ndarray, Floats("n_v", "n_joint")]  # sensitivities of the flexions there
    B_first: Annotated[np.ndarray, Floats("n_element", "n_joint")]
    gradient: GradientErrorWork
    still: SkinMotion  # SkinMotion of size zero
    sight: Annotated[np.ndarray, Integers("n_body")]  # visible markers of each body
    beyond: ReliabilityWork


class Deviations(NamedTuple):
    """Standard deviations of the published numbers, in the order of kernels/solver/output_jacobian."""

    value: Annotated[np.ndarray, Floats("K")]
    # 1 = an angle whose deviation is beyond the limit
    uncertain: Annotated[np.ndarray, Floats("3 * n_joint")]


def new_deviation_state(
    n_v: int, n_body: int, K: int, errors: MarkerErrors, other: AlternativeConfiguration
) -> DeviationState:
    """Allocate the DeviationState of one solution; `errors` may be shared between several solutions."""
    return allocate(
        DeviationState,
        n_v=n_v,
        n_body=n_body,
        K=K,
        n_marker=len(errors.variance),
        errors=errors,
        pose=new_pose_errors(n_v, len(errors.variance)),
        other=other,
    )


def new_answers(n_v: int, n_element: int, K: int) -> Answers:
    """Allocate an Answers: sensitivities of K numbers to the gradient and to n_element constraints."""
    return allocate(Answers, n_v=n_v, K=K, n_element=n_element)


def new_deviation_work(n_v: int, n_body: int, n_element: int, n_joint: int, K: int) -> DeviationWork:
    """Allocate a DeviationWork: working space of the standard deviations."""
    return allocate(
        DeviationWork,
        n_v=n_v,
        n_joint=n_joint,
        n_element=n_element,
        n_body=n_body,
        rows=new_jacobian_work(),
        numbers=new_answers(n_v, n_element, K),
        coordinates=new_answers(n_v, n_element, K + n_v),
        gradient=new_gradient_error_work(n_body),
        beyond=new_reliability_work(n_v, n_element, K),
    )


def new_deviations(n_joint: int, K: int) -> Deviations:
    """Allocate the Deviations of K published numbers."""
    return allocate(Deviations, K=K, n_joint=n_joint)


@njit
def deviate(model, method, dt, frame_options, options, frame_state, state, work, out):
    """Compute the standard deviations of a converged frame's results; call it after
    kernels/solver/frame.estimate.

    Return how many angles are uncertain: all, if the pose is no minimum and so has no standard deviations.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    dt : float - time since the last frame [s]; 0 = unknown
    frame_options : FrameOptions - settings for solving a frame
    options : DeviationOptions - settings of the standard deviations
    frame_state : FrameState - state of the solver after the frame
    state : DeviationState - state of the standard deviations, kept from frame to frame, updated
    work : (TrackWork, DeviationWork, AlternativeWork) - working spaces of the frame, of standard deviations,
        and of alternative configurations; written
    out : Deviations - standard deviations of the published numbers, written
    """
    track, health, segments, own = frame_state.track, frame_state.health, frame_state.segments, work[1]
    at, is_open, weight, checks = work[0].solver, work[0].open, segments.weight, frame_options.health
    learn_noise(model.markers, at.pose, at.marker.model, checks, health, state.errors)
    age(track.hold, is_open, dt, state.held_for)
    age_folded(model, options.enough, health.weight, dt, own.sight, state.folded_for)
    problem = FrameProblem(
        tree=model.tree, markers=model.markers, elements=model.elements, roles=method.roles,
        measured=segments.place, weight=weight, hold=track.hold, q_hold=track.q_hold,
    )  # fmt: skip
    n_hard = stand_at(problem, track.q, track.multiplier, at)
    if n_hard < 0:
        return unknown(dt, state, out)
    due = falls_due(weight, state.pose)
    answers = own.coordinates if due else own.numbers
    output_jacobian(model, options.displaced, at.pose, at.element, own.rows, answers.X)
    if due:
        add_coordinates(out.value.shape[0], answers.X)
    answer(model.tree.couplers, n_hard, at, answers.X, answers.B)
    n_free = own.M.shape[1] - n_hard
    errors, how = state.errors, frame_options.track.solver
    shown = marker_variances(model.markers, n_free, options.bounds, checks, health, errors)
    add_doubts(model.markers, segments, errors.variance)
    errors_of_gradient(model, options, frame_state, is_open, due, state, at, own)
    if method.follows == 1:
        soft_answers(model, method.roles, n_hard, at, answers.X, answers.B)
        if not add_method_before(model, method, frame_state, problem, at, own, answers):
            return unknown(dt, state, out)
    quadratic_forms(own.M[ALL], answers.X, answers.row, answers.value)
    copy(answers.value, out.value)
    if due:
        covary_kinds(own.M, answers.X, out.value.shape[0], answers.row, state.pose.covariance)
    sound = is_whole(segments.filled, is_open) and not is_spoilt(checks, health)
    average_variances(dt, options.averaging, weight, sound, state, out.value)
    inflate_variance(model, checks, health, weight, shown, errors, at, answers.X, answers.row, out.value)
    find_unreliable(model, method, dt, options, checks, frame_state, errors.ranges, at, answers.X, own.beyond)
    follow_others(model, problem, track, dt, options, how, errors.variance, work[0], state.other, work[2])
    add_others(due, state.other, state.pose.covariance[ALL], out.value)
    least = own.beyond.least
    return conclude_deviations(model.joints, state.folded_for, state.usual, options.limit, least, out)


@njit
def errors_of_gradient(model, options, frame_state, is_open, due, state, solver, work):
    """Compute the covariance of the cost's gradient that all errors cause (work.M[ALL]) and, if due, that
    noise alone causes (work.M[NOISE]).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    options : DeviationOptions - settings of the standard deviations
    frame_state : FrameState - state of the solver, kept from frame to frame
    is_open : (n_v,) int64 - 1 = held, as no marker determines it
    due : bool - whether the covariance of the pose is computed in this frame
    state : DeviationState - after marker_variances
    solver : Work - after stand_at
    work : DeviationWork - working space of the standard deviations; its fields gradient and M are written
    """
    pose, places, weight, tree = solver.pose, solver.marker.model, frame_state.segments.weight, model.tree
    gradient_covariance(
        tree, model.markers, pose, places, weight, state.errors.variance, options.bounds.skin,
        work.gradient, work.M[ALL],
    )  # fmt: skip
    add_held(tree, frame_state.track.hold, is_open, state.held_for, work.M[ALL])
    fold_matrix(tree.couplers, solver.coupler, 0.0, work.M[ALL])
    if due:
        gradient_covariance(
            tree, model.markers, pose, places, weight, state.errors.noise, work.still, work.gradient,
            work.M[NOISE],
        )  # fmt: skip
        fold_matrix(tree.couplers, solver.coupler, 0.0, work.M[NOISE])


@njit
def is_whole(filled, is_open):
    """Return whether a frame is complete: no marker is filled in (filled : (n_body,) int64) and no dof is
    held (is_open : (n_v,) int64).
    """
    n = 0
    for b in range(filled.shape[0]):
        n += filled[b]
    for d in range(is_open.shape[0]):
        n += is_open[d]
    return n == 0


@njit
def is_spoilt(options, health):
    """Return whether any marker of a frame is at fault, by its state in health : Health."""
    n = 0
    for m in range(health.fault.shape[0]):
        n += int(is_wrong(m, options, health))
    return n > 0


@njit
def unknown(dt, state, out):
    """Set all standard deviations to NaN, for a pose that is no minimum; return the number of angles.

    dt : float - time since the last frame [s]
    state : DeviationState - its pose and other.since are written
    out : Deviations - standard deviations of the published numbers, written
    """
    know_nothing(state.pose)
    for r in range(state.other.since.shape[0]):
        state.other.since[r] += dt
    out.value[:] = math.nan
    out.uncertain[:] = 1.0
    return out.uncertain.shape[0]


@njit
def average_variances(dt, time_constant, weight, sound, state, value):
    """Replace the variances of a frame by their running mean over the last frames, where frames are
    comparable.

    A variance is evaluated at the estimated pose, which has errors itself. If the derivatives of a number
    change within these errors, as near a turning point, the variances at nearby poses count as well; the last
    frames have such poses. A frame with other markers or weights, with markers filled in or at fault, or with
    held dofs keeps its own variance, but no less than the mean so far. A new mean begins if markers stay
    missing for a time constant, and at once if more are used than in the present mean.

    dt : float - time since the last frame [s]
    time_constant : float - time constant of the mean [s]; 0 = no mean
    weight : (n_marker,) - weights of the markers in this frame
    sound : bool - whether nothing is filled in, no dof is held, and no marker is wrong
    state : DeviationState - state of the standard deviations, kept from frame to frame; its fields mean,
        n_mean, weight, usual, most and away are written
    value : (K,) - variances, written
    """
    same, more = 0.0 < dt < time_constant, True
    for m in range(weight.shape[0]):
        same = same and weight[m] == state.weight[m]
        more = more and weight[m] >= state.weight[m]
    if more and sound and not same:
        copy(weight, state.weight)
        state.n_mean[0] = 0
        same = 0.0 < dt < time_constant
    if same and sound:
        state.away[0] = 0.0
        state.n_mean[0] += 1
        rate = max(1.0 / state.n_mean[0], dt / time_constant)
        for k in range(value.shape[0]):
            if rate < 1.0:  # else nothing is left of a mean before, whatever it was
                value[k] = state.mean[k] + rate * (value[k] - state.mean[k])
            state.mean[k] = value[k]
        keep_usual(weight, state)
        return
    for k in range(value.shape[0]):
        value[k] = max(value[k], state.mean[k])
    state.away[0] += dt
    if sound and state.away[0] > time_constant:
        copy(weight, state.weight)
        state.away[0] = 0.0
        state.n_mean[0] = 0


@njit
def keep_usual(weight, state):
    """Store the mean variance of the last frames as the usual variance, unless a marker is missing that was
    used for the stored one.

    Later frames are compared with the usual variance. So the variance that missing markers add never becomes
    usual, however long they are missing.

    weight : (n_marker,) - weights of the markers in this frame
    state : DeviationState - state of the standard deviations, kept from frame to frame; its fields usual and
        most are written
    """
    for m in range(weight.shape[0]):
        if weight[m] < state.most[m]:
            return
    copy(weight, state.most)
    copy(state.mean, state.usual)


@njit
def conclude_deviations(joints, folded_for, usual, limit, least, out):
    """Convert the variances out.value : (K,) into standard deviations, and mark uncertain angles; return the
    number of uncertain angles.

    No standard deviation exceeds that of a number about which nothing is known, such as an angle uniform on
    a circle.

    For the comparison with limit, the part of a variance beyond the usual one is multiplied by FORESIGHT^2
    (1.64^2, for 90 % of errors), because it comes and goes within a trial.

    joints : JointAxes - anatomical axes and reference points of the joints
    folded_for : (n_body,) - time for which a body and its neighbour have had too few visible markers, so
        that they might be bent either way [s]
    usual : (K,) - variances of frames with all markers, 0 = not known
    limit : (3,) - standard deviation above which each of a joint's three angles is uncertain [rad]
    least : (K,) - lower bounds of the standard deviations
    out : Deviations - standard deviations of the published numbers; its field uncertain is written
    """
    n_angle, n_uncertain = out.uncertain.shape[0], 0
    for k in range(n_angle):
        own = min(usual[k], out.value[k]) if usual[k] > 0.0 else out.value[k]
        believed = own + FORESIGHT * FORESIGHT * (out.value[k] - own)
        out.uncertain[k] = 0.0 if believed <= limit[k % 3] ** 2 else 1.0
    for k in range(out.value.shape[0]):
        most = MOST_ANGLE if k < n_angle else MOST_LENGTH
        out.value[k] = min(max(math.sqrt(max(out.value[k], 0.0)), least[k]), most)
    for k in range(n_angle):
        time = max(folded_for[joints.proximal[k // 3]], folded_for[joints.distal[k // 3]])
        if time > 0.0:
            out.value[k] = max(out.value[k], angle_left(time))
        if not out.value[k] <= limit[k % 3]:
            out.uncertain[k] = 1.0
        n_uncertain += int(out.uncertain[k])
    return n_uncertain
