"""Conversion of received force plate samples to ground axes, one sample in each row."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.plates.plate_limits import GREATEST, THRESHOLD


@njit
def take_in_samples(sample_times, force, moment, z_up, shift, times_out, values_out):
    """Write the received samples of all plates in ground axes (Y up), row by row; NaN where a plate was not
    measured.

    For an empty plate, a moment that is missing or larger than GREATEST becomes 0: programs that divide by
    the force write such moments. Returns the number of rows in use, and the number of wrenches of plates not
    empty that were partly missing or larger than GREATEST, and so became NaN.

    sample_times : (n_sample,) - times of the samples [s]; rows from the first time on that is not finite are
        not in use
    force, moment : (n_plate, n_sample, 3) - wrenches as received [N], [N m]
    z_up : int - 1 = the samples have Z up, which is rotated to Y up
    shift : float - time that is added to the times [s]
    times_out : (n_sample,) - times of the rows in use [s], written
    values_out : (n_sample, 6 n_plate) - force and moment of each plate in turn [N], [N m], written
    """
    n_used = n_odd = 0
    for s in range(sample_times.shape[0]):
        if not math.isfinite(sample_times[s]):
            break
        times_out[s] = sample_times[s] + shift
        n_used += 1
        for p in range(force.shape[0]):
            n_missing, great, known, empty = 0, False, True, True
            for i in range(3):
                n_missing += math.isnan(force[p, s, i]) + math.isnan(moment[p, s, i])
                great = great or abs(force[p, s, i]) > GREATEST or abs(moment[p, s, i]) > GREATEST
                known = known and abs(moment[p, s, i]) <= GREATEST
                empty = empty and abs(force[p, s, i]) < THRESHOLD
            good = (n_missing == 0 and not great) or empty
            n_odd += not good and (great or 0 < n_missing < 6)
            for i in range(3):
                values_out[s, 6 * p + i] = force[p, s, i] if good else math.nan
                values_out[s, 6 * p + 3 + i] = moment[p, s, i] if good else math.nan
                if empty and not known:
                    values_out[s, 6 * p + 3 + i] = 0.0
            if z_up == 1:
                for first in (6 * p, 6 * p + 3):
                    y = values_out[s, first + 1]
                    values_out[s, first + 1] = values_out[s, first + 2]
                    values_out[s, first + 2] = -y
    return n_used, n_odd
