"""What the page is told."""

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from rtsim.bridges.gait_events import GaitEvents
from rtsim.bridges.page_messages import curves_message, layout_message, look_message, state_message, stride_of
from rtsim.monitor.feed import Feed
from rtsim.monitor.theme import LIGHT
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame


class Frames:
    """A source of frames that are there already."""

    def __init__(self, frames: list[ReceivedFrame]) -> None:
        self.frames = deque(frames)
        self.session: Session | None = frames[0].session if frames else None
        self.counters = {"received": 0, "lost": 0, "skipped": 0}
        self.events: deque[str] = deque()
        self.telemetry: deque[Any] = deque()
        self.ended = False

    def wait(self, timeout_s: float) -> ReceivedFrame | None:
        return self.frames.popleft() if self.frames else None


def feed_of(frames: list[ReceivedFrame]) -> Feed:
    feed = Feed(Frames(frames), "tcp://127.0.0.1:5561")
    while feed.take()[1]:
        pass
    return feed


def test_the_layout_is_that_of_the_window(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects one way for names, panels and sticks: the page is told the monitor's layout, as JSON."""
    feed = feed_of(walk_frames(0, 3))
    assert feed.layout is not None
    told = msgspec.json.decode(msgspec.json.encode(layout_message(feed.layout)))
    assert [panel["title"] for panel in told["panels"]] == [panel.title for panel in feed.layout.panels]
    assert told["panels"][0]["axis"] == "angle (°)"
    assert [panel["sides"] for panel in told["panels"]] == [list(p.drawn_sides) for p in feed.layout.panels]
    assert told["sticks"] == feed.layout.stick.tolist() == [[0, 1], [1, 2], [0, 3], [3, 4]]
    assert told["sides"] == ["", "right", "right", "left", "left"]
    assert told["follow"] == 0
    assert look_message()["themes"]["light"]["right"] == LIGHT.right


def test_the_person_whom_a_file_names_is_not_sent_to_the_page(
    walk_frames: Callable[..., list[ReceivedFrame]],
) -> None:
    """Protects the name of a patient from tablets about the laboratory."""
    feed = feed_of(walk_frames(0, 1))
    assert feed.layout is not None
    named = feed.layout._replace(meta={"method": "minimised", "subject_name": "Anna Beck"})
    assert layout_message(named)["meta"] == {"method": "minimised"}


def test_unknown_places_are_null(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects JavaScript, whose JSON has no NaN, and the figure from places that cannot be."""
    hidden = np.array([[np.nan] * 3, [1e6, 0.0, 0.0]])
    feed = feed_of(walk_frames(0, 1, markers_measured=hidden))
    told = msgspec.json.decode(msgspec.json.encode(state_message(feed, GaitEvents())))
    assert told["figure"]["markers_measured"] == [[None] * 3, [None, 0.0, 0.0]]
    np.testing.assert_allclose(told["figure"]["joint_centres"][0], [0.0, 1.0, 0.0])


def test_doubtful_and_worthless_frames_are_told(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects honesty: status in words with its mood, quality beside curves, no stale values."""
    frames = walk_frames(0, 3)
    frames[1].status, frames[2].status = int(Status.DEGRADED), int(Status.STALE)
    feed = feed_of(frames)
    assert state_message(feed, GaitEvents())["chips"]["status"] == ["stale", "bad"]
    assert state_message(feed, GaitEvents())["dim"]
    curves, _ = curves_message(feed, [0], 0)
    assert curves["quality"] == [0, 1, 3]
    assert np.isnan(curves["panels"]["0"][0][2])


def test_before_any_session_only_words_are_told() -> None:
    """Protects the page that is there before the estimator."""
    feed = feed_of([])
    told = state_message(feed, GaitEvents())
    assert "waiting for a result stream at tcp://127.0.0.1:5561" in told["connection"]["words"]
    assert curves_message(feed, [0], 0) == ({}, 0)


@pytest.mark.parametrize(("rate", "stride"), [(20.0, 1), (100.0, 1), (200.0, 4), (1000.0, 32)])
def test_every_sample_is_told_once(
    walk_frames: Callable[..., list[ReceivedFrame]],
    new_walk_session: Callable[..., Session],
    rate: float,
    stride: int,
) -> None:
    """Protects curves that are sent in parts: no sample twice, none left out but of an unfinished block."""
    assert stride_of(rate) == stride
    session = new_walk_session(rate)
    frames = walk_frames(0, 150, session)
    feed, n_sent, times, lows = Feed(Frames([]), "x"), 0, [], []
    for part in (frames[:1], frames[1:40], frames[40:41], frames[41:150]):
        feed.source = Frames(part)
        feed.take()
        curves, n_sent = curves_message(feed, [0], n_sent)
        times += curves.get("time", [])
        lows += curves["panels"]["0"][0] if curves else []
    n_told = 150 // stride * stride
    step = stride / 2 if stride > 1 else 1
    np.testing.assert_allclose(times, np.arange(n_told / step) * step / rate, atol=1e-3)
    expected = np.degrees(0.4 * np.sin(0.06 * np.arange(n_told)))
    assert min(lows) == pytest.approx(expected.min(), abs=1e-3)
    assert max(lows) == pytest.approx(expected.max(), abs=1e-3)


def test_whoever_joins_gets_the_last_seconds_alone(
    walk_frames: Callable[..., list[ReceivedFrame]],
) -> None:
    """Protects a tablet: what is sent at first is what it can show, however long the run is."""
    feed = feed_of(walk_frames(0, 4000))
    curves, n_sent = curves_message(feed, [0, 99], 0)
    assert 2000 <= len(curves["time"]) <= 2001
    assert n_sent == 4000
    assert list(curves["panels"]) == ["0"]
