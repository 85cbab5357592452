"""Change of scale for recruitment in frames whose equations (rows) are nearly dependent, or whose activations
are tiny.

The rows are made orthonormal, and activations are counted in units of the largest activation s that is
expected. Otherwise little would remain of rows that nearly repeat others, too little for the factor of a
step; and with activations far below 1, first and second derivatives of the criterion would be smaller than
any tolerance. The rows C x = d state that the activations x balance the load d, with the forces C of the
elements at full activation. With C = L Q, Q Q' = 1, and x = s z, the problem is min sum weight z^p subject to
s Q z = L^-1 d, 0 <= z <= most / s. The multipliers of x follow from those of z: those of rows by s^p L'^-1,
those of bounds by s^(p-1). This costs the square of the number of rows times the number of elements, so that
it is tried last.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import inner_product
from kernels.compiler.jit import njit

REPEATED = 1e-10
"""Fraction of a row that must remain after its components along earlier rows are subtracted; with less, what
remains is a rounding error, and the row depends on the others [1]."""
LEAST = 1e-9
"""Least activation that counts as the size of a solution [1]."""


@njit
def square_rows(work):
    """Make the rows of the problem orthonormal, by Gram-Schmidt done twice; leave the triangular factor L in
    work.mix.

    work : RecruitmentWork - action and demand are changed, mix is written; rows that repeat others become
        zero
    """
    a, L, n_row = work.action, work.mix, work.demand.shape[0]
    L[:, :] = 0.0
    for j in range(n_row):
        size = math.sqrt(product(a, j, j))
        for _ in range(2):
            for k in range(j):
                s = product(a, k, j)
                L[j, k] += s
                for i in range(a.shape[0]):
                    a[i, j] -= s * a[i, k]
        left = math.sqrt(product(a, j, j))
        for k in range(j):
            work.demand[j] -= L[j, k] * work.demand[k]
        L[j, j] = left if left > REPEATED * size else math.inf
        work.demand[j] /= L[j, j]
        for i in range(a.shape[0]):
            a[i, j] /= L[j, j]


@njit
def product(a, j, k):
    """Return the scalar product of rows j and k of a : (n_element, n_row)."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i, j] * a[i, k]
    return s


@njit
def size_of(problem, options, work):
    """Return the unit s of the activations, which is itself an activation [1]: the largest one in the
    least-squares solution of the rows, but at most 1.

    It is called after square_rows, which makes the rows orthonormal. It is 1 for min/max, and if that largest
    activation is not above LEAST.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    options : RecruitmentOptions - the criterion and tolerances
    work : RecruitmentWork - the scaled problem, and working space
    """
    largest = 0.0
    for i in range(problem.most.shape[0]):
        largest = max(largest, abs(inner_product(work.action[i], work.demand)))
    return 1.0 if options.power == 0 or not largest > LEAST else min(1.0, largest)


@njit
def resize(problem, size, work):
    """Scale the problem to activations that are counted in units of `size`: write work.action and work.most.

    problem : Recruitment - muscles and other elements, and the load (demand) that they bear
    size : float - unit of the activations [1]
    work : RecruitmentWork - the scaled problem, and working space
    """
    for i in range(problem.most.shape[0]):
        work.most[i] = problem.most[i] / size
        for j in range(work.demand.shape[0]):
            work.action[i, j] *= size


@njit
def put_back(options, size, state, work):
    """Convert the solution back to the rows as scaled by scale_rows, and to activations counted in units of
    1.

    options : RecruitmentOptions - the criterion and tolerances
    size : float - unit of the activations [1]
    state : RecruitmentState - activations and multipliers, written
    work : RecruitmentWork - the factor L of the rows (mix) is read
    """
    L, y, n_row = work.mix, state.multiplier, state.multiplier.shape[0]
    slope = size ** max(options.power - 1, 0)
    for i in range(state.x.shape[0]):
        state.x[i] *= size
        state.lower[i] *= slope
        state.upper[i] *= slope
    for j in range(n_row):
        y[j] *= slope * size
    for j in range(n_row - 1, -1, -1):
        for k in range(j + 1, n_row):
            if L[k, k] < math.inf:
                y[j] -= L[k, j] * y[k]
        y[j] = y[j] / L[j, j] if L[j, j] < math.inf else 0.0
