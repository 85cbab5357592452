"""The same frame in rows that are square to each other, and in activations of the size of its answer.

Rows that nearly repeat others leave little of each other, too little for the factor of a step; activations
far below 1 have slopes and curvatures that are nothing beside any tolerance. With C = L Q, Q Q' = 1, and
x = s z the problem is min sum weight z^p subject to s Q z = L^-1 d, 0 <= z <= most / s, and what belongs to x
follows: multipliers s^p L'^-1, those of bounds s^(p-1). It costs rows squared times elements, so that it is
what is tried last.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import inner_product
from kernels.compiler.jit import njit

REPEATED = 1e-10
"""Part of a row below which what others leave of it is rounding: it asks for nothing more [1]."""
LEAST = 1e-9
"""Least activation that counts as size of an answer."""


@njit
def square_rows(work):
    """work.action and demand : in rows square to each other, L in work.mix; by Gram and Schmidt, twice.

    work : RecruitmentWork - scaled; what repeats others becomes zero
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
    """Of two rows of a : (n_element, n_row)."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i, j] * a[i, k]
    return s


@njit
def size_of(problem, options, work):
    """Size of the activations, by the least ones in squares that fulfil the rows, after square_rows; 1 of
    min/max, and at the most.

    problem : Recruitment
    options : RecruitmentOptions
    work : RecruitmentWork
    """
    largest = 0.0
    for i in range(problem.most.shape[0]):
        largest = max(largest, abs(inner_product(work.action[i], work.demand)))
    return 1.0 if options.power == 0 or not largest > LEAST else min(1.0, largest)


@njit
def resize(problem, size, work):
    """work.action and most : of the problem in activations of this size.

    problem : Recruitment
    size : float
    work : RecruitmentWork
    """
    for i in range(problem.most.shape[0]):
        work.most[i] = problem.most[i] / size
        for j in range(work.demand.shape[0]):
            work.action[i, j] *= size


@njit
def put_back(options, size, state, work):
    """state : of the rows as they were scaled, and of activations in parts of 1.

    options : RecruitmentOptions
    size : float
    state : RecruitmentState - written
    work : RecruitmentWork - mix
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
