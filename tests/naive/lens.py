"""The overlap of two spheres as a sum over discs: slow and obvious, no closed form."""

from __future__ import annotations

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def overlap(g: float, r_a: float, r_b: float) -> tuple[float, float]:
    """Return the volume [m^3] and the centroid's way from B's centre towards A's [m], g > 0 apart.

    Between the places where the surfaces cross the line of centres or each other, the area of a disc is a
    polynomial, which Gauss sums up exactly.
    """
    rim = (g**2 + r_b**2 - r_a**2) / (2.0 * g)
    low, high = max(-r_b, g - r_a), min(r_b, g + r_a)
    volume, moment = 0.0, 0.0
    for start, stop in ((low, min(max(rim, low), high)), (min(max(rim, low), high), high)):
        x = 0.5 * (start + stop) + 0.5 * (stop - start) * NODES
        area = np.pi * np.maximum(0.0, np.minimum(r_b**2 - x**2, r_a**2 - (x - g) ** 2))
        weights = 0.5 * (stop - start) * WEIGHTS
        volume += float(weights @ area)
        moment += float(weights @ (area * x))
    return volume, moment / volume


def energy(g: float, r_a: float, r_b: float) -> float:
    """Return the integral of the volume from touching to the distance g [m^4], not inside each other."""
    x = 0.5 * (g + r_a + r_b) + 0.5 * (r_a + r_b - g) * NODES
    return float(0.5 * (r_a + r_b - g) * WEIGHTS @ np.array([overlap(y, r_a, r_b)[0] for y in x]))
