"""Received samples of force plates as rows of one sample each, in ground."""

from __future__ import annotations

import math

from kernels._jit import njit

GREATEST = 1e6
"""No plate measures such a force [N] or moment [N m]; squares and sums of what is smaller stay finite."""


@njit
def take_in_samples(sample_times, force, moment, z_up, shift, times_out, values_out):
    """times_out : (n_sample,) [s] and values_out : (n_sample, 6 n_plate) of the rows in use: force and moment
    of each plate in turn, in ground (Y up); NaN where a plate was not measured.

    sample_times : (n_sample,) - [s]; the rows in use come first, the first that is not finite ends them
    force, moment : (n_plate, n_sample, 3) - as received [N], [N m]
    z_up : int - 1 = turn Z up to Y up
    shift : float - added to the times [s]
    Returns the number of rows in use, and the number of wrenches that were partly missing or beyond GREATEST,
    which are NaN as a whole.
    """
    n_used = n_odd = 0
    for s in range(sample_times.shape[0]):
        if not math.isfinite(sample_times[s]):
            break
        times_out[s] = sample_times[s] + shift
        n_used += 1
        for p in range(force.shape[0]):
            n_missing, great = 0, False
            for i in range(3):
                n_missing += math.isnan(force[p, s, i]) + math.isnan(moment[p, s, i])
                great = great or abs(force[p, s, i]) > GREATEST or abs(moment[p, s, i]) > GREATEST
            n_odd += great or 0 < n_missing < 6
            good = n_missing == 0 and not great
            for i in range(3):
                values_out[s, 6 * p + i] = force[p, s, i] if good else math.nan
                values_out[s, 6 * p + 3 + i] = moment[p, s, i] if good else math.nan
            if z_up == 1:
                for first in (6 * p, 6 * p + 3):
                    y = values_out[s, first + 1]
                    values_out[s, first + 1] = values_out[s, first + 2]
                    values_out[s, first + 2] = -y
    return n_used, n_odd
