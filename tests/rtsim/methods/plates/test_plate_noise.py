"""Noise of force plates: learnt while they are empty, and where a force acts."""

from __future__ import annotations

import numpy as np

from kernels.plates.plate_contact import EMPTY, LOADED
from kernels.plates.plate_errors import learn_plate_errors, new_told_plates, tell_plates
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.plates.plate_noise import ARM_M, PlateNoise

CENTRES = np.array([[1.0, 0.0, 0.5], [2.0, 0.0, 0.5]])


def learnt(n: int, loaded: tuple[int, int], drift: float = 0.0) -> tuple[PlateNoise, np.ndarray]:
    """Return what is known after n frames of two plates, and the factor of their noise."""
    noise, rng = PlateNoise(CENTRES, Uncertainty(plate_force_n=1e-6)), np.random.default_rng(3)
    factor = rng.normal(size=(6, 6))
    for k in range(n):
        values = rng.normal(size=(2, 6)) @ factor.T + drift * k
        learn_plate_errors(np.array(loaded), values[:, :3].copy(), values[:, 3:].copy(), noise.errors)
    return noise, factor


def test_noise_of_an_empty_plate_is_found_beside_a_drift() -> None:
    """Protects the covariance of moment and force: that of the noise, whatever the zero does."""
    noise, factor = learnt(4000, (EMPTY, LOADED), drift=0.5)
    expected = factor @ factor.T
    # a mean of five hundred frames
    np.testing.assert_allclose(noise.covariance[0], expected, atol=0.35 * np.diagonal(expected).max())
    ratio = np.diagonal(noise.covariance[0]) / np.diagonal(expected)
    assert ((ratio > 0.6) & (ratio < 1.6)).all()
    assert np.abs(noise.covariance[1]).max() < 1e-9  # nothing is learnt under a load


def test_the_least_noise_acts_at_the_plate() -> None:
    """Protects files with zeros where nobody stood: a force's least noise, at the plate's place."""
    noise = PlateNoise(CENTRES, Uncertainty(plate_force_n=2.0))
    learn_plate_errors(np.array([EMPTY, EMPTY]), np.zeros((2, 3)), np.zeros((2, 3)), noise.errors)
    assert np.allclose(np.diagonal(noise.covariance[1])[3:], 4.0)
    # a vertical force 2 m along x turns about z, one along z 0.5 m off about x
    square = np.diagonal(noise.covariance[1])[:3] - (2.0 * ARM_M) ** 2
    np.testing.assert_allclose(square, [4.0 * 0.25, 4.0 * (0.25 + 4.0), 4.0 * 4.0], rtol=1e-12)


def test_a_force_that_acts_elsewhere_turns_by_so_much() -> None:
    """Protects the error of the centre of pressure: 2 mm of a vertical force, about both its axes."""
    noise = PlateNoise(CENTRES, Uncertainty(plate_centre_mm=2.0))
    found = noise.pressed(np.array([0.0, 700.0, 0.0]))
    np.testing.assert_allclose(np.sqrt(np.diagonal(found)), [1.4, 0.0, 1.4, 0.0, 0.0, 0.0], atol=1e-12)
    forces, told = np.random.default_rng(4).normal(size=(4, 3)), new_told_plates(2)
    share = np.array([[1, 2], [1, 0]])
    tell_plates(np.array([0, 3]), share, forces[:2].copy(), forces[2:].copy(), noise.off, noise.errors, told)
    assert told.status.tolist() == [0.0, 3.0]
    assert told.share.tolist() == share.tolist()
    for p in range(2):
        expected = np.diagonal(noise.covariance[p] + noise.pressed(forces[p]))
        np.testing.assert_allclose(told.deviation[p] ** 2, expected, rtol=1e-12)
    borne = noise.covariance.sum(axis=0), np.zeros((6, 6))  # the left foot bears none for certain
    for f in range(2):
        expected = np.diagonal(borne[f] + noise.pressed(forces[2 + f]))
        np.testing.assert_allclose(told.foot_deviation[f] ** 2, expected, rtol=1e-12)


def test_what_is_not_known_has_no_deviation() -> None:
    """Protects readers from a number beside NaN: of plates that were not measured, of feet that stand
    elsewhere, whose deviation would be that of no plate at all, 0.
    """
    noise, told = PlateNoise(CENTRES, Uncertainty()), new_told_plates(2)
    force, foot = np.array([[0.0, 700.0, 0.0], [np.nan] * 3]), np.array([[0.0, 700.0, 0.0], [np.nan] * 3])
    share = np.array([[1, 0], [0, 0]])
    tell_plates(np.array([0, 32]), share, force, foot, noise.off, noise.errors, told)
    for found in (told.deviation, told.foot_deviation):
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()
