"""A static trial out of a stream: when it is good enough, what is told before, and why it never came."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from rtsim.live.subjects.standing_trial import STILL_MM, StandingSoFar, StandingTrial, reach_back, refusal
from rtsim.subjects.calibration.calibration import subject_for
from streams.messages import marker_session
from tests.rtsim.subjects.conventional.persons import MEASURES, person

RATE = 100.0
STANDS = person(n=1)


def session_of(names=STANDS.names, unit: str = "m"):
    return marker_session(names, rate=RATE, t_start=0, unit=unit)


class Stream:
    """Frames of a person who sways, one after the other, as a stream hands them over."""

    def __init__(self, names=STANDS.names, factor: float = 1.0, unit: str = "m") -> None:
        self.standing = StandingTrial("tcp://127.0.0.1:1", 1.0)
        self.session, self.factor, self.n = session_of(names, unit), factor, 0
        self.rate, self.time_of = RATE, lambda n: n / self.rate

    def play(self, seconds: float, speed: float = 0.0, without: str = "") -> Stream:
        """speed : of the person forwards [m/s]; without : a marker that nobody sees"""
        for k in range(round(self.rate * seconds)):
            sways = [speed * k / self.rate + 0.004 * np.sin(0.05 * self.n), 0.0, 0.0]
            x = self.factor * (STANDS.positions[0] + sways)
            if without:
                x[STANDS.names.index(without)] = np.nan
            frame = SimpleNamespace(session=self.session, time=self.time_of(self.n), data={"positions": x})
            self.standing.take(frame)
            self.n += 1
        return self


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "m"), (1000.0, "mm")])
def test_standing_still_is_enough_after_a_second(factor: float, unit: str) -> None:
    """Protects the trial: frames in a row in metres, of which a subject with both legs comes."""
    stream = Stream(factor=factor, unit=unit).play(0.5)
    assert stream.standing.look().seconds == pytest.approx(0.5, abs=0.02)
    so_far = stream.play(0.6).standing.look()
    assert so_far.seconds >= 1.0
    assert so_far.movement_mm < 5.0
    assert so_far.missing == ()
    trial = stream.standing.trial()
    assert trial.positions[:, 0].mean(axis=0) == pytest.approx(STANDS.positions[0, 0], abs=0.005)
    assert subject_for(trial._replace(subject=MEASURES), side="").side == "both"


def test_who_walks_up_is_counted_from_where_they_stand() -> None:
    """Protects the trial from the steps before it: seconds count anew, and their frames are not in it."""
    stream = Stream().play(1.5, speed=1.0)
    walking = stream.standing.look()
    assert walking.seconds < 0.2
    assert walking.movement_mm > STILL_MM
    assert "stand still" in walking.in_words
    stream.play(0.8)
    assert stream.standing.look().seconds == pytest.approx(0.8, abs=0.1)
    assert len(stream.standing.trial().times) < 100


def test_a_marker_that_is_not_seen_is_named() -> None:
    """Protects a subject without a toe: such frames do not count, and words and refusal say which marker."""
    so_far = Stream().play(2.0, without="RTOE").standing.look()
    assert so_far.seconds == 0.0
    assert so_far.missing == ("RTOE",)
    assert "RTOE missing" in so_far.in_words
    assert "RTOE not seen" in str(refusal(so_far, 1.0, "here"))


def test_labels_that_no_map_has_and_a_label_too_few() -> None:
    """Protects strangers' streams: why their labels cannot be used, and a label that is lacking."""
    other = Stream(names=tuple(f"M{k}" for k in range(len(STANDS.names)))).play(0.1)
    assert "no marker map of the program fits" in str(refusal(other.standing.look(), 1.0, "here"))
    names = tuple("STRANGE" if name == "RANK" else name for name in STANDS.names)
    assert Stream(names=names).play(1.2).standing.look().missing == ("RANK",)


def test_a_new_session_or_time_that_runs_back_begins_anew() -> None:
    """Protects the trial from frames of another stream, and of a recording that is looped."""
    stream = Stream().play(1.2)
    stream.session = session_of()
    assert stream.play(0.1).standing.look().seconds == pytest.approx(0.1, abs=0.02)
    stream.n = 0
    assert stream.play(0.2).standing.look().seconds == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("rate", "time_of"),
    [(120.0, lambda n: (n - (n % 40 == 39)) / 120.0), (120.0, lambda n: np.floor(100.0 * n / 120.0) / 100.0)],
    ids=["one of forty sent again", "rounded to a hundredth"],
)
def test_frames_with_one_time_do_not_begin_anew(rate: float, time_of: Callable[[int], float]) -> None:
    """Protects whoever stands before a system that sends frames again, or rounds their times."""
    stream = Stream()
    stream.rate, stream.time_of = rate, time_of
    assert stream.play(1.2).standing.look().seconds == pytest.approx(1.2, abs=0.05)
    trial = stream.standing.trial()
    assert (np.diff(trial.times) > 0.0).all()
    assert any("with the time of the frame before left out" in note for note in trial.notes)


def test_a_minute_at_a_high_rate_is_reached() -> None:
    """Protects long static trials of fast cameras: frames are thinned evenly, not lost, and this is told."""
    stream = Stream()
    stream.standing, stream.rate = StandingTrial("here", 60.0), 500.0
    stream.play(61.0)
    assert stream.standing.look().seconds >= 60.0
    trial = stream.standing.trial()
    assert trial.rate == pytest.approx(500.0 / 3.0)
    np.testing.assert_allclose(np.diff(trial.times), 0.006, rtol=1e-6)
    assert any("one every 6 ms is enough" in note for note in trial.notes)


def test_reach_by_the_obvious_way() -> None:
    """Protects the running extent of the frames against one that is computed anew for each."""
    x = np.random.default_rng(1).normal(size=(30, 4, 3))
    x[5:9, 1] = x[20:, 3] = np.nan
    with np.errstate(all="ignore"):
        slow = [
            max(
                0.5 * float(np.linalg.norm(np.ptp(seen, axis=0)))
                for m in range(4)
                if len(seen := x[k:, m][np.isfinite(x[k:, m]).all(axis=1)])
            )
            for k in range(30)
        ]
    np.testing.assert_allclose(reach_back(x), slow)


@pytest.mark.parametrize(
    ("over", "words"), [(True, "the stream ended before"), (False, "did not stand still")]
)
def test_too_short_is_told_by_its_reason(over: bool, words: str) -> None:
    """Protects the remedy: a stream that ends is another matter than a person who does not stand."""
    assert words in str(refusal(Stream().play(0.5).standing.look(), 1.0, "here", over))
    assert "no frame has arrived" in str(refusal(StandingTrial("here", 1.0).look(), 1.0, "here", over))


@pytest.mark.parametrize("side", ["", "left"])
def test_a_width_that_nobody_gave_is_told_with_the_first_frame(side: str) -> None:
    """Protects a person from standing for a marker set that needs a width which is not known."""
    stream = Stream()
    stream.standing = StandingTrial("here", 1.0, side=side, stored={})
    stream.play(0.01)
    assert f"the width of the {side or 'right'} knee and ankle is needed" in str(stream.standing.lacking)
    assert "--knee-width" in str(stream.standing.lacking)
    stream.standing = StandingTrial("here", 1.0, side=side, stored=MEASURES)
    assert stream.play(0.01).standing.lacking is None
    assert Stream().play(0.01).standing.lacking is None  # whoever asks brings them later


@pytest.mark.parametrize(("seconds", "words"), [(0.96, "0.9 s"), (0.3, "0.3 s"), (1.0, "1.0 s")])
def test_no_more_time_is_told_than_counts(seconds, words):
    """Protects who stands there: a second that is told is a second that suffices."""
    assert StandingSoFar(seconds, n_wanted=4).in_words.endswith(f", {words} counted as standing still")


def test_a_trial_of_a_recording_that_is_played_faster_has_its_own_rate() -> None:
    """Protects the rate of the trial: that of the stream is twice as high at twice the speed."""
    stream = Stream()
    stream.session = marker_session(STANDS.names, rate=2.0 * RATE, t_start=0, meta={"speed": 2.0})
    assert stream.play(1.2).standing.trial().rate == RATE
