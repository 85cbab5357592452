"""A double, the relay beside it and a subscriber, on real sockets; what tests of capture systems share."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.adapters.double import CaptureDouble, DoubledFrame
from rtsim.live.standing import judge_standing
from streams.capture.relay import Relay
from streams.capture.system import parse_capture
from streams.clock import now_ns
from streams.messages import Session, Telemetry
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

GUARD_S = 120.0
NAMES = ("LASI", "RASI", "LPSI", "RPSI", "LANK", "RANK")
SECOND = 1_000_000_000


def until(reached: Callable[[], object], what: str) -> None:
    """Wait for something that has to happen; fail where it does not."""
    due = time.monotonic() + GUARD_S
    while not reached():
        assert time.monotonic() < due, f"waited in vain for {what}"
        time.sleep(0.002)


def positions_of(k: int, n: int = len(NAMES)) -> np.ndarray:
    """(n, 3) [m] of frame k, by which it is known again: exact in 32 bits, in millimetres, too."""
    rows = np.arange(3 * n, dtype=np.float64).reshape(n, 3) / 8.0
    rows[0] = [k / 8.0, 1.0, 0.5]
    return rows


class RelayedRun:
    """A relay in a thread, and what a subscriber got of it.

    frames : (session, seq, t_capture, time, positions) of markers; said : sentences
    told : counters of its newest telemetry, which comes once a second and is made by its own thread
    """

    def __init__(self, address: str) -> None:
        self.said: list[str] = []
        self.told: dict[str, int] = {}
        self.frames: list[tuple] = []
        self.sessions: dict = {}
        self.publisher = Publisher("tcp://127.0.0.1:0")
        self.relay = Relay(parse_capture(address), self.publisher, self.said.append, judge_standing)
        self.stop = threading.Event()
        self.subscriber = Subscriber(self.publisher.address, ("markers", "telemetry"), backlog=4096)
        self.forces = Subscriber(self.publisher.address, ("forces",), backlog=4096)
        self._relaying = threading.Thread(target=self._run, daemon=True)
        until(self._is_heard, "the subscribers")
        self._relaying.start()

    def _is_heard(self) -> bool:
        self.publisher.service()
        return self.publisher.is_heard("markers") and self.publisher.is_heard("forces")

    def _run(self) -> None:
        self.relay.run(self.stop, self._keep)

    def _keep(self, message: Telemetry) -> None:
        self.told = message.counters

    def take(self) -> int:
        """Take what has arrived; how many frames there are."""
        while (frame := self.subscriber.wait(0.001)) is not None:
            session = self.subscriber.session
            self.sessions[session.session] = session
            rows = frame.data["positions"].copy()
            self.frames.append((session.session, frame.seq, frame.t_capture, frame.time, rows))
        return len(self.frames)

    def forces_taken(self, n: int) -> list[tuple[Session, dict[str, np.ndarray]]]:
        """Wait for so many messages of forces; the session and the arrays of each."""
        taken: list[tuple[Session, dict[str, np.ndarray]]] = []

        def came() -> bool:
            frame = self.forces.wait(0.05)
            if frame is not None:
                taken.append((frame.session, {name: rows.copy() for name, rows in frame.data.items()}))
            return len(taken) >= n

        until(came, f"{n} messages of forces")
        return taken

    def close(self) -> None:
        self.stop.set()
        self._relaying.join(GUARD_S)
        assert not self._relaying.is_alive()
        for socket in (self.subscriber, self.forces, self.publisher):
            socket.close()


@contextlib.contextmanager
def relayed(double: CaptureDouble, query: str = "") -> Iterator[RelayedRun]:
    """A relay of a running double, which has it as a client."""
    run = RelayedRun(double.address + query)
    try:
        until(lambda: double.n_client, "the relay to connect")
        yield run
    finally:
        run.close()


def sent(double: CaptureDouble, k: int, **others) -> DoubledFrame:
    """Send frame k of 200 Hz, whose stamps are an hour ahead and pass as our clock does."""
    given = {
        "positions": positions_of(k, len(double.names)),
        "number": k,
        "stamp_ns": now_ns() + 3600 * SECOND,
    }
    frame = DoubledFrame(**{**given, **others})
    double.send(frame)
    return frame
