"""Wrenches on bodies where the user states which part of each force plate's wrench acts on which body.

These functions take the place of those of kernels/plates/plate_assignment, which find the feet on the plates,
and of kernels/plates/plate_errors, which publish the results for two feet. The stated parts may be fractions.
The wrench on a body is the sum of its parts of the plates' wrenches, and the variance of its noise is the sum
of the plates' variances times the squared parts.
"""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.plates.plate_assignment import UNMEASURED
from kernels.plates.plate_contact import NOT_MEASURED
from kernels.plates.plate_errors import add_place


@njit
def given_wrenches(loaded, share, force, moment, force_out, moment_out, status_out):
    """Write the wrenches on the bodies from the stated parts of the plates' wrenches; moments are about the
    ground origin.

    loaded : (n_plate,) int64 - LOADED, EMPTY or NOT_MEASURED (kernels.plates.plate_contact.contacts)
    share : (n_plate, n_body) - part of each plate's wrench on each body [1]
    force, moment : (n_plate, 3) - wrenches of the plates [N], [N m]; NaN = not measured
    force_out, moment_out : (n_body, 3) - wrenches on the bodies [N], [N m], written; NaN for a body with a
        part in a plate that was not measured
    status_out : (n_plate,) int64 - UNMEASURED or 0, written
    Returns the number of plates that were not measured.
    """
    n_odd = 0
    for p in range(loaded.shape[0]):
        status_out[p] = UNMEASURED if loaded[p] == NOT_MEASURED else 0
        n_odd += status_out[p] != 0
    for b in range(share.shape[1]):
        for i in range(3):
            force_out[b, i] = moment_out[b, i] = 0.0
        for p in range(loaded.shape[0]):
            part = share[p, b]
            if part != 0.0:
                for i in range(3):
                    force_out[b, i] += part * force[p, i]
                    moment_out[b, i] += part * moment[p, i]
    return n_odd


@njit
def tell_given(status, share, force, body_force, off, errors, told):
    """Write the results to be published into told: status of the plates, the part of each plate's wrench on
    each body, and standard deviations of the wrenches.

    status : (n_plate,) int64 - status bits of the plates
    share : (n_plate, n_body) - part of each plate's wrench on each body [1]
    force : (n_plate, 3) - forces of the plates [N]
    body_force : (n_body, 3) - forces on the bodies [N]
    off : float - stated error of the centre of pressure [m]
    errors : PlateErrors - noise of moments and forces of the force plates
    told : ToldPlates - results of the plates and of n_body bodies, written
    """
    told.foot_deviation[:] = 0.0
    for p in range(status.shape[0]):
        told.status[p] = status[p]
        for i in range(6):
            told.deviation[p, i] = errors.covariance[p, i, i]
        for b in range(share.shape[1]):
            told.share[p, b] = share[p, b]
            for i in range(6):
                told.foot_deviation[b, i] += share[p, b] ** 2 * errors.covariance[p, i, i]
        add_place(force[p], off, told.deviation[p])
    for b in range(share.shape[1]):
        add_place(body_force[b], off, told.foot_deviation[b])
