"""Muscle recruitment by general solvers of SciPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear, minimize

Array = NDArray[np.float64]


def of_power(C: Array, d: Array, p: int, weight: Array, most: Array) -> Array:
    """(n,) - x of min sum weight x^p, C x = d, 0 <= x <= most, by sequential quadratic programming.

    C : (m, n); all numbers of the size of 1
    """
    found = minimize(
        lambda x: float(weight @ np.abs(x) ** p),
        np.full(len(weight), 0.3) * np.minimum(most, 1.0),
        jac=lambda x: p * weight * np.sign(x) * np.abs(x) ** (p - 1),
        bounds=[(0.0, min(float(u), 1e3)) for u in most],
        constraints=[{"type": "eq", "fun": lambda x: C @ x - d, "jac": lambda x: C}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return np.asarray(found.x)


def peak(C: Array, d: Array) -> float:
    """The least max x with C x = d, x >= 0, by a linear program."""
    m, n = C.shape
    found = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.c_[np.eye(n), -np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.c_[C, np.zeros(m)],
        b_eq=d,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return float(found.fun)


def is_possible(C: Array, d: Array, most: Array) -> bool:
    """Whether some 0 <= x <= most has C x = d."""
    bounds = [(0.0, float(u) if np.isfinite(u) else None) for u in most]
    return linprog(np.zeros(C.shape[1]), A_eq=C, b_eq=d, bounds=bounds, method="highs").status == 0


def least_violation(C: Array, d: Array, most: Array) -> float:
    """The least |d - C x|^2 over 0 <= x <= most."""
    return 2.0 * float(lsq_linear(C, d, (np.zeros(len(most)), most), tol=1e-14).cost)
