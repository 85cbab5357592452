"""Estimation of one frame, from measured markers to joint angles, in one call from Python."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import inlined, njit
from kernels.faults.finding import find_faults
from kernels.faults.frozen import is_sent_again
from kernels.faults.solved import judge_solved, weigh_worst
from kernels.faults.verdict import is_lost, keep_in
from kernels.joints.joint_angles import JointAxes, joint_angles
from kernels.joints.tree import Tree, point_in_ground, pose
from kernels.markers.marker_cost import ModelMarkers, model_markers
from kernels.markers.marker_health import (
    Health,
    HealthOptions,
    expect,
    expect_nothing,
    forget_unseen,
    is_blamed,
    is_seen,
    learn,
    residuals,
    visibility,
)
from kernels.markers.segment_filling import FillOptions, Segments, fill_in, find_silent, learn_segments
from kernels.solver.constraints import Elements, Roles, element_values
from kernels.solver.kkt import CONVERGED
from kernels.solver.track import (
    PARTLY,
    WHOLLY,
    TrackOptions,
    TrackState,
    conclude,
    follow,
    predict,
    remember,
    rewind,
)

N_REWEIGH = 4
SENT_AGAIN = 3
"""Status beside those of kernels.solver.kkt:
the previous frame has come again, and the state is unchanged."""


class Skeleton(NamedTuple):
    """The model of the solver (bodies, markers, scalar constraints (elements), joints), without the weights
    and targets by which methods differ."""

    tree: Tree
    markers: ModelMarkers
    elements: Elements
    joints: JointAxes
    q_neutral: np.ndarray  # (n_q,)
    neutral_length: np.ndarray  # (n_element,) - d(0) of eq. 1 [m]
    polynomial: np.ndarray  # (n_element, 7) - a1..a7 of eq. 1, angle in degrees
    ligaments: np.ndarray  # (n_ligament,) int64 - elements reported by their lengthening
    contacts: np.ndarray  # (n_contact,) int64 - elements reported by their contact point
    points: np.ndarray  # (n_point, 3) - points for pictures, in their bodies [m]
    point_body: np.ndarray  # (n_point,) int64


class SolverMethod(NamedTuple):
    """A solution method: modes, weights and targets of its elements. If lengths of elements depend on a joint
    angle, another method, which gives this angle, is solved first; its modes, weights and targets are in
    `first`.
    """

    roles: Roles  # target is written where lengths depend on flexion (lengths_at)
    first: Roles  # of the method solved before it; used if follows = 1
    follows: int
    flexion: np.ndarray  # (n_element,) int64 - joint on whose first angle its length depends


class FrameOptions(NamedTuple):
    """Settings for solving one frame: tracking of the solution, checks of markers, and filling in of missing
    markers.
    """

    track: TrackOptions
    health: HealthOptions
    fill: FillOptions


class FrameState(NamedTuple):
    """State of the solver that is stored from frame to frame: the tracked solutions, which markers are at
    fault, and the state of each segment in the checks of its markers.
    """

    track: TrackState  # of the method
    first: TrackState  # of the method solved before it
    health: Health  # of the markers, whatever the method
    segments: Segments  # of the method's bodies


class Outputs(NamedTuple):
    """Results of one frame: joint angles and displacements, ligaments, contact points, markers and
    residuals.
    """

    angles: Annotated[np.ndarray, Floats("n_joint", 3)]  # [rad]
    displacements: Annotated[np.ndarray, Floats("n_joint", 3)]  # [m]
    lengthening: Annotated[np.ndarray, Floats("n_ligament")]  # (d - d(0)) / d(0)
    # in the frame of the body that carries the plane, or of ground [m]
    contact_points: Annotated[np.ndarray, Floats("n_contact", 3)]
    markers: Annotated[np.ndarray, Floats("n_marker", 3)]  # model markers in ground [m]
    residuals: Annotated[np.ndarray, Floats("n_marker")]  # |measured - model|, NaN when occluded [m]
    rms: Annotated[np.ndarray, Floats(1)]  # over visible markers [m]
    points: Annotated[np.ndarray, Floats("n_point", 3)]  # [m]
    axes: Annotated[np.ndarray, Floats(3, 3, 3)]  # scratch


def new_outputs(n_joint: int, n_ligament: int, n_contact: int, n_marker: int, n_point: int) -> Outputs:
    """Allocate the Outputs of a skeleton with these numbers of joints, ligaments, contacts, markers and
    points that pictures of the model show.
    """
    return allocate(
        Outputs,
        n_joint=n_joint,
        n_ligament=n_ligament,
        n_contact=n_contact,
        n_marker=n_marker,
        n_point=n_point,
    )


@njit
def estimate(model, method, measured, dt, options, state, work, out):
    """Estimate the pose of one frame from its markers: find faults, fill in missing markers, solve, and write
    the results.

    If the last frame is sent once more after it was solved, nothing is changed and SENT_AGAIN is returned.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    measured : (n_marker, 3) - markers in ground, NaN = occluded [m]
    dt : float - time since the last frame [s]; 0 = unknown
    options : FrameOptions - settings for solving a frame
    state : FrameState - state of the solver, kept from frame to frame, updated
    work : TrackWork - working space of one frame, written
    out : Outputs - results of the frame, written
    Returns (status of kernels.solver.kkt or SENT_AGAIN, iterations, residual, number of undetermined dofs,
    number of visible markers, number of exchanged labels, number of markers at fault).
    """
    track, health, segments, at = state.track, state.health, state.segments, work.solver
    if track.trusted[0] > 0 and is_sent_again(measured, dt, health):
        health.waited[0] += dt
        return SENT_AGAIN, 0, math.nan, 0, 0, 0, 0
    dt, health.waited[0] = dt + health.waited[0], 0.0
    labelled, followed = health.labelled, track.started[0] == 1
    remember(track)
    remember(state.first)
    if track.trusted[0] > 0 and 0.0 < dt <= options.track.max_prediction:
        foresee(model, dt, options, state, at)
    else:
        expect_nothing(health)
    n_visible = visibility(measured, dt, health)
    n_swap = find_faults(model.markers, measured, dt, options, health, segments, work.fit)
    if options.health.downweight[0] == 0:
        keep_in(measured, health)
    fill_in(model.markers, labelled, dt, options, health, segments, work.fit)
    status, iterations, residual, n_open = solve_method(model, method, dt, options.track, state, work, out)
    residuals(model.markers, at.pose, at.marker.model, labelled, health)
    for _ in range(N_REWEIGH):
        if status != CONVERGED or not weigh_worst(model.markers, options.health, health, segments):
            break
        if options.health.downweight[0] == 0:
            continue
        if followed:
            rewind(track)
            rewind(state.first)
        fill_in(model.markers, labelled, dt, options, health, segments, work.fit)
        status, more, residual, n_open = solve_method(model, method, dt, options.track, state, work, out)
        iterations += more
        residuals(model.markers, at.pose, at.marker.model, labelled, health)
    solved = 0
    if status == CONVERGED:
        solved = PARTLY if n_open > 0 else WHOLLY
    conclude(model.tree, dt, followed, solved, track)
    if method.follows == 1:
        conclude(model.tree, dt, followed, solved, state.first)
    report(model, method.roles, labelled, track.q, at, out)
    n_fault = learn_frame(model, dt, status, options, state, work, out)
    return status, iterations, residual, n_open, n_visible, n_swap, n_fault


@njit
def learn_frame(model, dt, status, options, state, work, out):
    """Update the stored state after a frame: which markers are at fault, and where markers lie on their
    segments. Return how many markers are at fault.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    dt : float - time since the last frame [s]; 0 = unknown
    status : int - status of kernels.solver.kkt
    options : FrameOptions - settings for solving a frame
    state : FrameState - state of the solver, kept from frame to frame, updated
    work : TrackWork - working space of the frame, at the solution
    out : Outputs - results of the frame
    """
    health, segments, at = state.health, state.segments, work.solver
    rms, n_fault = math.nan, 0
    if status == CONVERGED:
        rms = out.rms[0]
        lost = is_lost(health)
        n_fault = judge_solved(model.markers, dt, options.health, health, segments)
        if lost:
            segments.doubted[:] = segments.barred[:] = segments.calm[:] = 0.0
            for track in (state.track, state.first):
                track.started[0] = track.trusted[0] = 0
        else:
            find_silent(model.tree, work.open, state.track.floating_inner, segments)
            learn(model.markers, dt, options.health, health, segments.silent)
        if lost or state.track.trusted[0] != WHOLLY:
            health.good_age[:] = math.inf  # such a pose is nothing to leap from
    else:
        for m in range(health.fault.shape[0]):
            n_fault += int(is_blamed(m, health))
    learn_segments(model.markers, at.pose, rms, dt, options, health, segments, work.fit)
    return n_fault


@inlined
def foresee(model, dt, options, state, work):
    """Predict where every marker should be in this frame, from the previous frames, and write it into
    state.health.expected, to which measured markers are compared.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    dt : float - time since the last frame [s]
    options : FrameOptions - settings for solving a frame
    state : FrameState - state of the solver, kept from frame to frame; its field health.expected is written
    work : Work - working space of the solver; its fields pose and marker are written
    """
    track, health = state.track, state.health
    predict(model.tree, dt, options.track, track, track.q_try)
    pose(model.tree, track.q_try, work.pose)
    model_markers(model.markers, work.pose, work.marker.model)
    expect(model.markers, work.pose, work.marker.model, options.health, health)
    if track.trusted[0] == PARTLY:
        forget_unseen(health)


@njit
def solve_method(model, method, dt, options, state, work, out):
    """Solve a frame by a method; if the method depends on the solution of another method, solve that one
    first.

    Return (status, iterations, residual, number of undetermined dofs).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - the targets of its elements, roles.target, are written
    dt : float - time since the last frame [s]; 0 = unknown
    options : TrackOptions - settings of how a solution is followed and restarted
    state : FrameState - track and first are updated; segments contains positions and weights of the markers
        to fit
    work : TrackWork - working space of one frame, written
    out : Outputs - its axes, angles and displacements are written
    """
    track, first, more = state.track, state.first, 0
    place, weight = state.segments.place, state.segments.weight
    if method.follows == 1:
        status, more, residual, _, n_open = follow(
            model, method.first, place, weight, dt, options, first, work
        )
        if status != CONVERGED:
            return status, more, residual, n_open
        joint_angles(model.joints, work.solver.pose, out.axes, out.angles, out.displacements)
        lengths_at(model, method.flexion, out.angles, method.roles.target)
        if track.started[0] == 0:
            copy(first.q, track.q)
    status, iterations, residual, _, n_open = follow(
        model, method.roles, place, weight, dt, options, track, work
    )
    return status, iterations + more, residual, n_open


@njit
def lengths_at(model, flexion, angles, target_out):
    """Write the target lengths of those elements whose length depends on the flexion theta of a joint.

    d(theta) = (1 + a1 theta + ... + a7 theta^7) d(0), theta in degrees, Sancisi et al. 2017, eq. 1 and table
    2. model : Skeleton - coefficients a and neutral lengths d(0).

    flexion : (n_element,) int64 - index of the joint on whose flexion an element depends
    angles : (n_joint, 3) - joint angles [rad]; theta is the first of the joint, flexion negative
    target_out : (n_element,) - lengths [m]; entries of other elements stay unchanged
    """
    for e in range(target_out.shape[0]):
        given = False
        s = 0.0
        theta = math.degrees(angles[flexion[e], 0])
        for k in range(model.polynomial.shape[1] - 1, -1, -1):
            given = given or model.polynomial[e, k] != 0.0
            s = (s + model.polynomial[e, k]) * theta
        if given:
            target_out[e] = (1.0 + s) * model.neutral_length[e]


@njit
def report(model, roles, measured, q, work, out):
    """Write the results of a frame at its solution into out: joint angles, residuals, ligaments, contact
    points.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - mode, weight and target of each element in the method
    measured : (n_marker, 3) - measured markers in ground, exchanged labels corrected where that is certain,
        NaN = occluded [m]
    q : (n_q,) - the solution [m, rad]
    work : Work - working space of the solver; its fields pose, marker.model and element are written
    out : Outputs - results of the frame, written
    """
    pose(model.tree, q, work.pose)
    model_markers(model.markers, work.pose, work.marker.model)
    element_values(model.elements, work.pose, roles.target, work.element)
    joint_angles(model.joints, work.pose, out.axes, out.angles, out.displacements)
    total, n = 0.0, 0
    for m in range(measured.shape[0]):
        square = 0.0
        for i in range(3):
            out.markers[m, i] = work.marker.model[m, i]
            square += (measured[m, i] - work.marker.model[m, i]) ** 2
        if not is_seen(measured, m):
            out.residuals[m] = math.nan
        else:
            out.residuals[m] = math.sqrt(square)
            total += square
            n += 1
    out.rms[0] = math.sqrt(total / n) if n > 0 else math.nan
    for p in range(model.points.shape[0]):
        point_in_ground(work.pose, model.point_body[p], model.points[p], out.points[p])
    report_elements(model, work.pose, work.element, out)


@njit
def report_elements(model, pose, element, out):
    """Write the relative lengthening of ligaments [1] and the contact points [m] into out; call it after
    element_values.
    """
    a, b, n = element.end_a, element.end_b, element.normal
    for k in range(model.ligaments.shape[0]):
        e = model.ligaments[k]
        length = math.sqrt((a[e, 0] - b[e, 0]) ** 2 + (a[e, 1] - b[e, 1]) ** 2 + (a[e, 2] - b[e, 2]) ** 2)
        out.lengthening[k] = length / model.neutral_length[e] - 1.0
    for k in range(model.contacts.shape[0]):
        e = model.contacts[k]
        body = model.elements.body_b[e]
        height = 0.0
        for i in range(3):
            height += (a[e, i] - b[e, i]) * n[e, i]
        for i in range(3):
            s = a[e, i] - height * n[e, i]  # what it is where the plane is on ground
            if body >= 0:
                s = 0.0
                for j in range(3):
                    s += pose.rotation[body, j, i] * (a[e, j] - height * n[e, j] - pose.position[body, j])
            out.contact_points[k, i] = s
