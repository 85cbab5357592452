"""What strangers on the markers' stream may cost the loop, through sockets; what takes long, takes it on a
clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgpack
import numpy as np
import pytest

from rtsim.live.inputs.inputs import StreamInput
from rtsim.live.inputs.turns import SHARE, Turns
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.access.allowance import MOST_NS, Allowance
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import Session, Status, marker_session, new_session_id
from streams.receiving.known import AHEAD
from streams.receiving.ring import ReceivedFrame

STALE = int(Status.STALE)
BEGINS_NS = 20_000_000
"""So long a session takes to begin on the slow machine of these tests [ns]."""


class Clock:
    """The machine's clock, and what is added to it."""

    def __init__(self) -> None:
        self.added_ns = 0

    def __call__(self) -> int:
        return now_ns() + self.added_ns


class Slow(Stage):
    """Takes long to begin a session, on the clock of the loop; counts how often it did."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock, self.n_begun = clock, 0

    def begin(self, session: Session, anew: bool) -> None:
        self.n_begun += 1
        self._clock.added_ns += BEGINS_NS

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        return FINE


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of the loop; waiting earns nothing, so that the pace of the machine of the tests does not matter."""
    clock = Clock()
    monkeypatch.setattr("rtsim.live.inputs.inputs.SHARE", 0.0)
    monkeypatch.setattr("rtsim.live.inputs.inputs.now_ns", clock)
    return clock


def stranger(shape: tuple[int, int] = (1, 3), labels: tuple[str, ...] = (), id_: str = "") -> list[bytes]:
    """The descriptor of another session."""
    field = {"name": "positions", "shape": shape, "unit": "m", "labels": labels}
    given = {
        "v": 1, "type": "session", "session": id_ or new_session_id(), "stream": "markers", "t_start": 0,
        "rate": 0.0, "fields": [field], "meta": {},
    }  # fmt: skip
    return [b"session", msgpack.packb(given)]


def frame_of(descriptor: list[bytes], seq: int = 0) -> list[bytes]:
    """A frame that fits it."""
    session = msgpack.unpackb(descriptor[1])
    n = int(np.prod(session["fields"][0]["shape"]))
    message = {
        "v": 1, "type": "markers", "session": session["session"], "seq": seq, "t_capture": now_ns(),
        "time": 0.0, "data": {"positions": np.full(n, 0.5).tobytes()},
    }  # fmt: skip
    return [b"markers", msgpack.packb(message)]


def new_sessions() -> Iterator[list[list[bytes]]]:
    """A new one for every frame of the walker."""
    while True:
        descriptor = stranger()
        yield [descriptor, frame_of(descriptor)]


def gaps() -> Iterator[list[list[bytes]]]:
    """New ones, in which all frames are missing."""
    while True:
        descriptor = stranger()
        yield [descriptor, *(frame_of(descriptor, seq) for seq in (0, 2**63 - 3, 2**63 - 2))]


def used_again() -> Iterator[list[list[bytes]]]:
    """An id that comes again with other contents, after another session."""
    labels = tuple(f"marker {k}" for k in range(40))
    while True:
        id_ = new_session_id()
        one, other, beside = stranger((40, 3), labels, id_), stranger(id_=id_), stranger()
        yield [one, frame_of(one), beside, other, frame_of(other, 1)]


def alternating() -> Iterator[list[list[bytes]]]:
    """One other session, whose frames come between those of the walker."""
    descriptor, seq = stranger(), 0
    while True:
        yield [descriptor, frame_of(descriptor, seq)]
        seq += 1


@pytest.mark.parametrize("attack", [new_sessions, gaps, used_again, alternating])
def test_the_walker_is_answered_whatever_it_takes_to_begin_sessions(
    attack: Callable[[], Iterator[list[list[bytes]]]], start, trial, make_session, clock
):
    """Protects the frames of the session that leads on a slow machine: others have a share of the time."""
    slow = Slow(clock)
    run = start(beyond=lambda kinematics: [slow])
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.read(1)
    batches = attack()
    for k in range(1, 100):
        for parts in next(batches):
            run.source.parts(*parts)
        run.source.send(trial.positions[k])  # its descriptor need not come again
    run.source.end()
    solved = [seen.time for seen in run.finish() if seen.status == 0]
    assert solved == pytest.approx([k / 100.0 for k in range(100)])
    assert slow.n_begun <= 6, "of at least 200 that were asked for"
    assert run.final.counters["turned_away"] >= 90
    assert "take too much time" in run.text


def test_the_end_of_another_session_is_not_that_of_the_walker(start, trial, make_session, monkeypatch):
    """Protects the run from being ended by a stranger who begins a session and ends it."""
    monkeypatch.setattr("streams.receiving.known.STRETCH_NS", 0)  # every frame is a stretch of time
    run = start()
    run.source.begin(make_session())
    for k in range(AHEAD + 1):
        run.source.send(trial.positions[k])
    run.read(AHEAD + 1)
    descriptor = stranger()
    session = msgpack.unpackb(descriptor[1])["session"]
    end = {"v": 1, "type": "end", "session": session, "seq": 0, "reason": "all is over"}
    run.source.parts(*descriptor)
    run.source.parts(b"end", msgpack.packb(end))
    run.source.send(trial.positions[AHEAD + 1])
    run.source.end()
    results = [seen for seen in run.finish() if not seen.status & STALE]
    assert len(results) == AHEAD + 2
    assert (
        "Another session on this stream, not the one that is read, ended after 0 frames: all is over"
        in run.text
    )


def test_the_next_trial_is_followed_at_once(start, trial, make_session, clock):
    """Protects a source whose next session begins without an end of the one before, on a slow machine."""
    slow = Slow(clock)
    run = start(beyond=lambda kinematics: [slow])
    for _ in range(2):
        run.source.begin(make_session())
        for k in range(5):
            run.source.send(trial.positions[k])
        run.read(5)
    run.source.end()
    assert [seen.status for seen in run.finish() if not seen.status & STALE] == [0] * 10
    assert slow.n_begun == 2


def test_the_share_is_told(start, trial, make_session, clock):
    """Protects the account: telemetry tells how much of the time strangers took."""
    slow = Slow(clock)
    run = start(beyond=lambda kinematics: [slow])
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    descriptor = stranger()
    run.source.parts(*descriptor)
    run.source.parts(*frame_of(descriptor))
    run.source.send(trial.positions[1])
    run.source.end()
    run.finish()
    assert any(message.gauges["strangers_percent"] > 0.0 for message in run.telemetry)


def frames(*leads: bool) -> tuple[ReceivedFrame, ...]:
    """A frame of a session each."""
    made = []
    for lead in leads:
        session = marker_session(["RASI"], rate=100.0, t_start=0)
        made.append(ReceivedFrame(session, FieldLayout(session)))
        made[-1].leads = lead
    return tuple(made)


def test_strangers_get_a_share_of_the_time_that_is_left():
    """Protects the rule on any machine: what is spent beyond the allowance is earned by waiting."""
    now = [0]
    turns = Turns(Allowance(SHARE), lambda: now[0])
    walker, other = frames(True, False)
    period_ns, n_visit = 5_000_000, 0
    for _ in range(10_000):
        assert turns.grants(walker)
        now[0] += 1_000_000  # a fifth of the period is work
        turns.begin_waiting()
        visits = turns.grants(other)
        n_visit += visits
        begun = now[0]
        if visits:
            now[0] += BEGINS_NS
            turns.begin_waiting()
            assert turns.grants(walker), "to come back is always granted"
            now[0] += BEGINS_NS
            turns.begin_waiting()
        left_ns = period_ns - 1_000_000 - (now[0] - begun)
        turns.waited(now[0], now[0] + max(0, left_ns))
        now[0] += max(0, left_ns)
    spent = n_visit * 2 * BEGINS_NS
    assert 0.05 * now[0] < spent < 0.25 * now[0]
    assert turns.percent(0) == pytest.approx(100.0 * spent / now[0])


def test_who_comes_to_lead_pays_once():
    """Protects from sessions that lead in turn: only who was let in before comes back for nothing."""
    now = [0]
    turns = Turns(Allowance(SHARE), lambda: now[0])
    n_granted = 0
    for frame in frames(*[True] * 100):
        if turns.grants(frame):
            n_granted += 1
            now[0] += BEGINS_NS
            turns.begin_waiting()
    assert n_granted == 2 + MOST_NS // BEGINS_NS  # the first one costs nobody anything


class ListedTurns:
    """Turns that are granted as listed."""

    def __init__(self, *granted: bool) -> None:
        self._granted = list(granted)

    def begin_waiting(self) -> int:
        return now_ns()

    def waited(self, since: int, until: int) -> None:
        """Nothing is earned."""

    def grants(self, frame: ReceivedFrame) -> bool:
        return self._granted.pop(0)


class ListedSubscriber:
    """Frames as listed, then none."""

    ended = False
    counters: Mapping[str, int] = {}

    def __init__(self, frames: list[ReceivedFrame]) -> None:
        self._frames = frames

    def wait(self, timeout_s: float) -> ReceivedFrame | None:
        return self._frames.pop(0) if self._frames else None

    def keep(self) -> None:
        """The frame stays as it is."""


def test_a_frame_that_a_newer_one_of_its_session_replaces_is_counted():
    """Protects the account: a frame that was put off, and then left out for the next, is no silent loss."""
    session = marker_session(("a",), rate=100.0, t_start=0)
    frames = [ReceivedFrame(session, FieldLayout(session)) for _ in range(2)]
    source = StreamInput(lambda: None)
    source.subscriber, source._turns = ListedSubscriber(list(frames)), ListedTurns(False, True)
    assert source.wait(lambda: None) is frames[1]
    assert source.counters() == {"turned_away": 1}
    source.subscriber, source._turns = ListedSubscriber(list(frames[:1])), ListedTurns(False, True)
    assert source.wait(lambda: None) is frames[0]
    assert source.counters() == {"turned_away": 1}
