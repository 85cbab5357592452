"""Words for the degrees of freedom along which the load is not balanced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

N_NAMED = 4
"""Number of degrees of freedom that are named where more lack."""
TOLD = 0.01
"""A lack is told by name from this part of the largest one on."""


def unbalanced_dofs(names: Sequence[str], lack: NDArray[np.float64], turns: Sequence[bool]) -> str:
    """Return a text that names the degrees of freedom with the largest unbalanced loads and states these
    loads [N m for rotations, else N].

    names : names of the degrees of freedom
    lack : (n,) unbalanced load
    turns : (n,) whether a degree of freedom is a rotation, whose load is a moment
    """
    size = np.abs(lack)
    worst = np.argsort(-size)[:N_NAMED]
    return ", ".join(
        f"{names[k]} {lack[k]:.3g} {'N m' if turns[k] else 'N'}"
        for k in worst
        if size[k] >= TOLD * size.max()
    )
