"""Hip centres by regression, and how far the knee is from its marker."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.cli.commands.calibrate import command
from rtsim.errors import ConfigError
from rtsim.subjects.conventional.measures import ConventionalMeasures, SideMeasures
from rtsim.subjects.hip_centre import REGRESSIONS, hip_centres
from rtsim.subjects.knee_centre import centre_offset

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


LEG = ConventionalMeasures(SideMeasures(leg_length=0.9), SideMeasures(leg_length=0.88))


@pytest.mark.parametrize(
    ("name", "right_mm", "left_mm"),
    [
        ("bell1989", (-52.8, -72.0, 86.4), (-52.8, -72.0, 86.4)),
        ("harrington2007_full", (-48.3, -81.5, 91.1), (-48.3, -80.7, 91.1)),
        ("hara2016", (-45.7, -79.2, 85.4), (-44.44, -77.64, 83.68)),
        ("sangeux2015", (-43.52, -84.1, 86.5), (-43.52, -84.1, 86.5)),
        ("sangeux2015_leg", (-43.2, -82.6, 84.06), (-42.38, -80.94, 82.312)),
    ],
)
def test_numbers_worked_out_by_hand(
    name: str, right_mm: tuple[float, float, float], left_mm: tuple[float, float, float]
) -> None:
    """Protects the coefficients of the papers, and that each leg has its own length."""
    right, left = hip_centres(RIGHT, LEFT, BACK, name, LEG)
    middle = np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(1e3 * (right[0] - middle), right_mm, atol=1e-9)
    np.testing.assert_allclose(1e3 * (left[0] - middle), np.multiply(left_mm, (1, 1, -1)), atol=1e-9)


def test_bone_lies_behind_the_markers() -> None:
    """Protects the sign of the standoff: the ASIS behind its marker, the depth less by both markers."""
    plain = hip_centres(RIGHT, LEFT, BACK)[0][0]
    moved = hip_centres(RIGHT, LEFT, BACK, standoff=0.009)[0][0] - plain
    np.testing.assert_allclose(moved, [-0.009 + 0.24 * 0.018, 0.0, 0.0], atol=1e-12)
    hara = [hip_centres(RIGHT, LEFT, BACK, "hara2016", LEG, standoff)[0][0] for standoff in (0.0, 0.009)]
    np.testing.assert_allclose(hara[1] - hara[0], [-0.009, 0.0, 0.0], atol=1e-12)
    davis = [hip_centres(RIGHT, LEFT, BACK, "davis1991", LEG, standoff)[0] for standoff in (0.0, 0.009)]
    np.testing.assert_array_equal(davis[0], davis[1])


@pytest.mark.parametrize("name", [name for name, regression in REGRESSIONS.items() if regression.needs_leg])
def test_leg_length_is_asked_for(name: str) -> None:
    """Protects against hips from a length that nobody gave; that of the other leg will do."""
    with pytest.raises(ConfigError, match=r"length of the leg.*bell1990"):
        hip_centres(RIGHT, LEFT, BACK, name)
    one = ConventionalMeasures(left=SideMeasures(leg_length=0.88))
    assert np.isfinite(hip_centres(RIGHT, LEFT, BACK, name, one)).all()


def test_offset_is_half_a_knee_and_half_a_marker() -> None:
    """Protects the use of the measures stored with a trial, of the labelled side, and of the option."""
    measures = {"RKneeWidth": 0.1, "LKneeWidth": 0.09, "MarkerDiameter": 0.014}
    assert centre_offset(measures, "right", "knee", None, "f") == pytest.approx(0.057)
    assert centre_offset(measures, "left", "knee", None, "f") == pytest.approx(0.052)
    assert centre_offset(measures, "right", "knee", 110.0, "f") == pytest.approx(0.062)
    assert centre_offset({}, "right", "knee", 110.0, "f") == pytest.approx(0.055)


@pytest.mark.parametrize(("measures", "given"), [({}, None), ({"RKneeWidth": 100.0}, None), ({}, 1.1)])
def test_missing_or_impossible_width(measures: dict[str, float], given: float | None) -> None:
    """Protects the message: what is needed, its range, the option; also where mm are taken as m."""
    with pytest.raises(ConfigError, match=r"trial.c3d.*right knee.*30 to 250 mm.*knee_width_mm"):
        centre_offset(measures, "right", "knee", given, "trial.c3d")


def test_help_names_every_regression() -> None:
    """Protects the option's help against a regression that it does not list."""
    (option,) = (p for p in command.params if p.name == "hip")
    assert all(name in option.help for name in REGRESSIONS)


@pytest.mark.parametrize("diameter", [14.0, 0.4, -0.014, float("nan")])
def test_a_marker_that_no_hand_could_put_on_is_refused(diameter: float) -> None:
    """Protects the centres of knee and ankle from a diameter in another unit."""
    measures = {"RKneeWidth": 0.1, "MarkerDiameter": diameter}
    with pytest.raises(ConfigError, match=r"MarkerDiameter .* mm: no marker is so large") as refused:
        centre_offset(measures, "right", "knee", None, "trial.c3d")
    assert "--marker-diameter" in str(refused.value)
