"""Least squares within bounds, of directions that differ by many powers of ten in what they change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FIRST_DAMPING, LESS, MORE, MOST_DAMPING = 1e-3, 0.1, 10.0, 1e12
"""Of a step: where it begins, after a step that helped, after one that did not, and where it ends."""


def least_squares_within(
    residuals: Callable[[Array], Array], slopes: Callable[[Array], Array], x: Array, bound: Array, n_step: int
) -> Array:
    """The x (n,) of least squared residuals with |x| <= bound, from a start within.

    The method of Levenberg and Marquardt; what lies at its bound and presses against it stays there for a
    step. Steps are least-squares solutions of the slopes themselves, not of their products, which would lose
    the directions that change next to nothing.
    """
    x, damping = np.clip(x, -bound, bound), FIRST_DAMPING
    value = residuals(x)
    for _ in range(n_step):
        J = slopes(x)
        gradient = J.T @ value
        free = (np.abs(x) < bound) | (np.sign(gradient) == np.sign(x))
        n = int(free.sum())
        while damping < MOST_DAMPING:
            damped = np.vstack([J[:, free], np.sqrt(damping) * np.eye(n)])
            step = np.linalg.lstsq(damped, -np.concatenate([value, np.zeros(n)]), rcond=None)[0]
            tried = x.copy()
            tried[free] += step
            tried = np.clip(tried, -bound, bound)
            new = residuals(tried)
            if new @ new < value @ value:
                x, value, damping = tried, new, LESS * damping
                break
            damping *= MORE
        else:
            break
    return np.asarray(x)
