"""Markers that were off in the first frames: the static trial says where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.markers.marker_health import EXCHANGED, OUTLIER
from tests.kernels.faults.scene import BODY, N_MARKER, Scene, new_scene

SIZES = [0.06, 0.1, 0.15]


def begun_wrong(size: float, n: int = 3) -> tuple[Scene, np.ndarray]:
    """The second segment, with n of its three markers, learnt while marker 5 was off along the segment."""
    scene = new_scene()
    shift = size * scene.segments.rotation[1] @ np.array([0.0, 1.0, 0.0])
    measured = scene.truth.copy()
    if n == 2:
        measured[7] = np.nan
    health = scene.health
    for rows in (health.mean, health.mean_residual, health.good):
        rows[5] = [0.0, size, 0.0]
    health.good_age[:] = 0.0
    health.expected[5] += shift
    return scene, measured


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [2, 3])
def test_back_in_the_place_of_the_calibration_it_is_right_at_once(size, n):
    """Protects the good rest after a bad start: nothing is at fault, and what was learnt is forgotten."""
    scene, measured = begun_wrong(size, n)
    scene.judge(measured)
    assert not scene.health.fault[BODY == 1].any()
    seen = np.isfinite(measured).all(axis=1)
    np.testing.assert_array_equal(scene.health.weight, seen.astype(float))
    np.testing.assert_array_equal(scene.health.mean[5], 0.0)
    np.testing.assert_array_equal(scene.health.mean_residual[5], 0.0)
    assert (scene.health.n_seen[BODY == 1] == 0).all()
    assert np.isnan(scene.health.expected[BODY == 1]).all()
    assert (scene.health.n_seen[BODY == 0] == 100).all()


@pytest.mark.parametrize("size", SIZES)
def test_elsewhere_it_is_at_fault_as_before(size):
    """Protects from jumps: to a place that is not that of the calibration either, a marker is astray."""
    scene, measured = begun_wrong(size)
    measured[5] -= 2.0 * (scene.health.expected[5] - measured[5])
    scene.judge(measured)
    assert scene.health.fault[5] in (OUTLIER, EXCHANGED)
    assert scene.health.weight[5] == 0.0
    assert scene.health.n_seen[5] == 100


def test_a_marker_learnt_in_its_place_may_not_jump():
    """Where nothing was learnt beside the calibration, a jump across the segment's plane stays a fault."""
    scene = new_scene()
    measured = scene.truth.copy()
    a, b, c = (measured[m] for m in (5, 6, 7))
    normal = np.cross(b - a, c - a)
    measured[5] += 0.1 * normal / np.linalg.norm(normal)
    scene.judge(measured)
    assert scene.health.fault[5] == OUTLIER
    assert len(scene.health.n_seen) == N_MARKER
