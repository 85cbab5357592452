"""Messages without an end: every byte since the connection or the last message counts."""

import socket
import sys
from collections.abc import Iterator

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
    monkeypatch.setattr(unfinished, "DELIVERY_NS", 0)
    count = watched(ends)
    brought(ends, 100)
    assert [count.cut(), count.cut()] == [False, True]


def test_a_message_may_wait_for_its_delivery(ends, monkeypatch):
    """Protects honest senders of large frames: bytes that have only just been read are no endless message."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    clock = [1_000_000_000]
    monkeypatch.setattr(unfinished, "now_ns", lambda: clock[0])
    count = watched(ends)
    brought(ends, 100)
    assert not any(count.cut() for _ in range(50))
    count.heard()
    assert not count.cut()
    brought(ends, 100)
    clock[0] += unfinished.DELIVERY_NS
    assert not count.cut()
    clock[0] += unfinished.DELIVERY_NS
    assert count.cut()


def test_what_was_read_before_a_later_read_has_been_delivered(ends, monkeypatch):
    """Protects memory from many empty parts, each of which takes thirty times its bytes: who goes on is cut
    off at once, without any wait; who pauses, or completes a message, is not.
    """
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "now_ns", lambda: 1_000_000_000)
    count = watched(ends)
    for n, expected in ((100, False), (0, False), (1, False), (0, True)):
        brought(ends, n)
        assert count.cut() is expected


def test_a_message_that_is_complete_in_the_end_is_no_endless_one(ends, monkeypatch):
    """Protects honest senders: a message that is delivered takes back the doubt, whatever was read on."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 50)
    monkeypatch.setattr(unfinished, "now_ns", lambda: 1_000_000_000)
    count = watched(ends)
    brought(ends, 100)
    assert count.cut() is False
    brought(ends, 1)
    assert count.cut() is False
    count.heard()
    brought(ends, 1)
    assert [count.cut() for _ in range(5)] == [False] * 5


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
