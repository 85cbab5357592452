"""Hip centres by regression and knee centres by the chord."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.hip_centre import REGRESSIONS, hip_centres
from rtsim.subjects.knee_centre import knee_centre, knee_offset

# width 240 mm, depth 160 mm, level
RIGHT, LEFT, BACK = np.array([[0.0, 1.0, 0.12]]), np.array([[0.0, 1.0, -0.12]]), np.array([[-0.16, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("name", "expected_mm"),
    [
        ("harrington2007", (-0.24 * 160 - 9.9, -0.30 * 240 - 10.9, 0.33 * 240 + 7.3)),
        ("bell1990", (-0.19 * 240, -0.30 * 240, 0.36 * 240)),
    ],
)
def test_published_numbers(name: str, expected_mm: tuple[float, float, float]) -> None:
    """Protects the coefficients and the axes: forwards, upwards, to the right of the middle of the ASIS."""
    right, left = hip_centres(RIGHT, LEFT, BACK, name)
    middle = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(1e3 * (right[0] - middle), expected_mm, atol=1e-9)
    np.testing.assert_allclose(1e3 * (left[0] - middle), np.multiply(expected_mm, (1, 1, -1)), atol=1e-9)


def test_hip_turns_with_the_pelvis() -> None:
    """Protects the pelvis axes from any hidden vertical: the same place in a lying person."""
    turn = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    assert np.linalg.det(turn) == pytest.approx(1.0)
    upright = hip_centres(RIGHT, LEFT, BACK)[0]
    lying = hip_centres(RIGHT @ turn.T, LEFT @ turn.T, BACK @ turn.T)[0]
    np.testing.assert_allclose(lying, upright @ turn.T, atol=1e-15)


def test_unknown_regression_lists_the_known() -> None:
    """Protects the message."""
    with pytest.raises(ConfigError, match="harrington2007, bell1990"):
        hip_centres(RIGHT, LEFT, BACK, "mine")
    assert all(regression.source for regression in REGRESSIONS.values())


def test_chord_finds_the_centre_it_was_made_of() -> None:
    """Protects the construction: right angle at the knee centre, inside of the lateral marker, exact."""
    rng = np.random.default_rng(5)
    centre = rng.normal(size=(20, 3))
    axes = np.linalg.qr(rng.normal(size=(20, 3, 3)))[0]
    up, out = axes[:, :, 0], axes[:, :, 1]
    hip, epicondyle = centre + 0.4 * up, centre + 0.055 * out
    thigh = centre + 0.2 * up + 0.09 * out
    np.testing.assert_allclose(knee_centre(hip, epicondyle, thigh, 0.055), centre, atol=1e-14)


def test_chord_is_unknown_where_the_hip_is_too_near() -> None:
    """Protects against numbers that mean nothing."""
    hip, epicondyle, thigh = np.array([[0.0, 0.03, 0.0]]), np.zeros((1, 3)), np.array([[0.0, 0.02, 0.05]])
    assert np.isnan(knee_centre(hip, epicondyle, thigh, 0.05)).all()


def test_offset_is_half_a_knee_and_half_a_marker() -> None:
    """Protects the use of the measures stored with a trial, of the labelled side, and of the option."""
    measures = {"RKneeWidth": 0.1, "LKneeWidth": 0.09, "MarkerDiameter": 0.014}
    assert knee_offset(measures, "right", None, "f") == pytest.approx(0.057)
    assert knee_offset(measures, "left", None, "f") == pytest.approx(0.052)
    assert knee_offset(measures, "right", 110.0, "f") == pytest.approx(0.062)
    assert knee_offset({}, "right", 110.0, "f") == pytest.approx(0.055)


@pytest.mark.parametrize(("measures", "given"), [({}, None), ({"RKneeWidth": 100.0}, None), ({}, 1.1)])
def test_missing_or_impossible_width(measures: dict[str, float], given: float | None) -> None:
    """Protects the message: what is needed, its range, the option; also where mm are taken as m."""
    with pytest.raises(ConfigError, match=r"trial.c3d.*right knee.*30 to 250 mm.*knee_width_mm"):
        knee_offset(measures, "right", given, "trial.c3d")
