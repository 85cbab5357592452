"""The bench of speeds and accelerations: its figures, and that it finds a delay that is known."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.rates.manifold import plain
from rtsim.bench.markers import rates
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.methods.kinematics.rates import response, track
from rtsim.methods.kinematics.smoothing import smooth


def test_figures_of_the_walker():
    """Protects the bench itself: every filter has delay, gains and errors, and delays seen are those
    stated."""
    figures = {f.name: f.value for f in rates.run()}
    assert all(np.isfinite(value) for value in figures.values())
    for name, spec in rates.FILTERS.items():
        stated = figures[f"delay_ms.{name}.walker"]
        assert stated == pytest.approx(1e3 * response(spec, 100.0).delay_s[0], abs=1e-9)
        assert figures[f"speed_delay_ms.{name}.walker"] == pytest.approx(stated, abs=2.0)


def test_a_known_delay_is_found():
    """Protects the measurement: a slow sine through a filter is as late as the filter says."""
    t = np.arange(600) / 100.0
    moving = rates.SolvedTrial(t, np.sin(3.0 * t)[:, None], 100.0, plain(1), np.ones(1, bool))
    spec = ButterworthSpec(6.0, 4)
    found = track(spec, moving.manifold, 100.0, t, moving.q)
    still = smooth(rates.REFERENCE, moving.manifold, 100.0, t, moving.q)
    errors = np.array([rates.error_at(s, moving, found, found.v, still.v) for s in rates.SHIFTS])
    assert rates.lowest(errors) == pytest.approx(response(spec, 100.0).delay_s[0], abs=2e-4)


def test_a_static_trial_is_noise():
    """Protects the still figures: white noise on a person who stands is multiplied by the noise gain."""
    t, noise = np.arange(4000) / 100.0, 1e-3
    q = np.random.default_rng(0).normal(0.0, noise, (4000, 3))
    still = rates.SolvedTrial(t, q, 100.0, plain(3), np.ones(3, bool))
    spec = ButterworthSpec()
    speed, acceleration = (f.value for f in rates.still_figures("x", spec, still))
    gain = np.degrees(noise) * response(spec, 100.0).noise_gain
    assert speed == pytest.approx(gain[1], rel=0.05)
    assert acceleration == pytest.approx(gain[2], rel=0.05)
