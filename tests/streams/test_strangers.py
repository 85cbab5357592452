"""What strangers on a stream may cost its receiver, over real sockets; what takes long takes it on a clock
of the test's own."""

from time import thread_time_ns

import pytest

from streams.access.allowance import MOST_NS, Allowance
from streams.clock import now_ns
from streams.codec import decode
from streams.receiving.intake import SHARE
from streams.receiving.known import AHEAD, LONGEST_SILENCE_NS, SHORTEST_SILENCE_NS

OTHER = "00000000000000bb"
THIRD = "00000000000000cc"
TAKES_NS = 2 * SHORTEST_SILENCE_NS
"""So long everything but frames takes to decode on the slow machine of these tests [ns]."""


@pytest.fixture
def clock(monkeypatch) -> list[int]:
    """What is added to the machine's clock [ns]; decoding a descriptor named "slow" adds to it."""
    added = [0]

    def slow_decode(parts):
        if b"slow" in parts[-1]:
            added[0] += TAKES_NS
        return decode(parts)

    monkeypatch.setattr("streams.receiving.intake.decode", slow_decode)
    monkeypatch.setattr("streams.receiving.subscriber.now_ns", lambda: now_ns() + added[0])
    monkeypatch.setattr("streams.receiving.subscriber.thread_time_ns", lambda: thread_time_ns() + added[0])
    return added


@pytest.fixture
def joined(raw_sender, subscribe, clock):
    """A sender and a subscriber that knows a session and has read a frame of it."""
    subscriber = subscribe(raw_sender.address, ("markers", "telemetry"), backlog=1000)
    raw_sender.wait_joined()
    raw_sender.descriptor()
    raw_sender.frame(0)
    assert subscriber.wait(120.0).seq == 0
    return raw_sender, subscriber


def test_a_descriptor_beside_takes_no_frame_from_the_one_that_goes_on(joined, read_until):
    """Protects a stream whose descriptor is repeated once a second: its frames are known all the time."""
    sender, subscriber = joined
    for seq in range(1, 50):
        sender.descriptor(session=f"{seq:016x}")
        sender.frame(seq)
    assert read_until(subscriber, 49) == list(range(1, 50))
    assert subscriber.counters["unknown_session"] == 0


@pytest.mark.parametrize("kind", ["session", "telemetry", "end", "markers"])
def test_what_takes_long_is_put_off_and_the_frames_go_on(joined, read_until, kind):
    """Protects the receiving thread: beyond their share strangers are not even decoded."""
    sender, subscriber = joined
    keys = {
        "session": {"stream": "markers", "t_start": 1, "rate": 0.0, "fields": [], "meta": {"slow": 1}},
        "telemetry": {"t": 1, "text": ["slow"]},
        "end": {"seq": 1, "reason": "slow"},
        "markers": {"seq": 1, "t_capture": 1, "time": 0.0, "data": {"slow": b""}},
    }[kind]
    for seq in range(1, 100):
        sender.message(kind, **{**keys, "session": f"{seq:016x}"})
        sender.frame(seq)
    assert read_until(subscriber, 99) == list(range(1, 100))
    # one at once, then one whenever so much is earned, of which little passes here but on the added clock
    n_read = subscriber.strangers_ns // TAKES_NS
    assert 1 <= n_read <= 20
    assert (
        99 - n_read <= subscriber.counters["put_off"] <= 98
    )  # a descriptor that was put off may be read later
    assert any("processed late or skipped" in said for said in subscriber.events)


def test_the_newest_descriptor_that_was_put_off_is_read_when_there_is_time(joined, clock, eventually):
    """Protects a true new session in a flood: it is followed later, and needs no further descriptor."""
    sender, subscriber = joined
    sender.descriptor(session=OTHER, meta={"slow": 1})
    eventually(lambda: subscriber.session.session == OTHER or subscriber.wait(0.0))
    sender.descriptor(session=THIRD)
    eventually(lambda: subscriber.counters["put_off"])
    clock[0] += round(2 * TAKES_NS / SHARE)
    eventually(lambda: subscriber.session.session == THIRD)
    sender.frame(0, session=THIRD)
    assert subscriber.wait(120.0).session.session == THIRD


def test_a_descriptor_that_would_hold_everything_up_waits_until_the_one_that_leads_is_gone(
    joined, read_until, clock, eventually, monkeypatch
):
    """Protects the frames from the first large descriptor already: what it takes is foretold by its bytes."""
    sender, subscriber = joined
    monkeypatch.setattr(subscriber._intake, "_bytes_ns", 2.0 * MOST_NS)  # a megabyte, on a slow machine
    sender.descriptor(session=OTHER, meta={"text": "x" * 900_000})
    sender.frame(1)
    assert read_until(subscriber, 1) == [1]
    assert subscriber.counters["put_off"] == 1
    clock[0] += LONGEST_SILENCE_NS
    eventually(lambda: subscriber.session.session == OTHER or subscriber.wait(0.0))
    assert subscriber.counters["put_off"] == 1


def test_the_time_that_strangers_take_is_no_pause_of_the_one_that_leads(
    raw_sender, subscribe, clock, eventually, monkeypatch
):
    """Protects the lead of a session from one message that takes longer than any pause, were it read."""
    monkeypatch.setattr("streams.receiving.intake.SHARE", 2.0)
    subscriber = subscribe(raw_sender.address, ("markers", "telemetry"))
    raw_sender.wait_joined()
    raw_sender.descriptor()
    raw_sender.frame(0)
    assert subscriber.wait(120.0).leads
    raw_sender.message("telemetry", session=THIRD, t=1, text=["slow"])
    eventually(lambda: subscriber.telemetry)
    raw_sender.descriptor(session=OTHER)
    raw_sender.frame(0, session=OTHER)
    assert not subscriber.wait(20.0).leads
    assert clock[0] == TAKES_NS


def test_a_descriptor_that_was_put_off_does_not_undo_the_end(joined, clock, eventually):
    """Protects the end of a stream in a flood: what came before it is not read after it."""
    sender, subscriber = joined
    sender.descriptor(session=OTHER, meta={"slow": 1})
    sender.descriptor(session=THIRD)
    sender.message("end", seq=1, reason="over")
    eventually(lambda: subscriber.ended or subscriber.wait(0.0))
    clock[0] += round(2 * TAKES_NS / SHARE)
    sender.message("telemetry", t=1)
    eventually(lambda: subscriber.telemetry)
    assert subscriber.ended
    assert subscriber.counters["put_off"] == 1


def test_an_id_that_is_held_is_not_taken_away(joined, read_until, monkeypatch):
    """Protects a session that goes on from another's descriptor under its id, after that of a third."""
    monkeypatch.setattr("streams.receiving.known.STRETCH_NS", 0)  # every frame is a stretch of time
    sender, subscriber = joined
    for seq in range(1, AHEAD + 2):
        sender.frame(seq)
    sender.descriptor(session=OTHER)
    sender.descriptor(n_marker=3)
    sender.frame(AHEAD + 2)
    assert read_until(subscriber, AHEAD + 2)[-1] == AHEAD + 2
    assert subscriber.counters["malformed"] == 1
    assert subscriber.counters["wrong_shape"] == 0


def test_frames_of_strangers_do_not_push_out_those_of_the_one_that_leads(raw_sender, subscribe, read_until):
    """Protects unread frames: where too many wait, those of strangers go first."""
    subscriber = subscribe(raw_sender.address, backlog=8)
    raw_sender.wait_joined()
    raw_sender.descriptor()
    for seq in range(5):
        raw_sender.frame(seq)
    for k in range(500):
        raw_sender.descriptor(session=f"{1000 + k:016x}")
        raw_sender.frame(1000, session=f"{1000 + k:016x}")
    raw_sender.frame(5)
    seqs = [seq for seq in read_until(subscriber, 5) if seq != 1000]
    assert seqs == [0, 1, 2, 3, 4, 5]


def test_what_was_spent_beyond_has_to_be_earned():
    """Protects the rule: something may be begun while so much is left, and no more than MOST_NS is saved."""
    allowance = Allowance(0.1)
    allowance.earn(10**12)
    assert allowance.left_ns == MOST_NS
    assert not allowance.affords(MOST_NS)
    assert allowance.affords(0.5 * MOST_NS)
    allowance.spend(1)
    allowance.spend(2 * int(MOST_NS))
    assert not allowance.affords()
    allowance.earn(int(10 * MOST_NS) - 10)
    assert not allowance.affords()
    allowance.earn(100)
    assert allowance.affords()
    assert allowance.spent_ns == 2 * MOST_NS + 1
