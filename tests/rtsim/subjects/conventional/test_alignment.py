"""Rotation offsets of static trials that are made up with a known one."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.conventional.alignment import (
    DEVICE_SPACING,
    by_device,
    by_medial_marker,
    check_device,
    device_origin,
    tibial_torsion,
)  # fmt: skip
from rtsim.subjects.conventional.chord import TURNS, chord_centre

RADIUS, SIDES = 0.055, ("right", "left")
# x forwards, y to the left, z up
FORWARDS, LEFT, UP = np.eye(3)


def turned(vector: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
    """A vector about a unit axis square to it."""
    return np.cos(angle) * vector + np.sin(angle) * np.cross(axis, vector)


def standing(side: str, offset: float, tilt: float = 0.1) -> dict[str, np.ndarray]:
    """Two frames of a leg with a knee alignment device whose wand is so much behind the axis of the knee.

    KAX is on the axis of the knee, KD1 and KD2 45 degrees above and below the horizontal; the leg leans.
    """
    outer = LEFT if side == "left" else -LEFT
    up = turned(UP, LEFT, tilt)
    forwards = np.cross(LEFT, up)
    knee = np.array([[0.1, 0.2, 0.5], [0.3, 0.2, 0.5]])
    arm = DEVICE_SPACING / np.sqrt(2.0)
    origin = knee + RADIUS * outer
    ahead = turned(outer, up, -TURNS[side] * offset)
    return {
        "hip": knee + 0.4 * up,
        "knee": knee,
        "lateral": origin,
        "kax": origin + arm * outer,
        "kd1": origin + arm * (forwards + up) / np.sqrt(2.0),
        "kd2": origin + arm * (forwards - up) / np.sqrt(2.0),
        "wand": knee + 0.2 * up + 0.09 * ahead,
    }


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("offset", [0.0, 0.2, -0.35])
def test_device_gives_the_knee_and_the_offset(side: str, offset: float) -> None:
    """Protects the device's geometry on both sides, and that walks find the same knee by the offset."""
    leg = standing(side, offset)
    device = (leg["kax"], leg["kd1"], leg["kd2"])
    np.testing.assert_allclose(device_origin(*device, side), leg["lateral"], atol=1e-14)
    found = by_device(leg["hip"], device, leg["wand"], RADIUS, side)
    np.testing.assert_allclose(found.centre, leg["knee"], atol=1e-14)
    assert np.degrees(found.rotation) == pytest.approx(np.degrees(offset), abs=1e-10)
    again = chord_centre(leg["hip"], leg["lateral"], leg["wand"], RADIUS, TURNS[side] * found.rotation)
    np.testing.assert_allclose(again, leg["knee"], atol=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_medial_marker_gives_the_offset(side: str) -> None:
    """Protects the middle of both epicondyles, and the sign that walks take the offset with."""
    leg = standing(side, 0.15)
    medial = 2.0 * leg["knee"] - leg["lateral"]
    found = by_medial_marker(leg["hip"], leg["lateral"], medial, leg["wand"], side)
    np.testing.assert_allclose(found.centre, leg["knee"], atol=1e-14)
    assert found.rotation == pytest.approx(0.15, abs=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_outward_torsion_is_negative(side: str) -> None:
    """Protects the sign on both sides: an ankle whose axis is turned outwards has a negative torsion."""
    outer = LEFT if side == "left" else -LEFT
    knee, ankle = np.array([[0.0, 0.0, 0.5]]), np.array([[0.0, 0.0, 0.1]])
    backwards = np.array([np.cos(0.3) * outer - np.sin(0.3) * FORWARDS])
    assert tibial_torsion(knee, ankle, outer[None], backwards, side) == pytest.approx(-0.3, abs=1e-12)


def test_labels_that_are_of_no_device() -> None:
    """Protects the sentence on a device of another size, and the refusal of exchanged labels."""
    leg = standing("left", 0.1)
    kax, kd1, kd2 = leg["kax"], leg["kd1"], leg["kd2"]
    assert check_device(kax, kd1, kd2, "left", "static.c3d") == ""
    larger = [1.5 * x for x in (kax, kd1, kd2)]
    assert "216 mm apart; 144 mm is usual" in check_device(*larger, "left", "static.c3d")
    with pytest.raises(ConfigError, match=r"left knee alignment device.*KAX, KD1 and KD2"):
        check_device(leg["hip"], kd1, kd2, "left", "static.c3d")
