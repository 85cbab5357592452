"""How far markers may be off: what of their residuals counts, and from when on."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.joints.tree import new_pose
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import EXCHANGED, OUTLIER, SEGMENT, new_health
from kernels.uncertainty.gradient_errors import SkinMotion
from kernels.uncertainty.marker_errors import ErrorBounds, learn_noise, marker_variances, new_marker_errors
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.methods.kinematics.frame_options import health_options

BODY = np.array([0, 0, 0, 1, 1])
N_MARKER, N_FREE = len(BODY), 6
LEAST, NOISE = 0.002, 1e-4
STILL = SkinMotion(np.zeros((2, 3)), np.zeros(2), np.zeros(2))
BOUNDS = ErrorBounds(NOISE, NOISE, np.full(N_MARKER, LEAST), *[np.full(N_MARKER, 0.1)] * 2, STILL)
OPTIONS = health_options(MarkerCheck(), np.ones(N_MARKER))
BESIDE = np.array([0.02, -0.01, 0.01])


@pytest.mark.parametrize("gone", ["", "always", "now"])
@pytest.mark.parametrize("n_seen", [0, 1, OPTIONS.n_learn - 1, OPTIONS.n_learn])
def test_residuals_of_a_segment_that_lacks_a_marker_count_at_once(n_seen: int, gone: str) -> None:
    """Protects what is stated of a person of whom a marker is missing from the first frame on: the least
    error is believed of complete segments alone until they are known."""
    health, errors = new_health(N_MARKER), new_marker_errors(N_MARKER)
    health.n_seen[:], health.mean[:] = n_seen, BESIDE
    if gone:
        health.weight[1], health.n_seen[1] = 0.0, 0 if gone == "always" else 1
    shown = marker_variances(
        ModelMarkers(BODY, np.zeros((N_MARKER, 3))), N_FREE, BOUNDS, OPTIONS, health, errors
    )
    n = 3.0 * (N_MARKER - bool(gone))
    assert shown == pytest.approx((n - N_FREE) / n)
    short = (gone == "always") & (BODY == 0) & (n_seen > 0)
    counts = np.full(N_MARKER, n_seen >= OPTIONS.n_learn) | short
    if gone:
        counts[1] = False
    own = np.where(counts, BESIDE @ BESIDE / (3.0 * shown), LEAST**2)
    np.testing.assert_allclose(errors.variance, own + NOISE**2, rtol=1e-12)


@pytest.mark.parametrize("fault", [OUTLIER, SEGMENT])
def test_faults_are_no_noise(fault: int) -> None:
    """Protects recovery: a place at fault is in none of the differences over three frames that noise shows
    in, and they are what they were when it is over; labels that are put right count as all others."""
    health, errors, pose = new_health(N_MARKER), new_marker_errors(N_MARKER), new_pose(2, 0)
    pose.rotation[:], model = np.eye(3), np.zeros((N_MARKER, 3))
    health.weight[:] = 1.0
    for k in range(12):
        health.fault[0] = fault if 4 <= k < 8 else 0
        health.labelled[:] = (-1) ** k * NOISE
        health.labelled[0] += BESIDE * (k % 3) if 4 <= k < 8 else 0.0
        health.fault[1] = EXCHANGED
        learn_noise(ModelMarkers(BODY, model), pose, model, OPTIONS, health, errors)
    np.testing.assert_array_equal(errors.n_learnt, [4, 10, 10, 10, 10])
    np.testing.assert_allclose(errors.square, (4.0 * NOISE) ** 2 / 6.0, rtol=1e-12)
