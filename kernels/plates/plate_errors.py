"""Errors of the wrenches that force plates measure: their noise, and a lasting error of the centre of
pressure.

The noise is found from second differences over three successive frames of an empty plate, which have six
times its covariance and to which a drift does not contribute. It is taken to be the same while the plate is
loaded. A stated covariance is added to it, as a file may contain zeros where nobody stood. The error of the
centre of pressure is a stated distance that does not average out, since errors of a plate's position and of
its crosstalk last.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.plates.plate_contact import EMPTY

N_DIFFERENCE = 3
"""Successive frames that a second difference needs."""
ENOUGH = 500
"""Number of differences after which the noise is not updated any more: the deviation is known to 3 %."""


class PlateErrors(NamedTuple):
    """Covariance of the noise of n_plate force plates: of moments about ground's origin and of forces [N m,
    N].
    """

    least: np.ndarray  # (n_plate, 6, 6) - stated covariance, which is added
    covariance: np.ndarray  # (n_plate, 6, 6) - of the noise: the estimated and the stated one together
    learnt: Annotated[np.ndarray, Floats("n_plate", 6, 6)]  # covariance estimated from second differences
    last: Annotated[np.ndarray, Floats("n_plate", 6)]  # wrench of the last empty frame
    before: Annotated[np.ndarray, Floats("n_plate", 6)]  # wrench of the empty frame before that
    n_row: Annotated[np.ndarray, Integers("n_plate")]  # number of successive empty frames
    n_learnt: Annotated[np.ndarray, Integers("n_plate")]  # number of differences so far


class ToldPlates(NamedTuple):
    """Published results of force plates: status of each plate, the part of its wrench on each foot or body,
    and standard deviations of the wrenches of plates and of feet or bodies.
    """

    status: Annotated[np.ndarray, Floats("n_plate")]
    share: Annotated[np.ndarray, Floats("n_plate", "n_foot")]
    deviation: Annotated[np.ndarray, Floats("n_plate", 6, fill=math.nan)]  # of moment and force [N m, N]
    foot_deviation: Annotated[np.ndarray, Floats("n_foot", 6, fill=math.nan)]


def new_plate_errors(least: np.ndarray) -> PlateErrors:
    """Allocate the PlateErrors of force plates before the first frame.

    least : (n_plate, 6, 6) - stated covariance of the noise, moment first [N m, N]
    """
    return allocate(PlateErrors, n_plate=len(least), least=least, covariance=least.copy())


def new_told_plates(n_plate: int, n_foot: int = 2) -> ToldPlates:
    """Allocate the published results of n_plate force plates on n_foot feet or bodies."""
    return allocate(ToldPlates, n_plate=n_plate, n_foot=n_foot)


@njit
def learn_plate_errors(loaded, moment, force, errors):
    """Update the estimated noise of all plates that are empty in a frame.

    loaded : (n_plate,) int64 - LOADED, EMPTY or NOT_MEASURED (kernels/plates/plate_contact.contacts)
    moment, force : (n_plate, 3) - wrenches of the plates about ground's origin [N m], [N]
    errors : PlateErrors - noise of moments and forces of the force plates, written
    """
    for p in range(loaded.shape[0]):
        if loaded[p] != EMPTY:
            errors.n_row[p] = 0
            continue
        if errors.n_learnt[p] >= ENOUGH:
            continue
        errors.n_row[p] += 1
        learns = errors.n_row[p] >= N_DIFFERENCE
        errors.n_learnt[p] += int(learns)
        for i in range(6):
            now = moment[p, i] if i < 3 else force[p, i - 3]
            # the difference takes the place of the oldest value until the row is moved on
            errors.before[p, i] += now - 2.0 * errors.last[p, i]
        if learns:
            for i in range(6):
                for k in range(6):
                    new = errors.before[p, i] * errors.before[p, k] / 6.0
                    errors.learnt[p, i, k] += (new - errors.learnt[p, i, k]) / errors.n_learnt[p]
                    errors.covariance[p, i, k] = errors.learnt[p, i, k] + errors.least[p, i, k]
        for i in range(6):
            errors.before[p, i] = errors.last[p, i]
            errors.last[p, i] = moment[p, i] if i < 3 else force[p, i - 3]


@njit
def tell_plates(status, share, force, foot_force, off, errors, told):
    """Write the results to be published into told: status of the plates, the part of each plate's wrench on
    each foot (0 or 1), and standard deviations of the wrenches.

    status : (n_plate,) int64 - status bits of the plates
    share : (n_plate, 2) int64 - 1 = the plate's whole wrench acts on the foot
    force : (n_plate, 3) - forces of the plates [N]
    foot_force : (2, 3) - forces on the feet [N]
    off : float - stated error of the centre of pressure [m]
    errors : PlateErrors - noise of moments and forces of the force plates
    told : ToldPlates - published results of the force plates, written
    """
    told.foot_deviation[:] = 0.0
    for p in range(status.shape[0]):
        told.status[p] = status[p]
        for i in range(6):
            told.deviation[p, i] = errors.covariance[p, i, i]
        for f in range(2):
            told.share[p, f] = share[p, f]
            if share[p, f] == 1:
                for i in range(6):
                    told.foot_deviation[f, i] += errors.covariance[p, i, i]
        add_place(force[p], off, told.deviation[p])
    for f in range(2):
        add_place(foot_force[f], off, told.foot_deviation[f])


@njit
def add_place(force, off, variance):
    """Convert the variances of a wrench's noise into standard deviations, with a horizontal error of its
    point of application added.

    force : (3,) - force of the wrench [N]; where it is NaN, so are the deviations
    off : float - error of the point of application along X and along Z [m]
    variance : (6,) - variances of moment and force [(N m)^2, N^2]; standard deviations [N m, N] afterwards
    """
    x, y, z = off * force[0], off * force[1], off * force[2]
    variance[0] += y * y
    variance[1] += x * x + z * z
    variance[2] += y * y
    unknown = math.isnan(x + y + z)
    for i in range(6):
        variance[i] = math.nan if unknown else math.sqrt(variance[i])
