"""Alternative configurations of mechanisms: each is tracked beside the published pose (the solution that the
program outputs), with the probability that it is the true one.

Rigid elements that leave a joint one degree of freedom can often be assembled in more than one way: each way
is an optimum of the frame's objective, and the curvature at one optimum contains nothing about another
(docs/uncertainty.md, the other assembly). Let p be the probability that the alternative configuration is the
true one, and d the amount by which a published number is larger in it. The mean square error of that number,
such as a joint angle, then grows by p d^2. The alternative configuration is solved again once in several
frames, starting from the published pose plus the step by which the two differed last time. In between, its
probability and the differences of the numbers stay unchanged.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy, copy_matrix
from kernels.algebra.linear import inner_product
from kernels.compiler.jit import inlined, njit
from kernels.joints.tree import difference, integrate
from kernels.solver.configuration_likelihood import add_up, evidence
from kernels.solver.constraints import HARD
from kernels.solver.frame import Outputs, new_outputs
from kernels.solver.kkt import CONVERGED, SolverOptions, largest_of, solve
from kernels.solver.optimality import objective
from kernels.solver.outputs import read_outputs
from kernels.solver.weak_turn import weak_turn

EVERY, SELDOM = 5, 10
"""Frames from one solution of the alternative configuration to the next: as a rule, and where its probability
is below IMPOSSIBLE."""
IMPOSSIBLE = 1e-3
"""Probability of the alternative configuration below which it is solved less often [1]."""
LOOK, LOOK_SELDOM = 5, 80
"""Frames from one search for an alternative configuration to the next:
at first, and after many searches that found none."""
APART = 5e-3
"""Least largest entry of the step between two optima [rad, m];
with a smaller one they are the same optimum."""
TOLERANCE = 1e-4
"""Optimality residual to which the alternative configuration is solved [m, m^2]: poses solved to this
tolerance were off by at most 0.4 mrad or mm."""


class AlternativeConfiguration(NamedTuple):
    """State of the alternative configurations at R joints. Stored for each are the step along the generalized
    speeds that leads to it from the published pose, and the logarithm of the odds that the published pose is
    the true one. K is the number of published numbers (joint angles and displacements, lengthening of
    ligaments, contact points).
    """

    body: np.ndarray  # (R,) int64 - body that the joint carries
    there: Annotated[np.ndarray, Integers("R")]  # 1 = an alternative configuration is known
    gap: Annotated[np.ndarray, Floats("R", "n_v")]  # tangent step from the published pose to it
    multiplier: Annotated[np.ndarray, Floats("R", "n_element")]  # constraint multipliers there
    odds: Annotated[np.ndarray, Floats("R")]  # logarithm of the odds for the published pose
    part: Annotated[np.ndarray, Floats("R")]  # probability of the alternative configuration
    shift: Annotated[np.ndarray, Floats("R", "K")]  # numbers there minus published ones
    since: Annotated[np.ndarray, Floats("R")]  # time since its last solution [s]
    wait: np.ndarray  # (R,) int64 - frames until the next solution or search
    pause: Annotated[np.ndarray, Integers("R", fill=LOOK)]  # frames between searches
    side: Annotated[np.ndarray, Floats("R", fill=1.0)]  # sense of rotation of the next search


class AlternativeWork(NamedTuple):
    """Working space for solving alternative configurations, in addition to that of the frame."""

    q: Annotated[np.ndarray, Floats("n_q")]
    delta: Annotated[np.ndarray, Floats("n_v")]
    was: Annotated[np.ndarray, Floats("n_v")]
    out: Outputs
    value: Annotated[np.ndarray, Floats(2, "K")]  # numbers of the published pose, and of the other
    here: Annotated[np.ndarray, Floats("n_marker", 3)]  # model markers of the published pose in ground [m]
    weighted_shift: Annotated[np.ndarray, Floats("n_marker", 3)]  # weight times difference of both poses [m]
    fixed: Annotated[np.ndarray, Integers("n_v")]  # 1 = at a bound in the published pose
    vectors: Annotated[np.ndarray, Floats(3, 3)]


def new_alternative_configuration(
    body: np.ndarray, n_v: int, n_element: int, K: int
) -> AlternativeConfiguration:
    """Allocate an AlternativeConfiguration, in which no alternative configuration is known yet.

    body : (R,) int64 - bodies carried by the joints that may have an alternative configuration
    n_v, n_element, K : int - numbers of generalized speeds, of elements and of published numbers
    """
    R = len(body)
    return allocate(
        AlternativeConfiguration,
        R=R,
        n_v=n_v,
        n_element=n_element,
        K=K,
        body=body.astype(np.int64),
        wait=np.arange(1, R + 1),
    )


def new_alternative_work(
    n_q: int, n_v: int, n_marker: int, n_joint: int, n_ligament: int, n_contact: int, K: int
) -> AlternativeWork:
    """Allocate an AlternativeWork, the working space for alternative configurations, for these numbers of
    coordinates, speeds, markers, joints, ligaments, contacts and published numbers (K).
    """
    return allocate(
        AlternativeWork,
        n_q=n_q,
        n_v=n_v,
        K=K,
        n_marker=n_marker,
        out=new_outputs(n_joint, n_ligament, n_contact, n_marker, 0),
    )


@inlined
def follow_others(model, problem, track, dt, options, solver_options, variance, frame, state, work):
    """Update the alternative configurations of all joints: other ways in which their rigid elements can be
    assembled.

    Call it after everything that uses the matrix factors of the frame's solution, as it overwrites them.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    problem : FrameProblem - model, roles of its elements, and measured markers of the frame
    track : TrackState - contains the published pose of this frame and of the one before
    dt : float - time since the last frame [s]; 0 = unknown
    options : DeviationOptions - settings of the standard deviations
    solver_options : SolverOptions - settings of the constrained least-squares solver
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    frame : TrackWork - its field solver is at the published pose; the matrix factors in it are overwritten if
        a configuration is solved
    state : AlternativeConfiguration - state of the alternative configurations of joints, written
    work : AlternativeWork - working space, written
    """
    for r in range(state.body.shape[0]):
        state.since[r] += dt
        state.wait[r] -= 1
        if state.wait[r] <= 0 or has_changed_over(model.tree, track, r, state, work):
            follow_other(model, problem, track.q, options, solver_options, variance, frame, r, state, work)


@njit
def has_changed_over(tree, track, r, state, work):
    """Return whether the published pose has changed to the alternative configuration of joint r within one
    frame.

    It has if it moved by more than half of the distance to the alternative configuration. The caller then
    solves the alternative configuration again at once.

    tree : Tree - joint tree of the bodies
    track : TrackState - state of one solution that is followed from frame to frame
    r : int - index of the joint among those of state
    state : AlternativeConfiguration - state of the alternative configurations of joints
    work : AlternativeWork - the step from the former to the present pose is written into its delta
    """
    if state.there[r] == 0:
        return False
    difference(tree, track.q_begin, track.q, work.delta)
    return inner_product(work.delta, state.gap[r]) > 0.5 * inner_product(state.gap[r], state.gap[r])


@njit
def follow_other(model, problem, q, options, solver_options, variance, frame, r, state, work):
    """Solve the alternative configuration of one joint again, or search for one if none is known.

    Afterwards the solver's pose is the published one again, but its matrix factors are not.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    problem : FrameProblem - model, roles of its elements, and measured markers
    q : (n_q,) - published pose [m, rad]
    options : DeviationOptions - settings of the standard deviations
    solver_options : SolverOptions - settings of the constrained least-squares solver
    variance : (n_marker,) - variance of each marker's own error along one axis [m^2]
    frame : TrackWork - working space of one frame; its field solver is written
    r : int - index of the joint among those of state
    state : AlternativeConfiguration - state of the alternative configurations of joints, written
    work : AlternativeWork - written
    """
    at, known = frame.solver, state.there[r] == 1
    how = SolverOptions(TOLERANCE, solver_options.max_iterations, solver_options.max_step)
    copy_matrix(at.marker.model, work.here)
    copy(at.fixed, work.fixed)
    read_outputs(model, options.displaced, at.pose, at.element, work.out, work.value[0])
    if known:
        found = solve_again(model.tree, problem, how, q, r, at, state, work)
    else:
        found = look(model, problem, how, q, options.bounds.size, frame, r, state, work)
    state.there[r] = int(found)
    if found:
        told = evidence(model, problem, options.bounds.skin, variance, at, work)
        state.odds[r] = add_up(state.odds[r], told, known, state.since[r], options.lasting)
        state.since[r] = 0.0
        state.part[r] = 1.0 / (1.0 + math.exp(state.odds[r]))
        state.wait[r] = EVERY if state.part[r] > IMPOSSIBLE else SELDOM
        find_shifts(model, problem.roles.mode, options.displaced, at, work, state.shift[r])
    else:
        state.odds[r] = state.part[r] = 0.0
        state.wait[r] = state.pause[r] = LOOK if known else min(2 * state.pause[r], LOOK_SELDOM)
    copy(q, at.q_trial)
    at.size[0] = math.inf
    objective(problem, q, at)
    copy(work.fixed, at.fixed)


@njit
def solve_again(tree, problem, how, q, r, at, state, work):
    """Solve the alternative configuration, starting from the published pose plus the last step to it; return
    whether it still exists.

    The published pose may have changed to the alternative configuration in the meantime. The configuration
    that it has left is then found at the opposite of the last step, and the logarithm of the odds changes its
    sign.

    tree : Tree - joint tree of the bodies
    problem : FrameProblem - model, roles of its elements, and measured markers
    how : SolverOptions - settings of the constrained least-squares solver
    q : (n_q,) - published pose [m, rad]
    r : int - index of the joint among those of state
    at : Work - working space of the solver, written
    state : AlternativeConfiguration - its gap, multiplier and odds are written
    work : AlternativeWork - written
    """
    copy(state.gap[r], work.delta)
    copy(state.gap[r], work.was)
    if solve_beside(tree, problem, how, q, r, at, state, work):
        if inner_product(state.gap[r], work.was) < 0.0:  # found on the other side, from this one
            state.odds[r] = -state.odds[r]
        return True
    for i in range(work.delta.shape[0]):
        work.delta[i] = -state.gap[r, i]
    state.multiplier[r, :] = 0.0
    if solve_beside(tree, problem, how, q, r, at, state, work):
        state.odds[r] = -state.odds[r]
        return True
    return False


@njit
def look(model, problem, how, q, size, frame, r, state, work):
    """Search for an alternative configuration of joint r: solve the frame from the published pose in which
    joint r is rotated about the axis that the markers resist least (weak_turn).

    Return whether one is found; if not, the next search rotates the joint in the other direction.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    problem : FrameProblem - model, roles of its elements, and measured markers
    how : SolverOptions - settings of the constrained least-squares solver
    q : (n_q,) - published pose [m, rad]
    size : (n_marker,) - standard deviation of each marker along one axis [m]
    frame : TrackWork - solver at the published pose; written
    r : int - index of the joint among those of state
    state : AlternativeConfiguration - its gap, multiplier and side are written
    work : AlternativeWork - written
    """
    weak_turn(
        model.tree, model.markers, frame.solver.marker.model, problem.weight, size, frame.solver.pose,
        state.body[r], frame.fit, work.delta,
    )  # fmt: skip
    for i in range(work.delta.shape[0]):
        work.delta[i] *= state.side[r]
    state.multiplier[r, :] = 0.0
    if solve_beside(model.tree, problem, how, q, r, frame.solver, state, work):
        return True
    state.side[r] = -state.side[r]
    return False


@njit
def solve_beside(tree, problem, how, q, r, at, state, work):
    """Solve the frame from the start q + work.delta; return whether the optimum found differs from q.

    If it differs, the tangent step from q to that optimum is written into state.gap[r].

    tree : Tree - joint tree of the bodies
    problem : FrameProblem - model, roles of its elements, and measured markers
    how : SolverOptions - settings of the constrained least-squares solver
    q : (n_q,) - published pose [m, rad]
    r : int - index of the joint among those of state
    at : Work - working space of the solver, written
    state : AlternativeConfiguration - its gap and multiplier are written
    work : AlternativeWork - its delta is read; its fields q and delta are written
    """
    integrate(tree, q, work.delta, 1.0, work.q)
    if solve(problem, how, at, work.q, state.multiplier[r]).status != CONVERGED:
        return False
    difference(tree, q, work.q, work.delta)
    if largest_of(work.delta) < APART:
        return False
    copy(work.delta, state.gap[r])
    return True


@njit
def find_shifts(model, mode, displaced, at, work, shift_out):
    """Write the published numbers of the alternative configuration minus those of the published pose into
    shift_out.

    Differences of angles are within -pi to pi. The differences in length of ligaments that the method keeps
    at constant length (HARD) are set to 0.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    mode : (n_element,) int64 - OFF, SOFT or HARD of kernels/solver/constraints
    displaced : (n_displaced,) int64 - joints with published displacements, ascending
    at : Work - solver's working space at the alternative configuration
    work : AlternativeWork - value[0] contains the numbers of the published pose; out and value[1] are written
    shift_out : (K,) - differences of the numbers [rad, m, 1], written
    """
    read_outputs(model, displaced, at.pose, at.element, work.out, work.value[1])
    n_angle = 3 * model.joints.proximal.shape[0]
    for k in range(shift_out.shape[0]):
        shift_out[k] = work.value[1, k] - work.value[0, k]
        if k < n_angle:
            shift_out[k] -= 2.0 * math.pi * round(shift_out[k] / (2.0 * math.pi))
    first = n_angle + 3 * displaced.shape[0]
    for n in range(model.ligaments.shape[0]):
        if mode[model.ligaments[n]] == HARD:
            shift_out[first + n] = 0.0


@njit
def add_others(due, state, C, value):
    """Add the contributions of the alternative configurations to the variances of the published numbers and
    to the covariance of the pose.

    They are p d^2 and p g g', with the probability p of such a configuration, the difference d of a number
    and the tangent step g from the published pose.

    due : bool - whether C was computed anew in this frame, so that it is added to
    state : AlternativeConfiguration - state of the alternative configurations of joints
    C : (n_v, n_v) - covariance of the pose
    value : (K,) - variances of the published numbers
    """
    for r in range(state.body.shape[0]):
        p, shift, gap = state.part[r], state.shift[r], state.gap[r]
        if state.there[r] == 1:
            for k in range(value.shape[0]):
                value[k] += p * shift[k] * shift[k]
            if due:
                for i in range(C.shape[0]):
                    for j in range(C.shape[0]):
                        C[i, j] += p * gap[i] * gap[j]


def forget_others(state: AlternativeConfiguration) -> None:
    """Reset the state: no alternative configuration is known, and the searches for them begin anew."""
    for array in (state.there, state.odds, state.part, state.shift, state.since):
        array[:] = 0
    state.wait[:] = np.arange(1, len(state.wait) + 1)
    state.pause[:] = LOOK
    state.side[:] = 1.0
