"""Legs that no person has are refused; odd ones are told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import calibrate
from rtsim.subjects.calibration.plausible import (
    check_axes,
    check_spread,
    notes_on_leg_length,
    notes_on_width,
)

Person = Callable[..., MarkerTrial]


@pytest.mark.parametrize("size", [0.01, 1e3])
def test_wrong_unit_is_an_error(person: Person, size: float) -> None:
    """Protects against millimetres as metres and the other way round."""
    with pytest.raises(ConfigError, match=r"person.trc: .*; allowed: .*check the unit"):
        calibrate(person(size=size))


@pytest.mark.parametrize("size", [0.55, 1.2])
def test_children_and_tall_adults_are_persons(person: Person, size: float) -> None:
    """Protects the ranges from being too narrow."""
    assert calibrate(person(size=size)).notes == ()


def test_wide_knee_is_told(person: Person) -> None:
    """Protects against a medial marker that is not on the epicondyle."""
    subject = calibrate(person(epicondyle_medial=(0.03, 0.48, -0.05)))
    assert "across the knee: the markers are 180 mm apart (usual: 50 to 160 mm)" in subject.notes[0]


def test_landmarks_in_wrong_places_are_told(person: Person) -> None:
    """Protects against exchanged labels of optional landmarks."""
    notes = calibrate(
        person(tibial_tuberosity=(-0.06, 0.41, 0.08), greater_trochanter=(0.03, 0.92, 0.02))
    ).notes
    assert any("tibial tuberosity lies behind the knee" in note for note in notes)
    assert any("greater trochanter lies on the inner side" in note for note in notes)


def test_flat_axes_are_an_error() -> None:
    """Protects the oblique coordinates from axes in one plane, and from mirrored ones."""
    q = np.array([[[1.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    check_axes({"thigh": q}, "f")
    for w in ([0.0, 1.0, 0.0], [0.0, 0.0, -1.0]):
        bad = q.copy()
        bad[0, 3] = w
        with pytest.raises(
            ConfigError,
            match="axes of the segment thigh form a left-handed system or lie almost in one plane",
        ):
            check_axes({"thigh": bad}, "f")


def test_markers_on_a_line_are_told() -> None:
    """Protects the user from trusting a rotation that markers do not show."""
    on_line = {
        name: np.array([0.0, y, 0.001 * y]) for name, y in zip("abcd", (0.0, 0.1, 0.2, 0.4), strict=True)
    }
    square = {"e": np.zeros(3), "f": np.array([0.0, 0.1, 0.0]), "g": np.array([0.05, 0.0, 0.0])}
    assert check_spread({"shank": square}) == []
    assert "shank has 4 markers almost on a line (a, b, c, d)" in check_spread({"shank": on_line})[0]
    assert "foot has two markers (e, f)" in check_spread({"foot": {k: square[k] for k in "ef"}})[0]
    assert "foot has one marker (e)" in check_spread({"foot": {"e": square["e"]}})[0]


def test_static_of_another_person_is_told(person: Person) -> None:
    """Protects against the wrong static trial: distances within a segment differ."""
    notes = calibrate(person(), static=person(size=0.8)).notes
    assert any("check the pelvis: R.ASIS and L.ASIS are 48 mm farther apart" in note for note in notes)
    assert not any("check" in note for note in calibrate(person(), static=person()).notes)


def test_legs_that_never_agree_are_an_error(person: Person) -> None:
    """Protects the means from frames that show legs of different sizes."""
    trial = person()
    trial.positions[::2] *= 2.0
    with pytest.raises(ConfigError, match="the lengths of the leg differ from frame to frame"):
        calibrate(trial)


@pytest.mark.parametrize(
    ("width", "other", "said"),
    [
        (0.10, 0.11, ""),
        (0.10, 0.0, ""),
        (0.153, 0.102, "one is 102 mm, the other 153 mm"),
        (0.102, 0.153, "one is 102 mm, the other 153 mm"),
        (0.216, 0.144, "216 mm were measured (usual: 50 to 160 mm)"),
    ],
)
def test_a_slip_in_a_measured_width_is_told(width: float, other: float, said: str) -> None:
    """Protects knee centres from a width that no other sentence holds against anything."""
    notes = notes_on_width("knee", width, other)
    assert (said in notes[0] and len(notes) == 1) if said else notes == []


@pytest.mark.parametrize(("length", "told"), [(0.88, False), (0.80, False), (0.61, True), (1.1, True)])
def test_a_leg_length_that_the_markers_contradict_is_told(length: float, told: bool) -> None:
    """Protects hip centres by the leg's length from a slip, with the knee bent, too."""
    x = {
        "asis": np.array([[0.0, 0.9, 0.0]] * 3),
        "epicondyle_lateral": np.array([[0.27, 0.54, 0.0]] * 3),
        "malleolus_lateral": np.array([[0.0, 0.22, 0.0]] * 3),
    }
    notes = notes_on_leg_length(x, length)
    assert bool(notes) is told
    assert all("its markers are 869 mm" in note for note in notes)
    assert notes_on_leg_length(x, None) == notes_on_leg_length(x, 0.001 * length) == []
