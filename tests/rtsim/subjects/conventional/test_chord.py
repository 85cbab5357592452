"""Joint centres by the chord, with and without a rotation offset."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.subjects.conventional.chord import TURNS, chord_centre, wand_rotation
from tests.naive.conventional import chord

RADIUS = 0.055


def legs(rotation: float, n: int = 20, up_m: float = 0.2, out_m: float = 0.09) -> tuple[np.ndarray, ...]:
    """Centre, proximal joint, lateral marker and a wand that is turned by -rotation from the joint's axis."""
    rng = np.random.default_rng(5)
    centre = rng.normal(size=(n, 3))
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    up, out = axes[:, :, 0], axes[:, :, 1]
    aside = np.cross(up, out)
    wand = centre + up_m * up + out_m * (np.cos(rotation) * out - np.sin(rotation) * aside)
    return centre, centre + 0.4 * up, centre + RADIUS * out, wand


@pytest.mark.parametrize("rotation", [0.0, 1e-6, 0.1, -0.3, 0.8, -1.3])
@pytest.mark.parametrize(("up_m", "out_m"), [(0.2, 0.09), (0.05, 0.06), (0.3, 0.05)])
def test_centre_comes_back(rotation: float, up_m: float, out_m: float) -> None:
    """Protects the construction: right angle at the centre, inside of the marker, turned as said, exact."""
    centre, proximal, lateral, wand = legs(rotation, up_m=up_m, out_m=out_m)
    np.testing.assert_allclose(wand_rotation(proximal, centre, lateral, wand), rotation, atol=1e-12)
    np.testing.assert_allclose(chord_centre(proximal, lateral, wand, RADIUS, rotation), centre, atol=1e-10)


@pytest.mark.parametrize("rotation", [0.0, 0.2, -0.5])
def test_twin(rotation: float) -> None:
    """Protects the closed form against a search on the circle, for markers that no centre was made for."""
    rng = np.random.default_rng(8)
    proximal = np.array([0.02, 0.9, 0.1]) + 0.01 * rng.normal(size=(12, 3))
    lateral = np.array([0.0, 0.5, 0.15]) + 0.01 * rng.normal(size=(12, 3))
    wand = np.array([0.0, 0.68, 0.19]) + 0.01 * rng.normal(size=(12, 3))
    expected = [chord(*points, RADIUS, rotation) for points in zip(proximal, lateral, wand, strict=True)]
    np.testing.assert_allclose(chord_centre(proximal, lateral, wand, RADIUS, rotation), expected, atol=1e-9)


def test_a_stored_offset_is_positive_where_the_wand_is_behind() -> None:
    """Protects the sign of both sides: the same offset moves both centres backwards alike, as in a mirror."""
    hip, lateral, wand = (
        np.array([[0.0, 0.9, 0.1]]),
        np.array([[0.0, 0.5, 0.15]]),
        np.array([[0.0, 0.7, 0.19]]),
    )
    mirror = np.array([1.0, 1.0, -1.0])  # x forwards, y up, z to the right
    right = chord_centre(hip, lateral, wand, RADIUS, TURNS["right"] * 0.2)
    left = chord_centre(mirror * hip, mirror * lateral, mirror * wand, RADIUS, TURNS["left"] * 0.2)
    np.testing.assert_allclose(left, mirror * right, atol=1e-12)
    assert right[0, 0] < -0.005


def test_unknown_where_there_is_no_such_centre() -> None:
    """Protects against numbers that mean nothing: a proximal joint that is too near, a gap in one marker."""
    near, lateral, wand = np.array([[0.0, 0.03, 0.0]]), np.zeros((1, 3)), np.array([[0.0, 0.02, 0.05]])
    for rotation in (0.0, 0.2):
        assert np.isnan(chord_centre(near, lateral, wand, 0.05, rotation)).all()
        gone = chord_centre(np.array([[0.0, 0.4, 0.0]]), lateral, np.full((1, 3), np.nan), 0.05, rotation)
        assert np.isnan(gone).all()
