"""Segments whose residuals follow their speed, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.late import KNOWN, LONGEST, MEMORY, find_late, new_delays
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import new_health

Array = NDArray[np.float64]
DT, N, LIMIT = 0.01, 250, 0.006
LOCAL = np.random.default_rng(4).uniform(-0.1, 0.1, (3, 3))
MARKERS = ModelMarkers(np.zeros(3, np.int64), LOCAL)
TURNS = Rotation.from_rotvec(np.outer(0.5 * np.sin(7.0 * DT * np.arange(N)), [0.3, 0.2, 0.9])).as_matrix()
TIMES = DT * np.arange(N)
PATH = np.stack([0.4 * np.sin(6.0 * TIMES), 0.05 * np.sin(12.0 * TIMES), 0.1 * TIMES], axis=1)
VELOCITY = np.gradient(PATH, DT, axis=0)
SOUND = np.zeros(1, np.int64)


def run(
    residual: Array, path: Array = PATH, *, off: Array = SOUND, dt: float = DT, seen: Array | None = None
):
    """What is found in each frame, and the state; residual, path : (n, 3) in ground [m]."""
    health, delays, told = new_health(3), new_delays(np.array([LIMIT])), []
    for k, (r, x) in enumerate(zip(residual, path, strict=True)):
        health.labelled[:] = x + LOCAL @ TURNS[k].T
        health.residual[:] = r @ TURNS[k]
        health.weight[:] = 1.0
        if seen is not None and not seen[k]:
            health.labelled[1] = np.nan
        told.append(find_late(MARKERS, TURNS[k][None], off, dt, health, delays))
    return told, delays


def test_the_delay_is_the_regression_of_residuals_on_speed():
    """Protects the delay by its definition: moments about means that forget at the rate of their memory."""
    residual = -0.012 * VELOCITY + np.random.default_rng(2).normal(0.0, 0.004, (N, 3))
    told, delays = run(residual)
    middle = PATH + TURNS @ LOCAL.mean(axis=0)
    v = (middle[2:] - middle[:-2]) / (2.0 * DT)
    r = residual[1:-1]
    time, weights = 0.0, np.zeros(len(v))
    for k in range(len(v)):
        kept = time * (1.0 - DT / MEMORY)
        weights *= kept / time if time else 0.0
        weights[k] = DT
        time = kept + DT
        weights *= time / weights.sum()
    weights /= weights.sum()
    dv, dr = v - weights @ v, r - weights @ r
    vr, vv, rr = (float(weights @ np.sum(a * b, axis=1)) for a, b in ((dv, dr), (dv, dv), (dr, dr)))
    assert delays.delay[0] == pytest.approx(-vr / vv, rel=1e-6)
    assert delays.evidence[0] == pytest.approx(vr * vr / vv / np.sqrt(vv * rr), rel=1e-6)
    assert told[-1] == 1
    assert not any(told[: round(KNOWN / DT)])


@pytest.mark.parametrize("delay", [-0.02, 0.02])
def test_what_is_late_or_early_is_found(delay):
    """Protects both directions: a segment that is late, and its neighbour, which seems to be early."""
    told, delays = run(-delay * VELOCITY)
    assert told[-1] == 1
    assert delays.delay[0] == pytest.approx(delay, rel=0.1)


def test_skin_is_not_late():
    """Protects clean runs: residuals square to the velocity, or without relation to it, are no delay."""
    aside = 0.03 * np.cross(VELOCITY, [0.0, 0.0, 1.0])
    noise = np.random.default_rng(7).normal(0.0, 0.02, (N, 3))
    still = np.full((N, 3), 0.03)
    assert not any(run(aside)[0])
    assert not any(run(noise)[0])
    assert not any(run(still)[0])


def test_a_segment_that_hardly_moves_tells_nothing():
    assert not any(run(-0.05 * 0.1 * VELOCITY, 0.1 * PATH)[0])


def test_frames_with_gaps_or_known_faults_teach_nothing():
    """Protects from the leap of the middle of the markers where one of them is missing, and from faults that
    others tell."""
    residual = -0.02 * VELOCITY
    flickering = np.arange(N) % 2 == 0
    assert run(residual, seen=flickering)[1].time[0] == 0.0
    assert run(residual, off=np.ones(1, np.int64))[1].time[0] == 0.0
    assert run(residual, dt=2.0 * LONGEST)[1].time[0] == 0.0
    assert run(residual, dt=0.0)[1].time[0] == 0.0
