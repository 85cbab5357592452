"""A stream of markers of the walker that follows the protocol and is honest until it is told to lie."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import zmq
from numpy.typing import NDArray

from benchmarks.hil_hostile.wire import Keys, Parts, new_session, offered, packed
from rtsim.config.paths import find_config
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import CYCLE_S, walk
from rtsim.subjects.subject import load_subject
from streams.clock import now_ns, sleep_until_ns

RATE = 100.0
N_CYCLE = 10
"""Strides that are played over and over; their time is a whole number of frames."""
N_STRIDE = round(CYCLE_S * RATE)
"""Frames of a stride."""
ANNOUNCE_NS = 1_000_000_000

Positions = NDArray[np.float64]


class OutgoingFrame(NamedTuple):
    """A frame that is about to be sent.

    keys : keys of its message, without data; positions : (n_marker, 3) [m]
    s, n : seconds and frames since the lie began
    """

    keys: Keys
    positions: Positions
    s: float
    n: int
    stream: FalseStream


Lie = Callable[[OutgoingFrame], Sequence[Keys | Parts]]
"""A lie in the place of a frame: messages of markers, or whole messages; nothing = silence."""


def as_markers(keys: Keys, positions: Positions, **changed: Any) -> Keys:
    """Return the keys of a marker message with changes."""
    return {**keys, **changed, "data": {"positions": np.ascontiguousarray(positions, "<f8").tobytes()}}


class FalseStream:
    """Publishes 100 frames a second; an honest session begins with it.

    Attributes
    ----------
    address : where it is bound; lie : in the place of each honest frame; pace : of frames beside the honest
    names, trial : labels of the markers; (n_frame, n_marker, 3) of whole strides [m]
    lied_ns : when the lie began, its first frame
    at : honest frame that is sent next; silent : nothing is sent
    held, frozen : messages and positions that a lie remembers
    """

    def __init__(self) -> None:
        subject = load_subject(find_config("walker", "subjects"))
        trial = walk(load_model("lower_limb"), subject, N_CYCLE * CYCLE_S, RATE)
        self.names, self.trial = trial.names, trial.positions
        self.rng = random.Random(1)
        self.lie: Lie | None = None
        self.pace, self.silent = RATE, False
        self.lied_ns = self._began_ns = self._n_lies = 0
        self.at = 0
        self.held: list[Keys] = []
        self.frozen: Positions = self.trial[0]
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.linger = 0
        self._socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._socket.bind("tcp://127.0.0.1:*")
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._joint: dict[int, tuple[float, float]] = {}
        self.session: Keys = {}
        self.seq, self.time = 0, 0.0
        self.renew()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="false stream", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the socket without notice."""
        self._over.set()
        self._thread.join()
        if not self._socket.closed:
            self._socket.close()
            self._context.term()

    def descriptor(self, **changed: Any) -> Keys:
        """Return the descriptor of a new session of the walker."""
        field = {"name": "positions", "shape": [len(self.names), 3], "unit": "m", "labels": list(self.names)}
        return {
            "session": new_session(self.rng), "stream": "markers", "t_start": now_ns(), "rate": RATE,
            "fields": [field], "meta": {"up": "Y"}, **changed,
        }  # fmt: skip

    def renew(self, **changed: Any) -> Keys:
        """Begin another session with the next frame; return its descriptor."""
        self.seq, self.time = 0, 0.0
        self.session = self.descriptor(**changed)
        self._announced_ns = 0
        return self.session

    def begin(self, lie: Lie, pace: float = RATE) -> int:
        """Lie from now on; return the time [ns]."""
        self._n_lies, self.lied_ns, self._began_ns = 0, 0, now_ns()
        self.held = []
        self.pace, self.lie = pace, lie
        return self._began_ns

    def honest(self) -> None:
        """Begin a new session without lies."""
        self.lie, self.pace, self.silent = None, RATE, False
        self.renew()

    def is_known(self) -> bool:
        """Return whether the joint's angle over a whole stride is known."""
        return len(self._joint) == N_STRIDE

    def forget(self) -> None:
        """Discard the joint's angle over the stride, so that it is learnt anew."""
        self._joint.clear()

    def joint(self, angle: float, speed: float) -> tuple[float, float]:
        """Return angle and speed of the joint as a model has reported them [rad, rad/s]; while the stream
        lies, those of the same frame of the previous stride.
        """
        at = self.at % N_STRIDE
        if self.lie is None:
            self._joint[at] = angle, speed
        known, turning = self._joint.get(at, (angle, speed))
        return known, turning * self.pace / RATE

    def _run(self) -> None:
        due = now_ns()
        while not self._over.is_set():
            due = max(due + round(1e9 / self.pace), now_ns() - 50_000_000)
            sleep_until_ns(due)
            while self._socket.poll(0):
                if self._socket.recv(zmq.DONTWAIT)[:1] == b"\x01":
                    self._announced_ns = 0
            if not self.silent:
                self._send()

    def _send(self) -> None:
        if now_ns() - self._announced_ns > ANNOUNCE_NS:
            self._announced_ns = now_ns()
            offered(self._socket, packed("session", self.session))
        keys = {"session": self.session["session"], "seq": self.seq, "t_capture": now_ns(), "time": self.time}
        positions = self.trial[self.at % len(self.trial)]
        says: Sequence[Keys | Parts] = [as_markers(keys, positions)]
        lie = self.lie
        if lie is not None:
            if not self.lied_ns:
                self.lied_ns = now_ns()
            frame = OutgoingFrame(keys, positions, 1e-9 * (now_ns() - self._began_ns), self._n_lies, self)
            says = lie(frame)
            self._n_lies += 1
        for one in says:
            offered(self._socket, packed("markers", one) if isinstance(one, dict) else one)
        self.seq, self.at, self.time = self.seq + 1, self.at + 1, self.time + 1.0 / RATE
