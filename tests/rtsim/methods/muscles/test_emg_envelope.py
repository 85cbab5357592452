"""The envelope of an electromyogram: what filters do is known for sines, and chunks make no difference."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.methods.muscles.emg_envelope import EmgEnvelope

RATE = 1000.0
SETTLED = 196
"""Samples until both filters have settled: 4 sqrt(2) / (2 pi) periods of 6 and of 20 Hz."""


def butterworth(samples: np.ndarray, cut_off: float, high: bool) -> np.ndarray:
    """A filter of second order by the bilinear transform, sample by sample, from its textbook equation."""
    c = 1.0 / np.tan(np.pi * cut_off / RATE)
    a0 = c * c + np.sqrt(2.0) * c + 1.0
    b = np.array([c * c, -2.0 * c * c, c * c] if high else [1.0, 2.0, 1.0]) / a0
    a1, a2 = 2.0 * (1.0 - c * c) / a0, (c * c - np.sqrt(2.0) * c + 1.0) / a0
    out = np.zeros_like(samples)
    for k in range(len(samples)):
        x = [samples[k - i] if k >= i else 0.0 for i in range(3)]
        y = [out[k - i] if k >= i else 0.0 for i in (1, 2)]
        out[k] = np.dot(b, x) - a1 * y[0] - a2 * y[1]
    return out


def test_the_envelope_is_the_textbooks() -> None:
    """Protects the filters: equal to the difference equations of Butterworth's, in chunks of any size."""
    signal = np.random.default_rng(0).normal(size=400)
    expected = butterworth(np.abs(butterworth(signal, 20.0, True)), 6.0, False)
    envelope = EmgEnvelope(RATE, 2)
    both = np.column_stack((signal, -signal))
    got = np.concatenate([envelope(part) for part in np.split(both, [1, 7, 200])])
    np.testing.assert_allclose(got[SETTLED:, 0], expected[SETTLED:], atol=1e-12)
    np.testing.assert_allclose(got[SETTLED:, 1], expected[SETTLED:], atol=1e-12)


def test_the_beginning_is_not_known_until_the_filters_have_settled() -> None:
    """Protects the first part of an envelope, which rises from zero whatever the muscle does."""
    times = np.arange(3000) / RATE
    sine = np.sin(2.0 * np.pi * 150.0 * times)[:, None]
    envelope = EmgEnvelope(RATE, 1)
    got = np.concatenate([envelope(part) for part in np.split(sine, [1, 100, 150])])[:, 0]
    assert int(np.ceil(envelope.settle_s * RATE)) == SETTLED
    assert np.isnan(got[:SETTLED]).all()
    assert got[SETTLED:] == pytest.approx(np.full(len(got) - SETTLED, 2.0 / np.pi), rel=0.05)


def test_after_a_gap_it_is_unknown_for_as_long() -> None:
    """Protects what follows a gap, in which the filters had nothing: as long again, of this channel alone."""
    samples = np.random.default_rng(0).normal(size=(3000, 2))
    samples[1000:1030, 0] = np.nan
    samples[2000:2600, 0] = np.nan
    envelope = EmgEnvelope(RATE, 2)
    got = np.concatenate([envelope(part) for part in np.split(samples, [1010, 1040, 2700])])
    known = np.flatnonzero(np.isnan(got[SETTLED:, 0])) + SETTLED
    assert known.tolist() == [*range(1000, 1060), *range(2000, 2600 + SETTLED)]
    assert np.isfinite(got[SETTLED:, 1]).all()


def test_a_sine_has_the_mean_of_its_rectified_self() -> None:
    """Protects scale: of a sine of amplitude 1 the envelope is 2 / pi, of an offset nothing; changes come
    later by the delay that is told.
    """
    times = np.arange(3000) / RATE
    envelope = EmgEnvelope(RATE, 1)
    got = envelope((5.0 + np.sin(2.0 * np.pi * 150.0 * times))[:, None])[:, 0]
    assert got[2000:].mean() == pytest.approx(2.0 / np.pi, rel=0.01)
    slow = 1.0 + 0.5 * np.sin(2.0 * np.pi * 0.5 * times)
    got = EmgEnvelope(RATE, 1)((slow * np.sin(2.0 * np.pi * 150.0 * times))[:, None])[:, 0]
    peak = 1e-3 * (np.argmax(np.convolve(got[2000:], np.ones(50), "same")) + 2000) - 2.5
    assert peak == pytest.approx(envelope.delay_s, abs=0.02)


def test_what_is_no_number_leaves_the_filters_sound() -> None:
    """Protects a live run: samples that are none are NaN, and those after them are numbers again."""
    samples = np.random.default_rng(0).normal(size=(600, 2))
    samples[300:310, 0] = np.nan
    samples[305:307, 0] = np.inf, 1e308
    got = EmgEnvelope(RATE, 2)(samples)
    assert np.isnan(got[300:310, 0]).all()
    assert np.isfinite(got[320:, 0]).all()
    assert np.isfinite(got[SETTLED:, 1]).all()


@pytest.mark.parametrize("rate", [0.0, 50.0, float("nan")])
def test_a_rate_of_envelopes_is_refused(rate: float) -> None:
    """Protects against filtering an envelope twice."""
    with pytest.raises(ConfigError, match="raw electromyogram"):
        EmgEnvelope(rate, 1)
    with pytest.raises(ConfigError, match="low-pass"):
        EmgEnvelope(RATE, 1, low_pass=30.0)
