"""Playing a recording through real sockets."""

import threading
from typing import NamedTuple

import numpy as np
import pytest

from streams import clock
from streams.errors import StreamError
from streams.messages import FieldSpec, Session, force_session, marker_session, new_session_id
from streams.recording import player
from streams.recording.player import MarkerFrames, PlayedStream, play

GUARD_S = 120.0
SESSION = marker_session(["LASI", "RASI"], rate=500.0, t_start=0)


def recording(n_frame: int, rate: float = 500.0) -> MarkerFrames:
    positions = np.arange(n_frame * 6, dtype=np.float64).reshape(n_frame, 2, 3)
    positions[::7, 1] = np.nan
    return MarkerFrames(2.0 + np.arange(n_frame) / rate, positions)


class Playing:
    """Plays in a thread of its own."""

    def __init__(self, *args, **options) -> None:
        self.n_sent = -1
        self.thread = threading.Thread(target=self._run, args=args, kwargs=options)
        self.thread.start()

    def _run(self, *args, **options) -> None:
        self.n_sent = play(*args, **options)

    def join(self) -> int:
        self.thread.join(GUARD_S)
        return self.n_sent


def test_every_frame_arrives_in_order_and_unchanged(publisher, subscribe):
    """Protects replay: from the first frame to the last, byte for byte, then the end."""
    frames = recording(100)
    subscriber = subscribe(publisher.address, backlog=200)
    playing = Playing(publisher, SESSION, frames)
    for seq in range(100):
        frame = subscriber.wait(GUARD_S)
        assert (frame.seq, frame.time) == (seq, frames.times[seq])
        np.testing.assert_array_equal(frame.data["positions"], frames.positions[seq])
    assert playing.join() == 100
    assert subscriber.wait(GUARD_S) is None
    assert subscriber.ended
    assert subscriber.counters["lost"] == 0
    assert "after 100 frames: the recording is over" in subscriber.events[-1]


def test_loops_go_on_in_seq_and_time(publisher, subscribe, eventually):
    """Protects filters in a looped demonstration: seq and time never go back, between laps there is a rest
    that they do not bridge; and stop ends it."""
    frames = recording(5)
    stop = threading.Event()
    subscriber = subscribe(publisher.address, backlog=200)
    playing = Playing(publisher, SESSION, frames, loop=True, stop=stop)
    for seq in range(13):
        frame = subscriber.wait(GUARD_S)
        assert frame.seq == seq
        assert frame.time == pytest.approx(2.0 + seq / 500.0 + (seq // 5) * player.REST_S)
        np.testing.assert_array_equal(frame.data["positions"], frames.positions[seq % 5])
    stop.set()
    n_sent = playing.join()
    eventually(lambda: subscriber.wait(0.1) is None and subscriber.ended)
    assert subscriber.counters["received"] == n_sent
    assert "playing was stopped" in subscriber.events[-1]


def test_frames_are_due_at_their_recorded_times_over_speed(publisher, monkeypatch):
    """Protects the pace, also of irregular recordings: checked on the deadlines, not on a wall clock."""
    due: list[int] = []

    def wait(publisher, due_ns: int, stop) -> bool:
        due.append(due_ns)
        return True

    monkeypatch.setattr(player, "_wait", wait)
    frames = MarkerFrames(np.array([5.0, 5.01, 5.04, 5.04]), np.zeros((4, 2, 3)))
    assert play(publisher, SESSION, frames, speed=2.0, wait_s=0.0) == 4
    np.testing.assert_allclose(np.array(due) - due[0], [0, 5_000_000, 20_000_000, 20_000_000], atol=1)


def test_no_frame_leaves_before_its_time(publisher, subscribe):
    """Protects the pace up to the last millisecond: by the real clock, no frame is stamped early."""
    offsets_ms = (0, 15, 30, 150)  # within one slice of waiting, and over several
    frames = MarkerFrames(7.0 + 1e-3 * np.array(offsets_ms), np.zeros((4, 2, 3)))
    subscriber = subscribe(publisher.address)
    begun = clock.now_ns()
    playing = Playing(publisher, SESSION, frames)
    for offset in offsets_ms:
        assert subscriber.wait(GUARD_S).t_capture >= begun + offset * 1_000_000
    assert playing.join() == 4


class SteppedClock:
    """A clock that moves only by being waited for and, a little, by being looked at."""

    def __init__(self) -> None:
        self.ns = clock.now_ns()

    def now_ns(self) -> int:
        self.ns += 100
        return self.ns

    def sleep(self, s: float) -> None:
        self.ns += round(s * 1e9)


class SteppedStop(threading.Event):
    """Is never set, and its waits take the time of a stepped clock."""

    def __init__(self, stepped: SteppedClock) -> None:
        super().__init__()
        self._stepped = stepped

    def wait(self, timeout: float | None = None) -> bool:
        self._stepped.sleep(timeout or 0.0)
        return False


def test_frames_leave_at_their_times(publisher, subscribe, monkeypatch):
    """Protects the pace to microseconds, by a clock without a system's delays: neither early nor late."""
    subscriber = subscribe(publisher.address)
    assert publisher.wait_for_subscriber(GUARD_S)
    stepped = SteppedClock()
    monkeypatch.setattr(clock, "now_ns", stepped.now_ns)
    monkeypatch.setattr(clock.time, "sleep", stepped.sleep)
    monkeypatch.setattr(player, "now_ns", stepped.now_ns)
    offsets_ms = np.array([0.0, 0.1, 15.0, 30.0, 79.9, 130.0, 430.0])
    frames = MarkerFrames(7.0 + 2e-3 * offsets_ms, np.zeros((7, 2, 3)))
    begun = stepped.ns
    assert play(publisher, SESSION, frames, speed=2.0, stop=SteppedStop(stepped)) == 7
    monkeypatch.undo()
    stamps = [subscriber.wait(GUARD_S).t_capture for _ in offsets_ms]
    np.testing.assert_allclose(1e-6 * (np.array(stamps) - begun), offsets_ms, atol=0.02)


def test_stop_ends_a_long_pause(publisher):
    """Protects the user: stopping does not wait for the next frame."""
    frames = MarkerFrames(np.array([0.0, 3600.0]), np.zeros((2, 2, 3)))
    stop = threading.Event()
    playing = Playing(publisher, SESSION, frames, stop=stop, on_frame=lambda seq: stop.set(), wait_s=0.0)
    assert playing.join() == 1


def test_stop_ends_the_wait_for_a_subscriber(publisher):
    """Protects the user: stopping works before anything was sent."""
    stop = threading.Event()
    stop.set()
    assert Playing(publisher, SESSION, recording(3), stop=stop, wait_s=3600.0).join() == 0


def test_an_interrupted_player_says_end(publisher, subscribe):
    """Protects receivers: the stream ends properly when the player fails."""
    subscriber = subscribe(publisher.address)

    def fail(seq: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(publisher, SESSION, recording(3), on_frame=fail)
    assert subscriber.wait(GUARD_S).seq == 0
    assert subscriber.wait(GUARD_S) is None
    assert subscriber.ended


def test_anything_with_times_and_positions_can_be_played(publisher):
    """Protects callers with records of their own."""

    class Trial(NamedTuple):
        names: tuple[str, ...]
        times: np.ndarray
        positions: np.ndarray

    frames = recording(2)
    assert play(publisher, SESSION, Trial(("LASI", "RASI"), *frames), wait_s=0.0) == 2


def test_what_does_not_fit_is_refused(publisher):
    """Protects against playing nonsense, before anything is sent."""
    frames = recording(3)
    force = FieldSpec("positions", [2, 3], "N")
    forces = Session(session=new_session_id(), stream="forces", t_start=0, rate=1.0, fields=[force])
    for session, bad, speed in (
        (SESSION, frames, 0.0),
        (SESSION, frames, float("nan")),
        (SESSION, frames._replace(positions=np.zeros((3, 5, 3))), 1.0),
        (SESSION, frames._replace(times=frames.times[:2]), 1.0),
        (SESSION, frames._replace(times=frames.times[::-1]), 1.0),
        (SESSION, frames._replace(times=np.array([0.0, np.nan, 1.0])), 1.0),
        (SESSION, MarkerFrames(np.zeros(0), np.zeros((0, 2, 3))), 1.0),
        (forces, frames, 1.0),
    ):
        with pytest.raises(StreamError):
            play(publisher, session, bad, speed=speed, wait_s=0.0)


def force_channel(n_message: int, rate: float, begin: float = 2.0) -> PlayedStream:
    """Two samples of one plate in each message."""
    times = begin + np.arange(n_message) / rate
    sample_times = np.stack([times - 0.5 / rate, times], axis=1)
    force = np.arange(n_message * 6, dtype=np.float64).reshape(n_message, 1, 2, 3)
    session = force_session(["plate"], 2, rate=rate, sample_rate=2.0 * rate, t_start=0)
    return PlayedStream(session, times, {"sample_times": sample_times, "force": force, "moment": -force})


def test_forces_are_played_beside_markers_at_their_own_pace(publisher, subscribe):
    """Protects pairing: both streams whole and in order, each in a session of its own, on one clock."""
    frames, forces = recording(20), force_channel(11, 250.0)
    markers = subscribe(publisher.address, backlog=200)
    plates = subscribe(publisher.address, ("forces",), backlog=200)
    playing = Playing(publisher, SESSION, frames, beside=[forces])
    stamps = {}
    for seq in range(20):
        frame = markers.wait(GUARD_S)
        assert (frame.seq, frame.time) == (seq, frames.times[seq])
        stamps[round(500 * (frame.time - 2.0))] = frame.t_capture
    for seq in range(11):
        frame = plates.wait(GUARD_S)
        assert (frame.seq, frame.time) == (seq, forces.times[seq])
        assert frame.session.session == forces.session.session
        for name, values in forces.data.items():
            np.testing.assert_array_equal(frame.data[name], values[seq])
        if 2 * seq in stamps:  # captured at the same time as this frame of markers
            assert abs(frame.t_capture - stamps[2 * seq]) <= 1
    assert playing.join() == 20
    for subscriber, n in ((markers, 20), (plates, 11)):
        assert subscriber.wait(GUARD_S) is None
        assert subscriber.ended
        assert {name: count for name, count in subscriber.counters.items() if count} == {"received": n}


def test_laps_of_channels_begin_together(publisher, subscribe):
    """Protects looped trials: a lap is as long as the longest channel, so that all stay paired."""
    frames, forces = recording(5), force_channel(4, 250.0)._replace(clocks=("sample_times",))
    stop = threading.Event()
    markers = subscribe(publisher.address, backlog=400)
    plates = subscribe(publisher.address, ("forces",), backlog=400)
    playing = Playing(publisher, SESSION, frames, loop=True, stop=stop, beside=[forces])
    lap = 3 / 250.0 + 1 / 250.0 + player.REST_S
    for seq in range(12):
        frame = markers.wait(GUARD_S)
        assert frame.time == pytest.approx(2.0 + lap * (seq // 5) + (seq % 5) / 500.0)
    for seq in range(8):
        frame = plates.wait(GUARD_S)
        assert frame.time == pytest.approx(2.0 + lap * (seq // 4) + (seq % 4) / 250.0)
        own = forces.data["sample_times"][seq % 4] + lap * (seq // 4)
        np.testing.assert_allclose(frame.data["sample_times"], own, atol=1e-12)
    stop.set()
    assert playing.join() > 0


def test_forces_that_are_due_with_markers_go_first(publisher, monkeypatch):
    """Protects the delay: markers need not wait for forces of the same time."""
    sent: list[str] = []
    monkeypatch.setattr(player, "_wait", lambda publisher, due_ns, stop: True)
    monkeypatch.setattr(publisher, "send", lambda message: sent.append(message.type))
    play(publisher, SESSION, recording(3, 250.0), beside=[force_channel(3, 250.0)], wait_s=0.0)
    assert sent == [*["forces", "markers"] * 3, "end", "end"]


def test_nobody_is_waited_for_who_does_not_want_forces(publisher, subscribe, monkeypatch):
    """Protects estimators without forces: they wait half a second at the most, and miss nothing."""
    monkeypatch.setattr(player, "OTHERS_NS", 20_000_000)
    subscriber = subscribe(publisher.address, backlog=200)
    playing = Playing(publisher, SESSION, recording(10), beside=[force_channel(5, 250.0)])
    assert [subscriber.wait(GUARD_S).seq for _ in range(10)] == list(range(10))
    assert playing.join() == 10
    assert subscriber.counters["unknown_session"] == 0


def test_channels_that_do_not_fit_are_refused(publisher):
    """Protects against playing nonsense beside markers, before anything is sent."""
    good = force_channel(3, 250.0)
    result = Session(session=new_session_id(), stream="result", t_start=0, rate=1.0, fields=[])
    for channels in (
        [good._replace(data={**good.data, "force": good.data["force"][:2]})],
        [good._replace(data={"force": good.data["force"]})],
        [good._replace(times=good.times[::-1])],
        [good._replace(session=result, data={})],
        [good, good],
        [PlayedStream(SESSION, good.times, {"positions": np.zeros((3, 2, 3))})],
    ):
        with pytest.raises(StreamError):
            play(publisher, SESSION, recording(3), beside=channels, wait_s=0.0)
