"""Errors of the pose that errors of the markers cause, at three times of a motion: columns of a factor of the
covariance of the pose.

Errors dm of the markers move the optimum by dq = S dm, S = P J'W, with the Jacobian J and the weights W of
the markers and the inverse P of the Hessian along the hard constraints (kernels/uncertainty/sensitivity). S
changes while the skeleton moves: elements rotate, and the markers' positions relative to the joints change.
Errors move with the segments: their effect J'W dm on the gradient is a wrench on each body, whose covariance
(kernels/uncertainty/gradient_errors) has a factor of six columns that are constant in the body's frame. P
times the changes of the gradient by these columns, at three times of a motion, therefore gives every error of
the pose with its first two time derivatives (rtsim/methods/kinematics/rate_errors). Markers are taken to be
exactly where the model has them, as residuals of another time would distort the objective. A coordinate at
its bound in the frame is taken to be there at all three times: no error moves it.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy
from kernels.algebra.linear import cholesky_drop
from kernels.algebra.spatial import power
from kernels.compiler.jit import njit
from kernels.joints.couplers import fold_columns, place_followers
from kernels.joints.tree import Pose, difference, integrate, new_pose, pose
from kernels.markers.marker_cost import model_markers
from kernels.solver.optimality import FrameProblem
from kernels.solver.undetermined_dofs import deviation_left
from kernels.uncertainty.deviation import Answers, new_answers
from kernels.uncertainty.followed_lengths import add_answers_before
from kernels.uncertainty.gradient_errors import body_covariances
from kernels.uncertainty.pose_errors import add_coordinates
from kernels.uncertainty.sensitivity import answer, soft_answers, stand_beside

LASTING, NOISE = 0, 1
"""Kinds of errors: LASTING are soft tissue artefact and a marker's own error of the model;
NOISE is that of measurement."""
DEPENDENT = 1e-9
"""Part of its variance below which a component of the wrench of a body counts
as a function of the others [1]."""


class ThreePoses(NamedTuple):
    """A motion (pose, speeds and accelerations at one time), and its poses shortly before, at and shortly
    after that time.
    """

    q: Annotated[np.ndarray, Floats("n_q")]  # at the time in question
    v: Annotated[np.ndarray, Floats("n_v")]  # speeds
    v_dot: Annotated[np.ndarray, Floats("n_v")]  # and accelerations
    apart: Annotated[np.ndarray, Floats(1)]  # time from one of the three poses to the next [s]
    pose: Annotated[np.ndarray, Floats(3, "n_q")]  # before, at and after it


class ColumnWork(NamedTuple):
    """Working space for computing the columns of pose errors (columns_in_time)."""

    at_home: Pose  # axes and origin of every body are those of ground: its positions are those in the bodies
    place: Annotated[np.ndarray, Floats("n_marker", 3)]  # [m]
    variance: Annotated[np.ndarray, Floats("n_marker")]  # of lasting errors of each marker [m^2]
    # wrenches of LASTING errors and of NOISE, a column each
    factor: Annotated[np.ndarray, Floats(2, "n_body", 6, 6)]
    wrench: Annotated[np.ndarray, Floats(6)]
    # six of every body, then one of every dof that is held
    gradient: Annotated[np.ndarray, Floats(2, "n_v", "n_column")]
    q: Annotated[np.ndarray, Floats("n_q")]
    step: Annotated[np.ndarray, Floats("n_v")]
    answers: Answers  # of all tangent coordinates


def new_column_work(n_q: int, n_v: int, n_body: int, n_marker: int, n_element: int) -> ColumnWork:
    """Allocate a ColumnWork: working space for computing the columns of pose errors."""
    at_home = new_pose(n_body, n_v)
    at_home.rotation[:] = np.eye(3)
    return allocate(
        ColumnWork,
        n_marker=n_marker,
        n_body=n_body,
        n_v=n_v,
        n_column=6 * n_body + n_v,
        n_q=n_q,
        at_home=at_home,
        answers=new_answers(n_v, n_element, n_v),
    )


def new_course(n_q: int, n_v: int) -> ThreePoses:
    """Allocate a ThreePoses: a motion, and its poses before, at and after a time."""
    return allocate(ThreePoses, n_q=n_q, n_v=n_v)


def new_columns(n_v: int, n_body: int, n_other: int) -> np.ndarray:
    """Allocate the columns of pose errors, (3, 2, n_v, n_column): for three times (before, at, after), and
    for two kinds of errors, LASTING (of the model and soft tissue) and NOISE (of the measurement).

    n_v, n_body : int - numbers of generalized speeds and of bodies
    n_other : int - number of mechanisms that may have an alternative configuration
    """
    return np.zeros((3, 2, n_v, 6 * n_body + n_v + n_other))


@njit
def columns_in_time(model, method, course, skin, frame_state, state, solver, own, work, columns_out):
    """Write the errors of the pose at three times that independent errors of the markers cause, one column
    for each error of one standard deviation.

    Return how many columns are written, or 0 if one of the three poses is not determined.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    course : ThreePoses - the motion, and poses before, at and after a time; its field pose is written
    skin : SkinMotion - soft tissue artefact that all markers of a segment share
    frame_state : FrameState - weights of the markers, and weights that hold dofs
    state : DeviationState - after deviate
    solver : Work - working space, written; it must not be that of the frame
    own : (TrackWork, DeviationWork) - working spaces of the frame: from the first, undetermined dofs and
        coordinates at a bound are read; arrays of the second are overwritten
    work : ColumnWork - working space of columns_in_time, written
    columns_out : (3, 2, n_v, n_column) - step along the generalized speeds for each error; second index:
        LASTING errors (of the model and soft tissue), NOISE (of the measurement); written
    """
    scratch = own[1]
    factor_wrenches(
        model, skin, scratch.still, frame_state.segments.weight, state.errors, scratch.gradient, work
    )
    n_column = 0
    for k in range(3):
        n_column = hold_columns(
            model.tree, frame_state.track.hold, own[0].open, state.held_for, work.gradient
        )  # anew: followers among them are folded into their drivers at each pose
        time = (k - 1) * course.apart[0]
        for d in range(course.v.shape[0]):
            work.step[d] = time * (course.v[d] + 0.5 * time * course.v_dot[d])
        integrate(model.tree, course.q, work.step, 1.0, course.pose[k])
        place_followers(model.tree.couplers, model.tree.functions, course.pose[k])
        copy(course.pose[k], work.q)
        if not answers_at(model, method, frame_state, own[0].solver.fixed, solver, scratch, work):
            return 0
        for of in range(2):
            product(work.answers.X, work.gradient[of], n_column, columns_out[k, of])
    return add_other_assemblies(state.other, n_column, columns_out)


@njit
def add_other_assemblies(other, n_column, columns_out):
    """Append a column of pose errors for each alternative configuration of a mechanism; return the new number
    of columns.

    The column is the square root of the configuration's probability times the step from the published pose to
    it (kernels/solver/alternative_configuration).

    other : AlternativeConfiguration - state of the alternative configurations of joints
    n_column : int - number of columns before
    columns_out : (3, 2, n_v, n_column) - written
    """
    n = n_column
    for r in range(other.body.shape[0]):
        if other.there[r] == 1:
            size = math.sqrt(other.part[r])
            for k in range(3):
                for d in range(other.gap.shape[1]):
                    columns_out[k, LASTING, d, n] = size * other.gap[r, d]
                    columns_out[k, NOISE, d, n] = 0.0
            n += 1
    return n


@njit
def hold_columns(tree, hold, is_open, held_for, gradient):
    """Append a column for every dof that is held because no marker determines it; return the new number of
    columns.

    The column is the change of the gradient by the standard deviation of that dof
    (kernels/solver/undetermined_dofs).

    tree : Tree - joint tree of the bodies
    hold : (n_v,) - weights that hold dofs, 0 = free
    is_open : (n_v,) int64 - 1 = held because it was undetermined
    held_for : (n_v,) - time since it was determined [s]
    gradient : (2, n_v, n_column) - change of the gradient by each error, written
    """
    first, n_v = 6 * tree.parent.shape[0], hold.shape[0]
    gradient[:, :, first:] = 0.0
    n_column = first
    for d in range(n_v):
        if hold[d] > 0.0 and is_open[d] == 1:
            gradient[LASTING, d, first + d] = hold[d] * deviation_left(tree, d, held_for[d])
            n_column = first + n_v
    return n_column


@njit
def factor_wrenches(model, skin, still, weight, errors, scratch, work):
    """Write, for each body, a factor L of the covariance L L' of the wrench with which errors of its markers
    change the gradient of the marker cost.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    skin, still : SkinMotion - errors that all markers of a segment share, and the same with size zero
    weight : (n_marker,) - weights of the markers in this frame
    errors : MarkerErrors - statistics of each marker over the last frames
    scratch : GradientErrorWork - working space of gradient_covariance, written
    work : ColumnWork - variance and factor : (2, n_body, 6, 6), in the bodies' frames, written
    """
    tree, markers = model.tree, model.markers
    for m in range(weight.shape[0]):
        work.variance[m] = errors.variance[m] - errors.noise[m]
    for of in range(2):
        variance = work.variance if of == LASTING else errors.noise
        moving = skin if of == LASTING else still
        body_covariances(tree, markers, work.at_home, markers.position, weight, variance, moving, scratch)
        for b in range(tree.parent.shape[0]):
            L = work.factor[of, b]
            for i in range(6):
                for k in range(6):
                    L[i, k] = scratch.matrix[b, i, k] if k <= i else 0.0
            cholesky_drop(L, 6, DEPENDENT)
            for k in range(6):
                if L[k, k] == math.inf:
                    L[k, k] = 0.0


@njit
def answers_at(model, method, frame_state, fixed, solver, own, work):
    """Write, for the pose work.q, the sensitivities of all tangent coordinates to the gradient of the
    objective, and the changes of this gradient by the errors of the markers.

    Return False if the pose is not determined.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    frame_state : FrameState - state of the solver, kept from frame to frame
    fixed : (n_v,) int64 - 1 = a coordinate at its bound
    solver : Work - working space of the solver, written
    own : DeviationWork - working space of the standard deviations, written
    work : ColumnWork - answers.X : (n_v, n_v), gradient : (2, n_v, n_column), q, place, step written
    """
    tree, answers, track = model.tree, work.answers, frame_state.track
    n_hard = stand_among(model, method.roles, track, frame_state.segments.weight, fixed, solver, work)
    if n_hard < 0:
        return False
    for of in range(2):
        gradient_columns(tree, solver.pose, work.factor[of], work.wrench, work.gradient[of])
        fold_columns(tree.couplers, solver.coupler, work.gradient[of])
    add_coordinates(0, answers.X)
    answer(tree.couplers, n_hard, solver, answers.X, answers.B)
    if method.follows == 1:
        soft_answers(model, method.roles, n_hard, solver, answers.X, answers.B)
        first = frame_state.first  # as far from the pose as in the frame
        difference(tree, track.q, first.q, work.step)
        integrate(tree, work.q, work.step, 1.0, work.q)
        n_hard = stand_among(model, method.first, first, frame_state.segments.weight, fixed, solver, work)
        if n_hard < 0:
            return False
        add_answers_before(model, method, n_hard, solver, own, answers)
    return True


@njit
def stand_among(model, roles, track, weight, fixed, solver, work):
    """Factorise the KKT system at the pose work.q, with every marker exactly where the model has it.

    Return the number of hard elements, or -1 if the pose is not determined (see stand_beside in
    kernels/uncertainty/sensitivity).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - mode, weight and target of each element in the method
    track : TrackState - weights that hold dofs
    weight : (n_marker,) - weights of the markers in this frame
    fixed : (n_v,) int64 - 1 = a coordinate at its bound
    solver : Work - working space of the solver, written
    work : ColumnWork - working space of columns_in_time; its field place is written
    """
    pose(model.tree, work.q, solver.pose)
    model_markers(model.markers, solver.pose, work.place)
    problem = FrameProblem(
        tree=model.tree, markers=model.markers, elements=model.elements, roles=roles,
        measured=work.place, weight=weight, hold=track.hold, q_hold=track.q_hold,
    )  # fmt: skip
    return stand_beside(problem, work.q, fixed, solver)


@njit
def gradient_columns(tree, pose, factor, wrench, gradient_out):
    """Write the changes of the objective's gradient by the wrenches that stand for the markers' errors, six
    for each body, into the first 6 n_body columns of gradient_out.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    factor : (n_body, 6, 6) - wrench errors in the bodies' frames about their origins, moment first, each a
        column
    wrench : (6,) - scratch, written
    gradient_out : (n_v, n_column) - written
    """
    gradient_out[:, : 6 * tree.parent.shape[0]] = 0.0
    for b in range(tree.parent.shape[0]):
        R = pose.rotation[b]
        x = pose.position[b, 0] - pose.position[0, 0]
        y = pose.position[b, 1] - pose.position[0, 1]
        z = pose.position[b, 2] - pose.position[0, 2]
        for k in range(6):
            if factor[b, k, k] == 0.0:
                continue
            for i in range(3):
                wrench[i] = wrench[3 + i] = 0.0
                for j in range(3):
                    wrench[i] += R[i, j] * factor[b, j, k]
                    wrench[3 + i] += R[i, j] * factor[b, 3 + j, k]
            wrench[0] += y * wrench[5] - z * wrench[4]
            wrench[1] += z * wrench[3] - x * wrench[5]
            wrench[2] += x * wrench[4] - y * wrench[3]
            d = tree.last_dof[b]
            while d >= 0:
                gradient_out[d, 6 * b + k] = power(pose.twist[d], wrench)
                d = tree.dof_parent[d]


@njit
def product(X, gradient, n_column, columns_out):
    """Write the product X' gradient into the first n_column columns of columns_out : (n, K), and zeros into
    the others.

    X : (n, n) - matrix
    gradient : (n, K) - matrix
    n_column : int - number of columns that are computed
    columns_out : (n, K) - written
    """
    columns_out[:, :] = 0.0
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            y = X[i, d]
            if y != 0.0:
                for k in range(n_column):
                    columns_out[d, k] += y * gradient[i, k]
