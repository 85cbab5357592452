"""Tracking of one skeleton from frame to frame: prediction, undetermined dofs, and restarts of the solver."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.compiler.jit import inlined, njit
from kernels.joints.couplers import fold_matrix, fold_vector, place_followers
from kernels.joints.kinds import is_chain, is_loose
from kernels.joints.motions import TRANSLATES
from kernels.joints.tree import difference, integrate, pose
from kernels.markers.marker_cost import marker_hessian, model_markers, weight_of
from kernels.solver.constraints import HARD, element_rows
from kernels.solver.coordinates import FREE_TO_MOVE, clamp, set_tasks
from kernels.solver.initial_pose import BodyFitWork, initial_pose
from kernels.solver.kkt import CONVERGED, NON_FINITE, NOT_CONVERGED, SolverEnd, SolverOptions, solve
from kernels.solver.kkt_step import augment
from kernels.solver.optimality import FrameProblem, Work, hard_row, hold_cost, objective

# Curvature of the marker cost per unit weight below which a dof counts as open: one marker on a lever of
# 1 cm for a rotation [m^2], a hundredth of a marker for a translation [1].
OPEN_ROTATION, OPEN_TRANSLATION = 1e-4, 1e-2
HOLD_ROTATION, HOLD_TRANSLATION = 0.1, 1.0
HARD_CURVATURE = 1e3
WHOLLY, PARTLY = 1, 2
"""Trust in the last frame: WHOLLY where it determined all dofs, PARTLY where dofs were held;
0 where it was not solved."""
CLEARLY_BETTER = 0.95  # objective of another assembly against the one at hand
WORSE = 2.0
"""Ratio of the objective to its least value since the last restart from which the next one is due: two
configurations may fit one pose equally well, but not the next. The ratio is multiplied by it after each
restart in vain."""
LEAST_RMS = 0.003
"""Marker RMS up to which no better configuration is searched for:
soft tissue artefact is of that size [m]."""


class TrackState(NamedTuple):
    """State of one solution tracked from frame to frame: pose, speeds, multipliers, weights of held dofs."""

    q: Annotated[np.ndarray, Floats("n_q")]
    speed: Annotated[np.ndarray, Floats("n_v")]  # tangent speed, to predict the next frame
    multiplier: Annotated[np.ndarray, Floats("n_element")]
    hold: Annotated[np.ndarray, Floats("n_v")]  # weights of coordinate targets and of held dofs
    started: Annotated[np.ndarray, Integers(1)]  # 1 once a frame has been solved
    doubt: Annotated[np.ndarray, Integers(1)]  # frames to the next comparison with new starts
    # least objective since the last restart, over the weight of the markers [m^2]
    fit: Annotated[np.ndarray, Floats(1)]
    # ratio of an objective to the least one from which a restart is due
    patience: Annotated[np.ndarray, Floats(1, fill=WORSE)]
    trusted: Annotated[np.ndarray, Integers(1)]  # WHOLLY, PARTLY, or 0: last frame not solved
    # 1 = undetermined even if all markers are seen: held, but not counted as undetermined
    floating_inner: Annotated[np.ndarray, Integers("n_v")]
    # 0 before the first frame with all markers, then 1, or 2 if it has floating inner dofs
    surveyed: Annotated[np.ndarray, Integers(1)]
    q_begin: Annotated[np.ndarray, Floats("n_q")]  # before this frame
    multiplier_begin: Annotated[np.ndarray, Floats("n_element")]
    doubt_begin: Annotated[np.ndarray, Integers(1)]
    fit_begin: Annotated[np.ndarray, Floats(1)]
    patience_begin: Annotated[np.ndarray, Floats(1)]
    q_before: Annotated[np.ndarray, Floats("n_q")]  # scratch
    q_hold: Annotated[np.ndarray, Floats("n_q")]  # where hold holds dofs
    q_try: Annotated[np.ndarray, Floats("n_q")]  # scratch
    multiplier_try: Annotated[np.ndarray, Floats("n_element")]  # scratch


class TrackOptions(NamedTuple):
    """Settings of how one solution is followed, and when the solver is restarted."""

    solver: SolverOptions
    restart_rms: float  # a frame with a larger marker RMS is solved from new starts as well [m]
    max_prediction: float  # longest gap that is bridged by the last speed [s]
    restart_interval: int  # every so many frames the solution is compared with new starts


def new_track(n_q: int, n_v: int, n_element: int) -> TrackState:
    """Allocate a TrackState before its first frame."""
    return allocate(TrackState, n_q=n_q, n_v=n_v, n_element=n_element)


class TrackWork(NamedTuple):
    """Working space of one frame, which several solutions of the same sizes may use in succession."""

    solver: Work
    fit: BodyFitWork
    open: np.ndarray  # (n_v,) int64 - 1 = undetermined by the markers


@njit
def predict(tree, dt, options, track, q_out):
    """Predict the pose at a time dt after the last frame, at constant generalized speeds.

    tree : Tree - joint tree of the bodies
    dt : float - that time [s]; if it is 0 = unknown or above max_prediction, the last pose is used
    options : TrackOptions - settings of how a solution is followed and restarted
    track : TrackState - state of one solution that is followed from frame to frame
    q_out : (n_q,) - generalized coordinates [m, rad], written
    """
    step = dt if 0.0 < dt <= options.max_prediction else 0.0
    integrate(tree, track.q, track.speed, step, q_out)
    place_followers(tree.couplers, tree.functions, q_out)


@njit
def find_open_dofs(problem, q, work, floating_inner):
    """Find the dofs that markers, hard elements and targets leave undetermined; return how many there are.

    Each is marked in work.open, and gets a weight in problem.hold that holds it near its last value.

    The pivots of J'WJ + rho A'A, factored in the order of the tree, are the curvatures that remain for each
    dof after the dofs before it are eliminated. Floating inner dofs, which no frame determines even if all
    markers are visible, and coordinates at a bound, which the bound determines, do not count.

    problem : FrameProblem - its hold, the weights that hold dofs, is written
    q : (n_q,) - generalized coordinates [m, rad]
    work : TrackWork - working space of one frame; its fields open and solver are written
    floating_inner : (n_v,) int64 - 1 = undetermined even where all markers are seen
    """
    tree, elements, mode = problem.tree, problem.elements, problem.roles.mode
    hold, at = problem.hold, work.solver
    objective(problem, q, at)
    element_rows(elements, at.pose, at.element)
    marker_hessian(tree, at.pose, at.marker, 0.0, at.H)
    for j in range(hold.shape[0]):
        at.H[j, j] += hold[j]
    fold_matrix(tree.couplers, at.coupler, 0.0, at.H)
    n_hard = 0
    for e in range(mode.shape[0]):
        if mode[e] == HARD:
            hard_row(tree.couplers, elements, e, n_hard, at)
            fold_vector(tree.couplers, at.coupler, at.A[n_hard])
            n_hard += 1
    augment(n_hard, HARD_CURVATURE, at)
    H, n_open = at.H, 0
    for j in range(hold.shape[0]):
        translates = tree.dof_rotates[j] == TRANSLATES
        work.open[j] = 0
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
        if H[j, j] < (OPEN_TRANSLATION if translates else OPEN_ROTATION) and hold[j] == 0.0:
            hold[j] = HOLD_TRANSLATION if translates else HOLD_ROTATION
            H[j, j] = max(H[j, j], 0.0) + hold[j]
            work.open[j] = 1
            n_open += int(at.bound[j] == FREE_TO_MOVE and floating_inner[j] == 0)
        pivot = math.sqrt(H[j, j])
        H[j, j] = pivot
        for i in range(j + 1, hold.shape[0]):
            for k in range(j):
                H[i, j] -= H[i, k] * H[j, k]
            H[i, j] /= pivot
    return n_open


@njit
def remember(track):
    """Store the solver's state from before a frame, so that the frame can be solved again (`rewind`)."""
    copy(track.q, track.q_begin)
    copy(track.multiplier, track.multiplier_begin)
    track.doubt_begin[0] = track.doubt[0]
    track.fit_begin[0] = track.fit[0]
    track.patience_begin[0] = track.patience[0]


@njit
def rewind(track):
    """Restore the solver's state from before a frame, so that the frame can be solved again."""
    copy(track.q_begin, track.q)
    copy(track.multiplier_begin, track.multiplier)
    track.doubt[0] = track.doubt_begin[0]
    track.fit[0] = track.fit_begin[0]
    track.patience[0] = track.patience_begin[0]


@njit
def conclude(tree, dt, followed, solved, track):
    """Compute the speeds for the next prediction, and store whether this frame determined all dofs.

    The speeds, differences of two solutions, are zero in the first frame after one that was not solved.

    tree : Tree - joint tree of the bodies
    dt : float - time since the frame before [s]
    followed : bool - whether the solution of the previous frame was the start of this one
    solved : int - WHOLLY: all dofs are determined; PARTLY: some are held, with speed 0; 0: not converged
    track : TrackState - its speed and trusted are written
    """
    between = followed and solved > 0 and track.trusted[0] > 0
    track.trusted[0] = int(solved)
    track.speed[:] = 0.0
    if between and dt > 0.0:
        difference(tree, track.q_begin, track.q, track.speed)
        for d in range(track.speed.shape[0]):
            held = solved == PARTLY and track.hold[d] > 0.0
            track.speed[d] = 0.0 if held else track.speed[d] / dt


@njit
def follow(model, roles, measured, weight, dt, options, track, work):
    """Solve one frame from the prediction; if that fails, restart the solver from other starting poses.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    roles : Roles - mode, weight and target of each element in the method
    measured : (n_marker, 3) - measured marker positions in ground [m]
    weight : (n_marker,) - weights of the markers, 0 = not used
    dt : float - time since the last frame [s]; 0 = unknown
    options : TrackOptions - settings of how a solution is followed and restarted
    track : TrackState - updated; its q becomes the solution
    work : TrackWork - written; solver.pose becomes the pose of the solution
    Returns (status, iterations, residual, objective, n_open): status of kernels.solver.kkt, n_open = number
    of dofs held near the last pose because nothing determines them.
    """
    problem = FrameProblem(
        tree=model.tree, markers=model.markers, elements=model.elements, roles=roles, measured=measured,
        weight=weight, hold=track.hold, q_hold=track.q_hold,
    )  # fmt: skip
    complete, visible = visible_weight(model.markers, weight)
    started = track.started[0] == 1
    set_out(model, roles.limits, dt, options, track)
    track.hold[:] = 0.0
    copy(track.q_before, track.q_hold)
    set_tasks(roles.tasks, visible, track.hold, track.q_hold)
    n_open = 0
    work.open[:] = 0
    if not complete or track.surveyed[0] != 1:
        n_open = find_open_dofs(problem, track.q, work, track.floating_inner)
        n_open = survey(n_open, complete, work, track)
    found = SolverEnd(NOT_CONVERGED, 0, math.inf, math.inf)
    if started:
        found = solve(problem, options.solver, work.solver, track.q, track.multiplier)
    limit = 0.5 * visible * options.restart_rms**2
    # A mechanism can be assembled in more than one way, and following keeps a wrong choice: look again now
    # and then, after a jump, where it fits much worse, and as soon as everything is determined anew.
    jumped = started and work.solver.cost_start[0] > limit
    worse, cost = fits_worse(found, visible, track), found.cost
    track.doubt[0] = 0 if n_open > 0 else track.doubt[0] - 1
    look_again = n_open == 0 and (track.doubt[0] <= 0 or jumped or worse)
    if not started or look_again or is_ruined(problem, found, limit, track, work):
        found = restart(problem, model.q_neutral, options.solver, found, track, work)
        ruined = is_ruined(problem, found, limit, track, work)
        track.doubt[0] = 0 if n_open > 0 or ruined else options.restart_interval
        forget_fit(worse and found.cost == cost, track)
        pose(model.tree, track.q, work.solver.pose)
        model_markers(model.markers, work.solver.pose, work.solver.marker.model)
    if found.status == NON_FINITE:
        copy(track.q_before, track.q)
        track.multiplier[:] = 0.0
    if found.status == CONVERGED:
        track.started[0] = 1
        track.fit[0] = min(track.fit[0], found.cost / visible) if visible > 0.0 else track.fit[0]
    return found.status, found.iterations, found.residual, found.cost, n_open


@njit
def visible_weight(markers, weight):
    """Return (whether every marker is used, sum of the model weights of the used markers); weight :
    (n_marker,) of the frame, 0 = not used.
    """
    complete, visible = True, 0.0
    for m in range(weight.shape[0]):
        complete = complete and weight[m] > 0.0
        if weight[m] > 0.0:
            visible += weight_of(markers.weight, m, 1.0)
    return complete, visible


@inlined
def set_out(model, limits, dt, options, track):
    """Store the last pose in track.q_before, and the prediction, from which to start, in track.q.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    limits : CoordinateRanges - or None
    dt : float - time since the last frame [s]; 0 = unknown
    options : TrackOptions - settings of how a solution is followed and restarted
    track : TrackState - state of one solution that is followed from frame to frame, written
    """
    if track.started[0] != 1:
        copy(model.q_neutral, track.q)
        track.speed[:] = 0.0
        track.multiplier[:] = 0.0
    copy(track.q, track.q_before)
    predict(model.tree, dt, options, track, track.q)
    clamp(limits, track.q)


@inlined
def fits_worse(found, visible, track):
    """Return whether a fit is so much worse than the best one since the last restart that another is due.

    found : SolverEnd - result of one solve: status, iterations, residual, objective
    visible : float - sum of the weights of the visible markers
    track : TrackState - state of one solution that is followed from frame to frame
    """
    usual = visible * max(track.fit[0], 0.5 * LEAST_RMS**2)
    return found.status == CONVERGED and found.cost > track.patience[0] * usual


@inlined
def forget_fit(in_vain, track):
    """Reset the best fit after a restart; in_vain : bool - whether `fits_worse` was its reason and it did not
    improve the fit. Then only a still worse fit causes the next restart.
    """
    track.fit[0] = math.inf
    track.patience[0] = WORSE * track.patience[0] if in_vain else WORSE


@njit
def survey(n_open, complete, work, track):
    """Mark the dofs that the first frame with all markers leaves undetermined as floating inner dofs.

    Return the number of undetermined dofs other than these; n_open is their number before the call.
    """
    if track.surveyed[0] != 0 or not complete:
        return n_open
    track.surveyed[0] = 1
    for d in range(track.floating_inner.shape[0]):
        track.floating_inner[d] = int(work.open[d] == 1 and work.solver.bound[d] == FREE_TO_MOVE)
        if track.floating_inner[d] == 1:
            track.surveyed[0] = 2
    return 0


@inlined
def is_ruined(problem, found, limit, track, work):
    """Return whether a solution did not converge, or fits so badly that a restart might find a better one.

    problem : FrameProblem - model, roles of its elements, and measured markers
    found : SolverEnd - result of one solve: status, iterations, residual, objective
    limit : float - largest objective, without the terms that hold dofs [m^2]
    track : TrackState - its q is the solution
    work : TrackWork - working space of one frame; its field solver.hold_gap is written
    """
    if found.status != CONVERGED:
        return True
    return found.cost - hold_cost(problem, track.q, work.solver.hold_gap) > limit


@njit
def restart(problem, q_neutral, options, found, track, work):
    """Solve from several starting poses, and keep the best converged result, or that already found.

    Start 0 fits every body to its markers. Start 1 does so too, but has inner free joints and chain joints in
    their neutral pose: a knee mechanism has two configurations, and the fitted knee may be in the wrong one.
    Where the tree has several inner free joints, one more start for each has that joint alone in the neutral
    pose.

    problem : FrameProblem - model, roles of its elements, and measured markers
    q_neutral : (n_q,) - coordinates of the neutral pose [m, rad]
    options : SolverOptions - settings of the constrained least-squares solver
    found : SolverEnd - result already found, whose pose is in track
    track : TrackState - state of one solution that is followed from frame to frame; its fields q and
        multiplier are written
    work : TrackWork - working space of one frame, written
    Returns a SolverEnd, with the iterations of all starts.
    """
    tree, best = problem.tree, found
    total, n_inner = found.iterations, 0
    for b in range(tree.parent.shape[0]):
        n_inner += int(is_loose(tree, b))
    for start in range(2 + n_inner if n_inner > 1 else 2):
        n_fitted = initial_pose(
            tree, problem.markers, problem.measured, problem.weight, track.q_before, work.solver.pose,
            work.fit, track.q_try,
        )  # fmt: skip
        if start > 0:
            if n_fitted == 0:
                break  # no body could be fitted: the first start was the neutral one already
            relax(tree, q_neutral, start - 2, track.q_try)
        track.multiplier_try[:] = 0.0
        trial = solve(problem, options, work.solver, track.q_try, track.multiplier_try)
        total += trial.iterations
        if trial.status == CONVERGED and (
            best.status != CONVERGED or trial.cost < CLEARLY_BETTER * best.cost
        ):
            best = trial
            copy(track.q_try, track.q)
            copy(track.multiplier_try, track.multiplier)
    return SolverEnd(best.status, total, best.residual, best.cost)


@njit
def relax(tree, q_neutral, only, q_out):
    """Set the coordinates of free joints and chain joints between two bodies to their neutral values.

    tree : Tree - joint tree of the bodies
    q_neutral : (n_q,) - coordinates of the neutral pose [m, rad]
    only : int - index of the one inner free joint to set, -1 = all free and chain joints between bodies
    q_out : (n_q,) - generalized coordinates; those of other joints stay unchanged
    """
    n_inner = 0
    for b in range(tree.parent.shape[0]):
        floating_inner = is_loose(tree, b)
        if floating_inner or (is_chain(tree, b) and tree.parent[b] >= 0):
            if only < 0 or (floating_inner and n_inner == only):
                k, stop = tree.q_start[b], tree.q_start[b + 1]
                copy(q_neutral[k:stop], q_out[k:stop])
            n_inner += int(floating_inner)
