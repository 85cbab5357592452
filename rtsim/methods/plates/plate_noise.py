"""The errors of a force plate's force and moment: its noise, as measured while it is empty plus a stated one,
and a stated error of the centre of pressure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_errors import PlateErrors, new_plate_errors
from rtsim.config.runs.run_schema import Uncertainty

Array = NDArray[np.float64]

ARM_M = 0.1
"""Assumed noise of the moment about the plate's centre divided by the assumed noise of the force [m]."""


class PlateNoise:
    """Noise of the force plates of a session.

    centres : (n_plate, 3) centres of the plates' surfaces, in ground [m]
    stated : assumed errors of a run; the noise of a plate is at least as large as they state
    errors : the kernels' arrays with the noise measured so far
    off : assumed error of the position of the centre of pressure [m]
    """

    def __init__(self, centres: Array, stated: Uncertainty) -> None:
        n, force = len(centres), stated.plate_force_n
        self.off = 1e-3 * stated.plate_centre_mm
        least = np.zeros((n, 6, 6))
        for p, centre in enumerate(np.nan_to_num(centres)):
            arms = np.vstack([np.cross(centre, np.eye(3)).T, np.eye(3)])
            least[p] = force**2 * arms @ arms.T
            least[p, :3, :3] += (ARM_M * force) ** 2 * np.eye(3)
        self.errors: PlateErrors = new_plate_errors(least)

    @property
    def covariance(self) -> Array:
        """Covariance (n_plate, 6, 6) of the noise of moment about the ground origin and force [N m, N]."""
        return self.errors.covariance

    def pressed(self, force: Array) -> Array:
        """Return the covariance (6, 6) of a wrench that results from a horizontal error of the point at which
        its force (3,) [N] acts.
        """
        x, y, z = self.off * force
        found = np.zeros((6, 6))
        for arm in ((0.0, -z, y), (-y, x, 0.0)):  # off along X, along Z
            found[:3, :3] += np.outer(arm, arm)
        return found
