"""Stated parts of plates: sums over plates, and the errors that follow."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.plates.given_assignment import given_wrenches, tell_given
from kernels.plates.plate_assignment import UNMEASURED
from kernels.plates.plate_contact import LOADED, NOT_MEASURED
from kernels.plates.plate_errors import new_plate_errors, new_told_plates

N_PLATE, N_BODY, OFF = 3, 4, 0.002


@pytest.fixture
def plates():
    """Shares of four bodies in three plates, the second borne by two halves, and their wrenches."""
    random = np.random.default_rng(3)
    share = np.zeros((N_PLATE, N_BODY))
    share[0, 0], share[1, 1], share[1, 2], share[2, 3], share[2, 1] = 1.0, 0.5, 0.5, 0.75, 0.25
    return share, random.normal(size=(N_PLATE, 3)), random.normal(size=(N_PLATE, 3))


def wrenches(share, force, moment, loaded=(LOADED,) * N_PLATE):
    out = np.empty((N_BODY, 3)), np.empty((N_BODY, 3)), np.empty(N_PLATE, np.int64)
    n_odd = given_wrenches(np.array(loaded), share, force, moment, *out)
    return n_odd, *out


def test_bodies_bear_their_parts_and_together_the_whole(plates) -> None:
    """Protects the sums: each body's part of each plate's wrench, and nothing lost."""
    share, force, moment = plates
    n_odd, f, m, status = wrenches(share, force, moment)
    assert n_odd == 0
    assert not status.any()
    np.testing.assert_allclose(f, share.T @ force, atol=1e-15)
    np.testing.assert_allclose(m, share.T @ moment, atol=1e-15)
    np.testing.assert_allclose(f.sum(axis=0), force.sum(axis=0), atol=1e-14)


def test_a_plate_that_was_not_measured_is_unknown_where_it_is_borne_alone(plates) -> None:
    """Protects other bodies from NaN, and those that bear the plate from a number that nobody measured."""
    share, force, moment = plates
    force[1] = moment[1] = np.nan
    n_odd, f, m, status = wrenches(share, force, moment, (LOADED, NOT_MEASURED, LOADED))
    assert n_odd == 1
    assert status.tolist() == [0, UNMEASURED, 0]
    assert np.isnan(f[1:3]).all()
    assert np.isnan(m[1:3]).all()
    assert np.isfinite(f[[0, 3]]).all()
    assert np.isfinite(m[[0, 3]]).all()


def test_deviations_are_those_of_sums_of_independent_plates(plates) -> None:
    """Protects the stated errors: noise by the squares of the parts, and the place where a force acts."""
    share, force, _ = plates
    _, body_force, *_ = wrenches(share, force, force)
    random = np.random.default_rng(5)
    covariance = np.array([a @ a.T for a in random.normal(size=(N_PLATE, 6, 6))])
    told = new_told_plates(N_PLATE, N_BODY)
    status = np.zeros(N_PLATE, np.int64)
    tell_given(status, share, force, body_force, OFF, new_plate_errors(covariance), told)
    noise = np.einsum("pb,pii->bi", share**2, covariance)
    for b, (x, y, z) in enumerate(OFF * body_force):
        expected = np.sqrt(noise[b] + np.array([y * y, x * x + z * z, y * y, 0.0, 0.0, 0.0]))
        np.testing.assert_allclose(told.foot_deviation[b], expected, rtol=1e-12)
    np.testing.assert_array_equal(told.share, share)
