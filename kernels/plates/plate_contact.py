"""Centre of pressure and free moment from the wrench that a force plate measures, and the tare of empty
plates.

A wrench is the force of the floor on the person and its moment about the ground origin, in axes of ground.
With the point c and the unit normal n (up) of a plate's surface, M' = M - c x F and F' = n . F:
  centre of pressure   p = c + n x M' / F'
  free moment          T = n . (M' - (p - c) x F)
so that M = p x F + T n. (Zatsiorsky 2002, Kinetics of Human Motion, chapter 1: p is the one point of
the surface about which the moment is along the normal.)
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import entry, njit

NOT_MEASURED = -1
EMPTY = 0
LOADED = 1


class Plates(NamedTuple):
    """Positions, axes and edge lengths of n_plate force plates, in ground (Y up)."""

    centre: np.ndarray  # (n_plate, 3) - middle of the surface [m]
    axes: np.ndarray  # (n_plate, 3, 3) - unit vectors along two edges and the normal (up), as rows
    half: np.ndarray  # (n_plate, 2) - half the length of these edges [m]; infinite where it is not known


class Tare(NamedTuple):
    """Baselines of n_plate force plates, the wrenches that they measure while they are empty, and the sums of
    samples from which the next ones are computed; made by new_tare.
    """

    # sum of the samples of force and moment since the last call of settle_tare [N, N m]
    total: Annotated[np.ndarray, Floats("n_plate", 6)]
    extent: np.ndarray  # (n_plate, 2) - least and greatest normal force of these samples [N]
    n_sample: Annotated[np.ndarray, Integers("n_plate")]  # number of these samples
    baseline: Annotated[np.ndarray, Floats("n_plate", 6)]  # force and moment to subtract [N, N m]


def new_tare(n_plate: int) -> Tare:
    """Allocate the Tare of n_plate force plates, with baselines of zero."""
    extent = np.empty((n_plate, 2))
    extent[:] = math.inf, -math.inf
    return allocate(Tare, n_plate=n_plate, extent=extent)


@njit
def contacts(plates, force, moment, threshold, centre_out, free_moment_out, loaded_out):
    """Write centre of pressure, free moment and load state of each plate in each of n samples.

    plates : Plates - positions of n_plate plates in ground
    force, moment : (n, n_plate, 3) - wrench of each plate on the person, the moment about the ground origin
        [N], [N m]
    threshold : float - smallest normal force that counts as contact [N]
    centre_out : (n, n_plate, 3) - centre of pressure on the plate's surface [m]; NaN without contact
    free_moment_out : (n, n_plate) - moment about the normal through it [N m]; NaN without contact
    loaded_out : (n, n_plate) int64 - LOADED, EMPTY, or NOT_MEASURED where the wrench is not finite
    Returns the number of loaded plates, summed over the samples.
    """
    n_contact = 0
    for s in range(force.shape[0]):
        for p in range(force.shape[1]):
            c, n = plates.centre[p], plates.axes[p, 2]
            fx, fy, fz = force[s, p, 0], force[s, p, 1], force[s, p, 2]
            mx = moment[s, p, 0] - (c[1] * fz - c[2] * fy)
            my = moment[s, p, 1] - (c[2] * fx - c[0] * fz)
            mz = moment[s, p, 2] - (c[0] * fy - c[1] * fx)
            centre_out[s, p, 0] = centre_out[s, p, 1] = centre_out[s, p, 2] = math.nan
            free_moment_out[s, p] = math.nan
            if not math.isfinite(fx + fy + fz + mx + my + mz):
                loaded_out[s, p] = NOT_MEASURED
                continue
            normal = n[0] * fx + n[1] * fy + n[2] * fz
            if normal < threshold or normal <= 0.0:
                loaded_out[s, p] = EMPTY
                continue
            rx = (n[1] * mz - n[2] * my) / normal
            ry = (n[2] * mx - n[0] * mz) / normal
            rz = (n[0] * my - n[1] * mx) / normal
            centre_out[s, p, 0], centre_out[s, p, 1], centre_out[s, p, 2] = c[0] + rx, c[1] + ry, c[2] + rz
            tx, ty, tz = mx - (ry * fz - rz * fy), my - (rz * fx - rx * fz), mz - (rx * fy - ry * fx)
            free_moment_out[s, p] = n[0] * tx + n[1] * ty + n[2] * tz
            loaded_out[s, p] = LOADED
            n_contact += 1
    return n_contact


@entry
def gather_tare(plates, values, tare):
    """Add n samples of empty plates to the sums from which settle_tare takes means; samples that are not
    finite are left out.

    plates : Plates - positions of the force plates in ground
    values : (n, 6 n_plate) - force and moment of each plate in turn, as measured [N], [N m]
    tare : Tare - wrenches of the empty force plates; its fields total, extent and n_sample are written
    """
    for s in range(values.shape[0]):
        for p in range(tare.n_sample.shape[0]):
            first, n = 6 * p, plates.axes[p, 2]
            total = 0.0
            for i in range(6):
                total += values[s, first + i]
            if not math.isfinite(total):
                continue
            normal = n[0] * values[s, first] + n[1] * values[s, first + 1] + n[2] * values[s, first + 2]
            tare.extent[p, 0] = min(tare.extent[p, 0], normal)
            tare.extent[p, 1] = max(tare.extent[p, 1], normal)
            for i in range(6):
                tare.total[p, i] += values[s, first + i]
            tare.n_sample[p] += 1


@entry
def settle_tare(tare, spread, most, found_out):
    """Set each empty plate's baseline to the mean of its samples since the last call, and reset the sums.

    A plate keeps its baseline if it has no sample, or its samples show that it was not empty.

    tare : Tare - wrenches of the empty force plates, written
    spread : float - largest range of the normal force of an empty plate [N]
    most : float - largest absolute midpoint of that range for an empty plate [N]: a person may stand still on
        it
    found_out : (n_plate,) int64 - EMPTY = the baseline is new, LOADED = the plate was not empty, NOT_MEASURED
        = without a sample; written
    """
    for p in range(tare.n_sample.shape[0]):
        if is_empty(tare, p, spread, most):
            found_out[p] = EMPTY
            for i in range(6):
                tare.baseline[p, i] = tare.total[p, i] / tare.n_sample[p]
        else:
            found_out[p] = LOADED if tare.n_sample[p] > 0 else NOT_MEASURED
    forget_tare(tare)


@njit
def forget_tare(tare):
    """Reset the sums of samples in tare : Tare; its baselines are kept."""
    for p in range(tare.n_sample.shape[0]):
        for i in range(6):
            tare.total[p, i] = 0.0
        tare.extent[p, 0], tare.extent[p, 1] = math.inf, -math.inf
        tare.n_sample[p] = 0


@njit
def is_empty(tare, p, spread, most):
    """Return whether the samples of plate p since the last settle_tare have the small, constant normal force
    of an empty plate.

    spread, most : float - largest range and largest absolute midpoint of that force [N]
    """
    low, high = tare.extent[p, 0], tare.extent[p, 1]
    return tare.n_sample[p] > 0 and high - low <= spread and abs(0.5 * (low + high)) <= most


@njit
def take_off(tare, values):
    """Subtract the baselines of tare : Tare from values : (n, 6 n_plate), force and moment of each plate in
    turn, in place.
    """
    for s in range(values.shape[0]):
        for p in range(tare.n_sample.shape[0]):
            for i in range(6):
                values[s, 6 * p + i] -= tare.baseline[p, i]
