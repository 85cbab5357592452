"""Filters by their config, and smoothing of recordings without delay."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.rates.manifold import OK, plain
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.rates import RateEstimator, response, track
from rtsim.methods.kinematics.smoothing import cutoff_of_each_run, n_beyond, smooth
from streams.recording.player import REST_S
from tests.kernels.rates.test_rates import RATE, times, wandering
from tests.naive.rates import there_and_back


@pytest.mark.parametrize("order", [2, 4])
def test_smoothing_is_scipys_there_and_back(order):
    """Protects the offline option: two runs with reflected ends, each with the corrected cut-off."""
    spec = ButterworthSpec(6.0, order)
    x = np.random.default_rng(1).normal(size=300).cumsum()
    found = smooth(spec, plain(1), RATE, times(300), x[:, None])
    expected = there_and_back(order, cutoff_of_each_run(spec, RATE), RATE, x, n_beyond(spec, RATE))
    np.testing.assert_allclose(found.q[:, 0], expected, atol=1e-10)


def test_smoothing_halves_the_power_at_the_cut_off_and_has_no_delay():
    """Protects the stated cut-off of both runs together, and zero phase, with speed and acceleration."""
    t, w = times(1000), 2.0 * np.pi * 6.0
    found = smooth(ButterworthSpec(), plain(1), RATE, t, np.sin(w * t)[:, None])
    middle = slice(300, 700)
    np.testing.assert_allclose(found.q[middle, 0], np.sqrt(0.5) * np.sin(w * t)[middle], atol=1e-6)
    slow = np.sin(2.0 * t)
    found = smooth(ButterworthSpec(), plain(1), RATE, t, slow[:, None])
    np.testing.assert_allclose(found.v[middle, 0], 2.0 * np.cos(2.0 * t)[middle], atol=1e-3)
    np.testing.assert_allclose(found.v_dot[middle, 0], -4.0 * slow[middle], atol=3e-3)


def test_smoothing_keeps_a_straight_line_to_its_ends():
    """Protects the ends of a recording: a steady motion has its speed there, and no acceleration."""
    found = smooth(ButterworthSpec(), plain(1), RATE, times(200), 3.0 * times(200)[:, None])
    np.testing.assert_allclose(found.q[:, 0], 3.0 * times(200), atol=1e-5)
    np.testing.assert_allclose(found.v[:, 0], 3.0, atol=1e-3)


def test_smoothing_of_rotations_comes_from_both_sides():
    """Protects quaternions in the two runs: slow motions of all joints come back, unit quaternions stay."""
    manifold, q = wandering(400)
    found = smooth(ButterworthSpec(10.0), manifold, RATE, times(400), q)
    middle = slice(100, 300)
    np.testing.assert_allclose(np.linalg.norm(found.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    apart = np.abs(np.sum(found.q[:, 3:7] * q[:, 3:7], axis=1))
    assert 2.0 * np.arccos(np.clip(apart[middle].min(), -1, 1)) < 0.05
    forth = track(ButterworthSpec(10.0), manifold, RATE, times(400), q)
    behind = np.abs(np.sum(forth.q[:, 3:7] * q[:, 3:7], axis=1))
    assert apart[middle].min() > behind[middle].min()


def test_smoothing_leaves_out_what_is_missing():
    """Protects gaps: missing rows stay missing, and a long gap parts the recording in two."""
    t, x = times(300), np.sin(3.0 * times(300))[:, None]
    x[100:102], x[150:180] = np.nan, np.nan
    found = smooth(ButterworthSpec(), plain(1), RATE, t, x)
    assert np.isnan(found.q[100:102]).all()
    assert np.isnan(found.v[150:180]).all()
    assert not found.settled[150:180].any()
    alone = smooth(ButterworthSpec(), plain(1), RATE, t[180:], x[180:])
    np.testing.assert_allclose(found.q[180:], alone.q, atol=1e-12)
    np.testing.assert_allclose(
        found.q[30:130][np.isfinite(x[30:130])], x[30:130][np.isfinite(x[30:130])], atol=0.01
    )


def test_a_filter_is_named_by_its_kind():
    """Protects the config: kind chooses the estimator, and numbers that cannot be meant are refused."""
    assert msgspec.convert({"kind": "butterworth", "cutoff_hz": 8.0}, RateSpec) == ButterworthSpec(8.0)
    assert msgspec.convert({"kind": "savitzky_golay"}, RateSpec) == SavitzkyGolaySpec()
    for wrong in (
        {"kind": "kalman"},
        {"kind": "butterworth", "order": 3},
        {"kind": "savitzky_golay", "order": 3, "window_s": 0.1, "delay_s": 0.2},
        {"kind": "savitzky_golay", "order": 2, "window_s": 0.1, "delay_s": 0.0},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, RateSpec)


@pytest.mark.parametrize(
    ("spec", "rate"), [(ButterworthSpec(20.0), 40.0), (SavitzkyGolaySpec(0.05, 4, 0.0), 60.0)]
)
def test_a_rate_too_low_for_a_filter_is_told(spec, rate):
    """Protects the user from a filter that is none: the key and what is allowed."""
    with pytest.raises(ConfigError, match=r"rates\.") as caught:
        track(spec, plain(1), rate, np.zeros(0), np.zeros((0, 1)))
    assert "allowed" in str(caught.value)


@pytest.mark.parametrize("spec", [ButterworthSpec(), SavitzkyGolaySpec()])
def test_laps_of_a_looped_recording_are_not_bridged(spec: ButterworthSpec | SavitzkyGolaySpec) -> None:
    """Protects moments after a lap: the leap from the end of a recording to its start is no motion."""
    assert spec.longest_gap_s < REST_S


def test_a_parabola_through_three_frames_is_central_differences() -> None:
    """Protects rates without a filter (Andersen et al. 2017, eqs 7 to 10): exact, one frame late."""
    rate, rng = 100.0, np.random.default_rng(3)
    spec, x = SavitzkyGolaySpec(window_s=0.02), rng.normal(size=12)
    estimator = RateEstimator(spec, plain(1), rate)
    for k in range(12):
        settled = estimator.take(k / rate, x[k : k + 1]) == OK
        assert settled == (k >= 2)
        if settled:
            wanted = x[k - 1], 0.5 * rate * (x[k] - x[k - 2]), rate**2 * (x[k] - 2.0 * x[k - 1] + x[k - 2])
            np.testing.assert_allclose(np.concatenate(estimator.rates), wanted, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(response(spec, rate).delay_s, 0.01)
