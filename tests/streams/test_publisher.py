"""The publisher over real sockets."""

import msgpack
import pytest
import zmq

from streams.codec import FieldLayout
from streams.errors import StreamError
from streams.messages import Markers, Session, marker_session
from streams.publisher import Publisher

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"


@pytest.fixture
def join():
    """Makes plain ZeroMQ subscribers."""
    context = zmq.Context()
    sockets = []

    def make(address: str, *topics: bytes, kind: int = zmq.SUB) -> zmq.Socket:
        socket = context.socket(kind)
        socket.rcvtimeo = round(1e3 * GUARD_S)
        for topic in topics:
            socket.subscribe(topic)
        socket.connect(address)
        sockets.append(socket)
        return socket

    yield make
    for socket in sockets:
        socket.close(0)
    context.term()


def receive(socket: zmq.Socket) -> dict:
    topic, payload = socket.recv_multipart()
    message = msgpack.unpackb(payload)
    assert topic.decode() == message["type"]
    return message


def frame(session: Session, seq: int) -> Markers:
    data = FieldLayout(session).pack({"positions": [[seq, 0.0, 0.0]]})
    return Markers(session=session.session, seq=seq, t_capture=1, time=0.0, data=data)


def serve_until(publisher: Publisher, eventually, condition) -> None:
    def served() -> bool:
        publisher.service()
        return bool(condition())

    eventually(served)


def test_joining_gives_the_descriptor_at_once(publisher, join):
    """Protects late joins: the descriptor comes with the subscription, before any frame."""
    session = marker_session(["LASI"], rate=100.0, t_start=3)
    publisher.announce(session)
    for seq in range(10):
        publisher.send(frame(session, seq))
    late = join(publisher.address, b"session", b"markers")
    assert publisher.wait_for_subscriber(GUARD_S)
    publisher.send(frame(session, 10))
    descriptor = receive(late)
    assert (descriptor["type"], descriptor["session"], descriptor["t_start"]) == (
        "session",
        session.session,
        3,
    )
    while (message := receive(late))["type"] == "session":
        assert message == descriptor
    assert message["seq"] == 10


def test_the_descriptor_is_repeated(publisher, join, eventually):
    """Protects receivers that missed it: it comes again without anybody joining."""
    session = marker_session(["LASI"], rate=100.0, t_start=3)
    publisher.announce(session)
    socket = join(publisher.address, b"session")
    seen: list[str] = []
    # one for joining, then two repetitions
    serve_until(
        publisher,
        eventually,
        lambda: (socket.poll(10) and seen.append(receive(socket)["session"])) or len(seen) == 3,
    )
    assert seen == [session.session] * 3


def test_several_subscribers_get_everything(publisher, join, eventually):
    """Protects monitor and recorder side by side, and the count of subscribers."""
    session = marker_session(["LASI"], rate=100.0, t_start=3)
    publisher.announce(session)
    sockets = [join(publisher.address, b"session", b"markers") for _ in range(2)] + [
        join(publisher.address, b"")
    ]
    serve_until(publisher, eventually, lambda: publisher.n_subscriber == 3)
    for seq in range(50):
        publisher.send(frame(session, seq))
    for socket in sockets:
        seqs: list[int] = []
        while len(seqs) < 50:
            message = receive(socket)
            if message["type"] == "markers":
                seqs.append(message["seq"])
        assert seqs == list(range(50))
    sockets[0].close(0)
    serve_until(publisher, eventually, lambda: publisher.n_subscriber == 2)


def test_end_gets_out_before_closing(join):
    """Protects the end message: closing right after it does not lose it."""
    session = marker_session(["LASI"], rate=100.0, t_start=3)
    with Publisher(LOCAL) as publisher:
        socket = join(publisher.address, b"")
        publisher.announce(session)
        assert publisher.wait_for_subscriber(GUARD_S)
        for seq in range(200):
            publisher.send(frame(session, seq))
        publisher.end("that was all")
        publisher.end("a second end says nothing")
    kinds: list[dict] = []
    while not kinds or kinds[-1]["type"] != "end":
        kinds.append(receive(socket))
    assert sum(message["type"] == "markers" for message in kinds) == 200
    assert (kinds[-1]["seq"], kinds[-1]["reason"]) == (200, "that was all")
    assert socket.poll(100) == 0


def test_waiting_for_nobody_ends(publisher):
    """Protects senders from hanging when nobody comes."""
    assert not publisher.wait_for_subscriber(0.01)
    assert publisher.n_subscriber == 0


def test_an_address_in_use_is_named():
    """Protects the user: two programs on one port is a sentence, not a trace."""
    with Publisher(LOCAL) as first, pytest.raises(StreamError, match="is in use") as caught:
        Publisher(first.address)
    assert first.address in str(caught.value)


@pytest.mark.parametrize("address", ["tcp://nowhere", "5560", "udp://127.0.0.1:5560", "tcp://127.0.0.1:xx"])
def test_addresses_that_are_none_are_named(address):
    """Protects the user: a malformed address is a sentence with an example."""
    with pytest.raises(StreamError, match=r"tcp://127\.0\.0\.1"):
        Publisher(address)


def test_odd_subscribers_do_no_harm(publisher, join, eventually):
    """Protects the sender: odd and invented subscriptions are ignored and not remembered."""
    session = marker_session(["LASI"], rate=100.0, t_start=3)
    publisher.announce(session)
    odd = join(publisher.address, kind=zmq.XSUB)
    for message in (b"", b"\x07", b"\x00session", b"no subscription", b"\x01invented"):
        odd.send(message)
    odd.send(b"\x01session")
    odd.send(b"\x01markers")
    serve_until(publisher, eventually, lambda: publisher.n_subscriber == 1)
    odd.send(b"\x01" + b"x" * 10_000)  # beyond the limit: the connection is closed
    honest = join(publisher.address, b"session")
    serve_until(publisher, eventually, lambda: honest.poll(0))
    assert receive(honest)["session"] == session.session
