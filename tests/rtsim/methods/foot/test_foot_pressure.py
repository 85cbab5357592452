"""Pressure under a step: scaled and laid by the plate, in frames within the contact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import PressureTrial
from rtsim.methods.foot.foot_pressure import chosen_frames, lay, lay_pressure

Array = NDArray[np.floating]


def pressure() -> tuple[PressureTrial, Array, Array, Array]:
    """Return a mat over which a spot moves, and times, force and centre of pressure of a plate beneath it."""
    times = np.arange(80) / 100.0
    normal = 600.0 + 200.0 * np.sin(8.0 * times)
    rows, columns = np.meshgrid(np.arange(40), np.arange(16), indexing="ij")
    spot = 5.0 + 35.0 * times
    felt = np.exp(
        -0.1 * ((rows - spot[:, None, None]) ** 2 + (columns - 6.0 - 3.0 * times[:, None, None]) ** 2)
    )
    trial = PressureTrial(times, 100.0, np.array([0.008, 0.008]), 1e5 * felt, np.zeros(2), False, "a mat")
    turn, shift = np.array([[0.8, -0.6], [0.6, 0.8]]), np.array([0.3, -0.2])
    centre = trial.centre[:, ::-1] @ turn.T + shift
    return trial, times, normal, centre


def test_pressure_is_scaled_and_laid_by_the_plate():
    """Protects figure 5.8: frames sum to the plate's force, the mat lies under its centre or is warned of."""
    trial, times, normal, centre = pressure()
    found = lay_pressure(trial, times, normal, centre)
    assert len(found.frames) == 15
    np.testing.assert_allclose(found.pressure.sum(axis=1) * found.area, normal[found.frames])
    path = found.pressure @ found.cells / found.pressure.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(path, centre[found.frames], atol=1e-9)
    assert "scaled" in found.notes[0]
    assert "the remaining difference of the centres is 0.0 mm" in found.notes[1]
    assert len(found.notes) == 2
    other = lay_pressure(trial, times, normal, centre + 0.1 * np.sin(40.0 * times)[:, None])
    assert "with a difference of more than 15 mm" in other.notes[2]
    plain = lay_pressure(trial, times, normal, centre, scaled=False, placed=False)
    assert plain.notes == ()
    np.testing.assert_allclose(plain.pressure, trial.pressure[plain.frames].reshape(15, -1))


def test_pressure_that_does_not_cover_the_step_is_refused():
    """Protects against a clock that is another one, and against pictures of peaks."""
    trial, times, normal, centre = pressure()
    with pytest.raises(ConfigError, match="the pressure lasts from 5"):
        lay_pressure(trial, times, normal, centre, delay=5.0)
    with pytest.raises(ConfigError, match="image of peak"):
        lay_pressure(trial._replace(peak=True), times, normal, centre)


def test_a_mirrored_mat_is_laid_as_well():
    """Protects steps of right feet, whose mats are mirrored with them."""
    rng = np.random.default_rng(5)
    path = rng.uniform(-0.1, 0.1, (9, 2))
    goal = path * [-1.0, 1.0] + [0.2, 0.1]
    turn, shift, off = lay(path, goal, np.ones(9))
    np.testing.assert_allclose(path @ turn.T + shift, goal, atol=1e-12)
    assert off < 1e-12
    assert np.linalg.det(turn) == pytest.approx(-1.0)


def test_chosen_frames_are_inside_the_contact():
    """Protects the fifteen frames: even, without the first and the last."""
    found = chosen_frames(97)
    assert len(found) == 15
    assert found[0] == 6
    assert found[-1] == 90
