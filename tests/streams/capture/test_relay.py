"""The relay with systems made up for it: whatever a connection does, it goes on, counts and tells."""

from __future__ import annotations

import threading
from collections import deque

import numpy as np
import pytest

from rtsim.live.standing import judge_standing
from streams.capture import relay, system, waiting_frames
from streams.capture.records import (
    CaptureDescription,
    CaptureError,
    CaptureFrame,
    ClockPair,
    ForceSamples,
    PlateDescription,
)
from streams.capture.relay import Relay
from streams.capture.system import CaptureSystem, parse_capture
from streams.clock import now_ns
from streams.codec import encode
from streams.messages import Forces, Markers, Session, Telemetry

DESCRIBED = CaptureDescription(("A", "B"), "m", "+Y", 100.0)


class HeardPublisher:
    """What a relay publishes, in place of a socket."""

    def __init__(self) -> None:
        self.messages: list = []

    def announce(self, session) -> None:
        encode(session)
        self.messages.append(session)

    def send(self, message) -> None:
        self.messages.append(message)

    def service(self) -> None:
        pass

    def end(self, reason) -> None:
        self.messages.append(reason)

    def of(self, kind) -> list:
        return [message for message in self.messages if isinstance(message, kind)]


class ScriptedConnection:
    """A connection that hands over what is in a list; what is an exception is raised."""

    def __init__(self, description, script) -> None:
        self._description, self._script = description, deque(script)

    def description(self):
        return self._description

    def read(self, timeout_s):
        news = self._script.popleft()
        if isinstance(news, BaseException):
            raise news
        return news

    def counters(self):
        return {"refused_packets": 1}

    def gauges(self):
        return {"warmth": 1.0}

    def sentences(self):
        return []

    def close(self) -> None:
        pass


def frame(k, **others):
    """Return frame k of 100 Hz, of an hour ago on its own clock."""
    given = {"positions": np.full((2, 3), k / 8.0), "arrived_ns": now_ns() + k, "number": k}
    return CaptureFrame(**{**given, "stamp_ns": 10_000_000 * k, **others})


def relayed(monkeypatch, *scripts, query="", noted=None):
    """Return publisher, relay and sentences after connections went through their scripts; what is an
    exception instead of a pair (description, script) is raised on opening."""
    left, stop, said = deque(scripts), threading.Event(), []

    def opened(address):
        if not left:
            stop.set()
            raise CaptureError("unreachable", "nobody is there any more")
        script = left.popleft()
        if isinstance(script, BaseException):
            raise script
        return ScriptedConnection(script[0], [*script[1], CaptureError("closed", "it hung up")])

    made_up = CaptureSystem("madeup", "made up", 1, opened, lambda seconds: [], usual_up="+Y")
    monkeypatch.setattr(system, "systems", lambda: {"madeup": made_up})
    monkeypatch.setattr(relay, "systems", lambda: {"madeup": made_up})
    monkeypatch.setattr(relay, "RETRY_S", (0.0,))
    publisher = HeardPublisher()
    made = Relay(parse_capture(f"madeup://here{query}"), publisher, said.append, judge_standing, noted)
    made.run(stop)
    return publisher, made, said


def test_a_rate_that_is_measured_anew_begins_no_session(monkeypatch):
    """Protects a run over a lost connection: a rate that is measured again differs a little, and is the same;
    one that a system states, or that differs by more, is another.
    """
    rates = [(125.0, True), (126.0, True), (123.0, True), (128.0, True), (125.0, False), (126.0, False)]
    scripts = [
        (DESCRIBED._replace(rate=rate, rate_measured=measured), [frame(k)])
        for k, (rate, measured) in enumerate(rates)
    ]
    monkeypatch.setattr(relay.SessionPace, "allows", lambda *_: True)
    publisher, _, _ = relayed(monkeypatch, *scripts)
    assert [session.rate for session in publisher.of(Session)] == [125.0, 128.0, 125.0, 126.0]
    assert len(publisher.of(Markers)) == len(rates)


def test_connections_that_fail_in_any_way_are_made_anew(monkeypatch):
    """Protects measurements: a fault of a connection, even of our own decoders, ends nothing and is told."""
    publisher, made, said = relayed(
        monkeypatch,
        CaptureError("unreachable", "nobody answers"),
        (DESCRIBED, [frame(0), frame(1)]),
        (DESCRIBED, [frame(2), IndexError("list index out of range")]),
        (DESCRIBED, [frame(3), ValueError("\x1b[2J")]),
        (DESCRIBED, [frame(4)]),
    )
    assert [message.seq for message in publisher.of(Markers)] == [0, 1, 2, 3, 4]
    assert len(publisher.of(Session)) == 1
    assert publisher.messages[-1] == "the relay was stopped"
    told = made.telemetry()
    assert (told.counters["decoder_faults"], told.counters["reconnects"]) == (2, 3)
    assert told.counters["refused_packets"] == 4
    assert any("IndexError: list index out of range" in sentence for sentence in said)
    assert not any("\x1b" in sentence for sentence in said)


@pytest.mark.parametrize("reason", ["address", "missing"])
def test_what_no_other_try_can_change_ends_the_relay(monkeypatch, reason):
    """Protects users of a system whose package is not there: it is told, not tried for ever."""
    with pytest.raises(CaptureError, match="pylsl"):
        relayed(monkeypatch, CaptureError(reason, "it needs pylsl"))


def test_a_label_that_comes_later_is_a_new_session(monkeypatch):
    """Protects labels: names, plates or rate that are others begin a session with seq and time from 0."""
    later = DESCRIBED._replace(names=("A", "B", "C"))
    publisher, _, said = relayed(
        monkeypatch,
        (DESCRIBED, [frame(0), DESCRIBED, frame(1), later, frame(2, positions=np.zeros((3, 3)))]),
    )
    sessions, frames = publisher.of(Session), publisher.of(Markers)
    assert [session.fields[0].labels for session in sessions] == [("A", "B"), ("A", "B", "C")]
    assert [(f.seq, f.time) for f in frames] == [(0, 0.0), (1, 0.01), (0, 0.0)]
    assert any("C came" in sentence for sentence in said)


def test_an_axis_that_is_told_late_loses_no_frame(monkeypatch):
    """Protects the start: frames that wait for an axis are published when the system tells it after all."""
    unknown = DESCRIBED._replace(up="")
    publisher, _, _ = relayed(monkeypatch, (unknown, [frame(0), frame(1), DESCRIBED, frame(2)]))
    assert [message.time for message in publisher.of(Markers)] == [0.0, 0.01, 0.02]


def test_frames_of_another_number_of_markers_are_counted(monkeypatch):
    """Protects subscribers: no frame has another shape than its session."""
    publisher, made, _ = relayed(monkeypatch, (DESCRIBED, [frame(0, positions=np.zeros((5, 3))), frame(1)]))
    assert len(publisher.of(Markers)) == 1
    assert made.counters["misfit_frames"] == 1


def test_who_has_no_markers_yet_is_waited_for(monkeypatch):
    """Protects who starts before the model is there: no session without names, and it is told."""
    empty = DESCRIBED._replace(names=())
    publisher, made, said = relayed(
        monkeypatch, (empty, [frame(0, positions=np.zeros((0, 3))), DESCRIBED, frame(1)])
    )
    assert [session.fields[0].labels for session in publisher.of(Session)] == [("A", "B")]
    assert made.counters["frames_without_markers"] == 1
    assert any("no markers with names yet" in sentence for sentence in said)


def test_unit_and_axis_that_nobody_tells_are_judged_by_who_stands_there(monkeypatch):
    """Protects systems that tell neither: the person does, all frames since are published, and it is told."""
    names = ("LASI", "RASI", "LPSI", "RPSI", "LANK", "RANK", "LTOE", "RTOE", "LHEE", "RHEE")
    untold = CaptureDescription(names, "", "", 100.0)
    standing = np.zeros((10, 3))
    standing[:, 2], standing[:4, 2] = 80.0, 1000.0
    standing[:, 0] = np.linspace(0.0, 300.0, 10)
    start = now_ns()
    frames = [frame(k, positions=standing + k / 8, arrived_ns=start + 10_000_000 * k) for k in range(60)]
    publisher, _, said = relayed(monkeypatch, (untold, frames))
    (session,) = publisher.of(Session)
    assert (session.fields[0].unit, session.meta["up"]) == ("mm", "Z")
    assert [message.seq for message in publisher.of(Markers)] == list(range(60))
    assert any("mm was used, judged from the size" in sentence for sentence in said)
    assert session.meta["notes"]


def test_an_empty_room_has_no_unit(monkeypatch):
    """Protects who starts before the person comes: no unit is made up from nobody, and the wait is told."""
    names = ("LASI", "RASI", "LPSI", "RPSI", "LANK", "RANK", "LTOE", "RTOE", "LHEE", "RHEE")
    standing = np.zeros((10, 3))
    standing[:, 2], standing[:4, 2] = 80.0, 1000.0
    standing[:, 0] = np.linspace(0.0, 300.0, 10)
    start = now_ns()
    shown = [np.full((10, 3), np.nan)] * 200 + [standing] * 60
    frames = [frame(k, positions=x, arrived_ns=start + 10_000_000 * k) for k, x in enumerate(shown)]
    publisher, made, said = relayed(monkeypatch, (CaptureDescription(names, "", "", 100.0), frames))
    (session,) = publisher.of(Session)
    assert (session.fields[0].unit, session.meta["up"]) == ("mm", "Z")
    assert len(publisher.of(Markers)) == 60
    assert made.counters["frames_without_unit"] == 200
    assert sum("nothing is relayed until enough markers are visible" in sentence for sentence in said) == 1


def test_too_few_markers_to_judge_a_size_are_told_and_do_not_pile_up(monkeypatch):
    """Protects live use where two markers of a set are visible for a minute: the wait is told, and no frames
    and forces of a minute ago are sent when the person comes."""
    names = ("LASI", "RASI", "LPSI", "RPSI", "LANK", "RANK", "LTOE", "RTOE", "LHEE", "RHEE")
    standing = np.zeros((10, 3))
    standing[:, 2], standing[:4, 2] = 80.0, 1000.0
    standing[:, 0] = np.linspace(0.0, 300.0, 10)
    two = np.where(np.arange(10)[:, None] < 2, standing, np.nan)
    start, n_two = now_ns(), 6000
    frames = [
        frame(k, positions=two if k < n_two else standing, arrived_ns=start + 10_000_000 * k)
        for k in range(n_two + 60)
    ]
    publisher, made, said = relayed(monkeypatch, (CaptureDescription(names, "", "", 100.0), frames))
    (session,) = publisher.of(Session)
    assert session.fields[0].unit == "mm"
    n_sent = len(publisher.of(Markers))
    assert 60 <= n_sent <= 60 + 152
    assert made.counters["frames_without_unit"] == n_two + 60 - n_sent
    assert sum("nothing is relayed until enough markers are visible" in sentence for sentence in said) == 1


def test_what_the_address_states_is_not_judged(monkeypatch):
    """Protects the user's word: unit and axis of the address overrule the system's."""
    publisher, _, _ = relayed(monkeypatch, (DESCRIBED, [frame(0)]), query="?up=Z&units=cm")
    (session,) = publisher.of(Session)
    assert (session.fields[0].unit, session.meta["up"]) == ("cm", "Z")


def test_nobody_on_the_plates_and_then_somebody(monkeypatch):
    """Protects kinetics: until the sign is known a load is not measured, noise is sent as it is."""
    plated = DESCRIBED._replace(up="+Z", plates=(PlateDescription("P", (), 1000.0),))

    def loaded(k, newtons):
        samples = np.zeros((1, 10, 3))
        samples[..., 2] = newtons
        stamps = 10_000_000 * k + 1_000_000 * np.arange(10, dtype=np.int64)
        return frame(k, forces=ForceSamples(stamps, samples, np.zeros((1, 10, 3))))

    publisher, _, said = relayed(
        monkeypatch, (plated, [loaded(0, 3.0), loaded(1, -700.0), loaded(2, -700.0), loaded(3, -700.0)])
    )
    vertical = [
        np.frombuffer(message.data["force"]).reshape(1, -1, 3)[0, :10, 2] for message in publisher.of(Forces)
    ]
    np.testing.assert_array_equal(vertical[0], 3.0)
    assert np.isnan(vertical[1]).all()
    np.testing.assert_array_equal(vertical[3], 700.0)
    assert sum("standing on the plates" in sentence for sentence in said) == 1


def test_more_samples_than_a_message_holds_go_into_several(monkeypatch):
    """Protects bursts of a plate: nothing is left out, times increase."""
    plated = DESCRIBED._replace(plates=(PlateDescription("P", (), 1000.0),))
    stamps = 1_000_000 * np.arange(55, dtype=np.int64)
    samples = ForceSamples(stamps, np.zeros((1, 55, 3)), np.zeros((1, 55, 3)))
    publisher, _, _ = relayed(monkeypatch, (plated, [frame(0, forces=samples)]))
    times = np.concatenate([np.frombuffer(m.data["sample_times"]) for m in publisher.of(Forces)])
    np.testing.assert_allclose(times[np.isfinite(times)], 1e-3 * np.arange(55), atol=1e-9)
    assert [m.seq for m in publisher.of(Forces)] == list(range(len(publisher.of(Forces))))


def test_pairs_of_clocks_place_frames(monkeypatch):
    """Protects systems with an echo: frames are captured when the pairs say, not when they came."""
    now = now_ns()
    frames = [ClockPair(0, now - 50_000_000), frame(0, stamp_ns=10_000_000, arrived_ns=now)]
    publisher, _, _ = relayed(monkeypatch, (DESCRIBED, frames))
    assert publisher.of(Markers)[0].t_capture == now - 40_000_000


def test_names_are_looked_at_in_each_session(monkeypatch):
    """Protects --lab: what is lacking is told, and stands with the session's other notes."""
    _, _, said = relayed(monkeypatch, (DESCRIBED, [frame(0)]), noted=lambda names: [f"saw {names}"])
    assert "saw ('A', 'B')" in said


def test_what_cannot_be_a_session_is_told(monkeypatch):
    """Protects against descriptions too large to send: they are told, and the next one is taken."""
    many = DESCRIBED._replace(names=tuple(f"M{k}" for k in range(5000)))
    publisher, _, said = relayed(monkeypatch, (many, [DESCRIBED, frame(0)]))
    assert len(publisher.of(Markers)) == 1
    assert any("cannot be published" in sentence for sentence in said)


@pytest.mark.parametrize("rate", [1e-308, 1e300, -5.0, float("nan"), float("inf")])
def test_a_rate_that_none_has_is_not_believed(monkeypatch, rate):
    """Protects frames and forces from a stated rate: what cannot be is as good as none."""
    plate = PlateDescription("one", (), rate)
    described = DESCRIBED._replace(rate=rate, plates=(plate,))
    publisher, made, _ = relayed(monkeypatch, (described, [frame(0), frame(1)]))
    assert len(publisher.of(Markers)) == 2
    assert {session.rate for session in publisher.of(Session)} == {0.0}
    assert not made.counters["decoder_faults"]


def test_telemetry_is_sent_with_values_of_the_connection(monkeypatch):
    """Protects whoever watches: counters, clock and the system's own gauges come with the frames."""
    publisher, _, _ = relayed(monkeypatch, (DESCRIBED, [frame(k) for k in range(3)]))
    (told, *_) = publisher.of(Telemetry)
    assert {"frames", "published", "reconnects", "sessions"} <= told.counters.keys()
    assert told.gauges["warmth"] == 1.0


def test_a_flood_of_sentences_is_not_said(monkeypatch):
    """Protects terminals and memory: of a session that a hundred sentences belong to some are said."""
    _, _, said = relayed(
        monkeypatch, (DESCRIBED, [frame(0)]), noted=lambda names: [f"{k} is lacking" for k in range(100)]
    )
    assert len(said) < 12
    assert any("more messages than can be shown" in sentence for sentence in said)


def test_frames_in_which_nothing_is_seen_are_told_once(monkeypatch):
    """Protects who switched on too little: that no marker has a position is said, once until one has."""
    gone, start = np.full((2, 3), np.nan), now_ns()
    monkeypatch.setattr(relay, "TELL_NS", 0)
    dark = [frame(k, positions=gone, arrived_ns=start + 10_000_000 * k) for k in range(1, 700)]
    _, _, said = relayed(monkeypatch, (DESCRIBED, dark))
    assert sum("no marker has a position" in sentence for sentence in said) == 1
    seen = [frame(k, arrived_ns=start + 10_000_000 * k) for k in range(1, 700, 250)]
    lit = [*dark[:250], seen[1], *dark[251:500], seen[2], *dark[501:]]
    _, _, said = relayed(monkeypatch, (DESCRIBED, lit))
    assert not any("no marker has a position" in sentence for sentence in said)
    misfits = [other._replace(positions=np.zeros((5, 3))) for other in dark]
    _, _, said = relayed(monkeypatch, (DESCRIBED, misfits))
    assert not any("no marker has a position" in sentence for sentence in said)


def test_a_connection_that_fails_at_once_is_told_once(monkeypatch):
    """Protects terminals: a server that hangs up each time before a frame is told of once."""
    publisher, made, said = relayed(
        monkeypatch, *[(DESCRIBED, [])] * 20, (DESCRIBED, [frame(0)]), *[(DESCRIBED, [])] * 20
    )
    assert sum("hung up" in sentence for sentence in said) == 2
    assert len(said) < 8
    assert made.counters["connection_closed"] == 41
    assert len(publisher.of(Markers)) == 1


def test_frames_that_wait_are_bounded(monkeypatch):
    """Protects memory: of a flood of large frames before unit and axis are known every other one is kept."""
    monkeypatch.setattr(waiting_frames, "MOST_WAITING", 1000)
    untold, start = DESCRIBED._replace(names=("LASI", "LTOE"), up=""), now_ns()
    frames = [frame(k, arrived_ns=start + 10_000_000 * k) for k in range(150)]
    publisher, made, _ = relayed(monkeypatch, (untold, frames))
    assert made.counters["frames_not_kept"] > 50
    assert len(publisher.of(Markers)) + made.counters["frames_not_kept"] == 150
