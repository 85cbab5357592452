"""Segments whose residuals follow their acceleration, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.faults.late import KNOWN, MEMORY
from kernels.faults.smoothed import SPAN, find_smoothed, new_smoothing
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import new_health

Array = NDArray[np.float64]
DT, N, LIMIT = 0.01, 250, 0.4e-3
HALF = round(SPAN / DT)
LOCAL = np.random.default_rng(4).uniform(-0.1, 0.1, (3, 3))
MARKERS = ModelMarkers(np.zeros(3, np.int64), LOCAL)
UPRIGHT = np.eye(3)[None]
TIMES = DT * np.arange(N)
PATH = np.stack([0.4 * np.sin(7.0 * TIMES), 0.05 * np.sin(14.0 * TIMES), 0.1 * TIMES], axis=1)
SOUND = np.zeros(1, np.int64)


def bends(path: Array) -> Array:
    """(n, 3) - accelerations over two times HALF frames; 0 at the ends [m/s^2]."""
    found = np.zeros_like(path)
    found[HALF:-HALF] = path[2 * HALF :] - 2.0 * path[HALF:-HALF] + path[: -2 * HALF]
    return found / (HALF * DT) ** 2


def run(residual: Array, path: Array = PATH, *, off: Array = SOUND, seen: Array | None = None):
    """What is found in each frame, and the state; residual, path : (n, 3) in ground [m]."""
    health, state, told = new_health(3), new_smoothing(np.array([LIMIT])), []
    for k, (r, x) in enumerate(zip(residual, path, strict=True)):
        health.labelled[:], health.residual[:], health.weight[:] = x + LOCAL, r, 1.0
        if seen is not None and not seen[k]:
            health.labelled[1] = np.nan
        told.append(find_smoothed(MARKERS, UPRIGHT, off, DT, health, state))
    return told, state


def test_the_evidence_is_the_regression_of_residuals_on_acceleration():
    """Protects the evidence by its definition: moments about means that forget at a rate."""
    a = bends(PATH)
    residual = 0.001 * a + np.random.default_rng(2).normal(0.0, 0.002, (N, 3))
    told, state = run(residual)
    a, r = a[HALF:-HALF], residual[HALF:-HALF]
    time, weights = 0.0, np.zeros(len(a))
    for k in range(len(a)):
        kept = time * (1.0 - DT / MEMORY)
        time = kept + DT
        weights *= kept / time
        weights[k] = DT / time
    da, dr = a - weights @ a, r - weights @ r
    ar, aa, rr = (float(weights @ np.sum(x * y, axis=1)) for x, y in ((da, dr), (da, da), (dr, dr)))
    assert state.evidence[0] == pytest.approx(ar * ar / aa / np.sqrt(aa * rr), rel=1e-6)
    assert told[-1] == 1
    assert not any(told[: round(KNOWN / DT)])


def test_skin_is_not_smoothed():
    """Protects clean runs: skin is left behind, against the acceleration, or has nothing to do with it."""
    noise = np.random.default_rng(7).normal(0.0, 0.02, (N, 3))
    assert not any(run(-0.001 * bends(PATH))[0])
    assert not any(run(noise)[0])
    assert not any(run(np.full((N, 3), 0.03))[0])


def test_a_segment_that_hardly_accelerates_tells_nothing():
    assert not any(run(0.001 * bends(PATH), 0.1 * PATH)[0])


def test_frames_with_gaps_or_known_faults_teach_nothing():
    """Protects from the leap of the middle of the markers where one of them is missing, and from faults that
    others tell."""
    residual = 0.001 * bends(PATH)
    assert run(residual, seen=np.arange(N) % 4 > 0)[1].time[0] == 0.0
    assert run(residual, off=np.ones(1, np.int64))[1].time[0] == 0.0
