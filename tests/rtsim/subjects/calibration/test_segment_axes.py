"""Landmarks and natural coordinates, against definitions written out for one standing leg."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import ArrayLike

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.landmarks import (
    Landmarks,
    find_landmarks,
    needed_roles,
    role_positions,
    usable_frames,
)
from rtsim.subjects.calibration.segment_axes import natural_coordinates
from rtsim.subjects.markers.labs import load_lab
from tests.rtsim.subjects.conftest import LANDMARKS

TABLE = load_lab("bmc").right
POINTS = {role: np.array([x]) for role, x in LANDMARKS.items()}


def direction(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Unit vector from a to b."""
    v = np.subtract(b, a)
    return v / np.linalg.norm(v)


def middle(a: str, b: str) -> np.ndarray:
    """Middle of two landmarks."""
    return 0.5 * np.add(LANDMARKS[a], LANDMARKS[b])


@pytest.fixture
def landmarks() -> Landmarks:
    """Landmarks of one frame."""
    return find_landmarks(POINTS, None, "harrington2007")


def test_points_and_directions(landmarks: Landmarks) -> None:
    """Protects every definition of the segment axes but the two normals."""
    Q = {name: q[0] for name, q in natural_coordinates(landmarks).items()}
    knee, ankle = (
        middle("epicondyle_lateral", "epicondyle_medial"),
        middle("malleolus_lateral", "malleolus_medial"),
    )
    toes, hip = middle("metatarsal_1", "metatarsal_5"), landmarks.hip[0]
    psis = middle("psis", "psis_opposite")
    assert landmarks.pelvis is not None
    assert_allclose(Q["foot"][0], direction(LANDMARKS["calcaneus"], toes), atol=1e-15)
    assert_allclose(Q["foot"][1:3], [ankle, toes], atol=1e-15)
    assert_allclose(Q["foot"][3], direction(LANDMARKS["metatarsal_1"], LANDMARKS["metatarsal_5"]), atol=1e-15)
    assert_allclose(Q["shank"][1:3], [knee, ankle], atol=1e-15)
    assert_allclose(
        Q["shank"][3], direction(LANDMARKS["malleolus_medial"], LANDMARKS["malleolus_lateral"]), atol=1e-15
    )
    assert_allclose(Q["thigh"][1:3], [hip, knee], atol=1e-15)
    assert_allclose(
        Q["thigh"][3], direction(LANDMARKS["epicondyle_medial"], LANDMARKS["epicondyle_lateral"]), atol=1e-15
    )
    assert_allclose(Q["pelvis"][0], direction(psis, middle("asis", "asis_opposite")), atol=1e-15)
    assert_allclose(Q["pelvis"][1:3], [psis, 0.5 * (hip + landmarks.pelvis.hip_opposite[0])], atol=1e-15)
    assert_allclose(Q["pelvis"][3], [0.0, 0.0, 1.0], atol=1e-15)


def test_normals_point_forwards(landmarks: Landmarks) -> None:
    """Protects u of thigh and shank: normal to its plane, and forwards."""
    Q = natural_coordinates(landmarks)
    knee, ankle = landmarks.knee[0], landmarks.ankle[0]
    across = np.subtract(LANDMARKS["epicondyle_lateral"], LANDMARKS["epicondyle_medial"])
    for u, plane in (
        (Q["thigh"][0, 0], (landmarks.hip[0] - knee, across)),
        (Q["shank"][0, 0], (knee - ankle, np.subtract(LANDMARKS["fibula_head"], ankle))),
    ):
        assert np.linalg.norm(u) == pytest.approx(1.0)
        assert_allclose([u @ v for v in plane], 0.0, atol=1e-15)
        assert u[0] > 0.9


def test_malleoli_stand_in_for_the_fibula_head(landmarks: Landmarks) -> None:
    """Protects the shank's plane of labs without a fibula head marker."""
    shank = natural_coordinates(landmarks._replace(fibula_head=None))["shank"][0]
    assert shank[0] @ shank[3] == pytest.approx(0.0, abs=1e-15)
    assert shank[0, 0] > 0.9


def test_all_segments_are_right_handed(landmarks: Landmarks) -> None:
    """Protects the chirality: (u x v) . w is positive for a right leg in right-handed axes."""
    for name, q in natural_coordinates(landmarks).items():
        u, r_p, r_d, w = q[0]
        assert np.cross(u, r_p - r_d) @ w > 0.3 * np.linalg.norm(r_p - r_d), name


def test_chord_replaces_the_medial_epicondyle() -> None:
    """Protects labs without a medial marker: the knee centre is at the offset, square to the hip."""
    table = load_lab("mcgill").right
    points = {role: x for role, x in POINTS.items() if not role.startswith(("psis", "epicondyle_medial"))}
    points |= {"sacrum": np.array([[-0.06, 1.02, 0.0]]), "thigh_lateral": np.array([[0.03, 0.7, 0.16]])}
    assert {"sacrum", "thigh_lateral", "fibula_head"} <= set(needed_roles(table, points))
    x = find_landmarks(points, 0.055, "harrington2007")
    to_marker, to_hip = (x.epicondyle_lateral - x.knee)[0], (x.hip - x.knee)[0]
    assert np.linalg.norm(to_marker) == pytest.approx(0.055)
    assert to_marker @ to_hip == pytest.approx(0.0, abs=1e-15)
    assert to_marker[2] > 0.05


def test_frames_without_a_needed_marker_are_skipped(person: Callable[..., MarkerTrial]) -> None:
    """Protects calibration from gaps: needed are anatomical markers, also a fibula head that is there."""
    trial = person()
    for frame, name in ((1, "R.HF"), (4, "R.ASIS"), (5, "R.GTR"), (7, "R.MT2")):
        trial.positions[frame, trial.names.index(name)] = np.nan
    positions = role_positions(trial, TABLE)
    np.testing.assert_array_equal(usable_frames(TABLE, positions, "f", "r"), [0, 2, 3, 5, 6, 7, 8, 9, 10, 11])


def test_missing_roles_are_named(person: Callable[..., MarkerTrial]) -> None:
    """Protects the message: roles with their markers, file and remedy."""
    trial = person(without=("R.Ankle.Medial", "R.MT1"))
    with pytest.raises(
        ConfigError, match=r"walk.trc: no frame shows malleolus_medial \(R.Ankle.Medial\), met.*do so"
    ):
        usable_frames(TABLE, role_positions(trial, TABLE), "walk.trc", "do so")


def test_markers_never_seen_together_are_named(person: Callable[..., MarkerTrial]) -> None:
    """Protects the message where every marker has data but no frame has all."""
    trial = person()
    trial.positions[:6, trial.names.index("R.Heel")] = np.nan
    trial.positions[5:, trial.names.index("R.Knee")] = np.nan
    with pytest.raises(
        ConfigError, match=r"at once; visible in the fewest frames: R.Knee \(5 frames\), R.Heel \(6 frames\)"
    ):
        usable_frames(TABLE, role_positions(trial, TABLE), "walk.trc", "do so")
