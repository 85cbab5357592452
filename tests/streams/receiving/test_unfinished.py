"""Messages without an end: what came beyond complete messages counts, in bytes and in segments."""

import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from streams.receiving import unfinished
from streams.receiving.unfinished import (
    BESIDE,
    FAST,
    FRAMING,
    HEARTBEAT_RATE,
    MOST_SEGMENTS,
    MOST_UNFINISHED,
    SAVED_S,
    Unfinished,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")

GUARD_S = 120.0
Ends = tuple[socket.socket, socket.socket]


class Clock:
    """A clock that tests advance by hand [ns]."""

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """The clock of the count."""
    clock = Clock()
    monkeypatch.setattr(unfinished, "now_ns", clock)
    return clock


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A sender and a receiver, connected."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = socket.create_connection(listener.getsockname(), GUARD_S)
        with receiver, listener.accept()[0] as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield sender, receiver


def brought(ends: Ends, n: int) -> None:
    """Send n bytes and read them all, in steps that never fill the system's buffers."""
    sender, receiver = ends
    while n:
        step = min(n, 32 << 10)
        sender.sendall(bytes(step))
        left = step
        while left:
            left -= len(receiver.recv(left))
        n -= step


def watched(ends: Ends) -> Unfinished:
    """The count of the receiver's connection."""
    _, receiver = ends
    count = Unfinished(f"tcp://127.0.0.1:{receiver.getpeername()[1]}")
    count.connected(receiver.fileno())
    return count


def test_what_comes_before_the_first_look_counts(ends, clock):
    """Protects memory from a sender who begins with the connection: its first bytes are not given to it."""
    count = watched(ends)
    brought(ends, MOST_UNFINISHED + 1)
    assert [count.cut(), count.doubtful, count.cut()] == [False, True, True]


def test_an_endless_message_is_cut_at_the_next_look(ends, clock):
    """Protects memory from many empty parts, each of which takes thirty times its bytes: no time is needed to
    be sure, and a sender who pauses is no other.
    """
    count = watched(ends)
    brought(ends, MOST_UNFINISHED)
    assert [count.cut(), count.doubtful] == [False, False]
    brought(ends, 2000)
    assert [count.cut(), count.doubtful] == [False, True]
    assert count.cut()


def test_a_message_that_is_complete_at_the_next_look_is_no_endless_one(ends, clock):
    """Protects honest senders: a message that was completed between reading and look takes back the doubt."""
    count = watched(ends)
    for _ in range(5):
        brought(ends, MOST_UNFINISHED + 1)
        assert not count.cut()
        assert count.doubtful
        count.heard([bytes(MOST_UNFINISHED)])
        assert not count.cut()
        assert not count.doubtful


def test_who_begins_with_a_burst_is_not_cut(ends, clock):
    """Protects honest senders of large frames: what came before the first look, with complete messages in it,
    is no endless message, although the connection is told later than its messages.
    """
    receiver = ends[1]
    count = Unfinished(f"tcp://127.0.0.1:{receiver.getpeername()[1]}")
    for _ in range(3):
        brought(ends, MOST_UNFINISHED)
        count.heard([bytes(MOST_UNFINISHED)])
    count.connected(receiver.fileno())
    assert not any(count.cut() for _ in range(5))


def test_messages_of_other_topics_between_ours_are_no_endless_one(ends, clock):
    """Protects honest senders that do not filter by topic: libzmq drops what nobody subscribed to unseen."""
    count = watched(ends)
    for _ in range(5):
        brought(ends, MOST_UNFINISHED)
        count.heard([b"markers", bytes(100)])
        assert [count.cut(), count.cut()] == [False, False]


def test_a_small_message_does_not_hide_an_endless_one(ends, clock):
    """Protects memory: what comes behind a complete message counts from its end, but for what the start of
    an honest one may be.
    """
    count = watched(ends)
    brought(ends, 100 + MOST_UNFINISHED // 2)
    count.heard([bytes(100)])
    assert not count.cut()
    brought(ends, MOST_UNFINISHED // 2 + BESIDE + FRAMING + 1)
    assert [count.cut(), count.doubtful, count.cut()] == [False, True, True]


def test_a_new_connection_begins_without_doubt(ends, clock):
    """Protects honest senders: the doubt in a connection is not carried over to the next one."""
    count = watched(ends)
    brought(ends, MOST_UNFINISHED + 1)
    assert not count.cut()
    assert count.doubtful
    count.gone()
    assert [count.cut(), count.doubtful, count.grows] == [False, False, False]
    count.connected(ends[1].fileno())
    assert not count.cut()


def test_parts_that_come_alone_count_as_segments(ends, clock):
    """Protects memory: libzmq keeps 8 KiB for a small part that comes alone, 200 times its bytes."""
    sender, receiver = ends
    count = watched(ends)
    for _ in range(MOST_SEGMENTS + 1):
        sender.send(bytes(35))
        receiver.recv(35)
    assert [count.cut(), count.doubtful, count.cut()] == [False, True, True]


def test_heartbeats_of_days_are_no_message(ends, clock):
    """Protects a stream that rests: heartbeats come for as long as nothing else is sent."""
    count = watched(ends)
    for _ in range(3000):
        clock.ns += 1_000_000_000
        brought(ends, 45)
        assert not count.cut()
    assert not count.doubtful
    assert count._n - count._mark < MOST_UNFINISHED // 10


def test_a_rest_is_not_saved_up(ends, clock):
    """Protects memory: who was silent for a day, while it was looked at, may send no more than before."""
    count = watched(ends)
    for _ in range(100):
        clock.ns += 864_000_000_000
        assert not count.cut()
    clock.ns += 1_000_000
    brought(ends, MOST_UNFINISHED + int(HEARTBEAT_RATE * SAVED_S) + 1)
    assert [count.cut(), count.doubtful, count.cut()] == [False, True, True]


def test_a_clock_that_is_set_back_cuts_nobody_off(ends, clock):
    """Protects honest connections: a time before the last look is no time, and no guilt."""
    count = watched(ends)
    for _ in range(100):
        clock.ns -= 500_000_000
        assert not count.cut()
    clock.ns += 1_000_000_000
    brought(ends, 45)
    assert not count.cut()
    assert count._mark == count._n == 45


def test_a_message_that_grows_is_looked_at_more_often(ends, clock):
    """Protects memory: a message that grows fast is known, and one that has come as a whole is none."""
    count = watched(ends)
    brought(ends, 2 * FAST)
    count.cut()
    assert count.grows
    count.cut()
    assert not count.grows
    brought(ends, 10)
    count.cut()
    assert not count.grows


def test_a_message_that_waits_in_the_system_grows(ends, clock):
    """Protects memory on a busy machine: who has no time to read a message must look again all the sooner."""
    sender, receiver = ends
    count = watched(ends)
    sender.sendall(bytes(2 * FAST))
    receiver.recv(2 * FAST, socket.MSG_PEEK | socket.MSG_WAITALL)  # it has arrived
    count.cut()
    assert count.grows


def test_what_waits_at_the_cut_is_not_read(ends, clock):
    """Protects memory: libzmq would store each waiting byte of a connection that is shut down at thirty times
    its size.
    """
    sender, receiver = ends
    count = watched(ends)
    brought(ends, MOST_UNFINISHED + 1)
    assert not count.cut()
    sender.sendall(bytes(100_000))
    receiver.recv(1, socket.MSG_PEEK)
    assert count.cut()
    rest = b""
    with suppress(ConnectionResetError):  # by what the sender still has
        rest = receiver.recv(1)
    assert rest == b""


def test_a_doubt_outlasts_a_look_without_descriptors(ends, clock, monkeypatch):
    """Protects memory where this program may open no more files: the next look that succeeds cuts."""
    count = watched(ends)
    brought(ends, MOST_UNFINISHED + 1)
    assert not count.cut()

    def none_left(fd: int, *, peer_port: int) -> socket.socket:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(unfinished, "open_wire", none_left)
        assert [count.cut(), count.doubtful, count.blind] == [False, True, True]
    assert count.cut()


def test_a_receiver_that_did_not_look_for_hours_cuts_nobody(ends, clock):
    """Protects connections behind a dialog or a debugger: heartbeats of the time without looks are theirs."""
    count = watched(ends)
    assert not count.cut()
    clock.ns += 10 * 3600 * 1_000_000_000
    brought(ends, MOST_UNFINISHED + 100_000)
    assert [count.cut(), count.doubtful] == [False, False]


def test_messages_do_not_make_the_reader_look_more_often(ends, clock):
    """Protects the processor: frames that are whole are followed by no look a millisecond later."""
    count = watched(ends)
    for _ in range(3):
        brought(ends, 10 * FAST)
        count.heard([bytes(10 * FAST)])
        assert not count.cut()
        assert not count.grows


def test_what_one_connection_brought_is_no_allowance_of_the_next(ends, clock):
    """Protects memory: messages of a connection that is gone do not account for what a new one sends."""
    count = watched(ends)
    count.heard([bytes(MOST_UNFINISHED)])
    count.gone()
    assert not count.cut()
    count.connected(ends[1].fileno())
    brought(ends, MOST_UNFINISHED + 1)
    assert [count.cut(), count.doubtful, count.cut()] == [False, True, True]
