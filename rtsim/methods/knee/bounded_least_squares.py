"""Bounded least squares for parameters whose effects differ by many powers of ten."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FIRST_DAMPING, LESS, MORE, MOST_DAMPING = 1e-3, 0.1, 10.0, 1e12
"""Damping of a step: at the beginning; its factors after a step that helped and after one that did not; at
the end."""


def least_squares_within(
    residuals: Callable[[Array], Array], slopes: Callable[[Array], Array], x: Array, bound: Array, n_step: int
) -> Array:
    """Minimise the squared residuals over x (n,) with |x| <= bound, from a start x within the bound.

    The method is that of Levenberg and Marquardt; a parameter whose step would leave its bound is fixed there
    for the step. Steps are least-squares solutions with the Jacobian itself, not with the normal equations,
    which would lose directions with a small effect.

    residuals, slopes : functions of x that return the residuals (m,) and their derivatives (m, n)
    n_step : largest number of steps
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
