"""Effect of marker errors on published numbers through element lengths that depend on a joint's flexion,
where this flexion is the result of another method that is solved first.

The length t(theta) of such an element depends on the flexion theta (Sancisi et al. 2017, eq. 1), and theta on
the markers: its sensitivity to the gradient of the first method's objective is x1 = P1 f_theta, with the
derivatives f_theta of theta by the pose and P1 the matrix P of kernels/uncertainty/sensitivity for that
method. As an element's deviation is |a - b|^2 - t^2, a change of theta changes a published number by 2 t t'
times the number's sensitivity to the element, hard or soft (docs/uncertainty.md).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.solver.constraints import HARD, SOFT
from kernels.solver.optimality import FrameProblem, objective
from kernels.solver.output_jacobian import add_column, joint_frame
from kernels.uncertainty.sensitivity import answer, stand_at


@njit
def first_angle_rows(model, pose, rows, work):
    """Write the first angle (flexion) of every joint [deg] into work.theta, and its derivatives with respect
    to the pose into work.X_first : (n_v, n_joint).

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    rows : JacobianWork - working space for derivatives of published numbers, written
    work : DeviationWork - working space of the standard deviations; its fields X_first and theta are written
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
def add_method_before(model, method, frame_state, problem, solver, work, answers):
    """Add to the sensitivities answers.X the effect of element lengths that depend on a joint's flexion.

    The flexion is that of the method which is solved before this one; return False if that method's solution
    is no minimum.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    frame_state : FrameState - state of the solver, kept from frame to frame
    problem : FrameProblem - optimisation problem of the method itself
    solver : Work - written; afterwards at the method's pose again, but without its matrix factors
    work : DeviationWork - working space of the standard deviations; its fields theta, X_first and B_first
        are written
    answers : Answers - sensitivities of the published numbers to the gradient and to the targets of elements;
        its field X is written
    """
    track, first, segments = frame_state.track, frame_state.first, frame_state.segments
    before = FrameProblem(
        tree=model.tree, markers=model.markers, elements=model.elements, roles=method.first,
        measured=segments.place, weight=segments.weight, hold=first.hold, q_hold=first.q_hold,
    )  # fmt: skip
    n_hard = stand_at(before, first.q, first.multiplier, solver)
    if n_hard >= 0:
        add_answers_before(model, method, n_hard, solver, work, answers)
    objective(problem, track.q, solver)
    return n_hard >= 0


@njit
def add_answers_before(model, method, n_hard, solver, work, answers):
    """Add to the sensitivities answers.X the effect of element lengths that depend on a joint's flexion.

    solver must be at the solution of the method that gives this flexion.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    n_hard : int - number of hard elements in the method before
    solver : Work - after stand_at
    work : DeviationWork - working space of the standard deviations; its fields theta, X_first and B_first
        are written
    answers : Answers - sensitivities of the published numbers to the gradient; its field X is written
    """
    first_angle_rows(model, solver.pose, work.rows, work)
    answer(model.tree.couplers, n_hard, solver, work.X_first, work.B_first)
    add_targets(model, method, work, answers)


@njit
def add_targets(model, method, work, answers):
    """Add to answers.X : (n_v, K) the effect of element lengths that depend on a flexion, once work.X_first
    is known.

    For a length t(theta) it is 2 t t' times the sensitivity of theta (work.X_first) times the number's
    sensitivity to the element (answers.B). Lengths: Sancisi et al. 2017, eq. 1.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    method : SolverMethod - modes, weights and targets of the elements
    work : DeviationWork - its theta, the flexions, and X_first, their sensitivities to the gradient, are read
    answers : Answers - sensitivities of the published numbers to the gradient; its field X is written
    """
    mode, n_hard, n_soft = method.roles.mode, 0, 0
    for e in range(mode.shape[0]):
        n_soft += int(mode[e] == HARD)
    for e in range(mode.shape[0]):
        if mode[e] == HARD:
            row = answers.B[n_hard]
            n_hard += 1
        elif mode[e] == SOFT:
            row = answers.B[n_soft]
            n_soft += 1
        else:
            continue
        slope = target_slope(model, e, work.theta[method.flexion[e]])
        if slope != 0.0:
            add_product(2.0 * method.roles.target[e] * slope, work.X_first, method.flexion[e], row, answers.X)


@njit
def target_slope(model, e, theta):
    """Return the derivative dt/dtheta [m/rad] of the length of element e at the flexion theta [deg]; 0 for a
    constant length.

    Lengths: Sancisi et al. 2017, eq. 1, with coefficients and neutral lengths in model : Skeleton.
    """
    s, polynomial = 0.0, model.polynomial[e]
    for k in range(polynomial.shape[0] - 1, -1, -1):
        s = s * theta + (k + 1) * polynomial[k]
    return math.degrees(s) * model.neutral_length[e] if s != 0.0 else 0.0


@njit
def add_product(scale, X_first, j, row, X):
    """Add the matrix scale * (column j of X_first) * row' to X.

    scale : float - factor
    X_first : (n_v, n_joint) - sensitivities of the flexions
    j : int - index of the column
    row : (K,) - sensitivities of the numbers to an element
    X : (n_v, K) - matrix, added to
    """
    for d in range(X.shape[0]):
        s = scale * X_first[d, j]
        for k in range(X.shape[1]):
            X[d, k] += s * row[k]
