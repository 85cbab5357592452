"""Real sockets for the tests of streams, and a sender that says exactly what it is told."""

import struct
import time
from collections.abc import Callable

import msgpack
import pytest
import zmq

from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0  # how long a test may wait before it counts as hung

NAMES = ("LASI", "RASI")
SESSION = "00000000000000aa"


class RawSender:
    """A bound socket that sends crafted messages, packed by msgpack and not by our codec."""

    def __init__(self, address: str = LOCAL) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.XPUB)
        self.socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.socket.linger = 1000
        self.socket.sndhwm = 0
        self.socket.bind(address)
        self.address = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def wait_joined(self, *topics: bytes) -> None:
        """Wait until these topics have been subscribed to."""
        awaited = set(topics or (b"session", b"markers", b"end"))
        while awaited:
            assert self.socket.poll(int(GUARD_S * 1000)), f"nobody subscribed to {awaited}"
            message = self.socket.recv()
            if message[:1] == b"\x01":  # joined; 0 is left
                awaited.discard(message[1:])

    def parts(self, *parts: bytes) -> None:
        self.socket.send_multipart(list(parts))

    def message(self, kind: str, **keys: object) -> None:
        keys = {"v": 1, "type": kind, "session": SESSION, **keys}
        self.parts(kind.encode(), msgpack.packb(keys))

    def descriptor(self, session: str = SESSION, n_marker: int = 2, **keys: object) -> None:
        field = {"name": "positions", "shape": [n_marker, 3], "unit": "m", "labels": []}
        given = {"stream": "markers", "t_start": 1, "rate": 100.0, "fields": [field], "meta": {"up": "Y"}}
        self.message("session", session=session, **{**given, **keys})

    def frame(self, seq: int, positions: list[float] | None = None, **keys: object) -> None:
        """A frame whose positions are all `seq`, if not given."""
        numbers = [float(seq)] * 6 if positions is None else positions
        given = {
            "seq": seq,
            "t_capture": time.perf_counter_ns(),
            "time": seq / 100.0,
            "data": {"positions": struct.pack(f"<{len(numbers)}d", *numbers)},
        }
        self.message("markers", **{**given, **keys})

    def close(self) -> None:
        if not self.socket.closed:
            self.socket.close()
            self.context.term()


@pytest.fixture(scope="session")
def raw_sender_class() -> type[RawSender]:
    return RawSender


@pytest.fixture
def raw_sender():
    sender = RawSender()
    yield sender
    sender.close()


@pytest.fixture
def publisher():
    with Publisher(LOCAL) as publisher:
        yield publisher


@pytest.fixture
def subscribe():
    """Makes subscribers that are closed after the test."""
    made = []

    def make(address: str, topics=("markers",), **options) -> Subscriber:
        made.append(Subscriber(address, topics, **options))
        return made[-1]

    yield make
    for subscriber in made:
        subscriber.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Waits until a condition holds; fails after GUARD_S."""

    def wait(condition: Callable[[], object]) -> None:
        due = time.monotonic() + GUARD_S
        while not condition():
            assert time.monotonic() < due, "the condition never came true"
            time.sleep(0.005)

    return wait


@pytest.fixture
def read_until(eventually):
    """Reads frames until one with this seq; returns the seqs of all that were read."""

    def read(subscriber: Subscriber, seq: int) -> list[int]:
        seqs: list[int] = []

        def found() -> bool:
            frame = subscriber.wait(0.1)
            if frame is not None:
                seqs.append(frame.seq)
            return bool(seqs) and seqs[-1] == seq

        eventually(found)
        return seqs

    return read
