"""A source of markers that is hostile at times: `python -m benchmarks.strangers.hostile_source ATTACK`.

It plays the synthetic walker at 200 Hz, round and round, on a socket that drops nothing. Between frames it
sends what the attack is made of, on the same socket, and then the walker's descriptor, as another session may
have begun, before the next frame that counts. Standard input says `attack`, `quiet` and `end`, a word a line;
standard output tells the address, and at the end the stamps of all frames of the walker, as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count

import msgspec
import numpy as np
import zmq

from rtsim.config.paths import find_config
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject
from streams.clock import Pacer, now_ns
from streams.codec import FieldLayout, encode
from streams.messages import End, Markers, Session, marker_session, new_session_id

RATE = 200.0
TRIAL_S = 5.0
LARGEST = 2**63 - 1

Parts = list[bytes]


def crafted(kind: str, **keys: object) -> Parts:
    """A message of version 1, whatever its keys say."""
    message = {"v": 1, "type": kind, "session": new_session_id(), **keys}
    return [kind.encode(), msgspec.msgpack.encode(message)]


def descriptor(shape: list[int], labels: list[str] | None = None, **keys: object) -> Parts:
    field = {"name": "positions", "shape": shape, "unit": "m", "labels": labels or []}
    given = {"stream": "markers", "t_start": 1, "rate": RATE, "fields": [field], "meta": {"up": "Y"}}
    return crafted("session", **{**given, **keys})


def frame(session: str, seq: int, n_marker: int) -> Parts:
    data = {"positions": np.full((n_marker, 3), 0.5).tobytes()}
    return crafted("markers", session=session, seq=seq, t_capture=now_ns(), time=0.0, data=data)


def impossible_shapes() -> Iterator[list[Parts]]:
    """1a: products of 0 that cannot be made, 1 000 a second."""
    while True:
        yield [descriptor([0, LARGEST]), *[descriptor([2**62, 2**62, 2**62, 0])] * 4]


def enormous_gaps() -> Iterator[list[Parts]]:
    """1b: sessions in which all frames are missing, 200 a second."""
    while True:
        session = new_session_id()
        frames = [frame(session, seq, 1) for seq in (0, LARGEST - 2, LARGEST - 1)]
        yield [descriptor([1, 3], session=session), *frames]


def enormous_names() -> Iterator[list[Parts]]:
    """1c: a stream whose name is a megabyte, 50 a second."""
    message = descriptor([1, 3], stream="x" * 1_000_000)
    for n in count():
        yield [message] if n % 4 == 0 else []


def many_sessions() -> Iterator[list[Parts]]:
    """1d: 800 new sessions a second with long labels that nobody knows, a frame each."""
    while True:
        batch = []
        for _ in range(4):
            session = new_session_id()
            labels = [f"{n:03d}" + session * 7 for n in range(40)]
            batch += [descriptor([40, 3], labels, session=session), frame(session, 0, 40)]
        yield batch


def reused_sessions() -> Iterator[list[Parts]]:
    """2: a session id that comes again with another content, after another session, 50 times a second."""
    labels = [f"marker {n}" for n in range(4096)]
    for n in count():
        first = new_session_id()
        yield (
            [
                descriptor([4096, 3], labels, session=first),
                frame(first, 0, 4096),
                descriptor([1, 3]),
                descriptor([1, 3], session=first),
                frame(first, 1, 1),
                descriptor([4096, 3], labels[::-1], session=first),
                frame(first, 2, 4096),
            ]
            if n % 4 == 0
            else []
        )


def alternating() -> Iterator[list[Parts]]:
    """6: a second session of the same rate, whose frames come between those of the walker."""
    session = new_session_id()
    message = descriptor([1, 3], session=session)
    for seq in count():
        yield [*([message] if seq % int(RATE) == 0 else []), frame(session, seq, 1)]


def largest_descriptors() -> Iterator[list[Parts]]:
    """6: descriptors of almost a megabyte that take as long as any to decode, 50 a second."""
    meta = {"up": "Y", "maps": [{"a": 1}] * 250_000}
    for n in count():
        yield [descriptor([1, 3], meta=meta)] if n % 4 == 0 else []


def ends_and_telemetry() -> Iterator[list[Parts]]:
    """6: ends of sessions that nobody knows, telemetry, and frames without a descriptor, 4 000 a second."""
    while True:
        end = crafted("end", seq=1, reason="over")
        told = crafted("telemetry", t=1, text=["nothing"] * 40)
        yield [end, told, frame(new_session_id(), 0, 40), frame(new_session_id(), 0, 1)] * 5


def nothing() -> Iterator[list[Parts]]:
    """0: no attack, for comparison."""
    while True:
        yield []


ATTACKS: dict[str, Callable[[], Iterator[list[Parts]]]] = {
    "0_nothing": nothing,
    "1a_shapes": impossible_shapes,
    "1b_gaps": enormous_gaps,
    "1c_names": enormous_names,
    "1d_sessions": many_sessions,
    "2_reused_ids": reused_sessions,
    "6_alternating": alternating,
    "6_largest": largest_descriptors,
    "6_ends": ends_and_telemetry,
}


class HostileWalker:
    """The walker, and the attack messages sent between its frames."""

    def __init__(self, attack: str) -> None:
        subject = load_subject(find_config("walker", "subjects"))
        self._trial = walk(load_model("lower_limb"), subject, TRIAL_S, RATE)
        self._batches = ATTACKS[attack]() if attack in ATTACKS else None
        self.word = "quiet"
        self.stamps: list[int] = []
        self.n_hostile = 0

    def listen(self) -> None:
        """Read the words of standard input; its end counts as `end`."""
        for line in sys.stdin:
            self.word = line.strip()
        self.word = "end"

    def play(self, socket: zmq.Socket[bytes]) -> None:
        """Send until told to end."""
        session = marker_session(self._trial.names, rate=RATE, t_start=now_ns())
        pacer = Pacer(RATE)
        for seq in count():
            pacer.wait()
            if self.word == "end":
                break
            announce = seq % int(RATE) == 0
            if self.word == "attack" and self._batches is not None:
                batch = next(self._batches)
                for parts in batch:
                    socket.send_multipart(parts)
                self.n_hostile += len(batch)
                announce = announce or bool(batch)
            if announce:
                socket.send_multipart(encode(session))
            self._send(socket, session, seq)
        socket.send_multipart(encode(End(session=session.session, seq=seq, reason="over")))

    def _send(self, socket: zmq.Socket[bytes], session: Session, seq: int) -> None:
        positions = self._trial.positions[seq % len(self._trial.times)]
        data = FieldLayout(session).pack({"positions": positions})
        stamp = now_ns()
        socket.send_multipart(
            encode(Markers(session=session.session, seq=seq, t_capture=stamp, time=seq / RATE, data=data))
        )
        self.stamps.append(stamp)


def main() -> None:
    source = HostileWalker(sys.argv[1])
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        socket.linger = 1000
        socket.bind("tcp://127.0.0.1:*")
        print(json.dumps({"markers": socket.getsockopt_string(zmq.LAST_ENDPOINT)}), flush=True)
        threading.Thread(target=source.listen, daemon=True).start()
        awaited = {b"\x01session", b"\x01markers", b"\x01end"}
        while awaited:
            awaited.discard(socket.recv())
        source.play(socket)
    print(json.dumps({"stamps": source.stamps, "n_hostile": source.n_hostile}), flush=True)


if __name__ == "__main__":
    main()
