"""Contacts of force plates against their twin and closed forms, and taring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.plates.plate_contact import (
    EMPTY,
    LOADED,
    NOT_MEASURED,
    Plates,
    contacts,
    forget_tare,
    gather_tare,
    new_tare,
    settle_tare,
    take_off,
)
from tests.naive.plates import contact, wrench_at

THRESHOLD = 20.0


def plates_of(n_plate: int, rng: np.random.Generator | None = None) -> Plates:
    """Plates in the floor, or in any attitude with a normal that still points up."""
    axes = np.tile(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), (n_plate, 1, 1))
    centre = np.zeros((n_plate, 3))
    if rng is not None:
        centre = rng.uniform(-2.0, 2.0, (n_plate, 3))
        turns = Rotation.from_rotvec(rng.uniform(-0.4, 0.4, (n_plate, 3))).as_matrix()
        axes = np.einsum("pij,pkj->pki", turns, axes)
    return Plates(centre, np.ascontiguousarray(axes), np.full((n_plate, 2), 0.3))


def solved(
    plates: Plates, force: np.ndarray, moment: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, n_plate = force.shape[:2]
    centre, free, loaded = np.empty((n, n_plate, 3)), np.empty((n, n_plate)), np.empty((n, n_plate), np.int64)
    n_contact = contacts(plates, force, moment, THRESHOLD, centre, free, loaded)
    assert n_contact == (loaded == LOADED).sum()
    return centre, free, loaded


def test_contacts_are_those_of_the_twin():
    """Protects point and free moment on plates of any attitude, sloped ones too."""
    rng = np.random.default_rng(1)
    plates = plates_of(4, rng)
    force = rng.uniform(-100.0, 100.0, (50, 4, 3)) + 300.0 * plates.axes[:, 2]
    moment = rng.uniform(-200.0, 200.0, (50, 4, 3))
    centre, free, loaded = solved(plates, force, moment)
    assert (loaded == LOADED).all()
    for s in range(50):
        for p in range(4):
            point, torque = contact(plates.centre[p], plates.axes[p], force[s, p], moment[s, p])
            np.testing.assert_allclose(centre[s, p], point, rtol=0, atol=1e-11)
            assert free[s, p] == pytest.approx(torque, abs=1e-9)


def test_a_known_force_at_a_known_point_is_found_again():
    """Protects the convention: M = p x F + T n about the ground origin, the force that acts on the person."""
    plates = plates_of(1, np.random.default_rng(2))
    point = plates.centre[0] + 0.1 * plates.axes[0, 0] - 0.2 * plates.axes[0, 1]
    force = np.array([[[30.0, 700.0, -12.0]]])
    moment = wrench_at(point, force[0, 0], 5.0, plates.axes[0, 2])[None, None]
    centre, free, _ = solved(plates, force, moment)
    np.testing.assert_allclose(centre[0, 0], point, atol=1e-12)
    assert free[0, 0] == pytest.approx(5.0)


def test_contacts_turn_with_the_laboratory():
    """Law of frames: a laboratory that is turned and shifted turns and shifts the contacts, nothing else."""
    rng = np.random.default_rng(3)
    plates = plates_of(3, rng)
    force = rng.uniform(-50.0, 50.0, (20, 3, 3)) + 400.0 * plates.axes[:, 2]
    moment = rng.uniform(-100.0, 100.0, (20, 3, 3))
    centre, free, _ = solved(plates, force, moment)
    R, d = Rotation.from_rotvec([0.3, -1.0, 0.2]).as_matrix(), np.array([1.0, -0.5, 2.0])
    turned = Plates(plates.centre @ R.T + d, np.ascontiguousarray(plates.axes @ R.T), plates.half)
    force_turned = np.ascontiguousarray(force @ R.T)
    centre_turned, free_turned, _ = solved(turned, force_turned, moment @ R.T + np.cross(d, force_turned))
    np.testing.assert_allclose(centre_turned, centre @ R.T + d, atol=1e-11)
    np.testing.assert_allclose(free_turned, free, atol=1e-10)


def test_below_the_threshold_there_is_no_contact():
    """Protects from points that are quotients of noise, from pulling plates, and from gaps."""
    plates = plates_of(5)
    force = np.zeros((1, 5, 3))
    force[0, :, 1] = [20.0, 19.999, -500.0, np.nan, 100.0]
    moment = np.zeros((1, 5, 3))
    moment[0, 4, 2] = np.inf
    centre, free, loaded = solved(plates, force, moment)
    assert loaded.tolist() == [[LOADED, EMPTY, EMPTY, NOT_MEASURED, NOT_MEASURED]]
    assert np.isfinite(centre[0, 0]).all()
    assert np.isnan(centre[0, 1:]).all()
    assert np.isnan(free[0, 1:]).all()


def test_taring_takes_off_the_mean_of_empty_seconds_only():
    """Protects the zero of a plate: a drifted one is corrected, one that somebody stands on is left alone."""
    rng = np.random.default_rng(4)
    plates, tare, found = plates_of(3), new_tare(3), np.zeros(3, np.int64)
    wrench = rng.normal(0.0, 1.0, (500, 3, 6))
    wrench[:, 0] += [3.0, -40.0, 1.0, 0.5, 2.0, -7.0]
    wrench[250:, 1, 1] += 700.0  # somebody steps on
    wrench[:, 2] = np.nan
    before, values = wrench.copy(), wrench.reshape(500, 18)
    gather_tare(plates, values[:300], tare)
    settle_tare(tare, 20.0, 50.0, found)
    assert found.tolist() == [EMPTY, LOADED, NOT_MEASURED]
    np.testing.assert_allclose(tare.baseline[0], before[:300, 0].mean(axis=0), atol=1e-12)
    assert not tare.baseline[1:].any()
    take_off(tare, values)
    assert np.abs(wrench[:300, 0].mean(axis=0)).max() < 1e-12
    np.testing.assert_array_equal(wrench[:, 1], before[:, 1])
    settle_tare(tare, 20.0, 50.0, found)
    assert found.tolist() == [NOT_MEASURED] * 3  # nothing was gathered since: the baseline stays
    np.testing.assert_allclose(tare.baseline[0], before[:300, 0].mean(axis=0), atol=1e-12)


def test_what_was_gathered_can_be_forgotten():
    """Protects a tare that is asked for again: samples from before the second word do not count."""
    plates, tare, found = plates_of(1), new_tare(1), np.zeros(1, np.int64)
    gather_tare(plates, np.array([[0.0, 700.0, 0.0, 0.0, 0.0, 0.0]]), tare)
    forget_tare(tare)
    gather_tare(plates, np.array([[0.0, 5.0, 0.0, 1.0, 0.0, 0.0]]), tare)
    settle_tare(tare, 20.0, 50.0, found)
    assert found.tolist() == [EMPTY]
    assert tare.baseline[0].tolist() == [0.0, 5.0, 0.0, 1.0, 0.0, 0.0]


def test_a_person_who_stands_still_is_not_tared_away():
    """Protects the weight: a steady load is told from a drift by its size."""
    plates, tare, found = plates_of(2), new_tare(2), np.zeros(2, np.int64)
    values = np.zeros((50, 12))
    values[:, 1], values[:, 7] = 350.0, -45.0
    gather_tare(plates, values, tare)
    settle_tare(tare, 20.0, 50.0, found)
    assert found.tolist() == [LOADED, EMPTY]
    np.testing.assert_allclose(tare.baseline[:, 1], [0.0, -45.0])
