"""Rows of samples of force plates: the twin in three lines, and what is taken as missing."""

from __future__ import annotations

import numpy as np

from kernels.plates.plate_intake import take_in_samples
from kernels.plates.plate_limits import GREATEST, THRESHOLD

TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def twin(times, force, moment, z_up, shift):
    """Rows (n_used, 6 n_plate), their times, and how many wrenches were odd."""
    n_used = int(np.argmin(np.append(np.isfinite(times), False)))
    wrench = np.concatenate([force, moment], axis=2).transpose(1, 0, 2)[:n_used].copy()
    empty = (np.abs(wrench[..., :3]) < THRESHOLD).all(axis=2)
    unknown = ~(np.abs(wrench[..., 3:]) <= GREATEST).all(axis=2)
    wrench[empty & unknown, 3:] = 0.0
    missing = np.isnan(wrench)
    great = (np.abs(np.nan_to_num(wrench)) > GREATEST).any(axis=2)
    odd = great | (missing.any(axis=2) & ~missing.all(axis=2))
    wrench[missing.any(axis=2) | great] = np.nan
    if z_up:
        wrench = (wrench.reshape(n_used, len(force), 2, 3) @ TURN.T).reshape(wrench.shape)
    return times[:n_used] + shift, wrench.reshape(n_used, 6 * len(force)), int(odd.sum())


def test_rows_are_those_of_the_twin():
    """Protects order, turning and gaps of samples, at every number of samples in use."""
    rng = np.random.default_rng(1)
    for trial in range(200):
        n_plate, n_sample = rng.integers(1, 4), rng.integers(1, 6)
        times = np.sort(rng.random(n_sample))
        times[rng.integers(0, n_sample + 1) :] = np.nan
        force, moment = (rng.normal(size=(n_plate, n_sample, 3)) for _ in range(2))
        force[rng.random((n_plate, n_sample)) < 0.5] *= 10.0 * THRESHOLD
        for array in (force, moment):
            array[rng.random(array.shape) < 0.1] = np.nan
            array[rng.random(array.shape) < 0.05] = 2.0 * GREATEST
        force[rng.random((n_plate, n_sample)) < 0.2] = np.nan
        moment[np.isnan(force).all(axis=2)] = np.nan
        times_out, values_out = np.empty(n_sample), np.empty((n_sample, 6 * n_plate))
        z_up, shift = trial % 2, 0.5 * (trial % 3)
        n_used, n_odd = take_in_samples(times, force, moment, z_up, shift, times_out, values_out)
        wanted_times, wanted, wanted_odd = twin(times, force, moment, z_up, shift)
        assert (n_used, n_odd) == (len(wanted_times), wanted_odd)
        np.testing.assert_allclose(times_out[:n_used], wanted_times, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(values_out[:n_used], wanted)
