"""Muscle activations and reactions that balance a load d up to rounding errors, and the part of the load that
remains along the constraint rows.

    min sum w x^p   subject to   C' x + A' phi = d,   0 <= x <= 1          (Andersen et al. 2017, eqs 11, 14)

x are the activations, w their weights, p the power of the criterion, C the generalized forces of the elements
at full activation, and A the constraint rows. phi, which have no cost, are the reactions that act both ways
and the forces that remain along the degrees of freedom of force-dependent kinematics (FDK). In the space
orthogonal to the rows A, with an orthonormal basis N, A N = 0, phi drops out, and kernels/recruitment finds x
and the multipliers y. It ends at a small duality gap, and the error of its activations may be the root of
that gap; Newton's method on the conditions of optimality

    p w x^(p-1) = C y  (between the bounds),   C' x + A' phi = d,   A y = 0

reduces the error to rounding, and the matrix of these conditions gives the derivatives of phi
(kernels/fdk/slopes).
"""

from __future__ import annotations

import math

from kernels.algebra.linear import inner_product, lu, lu_solve
from kernels.compiler.jit import njit
from kernels.fdk.problem import BALANCED, NOT_BORNE, NOT_RECRUITED
from kernels.recruitment.criterion import power_of, slopes
from kernels.recruitment.problem import NOT_CONVERGED, VIOLATED
from kernels.recruitment.recruit import recruit

N_POLISH = 20
CLOSE = 1e-11
"""Last step of an activation at which the iteration ends: the error of Newton's method is its square."""
SHRINK = 0.1
"""Least ratio of an activation after a step to that before it."""
GONE = 1e-12
"""Activation below which a muscle with no drive is set to rest."""


@njit
def bear(sharing, at, balance):
    """Compute the activations, multipliers and reactions that are in equilibrium with balance.load; return
    BALANCED, NOT_BORNE if they balance only a part of it, or NOT_RECRUITED if no activations are found.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance; its field state is updated
    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - its load is read, its other fields are written
    """
    n_held, n_borne = at.row.shape
    if not across(at.row, balance.basis):
        return NOT_RECRUITED
    problem = sharing.problem
    for r in range(n_borne - n_held):
        problem.demand[r] = 0.0
        for k in range(n_borne):
            problem.demand[r] += balance.basis[n_held + r, k] * balance.load[k]
        for i in range(at.action.shape[0]):
            s = 0.0
            for k in range(n_borne):
                s += balance.basis[n_held + r, k] * at.action[i, k]
            problem.action[i, r] = s
    status, _ = recruit(problem, sharing.options, sharing.state, sharing.work, sharing.out)
    if status == NOT_CONVERGED:
        return NOT_RECRUITED
    take_over(sharing, n_held, balance)
    if status == VIOLATED or not polish(sharing, at, balance):
        for i in range(balance.free.shape[0]):
            balance.free[i] = 0
        conditions(sharing, at, balance)
        remainder(at, balance)
        if status == VIOLATED:
            return NOT_BORNE
    return BALANCED


@njit
def across(row, basis):
    """Write an orthonormal basis : (n, n), of which the first n_held rows span the constraint rows `row` :
    (n_held, n), and the others are orthogonal to these.

    Return False where the rows are linearly dependent. The method is Gram-Schmidt orthogonalisation, applied
    twice.
    """
    n_held, n = row.shape
    done = 0
    for h in range(n_held + n):
        if done == n:
            break
        x = basis[done]
        size = 0.0
        for k in range(n):
            x[k] = row[h, k] if h < n_held else (1.0 if h - n_held == k else 0.0)
            size += x[k] * x[k]
        for _ in range(2):
            for j in range(done):
                s = 0.0
                for k in range(n):
                    s += basis[j, k] * x[k]
                for k in range(n):
                    x[k] -= s * basis[j, k]
        left = 0.0
        for k in range(n):
            left += x[k] * x[k]
        if h < n_held and not left > 1e-16 * size:
            return False
        if h < n_held or left > 0.5 / n:
            for k in range(n):
                x[k] /= math.sqrt(left)
            done += 1
    return done == n


@njit
def take_over(sharing, n_held, balance):
    """Copy the activations, the multipliers and the marks `free` (1 = an element between its bounds) from the
    result of muscle recruitment.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    n_held : int - number of rows of constraints
    balance : MuscleBalance - activations and reactions that balance the load; its fields activation,
        multiplier and free are written
    """
    state, scale, n = sharing.state, sharing.work.scale, balance.load.shape[0]
    for k in range(n):
        balance.multiplier[k] = 0.0
        for r in range(n - n_held):
            balance.multiplier[k] += balance.basis[n_held + r, k] * scale[r] * state.multiplier[r]
    for i in range(balance.activation.shape[0]):
        x = sharing.out.activation[i]
        balance.activation[i] = x
        room = sharing.problem.most[i] - x
        balance.free[i] = int(x > state.lower[i] and (state.upper[i] <= 0.0 or room > state.upper[i]))


@njit
def drive_of(at, i, multiplier):
    """Return the drive of element i (a muscle, reaction or reserve actuator): its generalized forces at full
    activation, row i of at.action, times the multipliers of the load : (n_borne,).
    """
    return inner_product(at.action[i], multiplier)


@njit
def polish(sharing, at, balance):
    """Improve activations, multipliers and reactions by Newton's method on the conditions of optimality;
    return False where it does not converge.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - activation, multiplier and reaction are improved; free (1 = an element between
        its bounds), K (LU factors of the conditions' matrix) and bend (second derivatives of the criterion)
        are written
    """
    n = balance.load.shape[0]
    weight, p = sharing.work.weight, sharing.options.power
    for _ in range(N_POLISH):
        settle(sharing, at, balance)
        if not conditions(sharing, at, balance):
            return False
        residuals(sharing, at, balance)
        lu_solve(balance.K, balance.rhs.shape[0], balance.pivot, balance.rhs)
        change = 0.0
        for i in range(balance.activation.shape[0]):
            if balance.free[i] == 0:
                continue
            x = balance.activation[i]
            slope, _ = slopes(p, weight[i], x)
            step = drive_of(at, i, balance.multiplier) + drive_of(at, i, balance.rhs[:n]) - slope
            step = max(step / balance.bend[i], (SHRINK - 1.0) * x)
            balance.activation[i] = min(x + step, sharing.problem.most[i])
            change = max(change, abs(step))
        for k in range(n):
            balance.multiplier[k] += balance.rhs[k]
        for h in range(balance.reaction.shape[0]):
            balance.reaction[h] = balance.rhs[n + h]
        if change <= CLOSE:
            return True
    return False


@njit
def settle(sharing, at, balance):
    """Update the set of elements (muscles, one-way reactions, reserves) with activation between its bounds.

    Elements at activation 0 whose drive (see drive_of) is above 0 become active. Elements with hardly any
    activation and no drive are set to 0, and those whose drive exceeds the cost's slope at the upper bound to
    that bound.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - activations and reactions that balance the load; its fields activation and free
        are written
    """
    p = sharing.options.power
    for i in range(balance.activation.shape[0]):
        drive = drive_of(at, i, balance.multiplier)
        x, most = balance.activation[i], sharing.problem.most[i]
        full = p * sharing.work.weight[i] * power_of(most, p - 1)  # infinite of reserves
        if drive <= 0.0 and (balance.free[i] == 0 or x < GONE):
            balance.activation[i], balance.free[i] = 0.0, 0
        elif drive >= full and (balance.free[i] == 0 or x >= most):
            balance.activation[i], balance.free[i] = most, 0
        elif balance.free[i] == 0:
            part = drive / (p * sharing.work.weight[i])
            balance.activation[i] = min(part if p == 2 else part ** (1.0 / (p - 1)), most)
            balance.free[i] = 1


@njit
def conditions(sharing, at, balance):
    """Compute the LU factors of the matrix [C' W^-1 C, A'; A, 0] of the conditions of optimality; return
    False if it is singular. C are the generalized forces of the elements between their bounds, W the second
    derivatives of the criterion, which are written into balance.bend, and A the constraint rows.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - activations and reactions that balance the load; its K and pivot (factors and
        pivots) and bend are written
    """
    n, n_held, K = balance.load.shape[0], balance.reaction.shape[0], balance.K
    K[:, :] = 0.0
    for i in range(balance.activation.shape[0]):
        if balance.free[i] == 0:
            continue
        _, bend = slopes(sharing.options.power, sharing.work.weight[i], balance.activation[i])
        balance.bend[i] = bend
        for k in range(n):
            s = at.action[i, k] / bend
            for j in range(n):
                K[k, j] += s * at.action[i, j]
    for h in range(n_held):
        for k in range(n):
            K[k, n + h] = K[n + h, k] = at.row[h, k]
    return lu(K, n + n_held, balance.pivot)


@njit
def residuals(sharing, at, balance):
    """Write the right-hand side of a Newton step: the residuals of the load balance, of stationarity and of
    the constraint rows.

    sharing : RowRecruitment - muscle recruitment for the part of the load that the constraints cannot
        balance
    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - its rhs is written; the last entries of the solution are the reactions
        themselves, not their steps
    """
    n, rhs = balance.load.shape[0], balance.rhs
    for k in range(n):
        rhs[k] = balance.load[k]
    for h in range(balance.reaction.shape[0]):
        rhs[n + h] = 0.0
        for k in range(n):
            rhs[n + h] -= at.row[h, k] * balance.multiplier[k]
    for i in range(balance.activation.shape[0]):
        part = balance.activation[i]
        if balance.free[i] == 1:
            slope, _ = slopes(sharing.options.power, sharing.work.weight[i], part)
            part -= (slope - drive_of(at, i, balance.multiplier)) / balance.bend[i]
        if part != 0.0:
            for k in range(n):
                rhs[k] -= at.action[i, k] * part


@njit
def remainder(at, balance):
    """Write the reactions of the constraints that balance the part of the load that muscles do not, by least
    squares, into balance.reaction : (n_held,).

    at : Smooth - muscles at the pose, and the rows of the constraints
    balance : MuscleBalance - activations and reactions that balance the load; its fields reaction and rhs are
        written
    """
    n, rhs = balance.load.shape[0], balance.rhs
    for k in range(n):
        rhs[k] = balance.load[k]
        for i in range(balance.activation.shape[0]):
            rhs[k] -= at.action[i, k] * balance.activation[i]
    along_rows(at, balance, balance.reaction)


@njit
def along_rows(at, balance, out):
    """Write the coefficients of the linear combination of the constraint rows that is nearest to balance.rhs,
    by least squares.

    at : Smooth - smooth functions of the pose, such as the speeds and strengths of muscles
    balance : MuscleBalance - activations and reactions that balance the load
    out : (n_held,) - coefficients, written
    """
    n, n_held, rhs = balance.load.shape[0], out.shape[0], balance.rhs
    for h in range(n_held):  # along the basis, whose first rows are the held ones orthonormalised
        out[h] = 0.0
        for k in range(n):
            out[h] += balance.basis[h, k] * rhs[k]
    for h in range(n_held - 1, -1, -1):  # and back: row j = sum over h <= j of (row j . basis h) basis h
        for j in range(h + 1, n_held):
            out[h] -= inner_product(at.row[j], balance.basis[h]) * out[j]
        out[h] /= inner_product(at.row[h], balance.basis[h])
