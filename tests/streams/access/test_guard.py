"""Peers that would fill memory or time, over real connections: cut off, while others are served."""

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import msgspec
import pytest
import zmq

from streams.access.key_files import create_keys
from streams.access.security import Security
from streams.codec import FieldLayout
from streams.control.commands import ControlServer, request
from streams.messages import Markers, marker_session
from streams.publisher import CROWD, LEAST_AT_ONCE, LONGEST_TOPIC, MOST_TOPICS, Publisher
from streams.receiving import unfinished
from streams.receiving.subscriber import Subscriber
from streams.sockets import client_socket, connect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
ENOUGH = 64 << 20
"""More than the system's buffers hold: who can send this much is read all the time [bytes]."""


def frame(body: bytes, more: bool = False) -> bytes:
    """A frame of ZMTP 3 around a body."""
    if len(body) < 256:
        return bytes([more, len(body)]) + body
    return bytes([2 | more]) + struct.pack(">Q", len(body)) + body


def wire(address: str, kind: bytes) -> socket.socket:
    """A connection to a bound socket, ready for messages."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    peer = socket.create_connection((host.strip("[]"), int(port)), GUARD_S)
    greet(peer, kind)
    return peer


def greet(peer: socket.socket, kind: bytes) -> None:
    """Shake hands by ZMTP 3.0 as a socket of this kind."""
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    peer.sendall(bytes([4, len(ready)]) + ready)
    with peer.makefile("rb") as answer:  # messages before the other side is ready would be a protocol fault
        answer.read(64)
        flags, size = answer.read(2)
        assert flags == 4
        assert answer.read(size).startswith(b"\x05READY")


def is_cut(peer: socket.socket, flood: bytes) -> bool:
    """Send a flood on and on; whether the other side ended it before it had ENOUGH."""
    with contextlib.closing(peer):
        try:
            for _ in range(ENOUGH // len(flood)):
                peer.sendall(flood)
        except ConnectionError:
            return True
    return False


def frames(publisher: Publisher, n: int) -> None:
    """Send frames, serving subscribers as a loop does."""
    session = publisher_session(publisher)
    data = FieldLayout(session).pack({"positions": [[0.0, 0.0, 0.0]]})
    for seq in range(n):
        publisher.send(Markers(session=session.session, seq=seq, t_capture=1, time=0.0, data=data))
        publisher.service()


def publisher_session(publisher: Publisher):
    return publisher._open["markers"].session


FLOODS = {
    "subscribe and cancel": b"".join(frame(b"\x01%d" % n) + frame(b"\x00%d" % n) for n in range(4000)),
    "subscribe to all": frame(b"\x01") * 20_000,
    "cancel what was never": frame(b"\x00session") * 8000,
    "long subscriptions": b"".join(frame(b"\x01" + os.urandom(900)) for _ in range(100)),
    "messages of one byte 1": frame(b"\x01session", more=True) * 8000,
    "messages to nobody": frame(b"\x07hello") * 8000,
    "empty parts without end": frame(b"", more=True) * 30_000,
    "parts without end": frame(bytes(900), more=True) * 100,
    "pings": b"\x04\x07\x04PING\x00\x00" * 8000,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_a_subscriber_is_cut_off(flood, subscribe):
    """Protects a publisher: whoever floods it is cut off, and an honest subscriber misses nothing."""
    with Publisher(LOCAL) as publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        honest = subscribe(publisher.address, backlog=400)
        assert publisher.wait_for_subscriber(GUARD_S)
        cut: list[bool] = []
        attacker = threading.Thread(target=lambda: cut.append(is_cut(wire(publisher.address, b"SUB"), flood)))
        attacker.start()
        while attacker.is_alive():
            publisher.service()
            time.sleep(0.005)
        assert cut == [True]
        frames(publisher, 300)
        publisher.end("over")
        seqs = []
        while not honest.ended:
            found = honest.wait(GUARD_S)
            seqs += [] if found is None else [found.seq]
        assert seqs == list(range(300))
        assert any("Cut off" in sentence for sentence in publisher.events)


@pytest.mark.process
def test_a_flood_of_new_topics_leaves_the_guard_its_turn():
    """Protects memory: to take topics in is slower than to send them, and no call may do so without end."""
    with Publisher(LOCAL) as publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        words = [
            sys.executable,
            "-m",
            "benchmarks.strangers.attackers",
            "3_long_subscriptions",
            publisher.address,
            "1.5",
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as attacker:
            while attacker.poll() is None:
                publisher.service()
                time.sleep(0.005)
            done = json.loads(attacker.stdout.read())
    assert done["connections"] > 0
    assert done["bytes"] < 16e6 * done["connections"]


def test_a_flood_gets_its_share_of_the_time_and_nobody_in_until_it_is_handled(monkeypatch, eventually):
    """Protects a loop on a slow machine: what a flood left behind is handled little by little, and no next
    flood is let in meanwhile."""
    monkeypatch.setattr("streams.publisher.SHARE", 0.0)
    handled: list[int] = []
    pauses: list[int] = []
    with Publisher(LOCAL) as publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        hear = publisher._hear
        monkeypatch.setattr(publisher, "_hear", lambda message: handled.append(1) or hear(message))
        guard = publisher._bound.guard
        monkeypatch.setattr(guard, "pause", lambda: pauses.append(len(handled)))
        with contextlib.closing(wire(publisher.address, b"SUB")) as peer:
            peer.sendall(frame(b"\x01") * (2 * CROWD))

            def over() -> bool:
                before = len(handled)
                publisher.service()
                assert len(handled) - before <= LEAST_AT_ONCE
                return len(handled) >= 2 * CROWD

            eventually(over)
        eventually(lambda: publisher.service() or not publisher._n_in_a_row)
        assert any(n > CROWD for n in pauses)


COMMAND_FLOODS = {
    "parts without content": frame(b"", more=True) * 30_000,
    "parts": frame(bytes(8000), more=True) * 20,
    "messages without a delimiter": frame(b"command") * 8000,
    "messages of many parts": (frame(b"x", more=True) * 1000 + frame(b"x")) * 10,
}


@pytest.mark.parametrize("flood", COMMAND_FLOODS.values(), ids=COMMAND_FLOODS)
def test_a_flood_at_the_control_endpoint_is_cut_off(flood, eventually):
    """Protects the control endpoint: who floods it is cut off, and others are answered."""
    with ControlServer(LOCAL, lambda command: (True, "done"), ("status",)) as server:
        assert is_cut(wire(server.address, b"DEALER"), flood)
        eventually(lambda: request(server.address, "status", timeout_s=2.0)[0])


@pytest.fixture(params=["open", "with keys"])
def keys(request, tmp_path) -> tuple[Security | None, Security | None]:
    """Security of a server, and of a client that it knows."""
    if request.param == "open":
        return None, None
    server_public, server_secret = create_keys(tmp_path / "server", "server")
    public, secret = create_keys(tmp_path / "client", "client")
    (tmp_path / "allowed").mkdir()
    public.rename(tmp_path / "allowed" / public.name)
    return (
        Security.for_server(server_secret, tmp_path / "allowed"),
        Security.for_client(secret, server_public),
    )


def test_a_client_that_holds_too_many_topics_is_cut_off(keys, eventually):
    """Protects memory in the long run, also from holders of keys: topics are counted, not bytes alone."""
    server, client = keys
    with Publisher(LOCAL, server) as publisher, zmq.Context() as context:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        hoarder = client_socket(context, zmq.SUB, publisher.address, client, [b"session", b"markers"])
        connect(hoarder, publisher.address)
        assert publisher.wait_for_subscriber(GUARD_S)
        numbers = itertools.count()

        def cut() -> bool:
            # On and on: what comes before the guard has seen the connection is not counted against it.
            hoarder.subscribe(b"topic %d" % next(numbers))
            publisher.service()
            return any(f"more than {MOST_TOPICS} topics" in sentence for sentence in publisher.events)

        eventually(cut)
        hoarder.close()


def test_ordinary_subscribers_are_never_cut_off(keys, eventually):
    """Protects honest clients: topics come and go, dozens of them, for longer than an allowance lasts."""
    server, client = keys
    with Publisher(LOCAL, server) as publisher, zmq.Context() as context:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        sockets = []
        for _ in range(20):
            one = client_socket(context, zmq.SUB, publisher.address, client, [b"session", b"markers", b"end"])
            connect(one, publisher.address)
            one.subscribe(b"x" * LONGEST_TOPIC)
            sockets.append(one)

        def joined() -> bool:
            publisher.service()
            return publisher.n_subscriber == len(sockets)

        eventually(joined)
        for one in sockets:
            one.unsubscribe(b"x" * LONGEST_TOPIC)
            one.close()
        eventually(lambda: publisher.service() or publisher.n_subscriber == 0)
        assert not publisher.events


@contextlib.contextmanager
def endless(kind: bytes, part: bytes, ends: bool = False):
    """A listener that sends whoever connects a message without end, or with one after tens of thousands of
    parts, over and over; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(GUARD_S)

        def serve() -> None:
            while True:
                try:
                    peer = listener.accept()[0]
                except OSError:
                    return  # the test is over
                peer.settimeout(GUARD_S)
                with contextlib.suppress(OSError, AssertionError, ValueError):
                    greet(peer, kind)
                    parts = frame(part, more=True) * (1 + 100_000 // (len(part) + 2))
                    is_cut(peer, frame(b"markers", more=True) + parts + frame(b"") if ends else parts)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join()


PARTS = [b"", bytes(900), bytes(1 << 20)]


@pytest.mark.parametrize("part", PARTS, ids=len)
def test_a_message_without_end_is_cut_off(part, eventually):
    """Protects a receiver of markers or results: the sender of an endless message is cut off and named."""
    with endless(b"XPUB", part) as address, Subscriber(address, ["markers"]) as subscriber:
        eventually(lambda: any("do not end" in sentence for sentence in subscriber.events))
        assert subscriber.session is None


def test_a_message_of_many_parts_is_cut_off(eventually, monkeypatch):
    """Protects memory: complete messages of tens of thousands of parts are not read to their end one by one
    while libzmq stores the next ones. Here nothing but the number of parts can end them.
    """
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 1 << 40)
    monkeypatch.setattr(unfinished, "MOST_SEGMENTS", 1 << 40)
    with endless(b"XPUB", b"", ends=True) as address, Subscriber(address, ["markers"]) as subscriber:
        eventually(lambda: any("too many parts" in sentence for sentence in subscriber.events))
        assert subscriber.session is None


@pytest.mark.parametrize("part", PARTS, ids=len)
def test_an_answer_without_end_is_none(part):
    """Protects who sends a command from the memory of what only seems to be an estimator."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with endless(b"ROUTER", part) as address:
        ok, text = request(address, "status", timeout_s=1.0)
    assert not ok
    assert "Nobody answered" in text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_large_messages_and_a_busy_reader_are_no_endless_message(subscribe, eventually):
    """Protects honest senders: the largest frames, and many of them at once, come through to the last."""
    n_marker, n_frame = 43_000, 200
    session = marker_session([], rate=0.0, t_start=0)
    field = session.fields[0]
    session = msgspec.structs.replace(
        session, fields=[msgspec.structs.replace(field, shape=(n_marker, 3), labels=())]
    )
    data = {"positions": bytes(24 * n_marker)}
    with Publisher(LOCAL) as publisher:
        publisher.announce(session)
        subscriber = subscribe(publisher.address, backlog=4)
        assert publisher.wait_for_subscriber(GUARD_S)
        for seq in range(n_frame):
            publisher.send(Markers(session=session.session, seq=seq, t_capture=1, time=0.0, data=data))
        publisher.end("over")
        eventually(lambda: subscriber.wait(0.01) is None and subscriber.ended)
        assert subscriber.counters["received"] == n_frame
        assert subscriber.counters["lost"] == 0
        assert not any("do not end" in sentence for sentence in subscriber.events)


def test_a_crowd_leaves_room_for_who_is_there(subscribe, read_until):
    """Protects subscribers from connections that say nothing: they are bounded, and nobody is pushed out."""
    with Publisher(LOCAL) as publisher, contextlib.ExitStack() as stack:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        honest = subscribe(publisher.address, backlog=400)
        assert publisher.wait_for_subscriber(GUARD_S)
        host, port = publisher.address.removeprefix("tcp://").rsplit(":", 1)
        crowd = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(200)]
        due = time.monotonic() + GUARD_S
        closed = 0
        while closed < 100:
            assert time.monotonic() < due, f"{closed} of {len(crowd)} were closed"
            publisher.service()
            closed = 0
            for one in crowd:
                one.settimeout(0.001)
                with contextlib.suppress(TimeoutError, ConnectionError):
                    while chunk := one.recv(4096):
                        assert chunk
                    closed += 1
        frames(publisher, 50)
        assert read_until(honest, 49) == list(range(50))
