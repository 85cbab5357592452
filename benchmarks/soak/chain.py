"""A walking source, an estimator and its subscribers, as processes on real sockets, and the results."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from array import array
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.strangers.hostile import line_of, python, tell
from rtsim.bench.runs.latency import ANY_PORT, READY_S
from rtsim.live.processes.children import Child
from streams.clock import now_ns
from streams.messages import Status, Telemetry
from streams.receiving.subscriber import Subscriber

MASS_KG = "72"
END_S = 15.0
"""Time for the stream's end to reach everybody, and for a recorder to close its file [s]."""
BACKLOG = 4096


class SoakChain:
    """Starts the source and the estimator; other processes join afterwards. It is used in a `with` block.

    Parameters
    ----------
    rate, force_rate : frames and samples of the plate per second [Hz]; force_rate 0 = no plate
    subject : a subject's file or name

    Attributes
    ----------
    pids : process ids by name
    results : address of the results
    telemetry : the estimator's newest; texts : what it has said
    """

    def __init__(self, rate: float, force_rate: float, subject: str = "walker") -> None:
        self.rate, self._forces, self._subject = rate, force_rate > 0.0, subject
        self._stack = contextlib.ExitStack()
        self._children: dict[str, Child] = {}
        self.pids: dict[str, int] = {}
        self.telemetry: Telemetry | None = None
        self.texts: list[str] = []
        self.sent: dict[str, int] = {}
        self._rows = array("q")  # frame, status, and when captured, received, published and arrived [ns]
        try:
            arguments = [str(rate), str(force_rate), "--subject", subject]
            self._source = python(self._stack, "benchmarks.soak.source", *arguments)
            self.pids["source"] = self._source.pid
            self._start_estimator(line_of(self._source)["markers"])
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start(self, name: str, arguments: list[str]) -> Child:
        """Start an `rtsim` command as a process of the chain."""
        child = Child(name, arguments)
        self._stack.callback(child.close)
        self._children[name] = child
        self.pids[name] = child.pid
        return child

    def watch(self, name: str, kind: str, address: str) -> subprocess.Popen[str]:
        """Start a watcher (benchmarks/soak/watchers.py), and wait until it is ready."""
        process = python(self._stack, "benchmarks.soak.watchers", kind, address)
        line_of(process)
        self.pids[name] = process.pid
        return process

    def freeze(self, process: subprocess.Popen[str]) -> None:
        """Suspend a process until the end of the chain."""
        os.kill(process.pid, signal.SIGSTOP)

    def folder(self) -> Path:
        """Return a folder that exists until the end of the chain."""
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="rtsim-soak-")))

    def failures(self) -> list[str]:
        """Return failures of processes that should still run, as text."""
        return [f"{name}: {child.failure() or 'it has ended'}"
                for name, child in self._children.items() if not child.running]  # fmt: skip

    def begin(self) -> None:
        """Start the source's stream."""
        tell(self._source, "go")

    def take(self, seconds: float, until_end: bool = False) -> None:
        """Take results within this time [s], or until they have ended."""
        due = now_ns() + round(1e9 * seconds)
        results = self._subscriber
        while (left := due - now_ns()) > 0 and not (until_end and results.ended):
            frame = results.wait(min(0.05, 1e-9 * left))
            if frame is not None and not frame.status & Status.STALE:
                number = round(frame.time * self.rate)
                stamps = (frame.t_capture, frame.t_received, frame.t_published, frame.t_arrived)
                self._rows.extend((number, int(frame.status), *stamps))
            while results.telemetry:
                self.telemetry = results.telemetry.popleft()
                self.texts += self.telemetry.text

    def end(self) -> None:
        """End the source, and take the remaining results."""
        assert self._source.stdin is not None
        assert self._source.stdout is not None
        self._source.stdin.close()
        self.take(END_S, until_end=True)
        line = self._source.stdout.readline()
        self.sent = _numbers(line)
        self._children["estimator"].wait(END_S)

    def rows(self) -> NDArray[np.int64]:
        """Return for each result frame its status, and when it was captured, received, published and
        arrived, (n, 6) [ns].
        """
        return np.array(self._rows, np.int64).reshape(-1, 6)

    def counters(self) -> dict[str, int]:
        """Return the counters of the estimator."""
        return dict(self.telemetry.counters) if self.telemetry is not None else {}

    def gauges(self) -> dict[str, float]:
        """Return the gauges of the estimator."""
        return dict(self.telemetry.gauges) if self.telemetry is not None else {}

    def _start_estimator(self, markers: str) -> None:
        asked = ["estimate", "--markers", markers, "--results", ANY_PORT, "--control", ANY_PORT]
        asked += ["--source", "walker"] if self._subject == "walker" else ["--source", markers]
        asked += ["--subject", self._subject] if self._subject != "walker" else []
        asked += ["--forces", markers, "--mass", MASS_KG] if self._forces else []
        estimator = self.start("estimator", [*asked, "--wait", "30"])
        ready = estimator.wait_ready(READY_S)
        self.results, self.control = ready["results"], ready["control"]
        topics = ("result", "telemetry")
        self._subscriber = self._stack.enter_context(Subscriber(self.results, topics, BACKLOG))


def _numbers(line: str) -> dict[str, int]:
    found: dict[str, Any] = json.loads(line) if line.strip() else {}
    return {name: int(value) for name, value in found.items()}
