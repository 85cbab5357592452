"""An estimator as a process, a source that produces a fault, and the account of every frame."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.faults.fault import FaultOutcome
from rtsim.bench.runs.latency import ANY_PORT, READY_S
from rtsim.live.inputs.sources import WALKER, load_trial
from rtsim.live.processes.children import Child
from rtsim.subjects.made_up.walker import CYCLE_S
from streams.clock import now_ns, sleep_until_ns
from streams.codec import FieldLayout
from streams.messages import End, Markers, Session, Status, Telemetry, marker_session
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

RATE, N_STRIDE = 100.0, 10
STEP_NS = round(1e9 / RATE)
PATIENCE_S = 60.0
BACKLOG = 4096


class FaultRig:
    """Processes of a run with a fault; used in a `with` block.

    Parameters
    ----------
    options : further options of the estimator
    markers : address of the stream, if it is not that of this rig's own publisher
    publisher : publisher whose stream comes through that address; None = another process sends it
    environment : environment variables of the estimator

    Attributes
    ----------
    publisher : publisher of the markers; estimator : the process; stack : closed with the rig
    n_sent : number of frames so far; after_ns : time from which frames count as sent after the fault
    """

    def __init__(
        self,
        options: list[str] | None = None,
        markers: str = "",
        environment: Mapping[str, str] | None = None,
        publisher: Publisher | None = None,
    ) -> None:
        self.stack = contextlib.ExitStack()
        self.trial = load_trial(WALKER, N_STRIDE * CYCLE_S, RATE)
        self.publisher = publisher
        if not markers:
            self.publisher = self.stack.enter_context(Publisher("tcp://127.0.0.1:0"))
            markers = self.publisher.address
        self.n_sent = self.after_ns = 0
        self._seq = self._k = 0
        self._due_ns = now_ns()
        self.answered: list[tuple[int, int]] = []  # when captured, status
        self.n_stale = 0
        self._said: list[str] = []
        self.telemetry: Telemetry | None = None
        self.sessions: set[str] = set()
        asked = ["estimate", "--source", WALKER, "--markers", markers, "--results", ANY_PORT]
        asked += ["--control", ANY_PORT, "--wait", "30", *(options or [])]
        with changed_environment(environment or {}):
            self.estimator = Child("estimator", asked)
        self.stack.callback(self.estimator.close)
        try:
            ready = self.estimator.wait_ready(READY_S)
        except BaseException:
            self.stack.close()
            raise
        self.results, self.control = ready["results"], ready["control"]
        self._results = self.stack.enter_context(Subscriber(self.results, ("result", "telemetry"), BACKLOG))
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._reader.join()
        self.stack.close()

    def begin(self, names: tuple[str, ...] | None = None, rate: float = RATE) -> Session:
        """Begin a session of these markers, those of the walker unless given; seq starts anew."""
        assert self.publisher is not None
        self._names = names or self.trial.names
        self.session = marker_session(self._names, rate=rate, t_start=now_ns())
        self._layout = FieldLayout(self.session)
        self._columns = [
            self.trial.names.index(name) if name in self.trial.names else -1 for name in self._names
        ]
        self._seq, self._due_ns = 0, now_ns()
        self.publisher.announce(self.session)
        self.publisher.wait_for_subscriber(PATIENCE_S)
        return self.session

    def send(self, n: int, every_ns: int = STEP_NS, ahead_ns: int = 0, copies: int = 1) -> None:
        """Send n frames of the walk at a pace [ns], with stamps ahead of the present time [ns], and with
        copies of each.
        """
        assert self.publisher is not None
        for _ in range(n):
            sleep_until_ns(self._due_ns)
            self._due_ns = max(self._due_ns + every_ns, now_ns() - STEP_NS)
            message = Markers(
                session=self.session.session, seq=self._seq, t_capture=max(0, now_ns() + ahead_ns),
                time=self._seq / RATE, data=self._layout.pack({"positions": self.positions(self._k)}),
            )  # fmt: skip
            for _ in range(copies):
                self.publisher.send(message)
            self.publisher.service()
            self._seq, self._k, self.n_sent = self._seq + 1, self._k + 1, self.n_sent + copies

    def positions(self, k: int) -> NDArray[np.float64]:
        """Return the marker positions of frame k, (n_marker, 3) [m]; a lap is a whole number of strides."""
        row = self.trial.positions[k % len(self.trial.positions)]
        return np.array([row[c] if c >= 0 else (np.nan,) * 3 for c in self._columns])

    def pause(self, seconds: float) -> None:
        """Send only descriptors for this time [s]."""
        assert self.publisher is not None
        due = time.monotonic() + seconds
        while time.monotonic() < due:
            self.publisher.service()
            time.sleep(0.01)

    def passed(self) -> None:
        """Record that the fault is over: frames sent from here on must have results."""
        self.after_ns = now_ns()

    def reconnected(self) -> None:
        """Wait until the estimator is subscribed again after its connection was cut."""
        assert self.publisher is not None
        self.pause(0.3)
        self.publisher.wait_for_subscriber(PATIENCE_S)
        self.pause(0.3)

    def wait_for_answers(self, n: int) -> None:
        """Wait until n results that are not stale have come, or patience ends."""
        due = time.monotonic() + PATIENCE_S
        while len(self.answered) < n and time.monotonic() < due and self.estimator.running:
            time.sleep(0.01)

    def finish(self) -> FaultOutcome:
        """End the stream, wait for the estimator's end, and return the account."""
        if self.publisher is not None:  # the publisher's own end would count copies
            self.publisher.send(End(session=self.session.session, seq=self._seq, reason="it was tried"))
        due = time.monotonic() + PATIENCE_S
        while not self._results.ended and self.estimator.running and time.monotonic() < due:
            if self.publisher is not None:
                self.publisher.service()
            time.sleep(0.01)
        self.estimator.wait(PATIENCE_S)
        self._over.set()
        self._reader.join()
        self._said += self.estimator.take_words()
        return FaultOutcome(
            n_sent=self.n_sent,
            n_answered=len(self.answered),
            n_after=sum(came > self.after_ns for _, came in self.answered),
            counters=dict(self.telemetry.counters) if self.telemetry is not None else {},
            said="\n".join(self._said),
            codes={"estimator": self.estimator.code},
        )

    def _read(self) -> None:
        results = self._results
        while not self._over.is_set() or results.telemetry:
            frame = results.wait(0.02)
            if frame is not None:
                self.sessions.add(frame.session.session)
                if frame.status & Status.STALE:
                    self.n_stale += 1
                else:
                    self.answered.append((frame.t_capture, frame.t_arrived))
            while results.telemetry:
                self.telemetry = results.telemetry.popleft()
                self._said += self.telemetry.text


@contextlib.contextmanager
def changed_environment(variables: Mapping[str, str]):
    """Set environment variables for processes that are started within the `with` block."""
    former = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
