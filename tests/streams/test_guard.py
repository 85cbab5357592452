"""Peers that would fill memory or time, over real connections: cut off, while others are served."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
import zmq

from streams.codec import FieldLayout
from streams.control import ControlServer, request
from streams.messages import Markers, marker_session
from streams.publisher import LONGEST_TOPIC, MOST_TOPICS, Publisher
from streams.security import Security, create_keys
from streams.subscriber import Subscriber

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")

GUARD_S = 20.0
LOCAL = "tcp://127.0.0.1:0"
ENOUGH = 64 << 20
"""More than the system's buffers hold: who can send this much is read all the time [bytes]."""


def frame(body: bytes, more: bool = False) -> bytes:
    """A frame of ZMTP 3 around a body."""
    if len(body) < 256:
        return bytes([more, len(body)]) + body
    return bytes([2 | more]) + struct.pack(">Q", len(body)) + body


def wire(address: str, kind: bytes) -> socket.socket:
    """A connection that has greeted in ZMTP 3.0 as a socket of this kind."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    peer = socket.create_connection((host.strip("[]"), int(port)), GUARD_S)
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    peer.sendall(bytes([4, len(ready)]) + ready)
    return peer


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
    session = publisher._session
    assert session is not None
    return session


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
        assert any("Cut off 1 connection" in sentence for sentence in publisher.events)


COMMAND_FLOODS = {
    "empty parts": frame(b"", more=True) * 30_000,
    "parts": frame(bytes(8000), more=True) * 20,
    "messages without a delimiter": frame(b"command") * 8000,
    "messages of many parts": (frame(b"x", more=True) * 1000 + frame(b"x")) * 10,
}


@pytest.mark.parametrize("flood", COMMAND_FLOODS.values(), ids=COMMAND_FLOODS)
@pytest.mark.parametrize("kind", [b"REQ", b"DEALER"])
def test_a_flood_at_the_control_endpoint_is_cut_off(flood, kind, eventually):
    """Protects the control endpoint: who floods it is cut off, and others are answered."""
    with ControlServer(LOCAL, lambda command: (True, "done")) as server:
        assert is_cut(wire(server.address, kind), flood)
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
    from streams.sockets import client_socket, connect

    server, client = keys
    with Publisher(LOCAL, server) as publisher, zmq.Context() as context:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        hoarder = client_socket(context, zmq.SUB, publisher.address, client, [b"session"])
        connect(hoarder, publisher.address)
        assert publisher.wait_for_subscriber(GUARD_S) or publisher.n_subscriber == 0
        for n in range(MOST_TOPICS + 1):
            hoarder.subscribe(b"topic %d" % n)

        def cut() -> bool:
            publisher.service()
            return any(f"more than {MOST_TOPICS} topics" in sentence for sentence in publisher.events)

        eventually(cut)
        hoarder.close()


def test_ordinary_subscribers_are_never_cut_off(keys, eventually):
    """Protects honest clients: topics come and go, dozens of them, for longer than an allowance lasts."""
    from streams.sockets import client_socket, connect

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


ENDLESS = """
import sys, zmq
sender = zmq.Context().socket(zmq.{kind})
sender.sndhwm = 0
sender.bind("tcp://127.0.0.1:0")
print(sender.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
if {kind_is_router}:
    identity = sender.recv_multipart()[0]
    sender.send(identity, zmq.SNDMORE)
    sender.send(b"", zmq.SNDMORE)
else:
    sender.recv()
while True:
    sender.send(b"markers", zmq.SNDMORE)
    sender.send(bytes({size}), zmq.SNDMORE)
"""


@contextlib.contextmanager
def endless(kind: str, size: int):
    """A sender, a process of its own, whose message does not end; its address."""
    program = ENDLESS.format(kind=kind, kind_is_router=kind == "ROUTER", size=size)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


@pytest.mark.process
@pytest.mark.parametrize("size", [0, 900, 1 << 20])
def test_a_message_without_end_is_cut_off(size, eventually):
    """Protects a receiver of markers or results: the sender of an endless message is cut off and named."""
    with endless("XPUB", size) as address, Subscriber(address, ["markers"]) as subscriber:
        eventually(lambda: any("do not end" in sentence for sentence in subscriber.events))


def test_large_messages_and_a_busy_reader_are_no_endless_message(subscribe, eventually):
    """Protects honest senders: the largest frames, and many of them at once, come through to the last."""
    n_marker, n_frame = 43_000, 200
    session = marker_session([], rate=0.0, t_start=0)
    field = session.fields[0]
    import msgspec

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
