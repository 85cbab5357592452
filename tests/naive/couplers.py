"""Couplers as a map from the coordinates that stay to all of them, and its two derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import Functions
from kernels.joints.couplers import Couplers
from tests.naive.functions import evaluated

Array = NDArray[np.floating]


def placed(couplers: Couplers, functions: Functions, q: Array) -> Array:
    """Return q (n_q,) with every follower at f of its driver."""
    q = q.copy()
    for own, driver, f in zip(couplers.coordinate, couplers.driver, couplers.function, strict=True):
        q[own] = evaluated(functions, f, q[driver])[0]
    return q


def derivatives(couplers: Couplers, functions: Functions, q: Array, n_v: int) -> tuple[Array, Array]:
    """Return dv/dv_free (n_v, n_v) and its slope (n_v, n_v, n_v): followers row by row, by the chain rule."""
    E, second = np.eye(n_v), np.zeros((n_v, n_v, n_v))
    for k, f in enumerate(couplers.dof):
        d = couplers.driver_dof[k]
        _, slope, curvature = evaluated(functions, couplers.function[k], q[couplers.driver[k]])
        E[f] = slope * E[d] if d != f else 0.0
        second[f] = slope * second[d] + curvature * np.outer(E[d], E[d]) if d != f else 0.0
    return E, second


def reduced(
    couplers: Couplers, functions: Functions, q: Array, gradient: Array, H: Array
) -> tuple[Array, Array]:
    """Return the gradient (n_v,) and Hessian (n_v, n_v) over what stays; followers have unit curvature."""
    E, second = derivatives(couplers, functions, q, len(gradient))
    H_out = E.T @ H @ E + np.tensordot(gradient, second, axes=1)
    H_out[couplers.dof, couplers.dof] = 1.0
    return E.T @ gradient, H_out
