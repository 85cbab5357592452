"""The kernel of the conventional gait model against a slow twin, on made-up legs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.conventional.leg import ANGLES, AS_MARKED, FLAT, ROLES, WALKING, Legs, conventional_legs
from tests.naive.conventional import axes, cardan, chord

NAMES = dict(zip(ROLES, range(len(ROLES)), strict=True))
UP = np.array([0.0, 1.0, 0.0])
# x forwards, y up, z to the right; of a right leg that steps
RIGHT = {
    "asis_right": (0.0, 1.0, 0.12), "asis_left": (0.01, 1.01, -0.12), "psis_right": (-0.16, 1.03, 0.05),
    "psis_left": (-0.15, 1.04, -0.05), "thigh": (0.05, 0.72, 0.19), "knee": (0.1, 0.52, 0.14),
    "shank": (0.02, 0.32, 0.16), "ankle": (-0.06, 0.12, 0.12), "toe": (0.1, 0.06, 0.13),
    "heel": (-0.11, 0.08, 0.09),
}  # fmt: skip


def markers_of(side: str) -> np.ndarray:
    """A leg of the side, the left one as the mirror image of the right one."""
    x = np.array([RIGHT[role] for role in ROLES])
    if side == "right":
        return x
    swapped = [NAMES[role] for role in ("asis_left", "asis_right", "psis_left", "psis_right", *ROLES[4:])]
    return x[swapped] * (1.0, 1.0, -1.0)


def legs(side: str, foot: int, rotation: tuple[float, float] = (0.0, 0.0), torsion: float = 0.0) -> Legs:
    """One leg; rotations and offsets as a file stores them."""
    s = 1.0 if side == "left" else -1.0
    return Legs(
        role=np.arange(len(ROLES))[None],
        outwards=np.array([s]),
        hip=np.array([[-0.04, s * 0.08, -0.09]]),
        radius=np.array([[0.055, 0.04]]),
        rotation=-s * np.array([rotation]),
        torsion=np.array([s * torsion]),
        plant_flexion=np.array([0.2]),
        foot_rotation=np.array([s * 0.05]),
        sole_delta=np.array([0.005]),
        foot=np.array([foot]),
    )


def run(side: str, given: Legs, markers: np.ndarray, walking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (15,) and centres (3, 3)."""
    angles, centres = np.zeros((1, len(ANGLES))), np.zeros((1, 3, 3))
    conventional_legs(given, markers, walking, angles, centres)
    return angles[0], centres[0]


def walking_to(x: float, z: float) -> np.ndarray:
    forwards = np.array([x, 0.0, z])
    return np.column_stack([forwards, np.cross(UP, forwards), UP])


def twin(side: str, given: Legs, markers: np.ndarray, walking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, point by point."""
    s, at = given.outwards[0], {role: markers[k] for role, k in NAMES.items()}
    right, left = at["asis_right"], at["asis_left"]
    front, back = 0.5 * (right + left), 0.5 * (at["psis_right"] + at["psis_left"])
    y = (left - right) / np.linalg.norm(left - right)
    x = front - back - (front - back) @ y * y
    x /= np.linalg.norm(x)
    pelvis = np.column_stack([x, y, np.cross(x, y)])
    hip = front + pelvis @ given.hip[0]
    knee = chord(hip, at["knee"], at["thigh"], given.radius[0, 0], given.rotation[0, 0])
    ankle = chord(knee, at["ankle"], at["shank"], given.radius[0, 1], given.rotation[0, 1])
    thigh, distal = axes(hip - knee, s * (at["knee"] - knee)), axes(knee - ankle, s * (at["ankle"] - ankle))
    t = given.torsion[0]
    turn = np.array([[math.cos(t), -math.sin(t), 0.0], [math.sin(t), math.cos(t), 0.0], [0.0, 0.0, 1.0]])
    if given.foot[0] == WALKING:
        p, q = given.plant_flexion[0], given.foot_rotation[0]
        about_y = np.array(
            [[math.cos(p), 0.0, -math.sin(p)], [0.0, 1.0, 0.0], [math.sin(p), 0.0, math.cos(p)]]
        )
        about_x = np.array(
            [[1.0, 0.0, 0.0], [0.0, math.cos(q), math.sin(q)], [0.0, -math.sin(q), math.cos(q)]]
        )
        foot = axes(ankle - at["toe"], distal[:, 1]) @ about_y @ about_x
    else:
        heel = at["heel"].copy()
        if given.foot[0] == FLAT:
            heel[1] = at["toe"][1] + given.sole_delta[0]
        foot = axes(heel - at["toe"], distal[:, 1])
    lab, angles = walking, []
    a, b, c = cardan(lab.T @ pelvis)
    angles += [a, s * b, -s * c]
    a, b, c = cardan(pelvis.T @ thigh)
    angles += [-a, -s * b, -s * c]
    a, b, c = cardan(thigh.T @ distal @ turn)
    angles += [a, -s * b, -s * c]
    a, b, c = cardan(distal.T @ foot)
    angles += [-a - 0.5 * math.pi, -s * c, -s * b]
    a, b, c = cardan(lab.T @ foot)
    angles += [a, s * c, -s * b]
    return np.array(angles), np.stack([hip, knee, ankle])


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("foot", [WALKING, AS_MARKED, FLAT])
@pytest.mark.parametrize(("rotation", "torsion"), [((0.0, 0.0), 0.0), ((0.2, -0.1), -0.3)])
def test_twin(side: str, foot: int, rotation: tuple[float, float], torsion: float) -> None:
    """Protects every angle and centre, on both sides, with and without offsets, walking and standing."""
    given, markers, walking = legs(side, foot, rotation, torsion), markers_of(side), walking_to(1.0, 0.0)
    angles, centres = run(side, given, markers, walking)
    expected_angles, expected_centres = twin(side, given, markers, walking)
    np.testing.assert_allclose(centres, expected_centres, atol=1e-9)
    np.testing.assert_allclose(angles, expected_angles, atol=1e-7)


@pytest.mark.parametrize("foot", [WALKING, FLAT])
def test_both_sides_read_alike(foot: int) -> None:
    """Protects the signs: a left leg that is the mirror image of a right one has the same angles."""
    walking = walking_to(1.0, 0.0)
    right, _ = run("right", legs("right", foot, (0.1, 0.2), -0.2), markers_of("right"), walking)
    left, _ = run("left", legs("left", foot, (0.1, 0.2), -0.2), markers_of("left"), walking)
    np.testing.assert_allclose(left, right, atol=1e-12)


def test_direction_turns_pelvis_and_foot_alone() -> None:
    """Protects the angles between segments from the direction of walking, and NaN where that is unknown."""
    given, markers = legs("right", WALKING), markers_of("right")
    ahead, _ = run("right", given, markers, walking_to(1.0, 0.0))
    aside, _ = run("right", given, markers, walking_to(0.0, 1.0))
    unknown, _ = run("right", given, markers, np.full((3, 3), math.nan))
    np.testing.assert_array_equal(ahead[3:12], aside[3:12])
    np.testing.assert_array_equal(ahead[3:12], unknown[3:12])
    assert abs(aside[2] - ahead[2]) > 1.0
    assert np.isnan(unknown[[0, 1, 2, 12, 13, 14]]).all()


@pytest.mark.parametrize(
    ("role", "known"), [("toe", 9), ("ankle", 6), ("thigh", 3), ("heel", 15), ("psis_left", 0)]
)
def test_a_gap_spares_what_does_not_need_the_marker(role: str, known: int) -> None:
    """Protects angles from the pelvis downwards to the first that needs the marker; below all are NaN."""
    markers = markers_of("right")
    markers[NAMES[role]] = math.nan
    angles, _ = run("right", legs("right", WALKING), markers, walking_to(1.0, 0.0))
    assert np.isfinite(angles[:known]).all()
    assert np.isnan(angles[known:]).all()


def test_a_wand_on_the_line_of_the_bone_gives_no_centre() -> None:
    """Protects against a plane through three points of one line, and a knee wider than the thigh is long."""
    given, markers = legs("right", WALKING), markers_of("right")
    markers[NAMES["thigh"]] = markers[NAMES["knee"]]
    assert np.isnan(run("right", given, markers, walking_to(1.0, 0.0))[0][6:]).all()
    wide = given._replace(radius=np.array([[2.0, 0.04]]))
    assert np.isnan(run("right", wide, markers_of("right"), walking_to(1.0, 0.0))[0][6:]).all()
