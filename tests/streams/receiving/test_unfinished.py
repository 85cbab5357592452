"""Messages without an end: every byte since the connection or the last message counts."""

import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from streams.receiving import unfinished
from streams.receiving.unfinished import Unfinished

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")

GUARD_S = 120.0


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A sender and a receiver, connected."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = socket.create_connection(listener.getsockname(), GUARD_S)
        with receiver, listener.accept()[0] as sender:
            yield sender, receiver


def brought(ends: tuple[socket.socket, socket.socket], n: int) -> None:
    """Send n bytes and read them all."""
    sender, receiver = ends
    sender.sendall(bytes(n))
    while n:
        n -= len(receiver.recv(n))


def watched(ends: tuple[socket.socket, socket.socket]) -> Unfinished:
    """The count of the receiver's connection."""
    _, receiver = ends
    count = Unfinished(f"tcp://127.0.0.1:{receiver.getpeername()[1]}")
    count.connected(receiver.fileno())
    return count


def test_what_comes_before_the_first_look_counts(ends, monkeypatch):
    """Protects memory from a sender who begins with the connection: its first bytes are not given to it."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "HEARTBEAT_RATE", 0)
    count = watched(ends)
    brought(ends, 100)
    assert [count.cut(), count.cut()] == [False, True]


def test_an_endless_message_is_cut_at_the_next_look(ends, monkeypatch):
    """Protects memory from many empty parts, each of which takes thirty times its bytes: no time is needed to
    be sure, and a sender who pauses is no other.
    """
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "now_ns", lambda: 1_000_000_000)
    count = watched(ends)
    brought(ends, 30)
    assert [count.cut(), count.doubtful, count.grows] == [False, False, True]
    brought(ends, 30)
    assert [count.cut(), count.doubtful] == [False, True]
    assert count.cut()


def test_a_message_that_is_complete_at_the_next_look_is_no_endless_one(ends, monkeypatch):
    """Protects honest senders: a message that was completed between reading and look takes back the doubt."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "now_ns", lambda: 1_000_000_000)
    count = watched(ends)
    for _ in range(5):
        brought(ends, 100)
        assert not count.cut()
        assert count.doubtful
        count.heard()
        assert not count.cut()
        assert not count.doubtful


def test_who_begins_with_a_burst_is_not_cut(ends, monkeypatch):
    """Protects honest senders of large frames: what came before the first look, with complete messages in it,
    is no endless message, although the connection is told later than its messages.
    """
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    receiver = ends[1]
    count = Unfinished(f"tcp://127.0.0.1:{receiver.getpeername()[1]}")
    brought(ends, 1000)
    count.heard()
    count.connected(receiver.fileno())
    assert not any(count.cut() for _ in range(5))


def test_a_new_connection_begins_without_doubt(ends, monkeypatch):
    """Protects honest senders: the doubt in a connection is not carried over to the next one."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "HEARTBEAT_RATE", 0)
    count = watched(ends)
    brought(ends, 100)
    assert not count.cut()
    count.gone()
    count.connected(ends[1].fileno())
    assert not count.cut()


def test_a_message_that_grows_is_looked_at_more_often(ends):
    """Protects memory: it is known that an unfinished message grows, and a whole one is none."""
    count = watched(ends)
    brought(ends, 100)
    count.cut()
    assert count.grows
    count.cut()
    assert not count.grows
    brought(ends, 100)
    count.heard()
    count.cut()
    assert not count.grows


def test_a_message_that_waits_in_the_system_grows(ends):
    """Protects memory on a busy machine: who has no time to read a message must look again all the sooner."""
    sender, receiver = ends
    count = watched(ends)
    sender.sendall(bytes(100))
    receiver.recv(1, socket.MSG_PEEK)  # it has arrived
    count.cut()
    assert count.grows


def test_what_waits_at_the_cut_is_not_read(ends, monkeypatch):
    """Protects memory: libzmq would store each waiting byte of a connection that is shut down at thirty times
    its size.
    """
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "HEARTBEAT_RATE", 0)
    sender, receiver = ends
    count = watched(ends)
    brought(ends, 100)
    assert not count.cut()
    sender.sendall(bytes(100_000))
    receiver.recv(1, socket.MSG_PEEK)
    assert count.cut()
    rest = b""
    with suppress(ConnectionResetError):  # by what the sender still has
        rest = receiver.recv(1)
    assert rest == b""
