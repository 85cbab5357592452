"""Fit of the coordinates of a chain joint (several elementary motions, kernels/joints/chain) to a wanted pose
of its body, by least squares on four points.

The points are the body's origin and one on each of its axes, LEVER away from it, so that angles and lengths
have about the same weight. The steps are damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963). For each
rotation half a turn is tried as another start, since the pose may be half a turn from the neutral one.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import cholesky, solve_lower, solve_lower_transposed
from kernels.compiler.jit import njit
from kernels.joints.motions import ROTATES, TRANSLATES
from kernels.joints.tree import pose

LEVER = 0.3  # [m]
N_STEP = 30
DAMPING = 1e-6  # of the first step, against the mean diagonal
NOTHING_TO_GAIN = 1e-10  # squared distance at which no other start is tried [m^2]
CLEARLY_BETTER = 0.5
"""Part of the cost reached so far below which another start is preferred: equal ones differ by whole turns
[1]."""


@njit
def fit_chain(tree, b, R, x, pose_work, fit, q):
    """Find the coordinates of a chain joint at which its body comes nearest to a wanted pose.

    Displacements that the joint does not allow remain as differences. The coordinates of other joints are not
    changed.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    R : (3, 3), x : (3,) - wanted axes, as columns, and position of the body, in ground [m]
    pose_work : Pose, fit : FitWork - working space
    q : (n_q,) - generalized coordinates, of which those of the joint are changed [rad, m]
    """
    first, n = tree.q_start[b], tree.v_start[b + 1] - tree.v_start[b]
    if n > fit.chain_step.shape[0]:
        return
    start, best = fit.chain_q[0], fit.chain_q[1]
    for k in range(n):
        start[k] = q[first + k]
    least = math.inf
    for turned in range(n + 1):
        if turned > 0 and (least < NOTHING_TO_GAIN or turns(tree, b, turned - 1) == TRANSLATES):
            continue
        for k in range(n):
            q[first + k] = start[k]
        if turned > 0:
            q[first + turned - 1] += math.pi
        cost = descend(tree, b, R, x, pose_work, fit, q)
        if cost < CLEARLY_BETTER * least:
            least = cost
            for k in range(n):
                best[k] = q[first + k]
    for k in range(n):
        value = best[k] if least < math.inf else start[k]
        # whole turns of a rotation say nothing
        whole = turns(tree, b, k) == ROTATES
        q[first + k] = math.atan2(math.sin(value), math.cos(value)) if whole else value


@njit
def turns(tree, b, k):
    """Return what coordinate k of joint b is: TRANSLATES (a translation), ROTATES (a rotation) or DRIVEN (it
    drives motions by functions).
    """
    return tree.dof_rotates[tree.v_start[b] + k]


@njit
def descend(tree, b, R, x, pose_work, fit, q):
    """Fit the coordinates of a chain joint by damped Gauss-Newton steps from q; return the cost at the end,
    half the sum of squared distances of four points from their wanted positions [m^2].

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    R : (3, 3), x : (3,) - wanted axes, as columns, and position of the body, in ground [m]
    pose_work : Pose, fit : FitWork - working space
    q : (n_q,) - generalized coordinates, of which those of the joint are changed [rad, m]
    """
    first, n = tree.q_start[b], tree.v_start[b + 1] - tree.v_start[b]
    N, step, kept, damping = fit.chain_matrix, fit.chain_step, fit.chain_q[2], DAMPING
    pose(tree, q, pose_work)
    cost = normal_equations(tree, b, R, x, pose_work, fit)
    for _ in range(N_STEP):
        mean = 0.0
        for k in range(n):
            mean += N[k, k] / n
        for k in range(n):
            N[k, k] += damping * mean + 1e-12
        if not cholesky(N, n, 0.0):
            return cost
        solve_lower(N, n, step)
        solve_lower_transposed(N, n, step)
        for k in range(n):
            kept[k] = q[first + k]
            q[first + k] -= step[k]
        pose(tree, q, pose_work)
        trial = normal_equations(tree, b, R, x, pose_work, fit)
        if trial < cost:
            gain, cost, damping = cost - trial, trial, 0.1 * damping
            if gain < 1e-9 * cost + 1e-16:
                return cost
            continue
        for k in range(n):
            q[first + k] = kept[k]
        if damping > 1e6 or not trial < math.inf:
            return cost
        damping = max(10.0 * damping, 1e-4)
        pose(tree, q, pose_work)
        normal_equations(tree, b, R, x, pose_work, fit)
    return cost


@njit
def normal_equations(tree, b, R, x, pose_work, fit):
    """Write J'J (lower triangle) and J'r of the least-squares fit of four points of the body, with their
    residuals r and Jacobian J; return r'r / 2 [m^2].

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    R : (3, 3), x : (3,) - wanted axes, as columns, and position of the body, in ground [m]
    pose_work : Pose - positions and twists at the coordinates
    fit : FitWork - chain_matrix : (n, n) and chain_step : (n,) are written
    """
    start, n = tree.v_start[b], tree.v_start[b + 1] - tree.v_start[b]
    N, gradient, J, origin = fit.chain_matrix, fit.chain_step, fit.chain_slope, pose_work.position[0]
    N[:n, :n] = 0.0
    gradient[:n] = 0.0
    cost = 0.0
    for p in range(4):
        for i in range(3):
            at = pose_work.position[b, i]
            gap = at - x[i]
            if p > 0:
                at += LEVER * pose_work.rotation[b, i, p - 1]
                gap += LEVER * (pose_work.rotation[b, i, p - 1] - R[i, p - 1])
            fit.chain_point[i] = at - origin[i]
            fit.chain_gap[i] = gap
            cost += 0.5 * gap * gap
        r, gaps = fit.chain_point, fit.chain_gap
        for k in range(n):
            s = pose_work.twist[start + k]
            J[k, 0] = s[3] + s[1] * r[2] - s[2] * r[1]
            J[k, 1] = s[4] + s[2] * r[0] - s[0] * r[2]
            J[k, 2] = s[5] + s[0] * r[1] - s[1] * r[0]
            gradient[k] += J[k, 0] * gaps[0] + J[k, 1] * gaps[1] + J[k, 2] * gaps[2]
            for j in range(k + 1):
                N[k, j] += J[k, 0] * J[j, 0] + J[k, 1] * J[j, 1] + J[k, 2] * J[j, 2]
    return cost
