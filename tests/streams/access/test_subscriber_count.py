"""The number of subscribers that a publisher counts, beside strangers who cancel, repeat and leave."""

import contextlib
import sys

import pytest
import zmq

from streams.messages import marker_session
from streams.publisher import Publisher
from streams.sockets import client_socket, connect
from tests.streams.access.test_guard import GUARD_S, LOCAL, frame, wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")


@pytest.fixture
def publisher():
    """A publisher of markers with an open session."""
    with Publisher(LOCAL) as one:
        one.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        yield one


@pytest.fixture
def come(publisher):
    """Connects an honest subscriber to the session and its markers; returns its socket."""
    with zmq.Context() as context, contextlib.ExitStack() as stack:

        def connected() -> zmq.Socket:
            honest = client_socket(context, zmq.SUB, publisher.address, None, [b"session", b"markers"])
            stack.callback(honest.close)
            connect(honest, publisher.address)
            return honest

        yield connected


def test_who_cancels_what_he_never_had_hides_no_subscriber(publisher, come, eventually):
    """Protects the count of subscribers from cancellations and repetitions of a stranger."""
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    for word, expected in ((b"\x00session", 1), (b"\x00markers", 1), (b"\x01", 2)):
        with contextlib.closing(wire(publisher.address, b"SUB")) as peer:
            eventually(lambda: publisher.service() or len(publisher._bound.guard._connections) == 2)
            peer.sendall(frame(word) * 5 + frame(b"\x01end"))
            eventually(lambda: publisher.service() or publisher.is_heard("end"))
            assert publisher.n_subscriber == expected
        eventually(lambda: publisher.service() or not publisher.is_heard("end"))
        assert publisher.n_subscriber == 1


def test_cancels_hide_no_subscriber_where_no_guard_knows_the_connections(
    publisher, come, monkeypatch, eventually
):
    """Protects the count on other systems and local sockets: it never falls below nobody."""
    monkeypatch.setattr(publisher._bound, "guard", None)
    with contextlib.closing(wire(publisher.address, b"SUB")) as peer:
        peer.sendall(frame(b"\x00session") * 50 + frame(b"\x01end"))
        eventually(lambda: publisher.service() or publisher.is_heard("end"))
        assert publisher.n_subscriber == 0
        come()
        eventually(lambda: publisher.service() or publisher.is_heard("markers"))
        assert publisher.n_subscriber == 1


def test_visitors_who_leave_at_once_hide_no_subscriber(publisher, come, eventually):
    """Protects the count from subscriptions that are read when their connection is over already."""
    honest = come()
    assert publisher.wait_for_subscriber(GUARD_S)
    for _ in range(20):
        with contextlib.closing(wire(publisher.address, b"SUB")) as peer:
            peer.sendall(frame(b"\x01session") + frame(b"\x01markers"))
    eventually(lambda: publisher.service() or len(publisher._bound.guard._connections) == 1)
    publisher.service()
    assert publisher.n_subscriber == 1
    honest.close()
    eventually(lambda: publisher.service() or publisher.n_subscriber == 0)


def test_who_is_not_known_yet_is_counted_once_he_is(publisher, come, monkeypatch, eventually):
    """Protects a newcomer whose subscription comes before the guard has seen its connection, more than one
    call before.
    """
    guard, calls = publisher._bound.guard, []
    known = guard.connection

    def known_late(fd):
        calls.append(fd)
        return known(fd) if len(calls) > 9 else None

    monkeypatch.setattr(guard, "connection", known_late)
    # as if a former connection under the same descriptor had ended a moment ago
    guard._ended_ns.update(dict.fromkeys(range(1024), 1 << 62))
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    assert len(calls) > 9
    eventually(lambda: publisher.service() or publisher.is_heard("markers"))


def test_who_comes_under_the_number_of_a_connection_that_was_cut_is_counted(
    publisher, come, monkeypatch, eventually
):
    """Protects a newcomer whose connection has the descriptor of one that was cut in the same call."""
    guard, words = publisher._bound.guard, []
    heard = publisher._hear

    def after_a_cut(message: zmq.Frame) -> bool:
        words.append(message.bytes)
        publisher._cut = int(message.get(int(zmq.SRCFD))), -1
        return heard(message)

    monkeypatch.setattr(publisher, "_hear", after_a_cut)
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    assert words
    eventually(lambda: (guard.topics and publisher.is_heard("markers")) or publisher.service())
