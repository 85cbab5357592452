"""Messages that never end and keep to every rate: their senders are cut off, honest ones never."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from streams.access import crowd
from streams.access.crowd import AcceptedConnection
from streams.access.wire import Traffic
from streams.control.commands import COMMANDS, ControlServer, request
from streams.exchange import DEVICES, DevicePort, ModelLink
from streams.messages import Device, marker_session
from streams.publisher import UPSTREAM, Publisher
from tests.streams.access.test_guard import GUARD_S, LOCAL, frame, wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")

EMPTY = frame(b"", more=True)
READ = 8 << 10
"""What libzmq reads at once [bytes]."""
SECOND_NS = 1_000_000_000
DAY_S = 86_400

Served = tuple[str, Callable[[], list[str]]]


@contextlib.contextmanager
def control_endpoint() -> Iterator[Served]:
    """A control endpoint: its address, and what serves it and returns all it has told."""
    with ControlServer(LOCAL, lambda command: (True, "done"), ("status",)) as server:
        yield server.address, lambda: list(server.events)


@contextlib.contextmanager
def device_port() -> Iterator[Served]:
    """The same for a model's end of the exchange with a device."""
    told: list[str] = []
    with DevicePort(LOCAL) as port:

        def serve() -> list[str]:
            port.receive()
            told.extend(port.sentences())
            return told

        yield port.address, serve


@contextlib.contextmanager
def publisher() -> Iterator[Served]:
    """The same for a publisher."""
    with Publisher(LOCAL) as publisher:
        yield publisher.address, lambda: publisher.service() or list(publisher.events)


ENDPOINTS = {
    "commands": (control_endpoint, b"DEALER"),
    "device": (device_port, b"DEALER"),
    "results": (publisher, b"SUB"),
}


def is_over(peer: socket.socket) -> bool:
    """Whether the other side has ended the connection: what it sent before is read, heartbeats are late."""
    peer.settimeout(0.5)
    try:
        while peer.recv(1 << 16):
            pass
        return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize(("endpoint", "kind"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_a_message_without_end_is_cut_off_although_its_rate_is_permitted(
    endpoint, kind, monkeypatch, eventually
):
    """Protects memory from empty parts, each of which takes 32 times its bytes: 26 KiB that no message ends
    are too many, where as many at once are permitted.
    """
    # The results permit less at once than is too much of one message; it would take some twenty seconds.
    monkeypatch.setattr("streams.publisher.UPSTREAM", UPSTREAM._replace(burst=32 << 10))
    with endpoint() as (address, serve), contextlib.closing(wire(address, kind)) as peer:
        peer.sendall(EMPTY * (13 << 10))

        def is_cut() -> bool:
            with contextlib.suppress(OSError):
                peer.sendall(EMPTY)  # or it would be dropped, as one that answers no heartbeat
            time.sleep(0.02)
            return any("without completing a message" in sentence for sentence in serve())

        eventually(is_cut)
        assert is_over(peer)


@pytest.mark.parametrize("name", ["commands", "device"])
def test_a_message_of_many_parts_is_cut_off(name, eventually):
    """Protects loop and memory: a message of thousands of parts, which are read one by one, is the last of
    its connection.
    """
    endpoint, kind = ENDPOINTS[name]
    with endpoint() as (address, serve), contextlib.closing(wire(address, kind)) as peer:
        peer.sendall(EMPTY * 4000 + frame(b""))
        eventually(lambda: any("more than 64 parts" in sentence for sentence in serve()))
        assert is_over(peer)


def test_a_stranger_with_many_messages_at_once_beside_the_device_is_cut_off(eventually):
    """Protects memory: messages of others are read 64 at a time, and would wait without limit."""
    told: list[str] = []
    with DevicePort(LOCAL) as port, ModelLink(port.address) as link:
        numbers = iter(range(1_000_000))

        def is_heard() -> bool:
            link.send(measured(next(numbers)))
            return port.poll(10) and port.receive()

        eventually(is_heard)
        port.keeps = True
        with contextlib.closing(wire(port.address, b"DEALER")) as peer:
            peer.sendall((frame(b"", more=True) + frame(b"")) * 4000)

            def is_cut() -> bool:
                is_heard()
                told.extend(port.sentences())
                return any("64 messages at once beside the device" in sentence for sentence in told)

            eventually(is_cut)
            assert is_over(peer)
        before = port._identity
        eventually(is_heard)
        assert port._identity == before


def measured(seq: int) -> Device:
    """A message of a device of one joint, of the usual size."""
    numbers = {"angle": [0.0], "speed": [0.0], "torque": [0.0]}
    return Device(session="0123456789abcdef", seq=seq, t=1, state="disarmed", **numbers)


def test_a_device_is_not_cut_off_by_a_model_that_reads_late(eventually):
    """Protects a device beside a model that was suspended: what waits is more than an unfinished message may
    have, and is a doubt that the first look of the model ends.
    """
    with DevicePort(LOCAL) as port, ModelLink(port.address) as link:
        numbers = iter(range(1_000_000))
        eventually(lambda: link.send(measured(next(numbers))) or (port.poll(10) and port.receive()))
        guard = port._bound.guard

        def are_doubtful() -> list[bool]:
            return [connection.is_doubtful for connection in guard._connections.values()]

        eventually(lambda: link.send(measured(next(numbers))) or are_doubtful() == [True])
        time.sleep(0.2)  # many looks of the guard, none of the model
        assert are_doubtful() == [True]
        eventually(lambda: port.receive() or are_doubtful() == [False])
        for _ in range(100):  # the model looks often and finds nothing
            port.receive()
            time.sleep(0.002)
        assert guard.n_cut == 0
        eventually(lambda: link.send(measured(next(numbers))) or (port.poll(10) and port.receive()))


def are_heard(server: ControlServer | Publisher, n: int) -> bool:
    """Whether at least n bytes have come from the one that is connected, and the guard takes all as read."""
    return any(
        connection.traffic.received >= n and not connection.n_unheard
        for connection in server._bound.guard._connections.values()
    )


def test_commands_that_are_refused_are_messages_as_well(monkeypatch, eventually):
    """Protects a client whose commands are unknown or not decoded: each was complete, whatever it was."""
    monkeypatch.setattr("streams.control.commands.COMMANDS", COMMANDS._replace(burst=1 << 20))
    with (
        ControlServer(LOCAL, lambda command: (True, "done"), ("status",)) as server,
        contextlib.closing(wire(server.address, b"DEALER")) as peer,
    ):
        size = COMMANDS.unfinished // 4
        for n in range(1, 9):
            peer.sendall(frame(b"nothing", more=True) + frame(bytes(size)))
            eventually(lambda n=n: server._bound.guard.n_cut or are_heard(server, n * size))
        assert server._bound.guard.n_cut == 0
        assert request(server.address, "status", timeout_s=GUARD_S)[0]


def test_subscriptions_are_messages_whatever_their_topic(monkeypatch, eventually):
    """Protects a subscriber that changes its mind for as long as it is connected: each word counts as read,
    those of topics that nobody publishes and cancellations too.
    """
    monkeypatch.setattr("streams.publisher.UPSTREAM", UPSTREAM._replace(burst=1 << 20))
    with Publisher(LOCAL) as publisher, contextlib.closing(wire(publisher.address, b"SUB")) as peer:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        peer.sendall(frame(b"\x01session") + frame(b"\x01markers"))
        assert publisher.wait_for_subscriber(GUARD_S)
        guard, topics = publisher._bound.guard, [b"%060d" % n for n in range(30)]
        words = b"".join(frame(b"\x01" + topic) for topic in topics)
        words += b"".join(frame(b"\x00" + topic) for topic in topics)
        for n in range(1, 8):
            peer.sendall(words)
            eventually(lambda n=n: publisher.service() or guard.n_cut or are_heard(publisher, n * len(words)))
        assert 7 * len(words) > 2 * UPSTREAM.unfinished
        assert guard.n_cut == 0


class Sender:
    """A connection that receives what the test says, by a clock that the test sets [ns]."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns, self.received, self.n_waiting = 1 << 60, 0, 0
        monkeypatch.setattr(crowd, "now_ns", lambda: self.ns)
        monkeypatch.setattr(crowd, "traffic", lambda wire: Traffic(received=self.received))
        monkeypatch.setattr(crowd, "n_unread", lambda wire: self.n_waiting)
        monkeypatch.setattr(crowd, "inode_of", lambda fd: 1)
        self.n_drained = 0
        self.connection = AcceptedConnection(self, 1 << 40)

    def fileno(self) -> int:
        return -1

    def looks(self, n_new: int, span_ns: int = 2_000_000, heard: bool = False) -> bool:
        """Let the guard look after this many bytes and this time; whether the sender is guilty."""
        self.received += n_new
        self.ns += span_ns
        self.connection.look(1 << 40, 1 << 40)
        self.connection.look_for_end(DEVICES.unfinished, heard, self.n_drained)
        return bool(self.connection.guilty)


@pytest.fixture
def sender(monkeypatch) -> Sender:
    return Sender(monkeypatch)


def test_a_doubt_becomes_guilt_when_the_owner_finds_nothing_to_read(sender):
    """Protects memory: an endless message is cut off as soon as it is certain, and discarded."""
    assert not sender.looks(DEVICES.unfinished + 100)
    assert not sender.looks(0)
    sender.n_drained += 2
    assert sender.looks(0)
    assert sender.connection.floods


def test_the_owners_look_that_began_before_the_doubt_proves_nothing(sender):
    """Protects honest senders on a busy machine: the owner may have found nothing just before it came."""
    sender.looks(DEVICES.unfinished + 100)
    sender.n_drained += 7
    assert not sender.looks(0)  # these looks at the socket may be older than what the guard has seen
    sender.n_drained += 1
    assert not sender.looks(0)
    sender.n_drained += 1
    assert sender.looks(0)


def test_nobody_is_guilty_beside_an_owner_that_does_not_look(sender):
    """Protects a device at 4000 messages a second from a model that is suspended for a minute."""
    assert not any(sender.looks(250 * 4000 // 100, SECOND_NS // 100) for _ in range(6000))
    sender.n_drained += 1
    assert not sender.looks(0, heard=True)
    sender.n_drained += 100
    assert not any(sender.looks(0) for _ in range(100))


def test_a_message_ends_every_doubt(sender):
    """Protects senders of many messages beside an owner that looks seldom, and finds nothing in between."""
    for _ in range(1000):
        assert not sender.looks(2 * DEVICES.unfinished)
        sender.n_drained += 3
        assert not sender.looks(100, heard=True)
        sender.n_drained += 3
    assert not sender.connection.is_doubtful


@pytest.mark.parametrize(("rate", "every_s"), [(10, 1), (45, 1), (45, 7)])
def test_heartbeats_are_no_message(sender, rate, every_s):
    """Protects a subscriber that says nothing for three days, with and without keys."""
    for _ in range(3 * DAY_S // every_s):
        sender.n_drained += 3
        assert not sender.looks(rate * every_s, every_s * SECOND_NS)
    assert sender.connection.n_unheard == 0


def test_who_is_silent_saves_nothing_up(sender):
    """Protects memory from a connection that waits for a day and then sends a message without end."""
    sender.looks(0, DAY_S * SECOND_NS)
    sender.looks(DEVICES.unfinished + 100)
    sender.looks(0)
    sender.n_drained += 2
    assert sender.looks(0)


def test_a_clock_that_is_set_back_is_nobodys_guilt(sender):
    """Protects a subscriber: what its heartbeats may be does not shrink by the hour that the clock lacks."""
    for span_ns in (SECOND_NS, -3600 * SECOND_NS, SECOND_NS):
        assert not sender.looks(10, span_ns)
        sender.n_drained += 3
    assert sender.connection.n_unheard <= 10


def test_what_libzmq_has_not_read_is_no_doubt(sender):
    """Protects a device from a machine so busy that libzmq reads nothing: no message can be complete yet."""
    sender.n_waiting = 8 * DEVICES.unfinished
    for _ in range(100):
        assert not sender.looks(8 * DEVICES.unfinished // 100)
        sender.n_drained += 3
    sender.n_waiting = 0
    assert not sender.looks(0)
    sender.n_drained += 3
    assert not sender.looks(0, heard=True)


@pytest.mark.parametrize("limit", [COMMANDS, DEVICES, UPSTREAM])
def test_a_message_and_one_read_are_not_too_much(limit):
    """Protects honest senders: what one read of libzmq has completed may not have been passed on yet."""
    assert limit.unfinished >= min(2 * limit.part, READ) + READ
    assert 32 * limit.unfinished * crowd.PLACES <= 64 << 20  # what all places together can hold [bytes]
