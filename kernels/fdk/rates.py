"""Generalized speeds v and accelerations v-dot with which the model follows the velocities and accelerations
of markers, or of driven dofs, best in the sense of least squares.

With the Jacobian J and the weights w of all markers, and the constraint rows A, all at the solved pose,

    min 1/2 sum w |J v - x-dot|^2                        subject to A v = 0
    min 1/2 sum w |J v-dot + J-dot v - x-double-dot|^2   subject to A v-dot = -A-dot v

(Andersen et al. 2017, eqs 9 and 10 with v-dot in the hard constraints; alpha-dot = alpha-double-dot = 0).
x-dot and x-double-dot are the velocities and accelerations of the measured markers. That the residuals of the
markers change with time, too, is neglected; kernels/fdk/optimum takes it into account. J'WJ is the mass
matrix of the markers' weights (kernels/markers/marker_cost).

Drivers are dofs with a weight in fit.hold: each adds the unit row of its dof to J, without markers. If
drivers and constraints have together as many independent rows as there are dofs, no residual is left, and the
minimum fulfils Phi_q v = -Phi_t, Phi_q v-dot = gamma (eqs 2 and 3), for any weights.
"""

from __future__ import annotations

from kernels.algebra.linear import cholesky, cholesky_drop, solve_lower, solve_lower_transposed
from kernels.algebra.spatial import power
from kernels.compiler.jit import njit
from kernels.dynamics.constrained import drift
from kernels.dynamics.constraints import constraint_bias, constraint_rows, point_motion
from kernels.dynamics.motion import velocities
from kernels.joints.tree import pose
from kernels.markers.marker_cost import marker_hessian, marker_moments, weight_of

AUGMENTATION, PIVOT_FLOOR, DEPENDENT = 10.0, 1e-13, 1e-13
"""Curvature of rho A'A, and least pivot, relative to the mean diagonal of J'WJ;
relative pivot of a dependent row."""


@njit
def moving_pose(tree, q, v, dynamics):
    """Compute the pose of all bodies at q (dynamics.pose) and their velocities at the generalized speeds v.

    tree : Tree - joint tree of the bodies
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) [rad/s, m/s]
    dynamics : DynamicsWork - intermediate results of the dynamics, and working space, written
    """
    pose(tree, q, dynamics.pose)
    velocities(tree, dynamics.pose, v, dynamics.velocities)


@njit
def rates(joint, q, work, out):
    """Write the generalized speeds and accelerations with which the model follows the rates of the measured
    markers and driven dofs best in the sense of least squares, as the module defines them.

    Return False where markers are missing, or where there are drivers, but these and the independent
    constraints are not as many as dofs. work.dynamics.pose must be the pose at q.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    q : (n_q,) - generalized coordinates [rad, m]
    work : FdkWork - its constraint rows, P, Y, S, mu (see factor), g (see gather) and drift are written
    out : Smooth - its v and v_dot : (n_v,) are written [rad/s, m/s; rad/s^2, m/s^2]
    """
    fit, tree, at, own = joint.fit, joint.system.tree, work.dynamics.pose, work.constraint
    marker_moments(tree, fit.markers, at, fit.measured, fit.weight, work.marker)
    marker_hessian(tree, at, work.marker, 0.0, work.P)
    for d in range(work.g.shape[0]):
        work.P[d, d] += fit.hold[d]
    n = constraint_rows(tree, joint.constraints, at, q, own)
    n_independent = factor(n, work)
    n_driver = drivers_of(joint)
    if n_independent < 0 or (n_driver > 0 and n_driver + n_independent != work.g.shape[0]):
        return False
    gather(joint, joint.velocity, False, work)
    for k in range(n):
        own.bias[k] = 0.0
    solve(n, work, out.v)
    moving_pose(tree, q, out.v, work.dynamics)
    drift(tree, work.dynamics.velocities.bias, work.drift)
    constraint_bias(tree, joint.constraints, at, work.dynamics.velocities.body, work.drift, q, out.v, own)
    gather(joint, joint.acceleration, True, work)
    solve(n, work, out.v_dot)
    return True


@njit
def drivers_of(joint):
    """Return the number of dofs of an FdkModel whose rates are given (drivers)."""
    n_driver = 0
    for d in range(joint.fit.hold.shape[0]):
        n_driver += int(joint.fit.hold[d] > 0.0)
    return n_driver


@njit
def factor(n, work):
    """Write the Cholesky factor L of J'WJ + rho A'A into work.P, that of A (J'WJ + rho A'A)^-1 A' into
    work.S, and L^-1 A' into work.Y; return the number of independent rows, or -1 where J and A leave a dof
    undetermined. J is the Jacobian and W the weights of the markers, A the constraint rows, rho a weight of
    each row.

    n : int - number of constraint rows
    work : FdkWork - its P, which holds J'WJ on entry, Y, S and mu, the weights rho, are written
    """
    P, row, n_v = work.P, work.constraint.row, work.g.shape[0]
    size = 0.0
    for d in range(n_v):
        size += P[d, d] / n_v
    for k in range(n):
        square = 0.0
        for d in range(n_v):
            square += row[k, d] * row[k, d]
        work.mu[k] = AUGMENTATION * size / square if square > 0.0 else 0.0
        for i in range(n_v):
            for j in range(i + 1):
                P[i, j] += work.mu[k] * row[k, i] * row[k, j]
    if not cholesky(P, n_v, PIVOT_FLOOR * size):
        return -1
    for k in range(n):
        for d in range(n_v):
            work.Y[k, d] = row[k, d]
        solve_lower(P, n_v, work.Y[k])
        for j in range(k + 1):
            s = 0.0
            for d in range(n_v):
                s += work.Y[k, d] * work.Y[j, d]
            work.S[k, j] = s
    return n - cholesky_drop(work.S, n, DEPENDENT)


@njit
def gather(joint, rate, moving, work):
    """Write the right-hand side J'W (rate - bias) of the least-squares problem for rates into work.g :
    (n_v,).

    J and W are the Jacobian and the weights of the markers. Rates of driven dofs times their weights are
    added. For accelerations the bias is that of each marker at zero v-dot, for velocities it is 0.

    joint : FdkModel - model with its FDK degrees of freedom, and the current frame
    rate : (n_marker, 3) - velocities [m/s] or accelerations [m/s^2] of the markers
    moving : bool - whether the rates are accelerations, so that the bias is subtracted
    work : FdkWork - working space of one frame; its fields pull, point and g are written
    """
    fit, tree, at, pull = joint.fit, joint.system.tree, work.dynamics.pose, work.pull
    origin, away = at.position[0], work.point[1]
    pull[:, :] = 0.0
    for m in range(fit.markers.body.shape[0]):
        w = weight_of(fit.markers.weight, m, fit.weight[m])
        if w <= 0.0:
            continue
        b, x = fit.markers.body[m], work.marker.model[m]
        away[:] = 0.0
        if moving:
            point_motion(at, work.dynamics.velocities.body, work.drift, b, x, work.point[0], away)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            fj, fk = w * (rate[m, j] - away[j]), w * (rate[m, k] - away[k])
            pull[b, i] += (x[j] - origin[j]) * fk - (x[k] - origin[k]) * fj
            pull[b, 3 + i] += w * (rate[m, i] - away[i])
    for b in range(tree.parent.shape[0] - 1, -1, -1):
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            own = joint.hold_acceleration[d] if moving else joint.hold_velocity[d]
            work.g[d] = power(at.twist[d], pull[b]) + fit.hold[d] * own
        if tree.parent[b] >= 0:
            for i in range(6):
                pull[tree.parent[b], i] += pull[b, i]


@njit
def solve(n, work, x_out):
    """Compute the generalized speeds or accelerations x with which the model follows the measured rates best:
    the minimum of 1/2 sum w |J x - r|^2 subject to A x = -b.

    J and w are Jacobian and weights of the markers and driven dofs, r their measured velocities, or their
    measured accelerations minus those of the model at v-dot = 0. A are the constraint rows; b is A-dot v for
    accelerations and 0 for speeds.

    Call it after `factor` and `gather`. They write into work the Cholesky factor L of J'WJ + rho A'A (P), the
    rows of A L'^-1 (Y), the Cholesky factor of A (J'WJ + rho A'A)^-1 A' (S), the weight rho of each row (mu)
    and J'W r (g).

    n : int - number of constraint rows
    work : FdkWork - its P, Y, S, mu, g and constraint.bias, which is b, are read; constraint.multiplier is
        written
    x_out : (n_v,) - speeds [rad/s, m/s] or accelerations [rad/s^2, m/s^2], written
    """
    n_v, row, bias, mu = x_out.shape[0], work.constraint.row, work.constraint.bias, work.mu
    for d in range(n_v):
        x_out[d] = work.g[d]
    for k in range(n):
        for d in range(n_v):
            x_out[d] -= mu[k] * bias[k] * row[k, d]
    solve_lower(work.P, n_v, x_out)
    multiplier = work.constraint.multiplier
    for k in range(n):
        s = bias[k]
        for d in range(n_v):
            s += work.Y[k, d] * x_out[d]
        multiplier[k] = s
    solve_lower(work.S, n, multiplier)
    solve_lower_transposed(work.S, n, multiplier)
    for k in range(n):
        for d in range(n_v):
            x_out[d] -= work.Y[k, d] * multiplier[k]
    solve_lower_transposed(work.P, n_v, x_out)
