"""The stage of electromyograms: the envelope of the newest sample at each frame, as a live stream has it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_emg import C3dEmg
from rtsim.methods.muscles.emg_envelope import EmgEnvelope
from rtsim.stages.electromyograms import Electromyograms, envelopes_of
from streams.codec import FieldLayout
from streams.messages import marker_session
from streams.receiving.ring import ReceivedFrame

RATE, START = 1000.0, 0.37


def recorded(samples, rate=RATE, notes=()):
    return C3dEmg(tuple("AB"[: samples.shape[1]]), "V", samples, rate, START, notes)


def bursts(n=3000):
    """Return (n, 2) noise that is loud in the middle third of one channel and its ends of the other."""
    noise = np.random.default_rng(3).normal(size=(n, 2))
    middle = (np.arange(n) // (n // 3) == 1)[:, None]
    return noise * np.where(middle, [[1.0, 0.1]], [[0.1, 1.0]])


def frame_at(time):
    session = marker_session(["A"], rate=100.0, t_start=0, unit="m", up="Y")
    frame = ReceivedFrame(session, FieldLayout(session))
    frame.time = time
    return frame


def shown(stage, time):
    stage.run(frame_at(time))
    return stage.quantities()[0].array.copy()


def test_each_frame_has_the_envelope_of_its_newest_sample():
    """Protects the time of muscles: sample k counts from its own time on, until the next one's."""
    samples = bursts()
    stage, envelopes = Electromyograms(recorded(samples)), EmgEnvelope(RATE, 2)(samples - samples[0])
    for k in (0, 1, 777, 2999):
        np.testing.assert_array_equal(shown(stage, START + k / RATE), envelopes[k])
        np.testing.assert_array_equal(shown(stage, START + (k + 0.9) / RATE), envelopes[k])
    assert shown(stage, START + 1.5)[0] > 3.0 * shown(stage, START + 1.5)[1]


def test_no_later_sample_counts():
    """Protects causality: what comes after a frame changes nothing of it, as in a live stream."""
    samples = bursts()
    whole, cut = envelopes_of(recorded(samples))[0], envelopes_of(recorded(samples[:1500]))[0]
    np.testing.assert_array_equal(whole[:1500], cut)


def test_a_constant_offset_is_no_activity():
    """Protects the first frames: an amplifier's offset makes no burst at the start."""
    samples = bursts()
    np.testing.assert_allclose(
        envelopes_of(recorded(samples + 2.5))[0], envelopes_of(recorded(samples))[0], atol=1e-12
    )
    nothing = np.full((500, 1), np.nan)
    assert np.isnan(envelopes_of(recorded(nothing))[0]).all()


@pytest.mark.parametrize("time", [START - 0.01, START + 3.01, math.nan, -1e300])
def test_frames_without_samples_have_none(time):
    """Protects a loop that goes on: outside of the recording there is no number, and it is counted."""
    stage = Electromyograms(recorded(bursts()))
    assert np.isnan(shown(stage, time)).all()
    assert stage.counters["frames_without_emg"] == 1


def test_notes_are_told_once():
    """Protects who reads along: what is odd about a channel is said with the first frame, once."""
    stage = Electromyograms(recorded(bursts(), notes=("A is saturated.",)))
    shown(stage, START)
    shown(stage, START)
    assert stage.sentences == [
        "A is saturated.",
        "EMG envelopes are NaN in the first 195 ms, until their filters have settled.",
    ]
    (quantity,) = stage.quantities()
    assert (quantity.name, quantity.unit, quantity.labels) == ("emg_envelope", "V", ("A", "B"))


def test_a_rate_below_that_of_raw_signals_is_refused():
    """Protects from envelopes of envelopes: they are told by their rate."""
    with pytest.raises(ConfigError, match="electromyogram, 50 Hz, is too low"):
        envelopes_of(recorded(bursts(), 50.0))
