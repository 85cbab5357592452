"""One step of any Rosenbrock method from its published coefficients, with dense solves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def step(
    f: Callable[[Array], Array],
    J: Array,
    y: Array,
    h: float,
    alpha: Array,
    gamma: Array,
    b: Array,
    b_hat: Array | None,
) -> tuple[Array, Array | None]:
    """Return the step from y and the embedded one; J is f'(y), or what stands for it.

    k_i = h f(y + sum alpha_ij k_j) + h J sum gamma_ij k_j, the sum with gamma up to j = i.
    """
    k = np.zeros((len(b), len(y)))
    for i in range(len(b)):
        known = h * f(y + alpha[i, :i] @ k[:i]) + h * J @ (gamma[i, :i] @ k[:i])
        k[i] = np.linalg.solve(np.eye(len(y)) - h * gamma[i, i] * J, known)
    return y + b @ k, None if b_hat is None else y + b_hat @ k
