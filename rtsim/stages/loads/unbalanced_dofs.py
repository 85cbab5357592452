"""Text on the degrees of freedom along which muscles and reactions do not balance the load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

N_NAMED = 4
"""Largest number of degrees of freedom that are named."""
TOLD = 0.01
"""Degrees of freedom are named if their unbalanced load exceeds this fraction of the largest one."""


def unbalanced_dofs(names: Sequence[str], lack: NDArray[np.float64], turns: Sequence[bool]) -> str:
    """Return a text that names the degrees of freedom with the largest loads that muscles and reactions do
    not balance, and states these loads [N m for rotations, else N].

    names : names of the degrees of freedom
    lack : (n,) part of the load that is not balanced
    turns : (n,) whether a degree of freedom is a rotation, whose load is a moment
    """
    size = np.abs(lack)
    worst = np.argsort(-size)[:N_NAMED]
    return ", ".join(
        f"{names[k]} {lack[k]:.3g} {'N m' if turns[k] else 'N'}"
        for k in worst
        if size[k] >= TOLD * size.max()
    )
