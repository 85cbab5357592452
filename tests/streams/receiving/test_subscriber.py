"""The subscriber over real sockets, fed with crafted messages."""

import math
import threading

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.codec import decode
from streams.errors import StreamError
from streams.receiving.checks import COUNTERS
from streams.receiving.subscriber import Subscriber

SECOND = "00000000000000bb"
GUARD_S = 120.0


@pytest.fixture
def joined(raw_sender, subscribe):
    """A sender and a subscriber with a backlog that holds everything, descriptor already sent."""
    subscriber = subscribe(raw_sender.address, backlog=1000)
    raw_sender.wait_joined()
    raw_sender.descriptor()
    return raw_sender, subscriber


def counted(subscriber: Subscriber) -> dict[str, int]:
    return {name: n for name, n in subscriber.counters.items() if n}


def said(subscriber: Subscriber, *words: str) -> bool:
    return any(all(word in sentence for word in words) for sentence in subscriber.events)


def test_frames_arrive_as_sent(joined):
    """Protects the values: numbers, NaN, stamps and descriptor."""
    sender, subscriber = joined
    sender.frame(0, [1.0, 2.0, 3.0, math.nan, math.nan, math.nan], t_capture=12345, time=0.25)
    frame = subscriber.wait(GUARD_S)
    assert (frame.seq, frame.t_capture, frame.time) == (0, 12345, 0.25)
    assert frame.t_received == frame.t_arrived > 0
    np.testing.assert_array_equal(frame.data["positions"], [[1.0, 2.0, 3.0], [math.nan] * 3])
    assert frame.session is subscriber.session
    assert [spec.name for spec in subscriber.session.fields] == ["positions"]
    assert counted(subscriber) == {"received": 1}
    assert set(subscriber.counters) == set(COUNTERS)


def test_results_arrive_with_their_stamps(raw_sender, subscribe, eventually):
    """Protects results and telemetry, which a monitor reads through the same class."""
    subscriber = subscribe(raw_sender.address, (b"result", "telemetry"))
    raw_sender.wait_joined(b"session", b"result", b"telemetry", b"end")
    raw_sender.descriptor(stream="result")
    stamps = {"t_capture": 1, "t_received": 2, "t_solved": 3, "t_published": 4}
    data = {"positions": bytes(48)}
    raw_sender.message(
        "result", seq=0, time=0.5, **stamps, status=3, iterations=7, residual=math.nan, data=data
    )
    raw_sender.message("telemetry", t=5, counters={"late": 1}, gauges={"rate": 99.5}, text=["One was late."])
    frame = subscriber.wait(GUARD_S)
    assert {name: getattr(frame, name) for name in stamps} == stamps
    assert (frame.status, frame.iterations) == (3, 7)
    assert math.isnan(frame.residual)
    assert frame.t_arrived > 4
    eventually(lambda: subscriber.telemetry)
    assert subscriber.telemetry[-1].text == ["One was late."]


def test_late_join_is_no_loss(joined, read_until):
    """Protects a receiver that comes in the middle: what went before is not lost."""
    sender, subscriber = joined
    sender.frame(100)
    sender.frame(101)
    assert read_until(subscriber, 101) == [100, 101]
    assert counted(subscriber) == {"received": 2}


@pytest.mark.parametrize("joining", [True, False])
def test_frames_before_the_first_descriptor_are_told_only_where_it_stays_away(
    joining, raw_sender, subscribe, eventually, read_until, monkeypatch
):
    """Protects who joins a stream that goes on from a fault that is none, and tells one that is."""
    if not joining:
        monkeypatch.setattr("streams.receiving.intake.JOINING_NS", 0)
    subscriber = subscribe(raw_sender.address)
    raw_sender.wait_joined()
    for seq in range(3):
        raw_sender.frame(seq)
    eventually(lambda: subscriber.counters["unknown_session"] == 3)
    raw_sender.descriptor()
    raw_sender.frame(3)
    assert subscriber.wait(GUARD_S).seq == 3
    assert said(subscriber, "without a known descriptor") is not joining


def test_loss_duplicates_and_order_are_counted(joined, read_until):
    """Protects the books: each frame in exactly one place, and the order kept."""
    sender, subscriber = joined
    for seq in (0, 1, 1, 2, 6, 4, 7, 0, 8):
        sender.frame(seq)
    assert read_until(subscriber, 8) == [0, 1, 2, 6, 7, 8]
    assert counted(subscriber) == {"received": 6, "lost": 3, "duplicate": 2, "out_of_order": 1}
    assert said(subscriber, "3 frames lost")
    assert said(subscriber, "1 frame came twice")
    assert said(subscriber, "1 frame came out of order")


def test_reader_that_falls_behind_gets_the_newest(raw_sender, subscribe, eventually):
    """Protects latency: beyond the backlog the oldest frames go, and are counted."""
    subscriber = subscribe(raw_sender.address, backlog=3)
    newest = subscribe(raw_sender.address, backlog=1)
    for _ in range(2):
        raw_sender.wait_joined()
    raw_sender.descriptor()
    for seq in range(10):
        raw_sender.frame(seq)
    eventually(lambda: subscriber.counters["received"] == newest.counters["received"] == 10)
    assert [subscriber.wait(GUARD_S).seq for _ in range(3)] == [7, 8, 9]
    assert newest.wait(GUARD_S).seq == 9
    assert subscriber.wait(0.0) is None
    assert counted(subscriber) == {"received": 10, "skipped": 7}
    assert counted(newest) == {"received": 10, "skipped": 9}
    assert said(newest, "skipped because the reader was busy")


def test_restart_is_adopted(joined, read_until):
    """Protects a restart of the sender in mid-stream: new layout, nothing lost, counters go on."""
    sender, subscriber = joined
    sender.frame(0)
    sender.frame(1)
    sender.frame(0, session=SECOND)  # before its descriptor
    sender.descriptor(session=SECOND, n_marker=3)
    sender.frame(2)  # of the former session, which is still known
    sender.frame(40, [1.0] * 9, session=SECOND)
    first = subscriber.wait(GUARD_S)
    assert (first.seq, first.data["positions"].shape, subscriber.session) == (0, (2, 3), first.session)
    assert [subscriber.wait(GUARD_S).seq for _ in range(2)] == [1, 2]
    frame = subscriber.wait(GUARD_S)
    assert (frame.seq, frame.data["positions"].shape) == (40, (3, 3))
    assert subscriber.session.session == frame.session.session == SECOND
    assert counted(subscriber) == {"received": 4, "unknown_session": 1}
    assert said(subscriber, "A new session", SECOND)


def test_a_sender_that_dies_and_comes_back_is_found_again(
    raw_sender, raw_sender_class, subscribe, read_until
):
    """Protects live use: the sender's program is started anew on the same port."""
    subscriber = subscribe(raw_sender.address)
    raw_sender.wait_joined()
    raw_sender.descriptor()
    raw_sender.frame(0)
    assert read_until(subscriber, 0) == [0]
    raw_sender.close()
    again = raw_sender_class(raw_sender.address)
    try:
        again.wait_joined()
        again.descriptor(session=SECOND)
        again.frame(0, session=SECOND)
        assert subscriber.wait(GUARD_S).session.session == SECOND
    finally:
        again.close()


def test_the_descriptor_again_changes_nothing(joined, read_until):
    """Protects the repetition: the same descriptor, also packed otherwise, starts nothing anew."""
    sender, subscriber = joined
    sender.frame(5)
    sender.descriptor()
    sender.descriptor(unknown_key=1)
    sender.frame(6)
    assert read_until(subscriber, 6) == [5, 6]
    assert counted(subscriber) == {"received": 2}


def test_a_descriptor_cannot_change_within_its_session(joined, read_until):
    """Protects layouts from changing under the reader."""
    sender, subscriber = joined
    sender.descriptor(n_marker=3)
    sender.frame(0)
    assert read_until(subscriber, 0) == [0]
    assert counted(subscriber) == {"received": 1, "malformed": 1}


def test_other_streams_on_the_same_address_are_let_be(joined, read_until):
    """Protects markers and forces side by side."""
    sender, subscriber = joined
    sender.descriptor(session=SECOND, stream="forces")
    sender.frame(0)
    assert read_until(subscriber, 0) == [0]
    assert counted(subscriber) == {"received": 1}


def test_end(joined, read_until):
    """Protects the end: unread frames first, then ended; frames missing before it are lost."""
    sender, subscriber = joined
    for seq in range(3):
        sender.frame(seq)
    sender.message("end", seq=5, reason="the battery is empty")
    assert not subscriber.ended
    assert read_until(subscriber, 2) == [0, 1, 2]
    assert subscriber.wait(GUARD_S) is None  # woken by the end, well before the guard
    assert subscriber.ended
    assert counted(subscriber) == {"received": 3, "lost": 2}
    assert said(subscriber, "ended after 5 frames", "the battery is empty")
    sender.descriptor(session=SECOND)
    sender.frame(0, session=SECOND)
    assert read_until(subscriber, 0) == [0]
    assert not subscriber.ended


def test_a_connection_closed_after_the_end_is_no_event(
    raw_sender, raw_sender_class, subscribe, read_until, eventually
):
    """Protects a normal end from a sentence about trouble; a sender that leaves in the middle is told, and
    one that comes back is found and told in both cases."""
    for ends in (True, False):
        sender = raw_sender_class()
        subscriber = subscribe(sender.address)
        sender.wait_joined()
        sender.descriptor()
        sender.frame(0)
        assert read_until(subscriber, 0) == [0]
        if ends:
            sender.message("end", seq=1, reason="the recording is over")
            eventually(lambda one=subscriber: said(one, "The stream ended"))
        n_before = subscriber._link.n_ended
        sender.close()
        eventually(lambda one=subscriber, n=n_before: one._link.n_ended > n)
        if not ends:
            eventually(lambda one=subscriber: said(one, "trying to connect again"))
        again = raw_sender_class(sender.address)
        again.wait_joined()
        again.descriptor(session=SECOND)
        again.frame(0, session=SECOND)
        assert read_until(subscriber, 0) == [0]
        again.close()
        assert said(subscriber, "trying to connect again") != ends


def test_infinities_clock_jumps_and_misfits_are_counted(joined, read_until):
    """Protects the estimator from bad values, and the user from not knowing."""
    sender, subscriber = joined
    sender.frame(0, [math.inf, -math.inf, 1.0, 2.0, math.nan, 3.0])
    sender.frame(1, t_capture=5)
    sender.frame(2, t_capture=5 + 10**10)
    sender.frame(3, [1.0] * 5)
    sender.frame(4, data={"something else": bytes(48)})
    sender.frame(5, t_capture=6 + 10**10)
    frame = subscriber.wait(GUARD_S)
    np.testing.assert_array_equal(frame.data["positions"], [[math.nan, math.nan, 1.0], [2.0, math.nan, 3.0]])
    assert read_until(subscriber, 5) == [1, 2, 5]
    assert counted(subscriber) == {"received": 4, "non_finite": 1, "clock_jump": 2, "wrong_shape": 2}
    assert said(subscriber, "infinite values")
    assert said(subscriber, "sender's clock")
    assert said(subscriber, "whose fields or shapes differ")


def test_unusable_messages_are_counted_and_named(joined, read_until):
    """Protects the receiving thread, and the user from silence."""
    sender, subscriber = joined
    sender.frame(0, v=2)
    sender.parts(b"markers", bytes((1 << 20) + 1))
    sender.parts(b"markers")
    sender.parts(b"markers", b"", b"")
    sender.parts(b"markers", *[b"x"] * 500)
    sender.parts(b"markersish", msgpack.packb({"v": 1, "type": "markersish"}))
    sender.frame(0, type="forces")
    sender.parts(b"markers", b"\xc1")
    sender.frame(0)
    assert read_until(subscriber, 0) == [0]
    assert counted(subscriber) == {"received": 1, "bad_version": 1, "oversize": 1, "malformed": 6}
    assert said(subscriber, "another protocol version", "2")
    assert said(subscriber, "too large", "1048577")
    assert said(subscriber, "unreadable")


def test_a_monstrous_part_closes_the_connection_but_not_for_good(raw_sender, subscribe, read_until):
    """Protects memory from parts of any size, and the stream from the end of reconnecting in the library."""
    subscriber = subscribe(raw_sender.address)
    raw_sender.wait_joined()
    raw_sender.parts(b"markers", bytes(9 << 20))
    raw_sender.wait_joined()  # it came back
    raw_sender.descriptor()
    raw_sender.frame(0)
    assert read_until(subscriber, 0) == [0]
    assert said(subscriber, "closed the connection")


@pytest.fixture(scope="module")
def fuzzed(raw_sender_class):
    sender = raw_sender_class()
    with Subscriber(sender.address, ["markers"], backlog=1) as subscriber:
        sender.wait_joined()
        sender.descriptor()
        yield sender, subscriber, iter(range(10**9))
    sender.close()


topics = st.sampled_from([b"session", b"markers", b"end"])
garbage = st.lists(st.binary(max_size=100), max_size=3)
halves = st.dictionaries(
    st.sampled_from(["v", "type", "session", "seq", "data", "fields", "meta", "stream", "rate", "t_capture"]),
    st.sampled_from(
        [1, "markers", "session", "end", {}, [], 2**63, -1, math.nan, b"", {"positions": b"1"}, None]
    ),
).map(msgpack.packb)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=st.lists(st.tuples(topics, garbage | halves.map(lambda half: [half])), min_size=1, max_size=5)
)
def test_random_bytes_do_not_kill_the_thread(fuzzed, messages):
    """Protects the receiving thread: whatever comes, the next good frame gets through."""
    sender, subscriber, seqs = fuzzed
    for topic, rest in messages:
        sender.parts(topic, *rest)
    seq = next(seqs)
    sender.frame(seq)
    frame = subscriber.wait(GUARD_S)
    assert frame is not None
    assert frame.seq == seq


def test_nobody_there_is_said(subscribe, eventually):
    """Protects the user from waiting without knowing for what."""
    subscriber = subscribe("tcp://127.0.0.1:1")
    assert subscriber.session is None
    assert subscriber.wait(0.0) is None
    eventually(lambda: said(subscriber, "Nobody answers at tcp://127.0.0.1:1"))


def test_closing_wakes_the_reader(raw_sender):
    """Protects shutdown: close ends a wait in another thread, at once and more than once."""
    subscriber = Subscriber(raw_sender.address, ["markers"])
    timer = threading.Timer(0.05, subscriber.close)
    timer.start()
    assert subscriber.wait(300.0) is None
    timer.join()
    subscriber.close()


def test_a_fault_in_the_thread_reaches_the_reader(joined, monkeypatch):
    """Protects against silence: should the receiving thread fail, the reader is told why."""
    sender, subscriber = joined
    sender.frame(0)
    assert subscriber.wait(GUARD_S) is not None
    monkeypatch.setattr("streams.receiving.subscriber.receive_rest", lambda *parts, **cut: 1 / 0)
    sender.frame(1)
    with pytest.raises(StreamError, match="division"):
        subscriber.wait(GUARD_S)


@pytest.mark.parametrize(
    ("address", "topics", "backlog"),
    [
        ("tcp://127.0.0.1:5560", ["telemetry"], 8),
        ("tcp://127.0.0.1:5560", ["markers", "result"], 8),
        ("tcp://127.0.0.1:5560", ["markers", "smells"], 8),
        ("tcp://127.0.0.1:5560", ["markers"], 0),
        ("127.0.0.1:5560", ["markers"], 8),
    ],
)
def test_wrong_settings_are_refused(address, topics, backlog):
    """Protects the user from a subscriber that could never receive anything."""
    with pytest.raises(StreamError):
        Subscriber(address, topics, backlog=backlog)


def test_a_message_nobody_foresaw_is_counted_and_named(joined, monkeypatch, read_until):
    """Protects the receiving thread: should its own code fail on a message, the next one is received."""
    sender, subscriber = joined
    sender.frame(0)
    assert subscriber.wait(GUARD_S).seq == 0

    def decode_or_fail(parts):
        if parts[1] == b"the unforeseen":
            raise ZeroDivisionError("somewhere \x1b[31m inside")
        return decode(parts)

    monkeypatch.setattr("streams.receiving.intake.decode", decode_or_fail)
    sender.parts(b"markers", b"the unforeseen")
    sender.frame(1)
    assert read_until(subscriber, 1) == [1]
    assert counted(subscriber) == {"received": 2, "malformed": 1}
    assert said(subscriber, "unreadable", "ZeroDivisionError: somewhere \\x1b[31m inside")
