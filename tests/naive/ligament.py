"""Ligament and spring along a line by NumPy's piecewise, in strains."""

from __future__ import annotations

import numpy as np

from kernels.forces.ligament import LINEAR


def line_force(law: int, parameters: np.ndarray, length: float, rate: float) -> float:
    """Return the tension of a ligament or a spring with its damper [N]; parameters by column."""
    slack, k_toe, k_linear, eps1, damping, onset = parameters
    if law == LINEAR:
        return float(k_linear * (length - slack) + damping * rate)
    eps = np.array((length - slack) / slack)
    pieces = [eps <= 0.0, (eps > 0.0) & (eps <= 2.0 * eps1)]
    elastic = np.piecewise(
        eps, pieces, [0.0, k_toe * (length - slack) ** 2, k_linear * (length - (1.0 + eps1) * slack)]
    )
    ramp = np.clip((length - slack) / onset, 0.0, 1.0) if onset else float(eps > 0.0)
    return max(0.0, float(elastic) + damping * rate * float(np.polyval([-2.0, 3.0, 0.0, 0.0], ramp)))


def strain_force(stiffness: float, strain: float, eps1: float) -> float:
    """Return the tension of Andersen et al. (2017), eq. 15 [N]; stiffness per strain [N]."""
    if strain < 0.0:
        return 0.0
    if strain <= 2.0 * eps1:
        return stiffness * strain**2 / (4.0 * eps1)
    return stiffness * (strain - eps1)
