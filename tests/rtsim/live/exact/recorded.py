"""Runs of an estimator over real sockets, recorded with their journals, as tests drive them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.run_schema import Ports, RunConfig
from rtsim.live.processes.requests import EstimatorRequest
from rtsim.live.processes.serve import serve
from streams.codec import FieldLayout
from streams.control.commands import request
from streams.messages import Forces, Markers, Session, Status
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber
from streams.recording.recorder import record

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
STEP_S = 0.002


class MarkerSender:
    """Sends frames of markers, and messages of forces, at a quick and steady pace.

    n_sent : frames of the present session; control : address for commands
    """

    def __init__(self, publisher: Publisher, control: str, results: str) -> None:
        self.publisher, self.control, self.n_sent, self.n_forces = publisher, control, 0, 0
        self._results = results
        self._layouts: dict[str, tuple[Session, FieldLayout]] = {}

    def begin(self, session: Session) -> None:
        """A session begins, whether the one before has ended or not."""
        self._layouts[session.stream] = session, FieldLayout(session)
        self.publisher.announce(session)
        self.n_sent = 0 if session.stream == "markers" else self.n_sent

    def frame(self, positions: NDArray[np.float64], pause_s: float = STEP_S, **keys: Any) -> None:
        """The next frame of markers."""
        session, layout = self._layouts["markers"]
        seq = keys.pop("seq", self.n_sent)
        given = {"t_capture": time.perf_counter_ns(), "time": seq / 100.0} | keys
        data = layout.pack({"positions": positions})
        self.publisher.send(Markers(session=session.session, seq=seq, data=data, **given))
        self.publisher.service()
        self.n_sent = seq + 1
        time.sleep(pause_s)

    def await_repeat(self) -> None:
        """Send nothing until the estimator repeats a result for want of frames."""
        due = time.monotonic() + GUARD_S
        with Subscriber(self._results, ("result",)) as results:
            while (found := results.wait(0.1)) is None or not found.status & Status.STALE:
                assert time.monotonic() < due
                self.publisher.service()

    def forces(self, at_s: float, data: dict[str, Any]) -> None:
        """The next message of forces."""
        session, layout = self._layouts["forces"]
        packed = layout.pack(data)
        now = time.perf_counter_ns()
        message = Forces(session=session.session, seq=self.n_forces, t_capture=now, time=at_s, data=packed)
        self.publisher.send(message)
        self.n_forces += 1

    def command(self, name: str, **args: Any) -> None:
        """A command, until it is taken."""
        due = time.monotonic() + GUARD_S
        while not (answer := request(self.control, name, args, timeout_s=GUARD_S))[0]:
            assert time.monotonic() < due, answer
            time.sleep(0.02)


def recorded_run(
    path: Path, run: RunConfig, drive: Callable[[MarkerSender], None], with_forces: bool = False
) -> None:
    """Record an estimator's run to a file; drive : sends what it takes in"""
    states: list[dict[str, Any]] = []
    faults: list[BaseException] = []
    is_ready = threading.Event()

    def say(state: dict[str, Any]) -> None:
        states.append(state)
        if state["state"] == "ready":
            is_ready.set()

    with Publisher(LOCAL) as publisher:
        run = RunConfig(
            **{name: getattr(run, name) for name in RunConfig.__struct_fields__ if name not in _OWN},
            ports=Ports(markers=LOCAL, results=LOCAL, control=LOCAL),
            source=publisher.address,
            forces=publisher.address if with_forces else "",
        )
        asked = EstimatorRequest(
            run=run, markers=publisher.address, wait_s=GUARD_S, n_subscriber=1, anyway=True
        )

        def estimate() -> None:
            try:
                serve(asked, say)
            except BaseException as fault:
                faults.append(fault)
                is_ready.set()

        estimator = threading.Thread(target=estimate, daemon=True)
        estimator.start()
        assert is_ready.wait(GUARD_S)
        assert not faults, faults
        stop = threading.Event()
        recorder = threading.Thread(target=record, args=(states[-1]["results"], path, stop), daemon=True)
        recorder.start()
        due = time.monotonic() + GUARD_S
        wanted = ("markers", "forces") if with_forces else ("markers",)
        while not all(publisher.is_heard(topic) for topic in wanted):
            assert time.monotonic() < due
            time.sleep(0.005)
            publisher.service()
        drive(MarkerSender(publisher, states[-1]["control"], states[-1]["results"]))
        publisher.end("that was all")
        estimator.join(GUARD_S)
        recorder.join(GUARD_S)
        stop.set()
        assert not faults, faults


_OWN = ("ports", "source", "forces")
