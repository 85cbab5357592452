"""Hard constraints in a simulation: closed loops, points on planes and lines, rods.

The constrained accelerations make an ordinary differential equation, so that every method keeps its order.
With the Jacobian G of Phi(q) = 0 and multipliers lambda,
  M v_dot + h = tau + G' lambda,   G v_dot = -gamma,   gamma = Phi-double-dot at v_dot = 0,
and kernels/rosenbrock/projection projects q and v onto Phi = 0 and G v = 0 after each step (Hairer, Wanner
1996, section VII.2). For a stage u (step h, diagonal g, right-hand side r, matrix B: rosenbrock/stages), with
s = 1/(h g), its matrix S without constraints, and derivatives W_q, W_v of Phi-double-dot at fixed v_dot,
  S u_v - G' mu = r,   (G + (W_v + W_q B)/s) u_v = (G r_v - W_q B r_q)/s:
one bordered matrix, factorised once a step. tau_q includes d(G' lambda)/dq at fixed lambda. Coordinates that
couplers give are eliminated from rows and slopes as in kernels/dynamics/reduction.

A row that depends on earlier ones at the start of a step, or whose derivatives are rounding errors compared
with its element's lever (kernels/solver/levers), is left out of this step, and its multiplier is 0.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.copying import copy
from kernels.algebra.linear import (
    cholesky_drop,
    inner_product,
    lu,
    lu_solve,
    solve_lower,
    solve_lower_transposed,
)
from kernels.compiler.jit import inlined, njit
from kernels.dynamics.constrained import drift
from kernels.dynamics.constraint_slopes import N_CHANGE, N_MOTION, element_motion, onset_slopes
from kernels.dynamics.constraints import (
    DEPENDENT,
    Constraints,
    ConstraintWork,
    constraint_bias,
    constraint_rows,
    new_constraint_work,
)
from kernels.dynamics.reduction import follow_accelerations
from kernels.forces.pairs import BY_PLACE, Pairs, PairWork, add_pair_derivatives, clear_slopes, new_pair_work
from kernels.forces.places import add_displaced, add_stiffness
from kernels.joints.couplers import fold_vector
from kernels.joints.tree import Tree
from kernels.rosenbrock.local import local_solve
from kernels.solver.constraints import DISTANCE, element_wrench


class Holds(NamedTuple):
    """Hard constraints of a simulation: n_row constraint elements with one scalar equation each."""

    constraints: Constraints  # all of its elements hard, no couplers and no rolls
    pairs: Pairs  # of bodies that elements connect
    pair: np.ndarray  # (n_row,) int64 - of each element


class HoldWork(NamedTuple):
    """Data of hard constraints Phi(q) = 0; most arrays have one row for each constraint row that acts."""

    rows: ConstraintWork  # value, row and bias of all, along all coordinates; kernel: factor of Y Y'
    drift: Annotated[np.ndarray, Floats("n_body", 6)]  # of bodies: acceleration at zero v_dot, no gravity
    active: Annotated[np.ndarray, Integers("n_row")]  # rows that act: no combination of earlier ones
    n_active: Annotated[np.ndarray, Integers(1)]
    Y: Annotated[np.ndarray, Floats("n_row", "n_v")]  # L^-1 E'G', by rows
    left: Annotated[np.ndarray, Floats("n_row")]  # needed changes of rates along rows, then multipliers
    delta: Annotated[np.ndarray, Floats("n_v")]
    # 1 = not changed when the initial state is projected, 0 in a run
    kept: Annotated[np.ndarray, Integers("n_v")]
    multiplier: Annotated[np.ndarray, Floats("n_row")]  # of all; 0 where a row depends on earlier ones
    # force that presses the two ends apart, or off the plane [N]
    force: Annotated[np.ndarray, Floats("n_row")]
    # reach of the active rows after elimination of couplers and kept dofs (element_row)
    reach: Annotated[np.ndarray, Floats("n_row")]
    folded: Annotated[np.ndarray, Floats("n_row", "n_v")]  # G E
    by_q: Annotated[np.ndarray, Floats("n_row", "n_v")]  # W_q
    by_v: Annotated[np.ndarray, Floats("n_row", "n_v")]  # W_v
    by_time: Annotated[np.ndarray, Floats("n_row")]  # derivative of Phi-double-dot by time
    pairs: PairWork
    motion: Annotated[np.ndarray, Floats(N_MOTION, 3)]
    change: Annotated[np.ndarray, Floats(N_CHANGE, 3)]
    S: Annotated[np.ndarray, Floats("n_v + n_row", "n_v + n_row")]  # LU factors of the bordered matrix
    pivot: Annotated[np.ndarray, Integers("n_v + n_row")]
    right: Annotated[np.ndarray, Floats("n_v + n_row")]


def new_hold_work(holds: Holds, tree: Tree) -> HoldWork:
    """Allocate a HoldWork: rows, multipliers and derivatives of the hard constraints."""
    n_v = len(tree.dof_body)
    return allocate(
        HoldWork,
        n_body=len(tree.parent),
        n_row=len(holds.pair),
        n_v=n_v,
        rows=new_constraint_work(holds.constraints, n_v),
        pairs=new_pair_work(len(holds.pairs.body_a), tree),
    )


@njit
def spread(couplers, coupler_work, L, own):
    """Compute own.Y = G L'^-1 of the acting constraint rows G, and the lower half of Y Y' (own.rows.kernel).

    couplers : Couplers - coordinates that are functions of others
    coupler_work : CouplerWork - slopes of the couplers at this state
    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - its Y, reach and rows.kernel are written
    """
    n_v, S = L.shape[0], own.rows.kernel
    for a in range(own.n_active[0]):
        i = own.active[a]
        row, y = own.rows.row[i], own.Y[a]
        copy(row, y)
        fold_vector(couplers, coupler_work, y)
        for d in range(n_v):
            y[d] = 0.0 if own.kept[d] else y[d]
        lever, size = own.rows.reach[i] * inner_product(row, row), inner_product(y, y)
        own.reach[a] = 1.0
        if size <= DEPENDENT * lever:
            y[:] = 0.0
        else:
            own.reach[a] = max(1.0, lever / size)
        solve_lower(L, n_v, y)
        for b in range(a + 1):
            S[a, b] = inner_product(y, own.Y[b])


@njit
def spread_active(couplers, coupler_work, L, own):
    """Compute own.Y = G L'^-1 of the acting constraint rows G, and factorise Y Y' in own.rows.kernel.

    couplers : Couplers - coordinates that are functions of others
    coupler_work : CouplerWork - slopes of the couplers at this state
    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - its Y, reach and rows.kernel are written
    """
    spread(couplers, coupler_work, L, own)
    cholesky_drop(own.rows.kernel, own.n_active[0], 0.0)


@njit
def choose_rows(couplers, coupler_work, L, own):
    """Choose the rows that do not depend on earlier ones (own.active); compute Y and the factor of Y Y'.

    couplers : Couplers - coordinates that are functions of others
    coupler_work : CouplerWork - slopes of the couplers at this state
    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - its active, n_active, Y, reach and rows.kernel are written
    """
    n, S = own.left.shape[0], own.rows.kernel
    for i in range(n):
        own.active[i] = i
    own.n_active[0] = n
    spread(couplers, coupler_work, L, own)
    if cholesky_drop(S, n, DEPENDENT, own.reach) == 0:
        return
    k = 0
    for i in range(n):
        if S[i, i] < math.inf:
            own.active[k] = i
            k += 1
    own.n_active[0] = k
    spread_active(couplers, coupler_work, L, own)


@njit
def push_back(L, own, x):
    """Add M^-1 G' lambda to speeds or accelerations x : (n_v,), so that G x changes by own.left.

    L : (n_v, n_v) - Cholesky factor of the mass matrix M of the independent coordinates
    own : HoldWork - after spread_active, active rows G; left becomes the multipliers lambda, delta is written
    """
    n_v, k, delta = x.shape[0], own.n_active[0], own.delta
    solve_lower(own.rows.kernel, k, own.left)
    solve_lower_transposed(own.rows.kernel, k, own.left)
    for d in range(n_v):
        delta[d] = 0.0
    for a in range(k):
        for d in range(n_v):
            delta[d] += own.Y[a, d] * own.left[a]
    solve_lower_transposed(L, n_v, delta)
    for d in range(n_v):
        x[d] += delta[d]


@inlined
def held_accelerations(holds, couplers, tree, q, v, starting, work, v_dot):
    """Add the effect of constraints to unconstrained accelerations, and the constraint forces to work.tau.

    holds : Holds - None where the simulation has no constraints
    couplers : Couplers - coordinates that are functions of others
    tree : Tree - joint tree of the bodies
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    starting : int - 1 = a step starts here, and the constraint rows that act are chosen
    work : SimulationWork - after reduced_accelerations; its fields holds and tau are written
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2], updated
    """
    if holds is None:
        return
    own, dynamics, L = work.holds, work.dynamics, work.dynamics.M
    rows, body = own.rows, work.dynamics.velocities.body
    drift(tree, dynamics.velocities.bias, own.drift)
    constraint_rows(tree, holds.constraints, dynamics.pose, q, rows)
    constraint_bias(tree, holds.constraints, dynamics.pose, body, own.drift, q, v, rows)
    if starting:
        choose_rows(couplers, work.reduction.coupler, L, own)
    else:
        spread_active(couplers, work.reduction.coupler, L, own)
    for a in range(own.n_active[0]):
        i = own.active[a]
        own.left[a] = -rows.bias[i] - inner_product(rows.row[i], v_dot)
    push_back(L, own, v_dot)
    follow_accelerations(couplers, work.reduction, v, v_dot)
    for i in range(own.multiplier.shape[0]):
        own.multiplier[i] = 0.0
    for a in range(own.n_active[0]):
        i = own.active[a]
        own.multiplier[i] = own.left[a]
        for d in range(v.shape[0]):
            work.tau[d] += own.left[a] * rows.row[i, d]


@inlined
def add_hold_slopes(holds, system, work):
    """Add the derivatives of constraint forces by q and v, at fixed multipliers, to work.stages.

    holds : Holds - None where the simulation has no constraints
    system : System - joint tree of bodies with mass, in a gravitational field
    work : SimulationWork - after derivatives_after_rates at these accelerations; holds and stages are written
    """
    if holds is None:
        return
    own, dynamics, elements = work.holds, work.dynamics, holds.constraints.elements
    pose, bodies = dynamics.pose, (dynamics.velocities.body, work.derivatives.acceleration)
    press(holds, pose, own)
    add_pair_derivatives(
        system.tree, holds.pairs, pose, dynamics.velocities.body, work.derivatives.psi_dot, own.pairs,
        work.stages.tau_q, work.stages.tau_v,
    )  # fmt: skip
    for a in range(own.n_active[0]):
        e = own.active[a]
        copy(own.rows.row[e], own.folded[a])
        element_motion(elements, pose, bodies, system.gravity, e, own.rows.element, own.motion)
        onset_slopes(
            elements, e, pose.twist, work.derivatives, own.motion, own.change, own.by_q[a], own.by_v[a]
        )


@njit
def press(holds, pose, own):
    """Compute the constraint forces own.force and their wrenches on pairs of bodies, from own.multiplier.

    holds : Holds - hard constraints of the simulation
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    own : HoldWork - its force and pairs are written
    """
    elements, sums, origin = holds.constraints.elements, own.pairs, pose.position[0]
    for p in range(sums.wrench.shape[0]):
        for i in range(6):
            sums.wrench[p, i] = 0.0
    clear_slopes(sums)
    for e in range(holds.pair.shape[0]):
        p, factor, ends = holds.pair[e], own.multiplier[e], own.rows.element
        mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, ends)
        own.force[e] = factor * math.sqrt(fx * fx + fy * fy + fz * fz)
        if factor == 0.0:
            continue
        w = sums.wrench[p]
        w[0], w[1], w[2] = w[0] + factor * mx, w[1] + factor * my, w[2] + factor * mz
        w[3], w[4], w[5] = w[3] + factor * fx, w[4] + factor * fy, w[5] + factor * fz
        a, b = ends.end_a[e], ends.end_b[e]
        at = (a[0] - origin[0], a[1] - origin[1], a[2] - origin[2])
        sums.loaded[p] = 1
        if elements.kind[e] == DISTANCE:
            s = 2.0 * factor
            end = (b[0] - origin[0], b[1] - origin[1], b[2] - origin[2])
            add_stiffness((s, 0.0, 0.0, 0.0, s, 0.0, 0.0, 0.0, s), at, end, sums.slopes[p, BY_PLACE])
        else:
            add_displaced(at, factor * fx, factor * fy, factor * fz, sums.slopes[p, BY_PLACE])


@inlined
def reduce_hold_slopes(holds, couplers, own, v, v_dot, held):
    """Express constraint rows and their derivatives in coordinates that are no functions of others.

    holds : Holds - None where the simulation has no constraints
    couplers : Couplers - coordinates that are functions of others
    own : ReductionWork - after `follow`
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    held : HoldWork - its folded (rows) and by_q, by_v, by_time (their derivatives) are written
    """
    if holds is None:
        return
    for a in range(held.n_active[0]):
        g, by_q, by_v, onset = held.folded[a], held.by_q[a], held.by_v[a], 0.0
        for k in range(couplers.dof.shape[0] - 1, -1, -1):
            f, d, s, bend, third = (
                couplers.dof[k], couplers.driver_dof[k], own.coupler.slope[k], own.coupler.curvature[k],
                own.third[k],
            )  # fmt: skip
            if d == f:
                onset += s * by_q[f] + bend * by_v[f] + third * g[f]
            else:
                turn = bend * v[d]
                by_q[d] += s * by_q[f] + turn * by_v[f] + (bend * v_dot[d] + third * v[d] * v[d]) * g[f]
                by_v[d] += s * by_v[f] + 2.0 * turn * g[f]
                g[d] += s * g[f]
            g[f], by_q[f], by_v[f] = 0.0, 0.0, 0.0
        held.by_time[a] = onset


@inlined
def hold_onset(holds, L, own, onset):
    """Add the effect of constraints to onset : (n_v,), the partial derivative of v_dot with respect to time.

    holds : Holds - None where the simulation has no constraints
    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - after reduce_hold_slopes; its fields left and delta are written
    """
    if holds is None:
        return
    for a in range(own.n_active[0]):
        own.left[a] = -own.by_time[a] - inner_product(own.folded[a], onset)
    push_back(L, own, onset)


@inlined
def hold_jerk(holds, L, own, v, v_dot, jerk):
    """Add the effect of constraints to the jerk; partial derivatives by time are not included.

    holds : Holds - None where the simulation has no constraints
    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - after reduce_hold_slopes; its fields left and delta are written
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    jerk : (n_v,) - time derivative of v_dot along the motion [rad/s^3, m/s^3], updated
    """
    if holds is None:
        return
    for a in range(own.n_active[0]):
        left = inner_product(own.by_q[a], v) + inner_product(own.by_v[a], v_dot)
        own.left[a] = -left - inner_product(own.folded[a], jerk)
    push_back(L, own, jerk)


@inlined
def factor_bordered(tree, v, shift, stages, own):
    """Factorise the matrix of a stage, bordered by constraint rows; return False if it is singular.

    tree : Tree - joint tree of the bodies
    v : (n_v,) - generalized speeds at the start of the step [rad/s, m/s]
    shift : float - 1/(h g) [1/s]
    stages : StageWork - without a border its S becomes the LU factors; row 0 of its row is overwritten
    own : HoldWork - its S and pivot are written; None = there are no constraints, so no border
    """
    n = v.shape[0]
    if own is None:
        return lu(stages.S, n, stages.pivot)
    k, S, column = own.n_active[0], own.S, stages.row[0]
    for i in range(n):
        for j in range(n):
            S[i, j] = stages.S[i, j]
    for a in range(k):
        local_solve(tree, v, shift, -1.0, own.by_q[a], column)
        for d in range(n):
            S[d, n + a] = -own.folded[a, d]
            S[n + a, d] = own.folded[a, d] + (own.by_v[a, d] + column[d]) / shift
        for b in range(k):
            S[n + a, n + b] = 0.0
    return lu(S, n + k, own.pivot)


@inlined
def solve_bordered(shift, stages, own, u_v):
    """Solve the linear system of a stage, bordered by constraint rows, for the velocity part u_v.

    shift : float - 1/(h g) [1/s]
    stages : StageWork - its row contains r_q, r_v and B r_q (rosenbrock/stages)
    own : HoldWork - its right is overwritten; None = there are no constraints, so no border
    u_v : (n_v,) - the right-hand side, and afterwards the velocity part of the stage
    """
    n = u_v.shape[0]
    if own is None:
        lu_solve(stages.S, n, stages.pivot, u_v)
        return
    x, k = own.right, own.n_active[0]
    for d in range(n):
        x[d] = u_v[d]
    for a in range(k):
        x[n + a] = inner_product(own.folded[a], stages.row[1]) - inner_product(own.by_q[a], stages.row[2])
        x[n + a] /= shift
    lu_solve(own.S, n + k, own.pivot, x)
    for d in range(n):
        u_v[d] = x[d]
