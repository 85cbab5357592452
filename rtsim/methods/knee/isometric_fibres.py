"""The most isometric fibres of ligaments in a motion, and their lengths as polynomials of flexion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from rtsim.errors import ConfigError
from rtsim.methods.knee.knee_poses import KneePoses

Array = NDArray[np.float64]

ORDER = 7
"""Order of the polynomials of eq. 1 (Sancisi et al. 2017)."""
MM, N_STEP = 1e3, 2000
MOST_PAIRS = 4_000_000
"""Largest number of pairs of points whose lengths are computed at once."""


class IsometricFibre(NamedTuple):
    """A fibre of a ligament, from a point of the femur (origin) to one of the tibia (insertion), whose length
    varies least in a motion.

    origin, insertion : (3,) [m]
    length : mean length [m]
    deviation : standard deviation over the motion [m]
    """

    origin: Array
    insertion: Array
    length: float
    deviation: float


def least_varying(origins: Array, insertions: Array, poses: KneePoses) -> IsometricFibre:
    """Find the pair of points, one from each of two attachment areas, whose distance varies least over the
    motion: its standard deviation is the smallest.

    origins : (k, 3) points on the femur [m]
    insertions : (m, 3) points on the tibia [m]
    """
    carried = poses.carried(insertions)
    best = IsometricFibre(origins[0], insertions[0], 0.0, np.inf)
    each = max(1, MOST_PAIRS // (len(poses.angles) * len(insertions)))
    for first in range(0, len(origins), each):
        some = origins[first : first + each]
        lengths = np.linalg.norm(some[None, :, None, :] - carried[:, None, :, :], axis=3)
        spread = lengths.std(axis=0)
        k, m = np.unravel_index(int(spread.argmin()), spread.shape)
        if spread[k, m] < best.deviation:
            mean = float(lengths[:, k, m].mean())
            best = IsometricFibre(some[k], insertions[m], mean, float(spread[k, m]))
    return best


def isometric_within(fibre: IsometricFibre, poses: KneePoses, bound: float) -> IsometricFibre:
    """Find the most isometric fibre whose ends differ from the ends of `fibre` by at most `bound` along
    every axis [m].
    """
    R, places = poses.rotations, MM * poses.places

    def fibres(x: Array) -> Array:
        return x[:3] - R @ x[3:6] - places

    def deviations(x: Array) -> Array:
        return np.linalg.norm(fibres(x), axis=1) - x[6]

    def slopes(x: Array) -> Array:
        along = fibres(x) / np.linalg.norm(fibres(x), axis=1)[:, None]
        return np.hstack([along, -np.einsum("nij,ni->nj", R, along), -np.ones((len(along), 1))])

    start = MM * np.array([*fibre.origin, *fibre.insertion, fibre.length])
    found = least_squares(
        deviations, start, slopes, bounds=(start - MM * bound, start + MM * bound), x_scale="jac",
        xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=N_STEP,
    )  # fmt: skip
    x = found.x / MM
    return IsometricFibre(x[:3], x[3:6], float(x[6]), float(np.sqrt(np.mean(found.fun**2)) / MM))


def fibre_lengths(origins: Array, insertions: Array, poses: KneePoses) -> Array:
    """Compute the distances (n, k) of origins (k, 3) and insertions (k, 3) in poses [m]."""
    return np.linalg.norm(origins - poses.carried(insertions), axis=2)


def length_polynomials(extension: Array, lengths: Array, neutral: Array) -> Array:
    """Fit the coefficients a1 to a7 of ligament lengths over flexion (k, 7) by least squares: d = (1 + a1 t +
    ... + a7 t^7) d(0) (Sancisi et al. 2017, eq. 1).

    extension : (n,) - t [deg], negative in flexion; lengths : (n, k), neutral : (k,) - d(0) [m]

    Raises ConfigError if there are too few angles to determine seven coefficients.
    """
    n_angle = len(np.unique(extension[extension != 0.0]))
    if n_angle < ORDER:
        raise ConfigError(
            f"{n_angle} different flexion angles are too few for polynomials of {ORDER} coefficients",
            where="MOTION", allowed=f"{ORDER} angles or more",
        )  # fmt: skip
    # powers of the angle in parts of the largest: those of degrees span fourteen decimal places
    largest = float(np.abs(extension).max())
    powers = np.arange(1, ORDER + 1)
    A = (extension[:, None] / largest) ** powers
    found = np.linalg.lstsq(A, lengths / neutral - 1.0, rcond=None)[0]
    return np.asarray((found / largest ** powers[:, None]).T)
