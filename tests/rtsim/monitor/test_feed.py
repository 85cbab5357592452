"""From frames to what is drawn."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rtsim.monitor.feed import Change, Feed
from rtsim.monitor.plots.history import Quality
from streams.messages import FieldSpec, Session, Status, Telemetry
from tests.rtsim.monitor.gait import walk


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def feed_on(source: Any, clock: Callable[[], float] | None = None) -> Feed:
    return Feed(source, "tcp://127.0.0.1:5561", clock or Clock())


def hip(feed: Feed) -> list[float]:
    return feed.history.window(60.0).values[0].tolist()


def test_frames_become_curves_and_a_pose(source: Any) -> None:
    """Protects the way of a frame: its values in the history, its arrays as the newest pose."""
    feed = feed_on(source)
    frames = [source.add(seq) for seq in range(5)]
    assert feed.take() == (Change.FIELDS, 5)
    np.testing.assert_allclose(hip(feed), [np.degrees(f.data["joint_angles"][0]) for f in frames])
    np.testing.assert_array_equal(feed.pose["markers_model"], frames[-1].data["markers_model"])
    assert feed.take() == (Change.NOTHING, 0)


def test_pose_is_a_copy(source: Any) -> None:
    """Protects the figure: the subscriber may use the frame's memory again."""
    feed = feed_on(source)
    frame = source.add(0)
    feed.take()
    frame.data["markers_model"].fill(7.0)
    assert not (feed.pose["markers_model"] == 7.0).any()


def test_lost_frames_leave_a_gap(source: Any) -> None:
    """Protects honesty: between the frames around a loss there is no line, and the stretch is marked."""
    feed = feed_on(source)
    for seq in (0, 1, 5, 6):
        source.add(seq)
    feed.take()
    window = feed.history.window(60.0)
    assert np.isnan(window.values[0]).tolist() == [False, False, True, True, False, False]
    assert window.quality.tolist() == [0, 0, Quality.MISSING, Quality.MISSING, 0, 0]
    np.testing.assert_allclose(window.time, [0.0, 0.01, 0.015, 0.045, 0.05, 0.06])


@pytest.mark.parametrize("status", [Status.STALE, Status.INVALID_INPUT])
def test_worthless_frames_are_gaps(source: Any, status: Status) -> None:
    """Protects against old values: a stale or invalid frame is shown as missing."""
    feed = feed_on(source)
    source.add(0)
    source.add(1, int(status))
    feed.take()
    assert np.isnan(feed.history.latest(1).values).all()
    assert feed.pose_quality is Quality.MISSING


@pytest.mark.parametrize(
    ("status", "quality"),
    [(Status.DEGRADED, Quality.DEGRADED), (Status.NOT_CONVERGED, Quality.UNUSABLE)],
)
def test_doubtful_frames_are_drawn_and_marked(source: Any, status: Status, quality: Quality) -> None:
    """Protects degraded frames: their values are shown, with the mark."""
    feed = feed_on(source)
    source.add(0, int(status))
    feed.take()
    newest = feed.history.latest(1)
    assert np.isfinite(newest.values).all()
    assert newest.quality.tolist() == [quality]


def test_restart_with_the_same_fields_goes_on_after_a_gap(
    source: Any, session_of: Callable[..., Session]
) -> None:
    """Protects the curves over a restart or a change of method: they stay, and a gap shows it."""
    feed = feed_on(source)
    source.add(40)
    feed.take()
    source.session = session_of(meta={**source.session.meta, "method": "zero"})
    source.add(0)
    source.add(1)
    assert feed.take() == (Change.DETAILS, 2)
    assert np.isnan(hip(feed)).tolist() == [False, True, True, False, False]
    assert feed.layout is not None
    assert feed.layout.meta["method"] == "zero"


def test_restart_with_other_fields_begins_anew(source: Any, session_of: Callable[..., Session]) -> None:
    """Protects against frames drawn in the wrong layout, also when both sessions wait in one turn."""
    feed = feed_on(source)
    old, new = source.session, session_of((FieldSpec(name="marker_rms", shape=(1,), unit="m"),))
    source.add(0, session=old)
    source.add(0, session=new)
    source.session = new
    assert feed.take() == (Change.FIELDS, 2)
    assert feed.history.window(60.0).values.tolist() == [[pytest.approx(8.7)]]
    assert feed.pose == {}  # it has no place in the figure


def test_the_past_is_kept_beyond_the_history(source: Any) -> None:
    """Protects looking back: curves and poses of a moment before, while more is coming."""
    feed = feed_on(source)
    for seq in range(50):
        source.add(seq)
    feed.take()
    window = feed.archive.window(0.205, 0.1)
    np.testing.assert_allclose(window.time, 0.01 * np.arange(11, 21), atol=1e-9)
    swing = np.degrees(0.3 * np.sin(0.05 * np.arange(11, 21)))
    np.testing.assert_allclose(window.values[0], swing, rtol=1e-6)
    pose, _ = feed.poses.at(0.205)
    assert pose["segment_positions"][0, 0] == pytest.approx(0.2, abs=0.05)
    feed.clear()
    assert len(feed.archive) == 0
    source.add(50)
    feed.take()
    assert len(feed.archive) == 1


def test_clearing_sets_curves_and_counts_to_zero(source: Any) -> None:
    """Protects the Clear button: losses before it are not counted any more, later ones are."""
    feed = feed_on(source)
    source.add(0)
    source.counters["lost"] = 7
    feed.take()
    feed.clear()
    assert (len(feed.history), feed.meter.n_frame, feed.counters()["lost"]) == (0, 0, 0)
    source.counters["lost"] = 9
    assert feed.counters()["lost"] == 2


def test_sentences_of_both_sides_are_kept(source: Any) -> None:
    """Protects the event line: the estimator's and the subscriber's sentences, newest last."""
    feed = feed_on(source)
    source.telemetry.append(Telemetry(session="", t=0, counters={"late": 2}, text=["A marker is back."]))
    source.events.append("3 frames lost.")
    feed.take()
    assert list(feed.sentences.kept) == ["A marker is back.", "3 frames lost."]
    assert feed.telemetry is not None
    assert feed.telemetry.counters == {"late": 2}


def test_flood_is_taken_in_turns(source: Any) -> None:
    """Protects the window under a flood: one turn takes a bounded number of frames."""
    feed = feed_on(source)
    for seq in range(1000):
        source.add(seq)
    assert 0 < feed.take()[1] < 1000


def test_connection_in_words(source: Any) -> None:
    """Protects the words of each state, from waiting to the end of the stream."""
    clock = Clock()
    session, source.session = source.session, None
    feed = feed_on(source, clock)
    feed.take()
    assert feed.connection().words == "waiting for a result stream at tcp://127.0.0.1:5561"
    source.session = session
    feed.take()
    assert feed.connection().words == "stream announced, waiting for its first frame"
    source.add(0)
    feed.take()
    assert feed.connection().words == "receiving"
    clock.now += 1.5
    assert re.fullmatch(r"no data since \d\d:\d\d:\d\d", feed.connection().words)
    source.ended = True
    assert feed.connection().words == "the stream has ended"


def test_failed_receiver_is_said_and_not_raised(source: Any) -> None:
    """Protects the open window: when receiving fails, what was drawn stays and the reason is shown."""
    feed = feed_on(source)
    source.add(0)
    feed.take()
    source.fault = "receiving has failed"
    assert feed.take() == (Change.NOTHING, 0)
    assert feed.connection() == ("receiving has failed", "bad", False, False)
    assert len(feed.history) == 1


@pytest.mark.parametrize("times", [3.2 + 0.02 * np.arange(50), np.full(50, 7.0), 9.0 - 0.1 * np.arange(50)])
def test_times_of_the_trial_are_those_of_the_frames(source: Any, times: np.ndarray) -> None:
    """Protects the times in a saved table where the trial is played fast, stands, or goes back."""
    feed = feed_on(source)
    for seq, time in enumerate(times.tolist()):
        source.add(seq).time = time
    feed.take()
    np.testing.assert_array_equal(feed.history.window(60.0).in_trial, times)
    np.testing.assert_array_equal(feed.archive.window(60.0, 61.0).in_trial, times)
    assert feed.trial_time == times[-1]


def test_a_dropout_lasts_as_long_as_it_did(source: Any) -> None:
    """Protects the time axis: stale frames of a dropout repeat an old one, and take no time of their own."""
    feed = feed_on(source)
    source.add(0).time = 5.0
    for k in range(8):
        source.add(1 + k, int(Status.STALE), t_capture=0).time = 5.0
    feed.take()
    assert feed.history.latest(1).time.tolist() == [0.0]
    source.add(9, t_capture=2_000_000_000).time = 7.0
    source.add(10, t_capture=2_010_000_000).time = 7.01
    feed.take()
    window = feed.history.window(60.0)
    np.testing.assert_allclose(window.time[-4:], [0.005, 1.995, 2.0, 2.01])
    assert np.isnan(window.in_trial).tolist() == [False, *[True] * 10, False, False]
    assert feed.poses.at(1.0)[1] is Quality.MISSING


@pytest.mark.parametrize("key", ["side", "stick", "subject", "subject_name", "person", "source"])
def test_another_person_begins_anew(source: Any, session_of: Callable[..., Session], key: str) -> None:
    """Protects from curves and marks of another person, side or trial, where the fields are the same."""
    meta = {"subject": "S01", "subject_name": "Anna", "side": "left", "source": "a.trc", "stick": []}
    source.session = session_of(meta=meta)
    feed = feed_on(source)
    source.add(40)
    feed.take()
    feed.mark()
    source.session = session_of(meta={**meta, key: [["hip", "knee"]] if key == "stick" else "right"})
    source.add(0)
    assert feed.take() == (Change.FIELDS, 1)
    assert len(feed.history) == 1
    assert not feed.marks
    assert feed.begun == -np.inf


def test_sessions_on_one_axis_are_told_apart(source: Any, session_of: Callable[..., Session]) -> None:
    """Protects tables and strides over a change of method: it is known where the new session begins."""
    feed = feed_on(source)
    source.add(0)
    source.add(1)
    feed.take()
    assert feed.begun == -np.inf
    source.session = session_of()
    source.add(0)
    assert feed.take() == (Change.DETAILS, 1)
    newest = float(feed.history.latest(1).time[0])
    assert feed.begin_of(newest) == feed.begun == pytest.approx(0.01)
    assert feed.begin_of(0.01) == -np.inf


def test_poses_between_lost_frames_are_those_of_frames(source: Any) -> None:
    """Protects looking back where single frames are lost: the poses of the others are not missing."""
    feed = feed_on(source)
    for seq in range(0, 240, 6):  # the gaps are longer than the time between two poses
        source.add(seq)
    feed.take()
    found = [feed.poses.at(0.06 * k)[1] for k in range(40)]
    assert found == [Quality.GOOD] * 40


@pytest.mark.parametrize(("status", "n_event"), [(Status.OK, 1), (Status.NOT_CONVERGED, 0)])
def test_frames_that_did_not_converge_make_no_events(source: Any, status: Status, n_event: int) -> None:
    """Protects gait events from frames that describe nothing: as of missing ones, none is found in them."""
    source.session = walk.session((walk.LOADS,))
    feed = feed_on(source)
    for seq in range(40):
        found = walk.frame(source.session, seq)
        found.data["foot_loads"][...] = 700.0 if seq >= 10 else 0.0, 0.0
        found.status = int(status) if 5 <= seq < 30 else 0
        source.frames.append(found)
    feed.take()
    assert len(feed.gait.kept) == n_event


def test_a_session_without_frames_hides_no_break(source: Any, session_of: Callable[..., Session]) -> None:
    """Protects tables over two changes of session in quick succession: the first frame has its row."""
    feed = feed_on(source)
    source.add(0)
    feed.take()
    for _ in range(2):
        source.session = session_of()
        feed.take()
    source.add(0)
    feed.take()
    times = feed.history.window(60.0).time
    assert np.isnan(hip(feed)).tolist() == [False, True, True, False]
    assert times[-1] > feed.begin_of(float(times[-1])) == times[0]
