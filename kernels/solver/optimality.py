"""The constrained least-squares problem of a frame, and its conditions of optimality.

min 1/2 Psi' W Psi subject to Phi = 0 on the manifold of the joint tree. Psi contains the residuals of markers
(kernels/markers/marker_cost) and the deviations of soft elements, W their weights, Phi the deviations of hard
elements (kernels/solver/constraints); Sancisi et al. 2017, eqs 5-9, in joint coordinates instead of natural
ones. At an optimum g + A' lambda = 0 and Phi = 0, with the gradient g of the objective, the Jacobian A = dPhi
and multipliers lambda.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.joints.couplers import (
    CouplerWork,
    coupler_slopes,
    fold_lagrangian,
    fold_vector,
    new_coupler_work,
)
from kernels.joints.tree import Pose, Tree, difference, new_pose, pose
from kernels.markers.marker_cost import (
    MarkerWork,
    ModelMarkers,
    marker_gradient,
    marker_moments,
    new_marker_work,
)
from kernels.path.lengths import length_values
from kernels.solver.constraints import (
    HARD,
    PATH_LENGTH,
    SOFT,
    Elements,
    ElementWork,
    Roles,
    element_rows,
    element_values,
    new_element_work,
)
from kernels.solver.coordinates import bind_bounds, find_bounds
from kernels.solver.levers import BORNE, SLIGHT, lever_of


class FrameProblem(NamedTuple):
    """The optimisation problem of one frame: the model, how the method uses its constraints (off, soft or
    hard), and the measured markers."""

    tree: Tree
    markers: ModelMarkers
    elements: Elements
    roles: Roles
    measured: np.ndarray  # (n_marker, 3) - in ground [m]
    weight: np.ndarray  # (n_marker,) - of the frame, times the markers' own; 0 = takes no part
    hold: np.ndarray  # (n_v,) - weights that hold dofs near q_hold; 0 = free
    q_hold: np.ndarray  # (n_q,)


class Work(NamedTuple):
    """Working space of one solution: pose, gradient, Hessian, constraint rows and step; n = n_v, m = number
    of elements.
    """

    pose: Pose
    marker: MarkerWork
    element: ElementWork
    coupler: CouplerWork
    H: Annotated[np.ndarray, Floats("n", "n")]
    A: Annotated[np.ndarray, Floats("m", "n")]  # rows of the hard elements, first n_hard used
    span: Annotated[np.ndarray, Integers("m", 2)]  # first and last dof of each row
    Y: Annotated[np.ndarray, Floats("m", "n")]  # L'^-1 A'
    S: Annotated[np.ndarray, Floats("m", "m")]  # Y Y'
    phi: Annotated[np.ndarray, Floats("m")]
    g: Annotated[np.ndarray, Floats("n")]  # gradient of the objective
    lagrangian: Annotated[np.ndarray, Floats("n")]  # gradient of the Lagrangian
    unbound: Annotated[np.ndarray, Floats("n")]  # the same, 0 for coordinates fixed at a bound
    delta: Annotated[np.ndarray, Floats("n")]
    mu: Annotated[np.ndarray, Floats("m")]  # multipliers after the step
    multiplier_trial: Annotated[np.ndarray, Floats("m")]
    hold_gap: Annotated[np.ndarray, Floats("n")]
    # pose at which a solve computed objective and optimality last
    q_trial: Annotated[np.ndarray, Floats("n_q")]
    # largest entry of the Newton step whose factors H, Y and S are; inf = there are none
    size: Annotated[np.ndarray, Floats(1, fill=math.inf)]
    scale: Annotated[np.ndarray, Floats("m")]  # rho of each hard row
    # objective where the last solve began, without the terms that hold dofs
    cost_start: Annotated[np.ndarray, Floats(1)]
    bound: Annotated[np.ndarray, Integers("n")]  # which bound a coordinate is at (kernels/solver/coordinates)
    fixed: Annotated[np.ndarray, Integers("n")]  # 1 = its step ends at its bound
    gap: Annotated[np.ndarray, Floats("n")]  # step to that bound
    # right-hand side of the step: g after elimination of fixed coordinates
    slope: Annotated[np.ndarray, Floats("n")]
    aim: Annotated[np.ndarray, Floats("m")]  # Phi after that elimination


def new_work(
    n_body: int, n_q: int, n_v: int, n_marker: int, n_element: int, n_path: int, n_motion: int = 0,
    lengths: Any = None,
) -> Work:  # fmt: skip
    """Allocate a Work, the working space of the solver; lengths : LengthWork if any element is the length of
    a path, else None.
    """
    n, m = n_v, n_element
    return allocate(
        Work,
        n=n,
        m=m,
        n_q=n_q,
        pose=new_pose(n_body, n_v, n_motion),
        marker=new_marker_work(n_marker, n_body),
        element=new_element_work(n_element, n_path, lengths),
        coupler=new_coupler_work(n),
    )


@njit
def objective(problem, q, work):
    """Return the objective of a frame at the coordinates q : (n_q,).

    Also written into work are the pose there, the sums over markers from which the gradient is computed
    (kernels/markers/marker_cost), the deviations of elements, and the steps from q_hold to q of the dofs that
    the objective holds near q_hold.
    """
    tree, elements, roles = problem.tree, problem.elements, problem.roles
    pose(tree, q, work.pose)
    coupler_slopes(tree.couplers, tree.functions, q, work.coupler)
    find_bounds(roles.limits, q, work.bound)
    cost = marker_moments(tree, problem.markers, work.pose, problem.measured, problem.weight, work.marker)
    own = work.element
    element_values(elements, work.pose, roles.target, own)
    length_values(tree, elements.lengths, work.pose, q, roles.target, own.lengths, own.value)
    for e in range(roles.mode.shape[0]):
        if roles.mode[e] == SOFT:
            cost += 0.5 * roles.weight[e] * work.element.value[e] ** 2
    return cost + hold_cost(problem, q, work.hold_gap)


@njit
def hold_cost(problem, q, gap_out):
    """Return the part of the objective that holds dofs near given coordinates, the sum of 1/2 hold gap^2.

    problem : FrameProblem - weights hold and coordinates q_hold; q : (n_q,); gap_out : (n_v,) - tangent step
        from q_hold to q, written.
    """
    difference(problem.tree, problem.q_hold, q, gap_out)
    cost = 0.0
    for d in range(problem.hold.shape[0]):
        cost += 0.5 * problem.hold[d] * gap_out[d] ** 2
    return cost


@njit
def optimality(problem, multiplier, work):
    """Compute the gradient g of the objective and the rows A of the hard elements' Jacobian; return (number
    of hard elements, residual |(g + A' multiplier, Phi)|).

    For a coordinate at its bound that a descent step would carry beyond it, the entry of the gradient does
    not count in the residual; it stays in work.lagrangian.

    problem : FrameProblem - model, roles of its elements, and measured markers
    multiplier : (n_element,) - entry k belongs to the k-th hard element
    work : Work - with the pose and the deviations at which `objective` was computed; written are g, A, span
        (first and last dof of each row of A), phi, lagrangian (g + A' multiplier), unbound (the same, 0 for
        coordinates fixed at a bound), and for the next step fixed, gap and aim
    """
    tree, elements, roles, hold = problem.tree, problem.elements, problem.roles, problem.hold
    marker_gradient(tree, work.pose, work.marker, work.g)
    element_rows(elements, work.pose, work.element)
    n_v = work.g.shape[0]
    for d in range(n_v):
        work.g[d] += hold[d] * work.hold_gap[d]
    n_hard = 0
    for e in range(roles.mode.shape[0]):
        value, row = work.element.value[e], work.element.row[e]
        if roles.mode[e] == SOFT:
            for k in range(elements.n_path[e]):
                work.g[elements.path[e, k]] += roles.weight[e] * value * row[k]
        elif roles.mode[e] == HARD:
            lever = hard_row(tree.couplers, elements, e, n_hard, work)
            work.phi[n_hard] = 0.0 if value * value <= BORNE * BORNE * lever else value
            n_hard += 1
    lagrangian_gradient(tree.couplers, n_hard, multiplier, work)
    for d in range(n_v):
        work.unbound[d] = work.lagrangian[d]
    bind_bounds(roles.limits, work.bound, work.unbound, work.fixed, work.gap)
    total = 0.0
    for d in range(n_v):
        total += work.unbound[d] * work.unbound[d]
    for k in range(n_hard):
        work.aim[k] = work.phi[k]
        total += work.phi[k] * work.phi[k]
    return n_hard, math.sqrt(total)


@njit
def hard_row(couplers, elements, e, n, work):
    """Write the derivatives of hard element e into row n of the constraint Jacobian A; return 0, or the
    element's lever.

    The lever (kernels/solver/levers) is an upper bound of the sum of squares of the derivatives. It is
    returned if the derivatives are only rounding errors compared with it; then the row is written as zeros,
    and the caller accepts a deviation of the element up to a small fraction (BORNE) of the square root of the
    lever. Call it after element_rows.

    couplers : Couplers - or None
    elements : Elements - geometry of the constraint elements
    e : int - index of the element
    n : int - row
    work : Work - rows n of work.A and of work.span (first and last dof of the row) are written
    """
    A, row, n_v, size = work.A[n], work.element.row[e], work.g.shape[0], 0.0
    for d in range(n_v):
        A[d] = 0.0
    first, last = n_v - 1, 0
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        A[d] = row[k]
        size += row[k] * row[k]
        first, last = min(first, d), max(last, d)
    if couplers is not None:  # noqa: SIM102 - the compiler leaves out what stands below None alone
        if couplers.dof.shape[0] > 0:  # a driver may be anywhere
            first, last = 0, n_v - 1
    work.span[n, 0], work.span[n, 1] = first, last
    if elements.kind[e] == PATH_LENGTH:
        return 0.0
    lever = lever_of(elements, work.pose, e, work.element)
    if size <= SLIGHT * lever:
        for k in range(elements.n_path[e]):
            A[elements.path[e, k]] = 0.0
        return lever
    return 0.0


@njit
def lagrangian_gradient(couplers, n_hard, multiplier, work):
    """Write the gradient of the Lagrangian, g + A' multiplier, into work.lagrangian : (n_v,).

    Coordinates that couplers give are then eliminated from it, from the gradient work.g and from the
    constraint rows work.A.

    n_hard : int - number of hard elements; multiplier : (n_element,) - the first n_hard entries count.
    """
    for d in range(work.g.shape[0]):
        work.lagrangian[d] = work.g[d]
    for k in range(n_hard):
        for d in range(work.span[k, 0], work.span[k, 1] + 1):
            work.lagrangian[d] += work.A[k, d] * multiplier[k]
    fold_lagrangian(couplers, work.coupler, work.lagrangian)
    fold_vector(couplers, work.coupler, work.g)
    for k in range(n_hard):
        fold_vector(couplers, work.coupler, work.A[k])
