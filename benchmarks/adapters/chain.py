"""A simulated server ("double"), `rtsim connect` and a subscriber as three processes on real sockets, and
the frames that arrived.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.drive import PER_METRE, ZEROMQ
from rtsim.live.processes.children import Child
from streams.clock import now_ns
from streams.messages import Telemetry
from streams.receiving.subscriber import Subscriber

RATE, N_MARKER = 200.0, 60
PATIENCE_S, LONGEST_S = 30.0, 1200.0
LAST = 1e6


class Taken(NamedTuple):
    """A frame that arrived: its session, seq, t_capture and arrival time [ns], and the number of the
    double's frame.
    """

    session: str
    seq: int
    t_capture: int
    t_arrived: int
    frame: int
    names: tuple[str, ...]


class AdapterChain:
    """A double, the relay and a subscriber; with ZEROMQ there is no relay.

    walker : whether the markers are those of the synthetic walker, for an estimator

    Attributes
    ----------
    address : address of the markers' stream
    """

    def __init__(self, scheme: str, walker: bool = False) -> None:
        self._stack = contextlib.ExitStack()
        self._log = Path(self._stack.enter_context(tempfile.TemporaryDirectory())) / "log.npy"
        arguments = [scheme, str(RATE), str(N_MARKER), str(self._log)]
        arguments += ["walker"] if walker else []
        self._driver = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.adapters.drive", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        self.taken: list[Taken] = []
        self.telemetry: Telemetry | None = None
        self.relay: Child | None = None
        try:
            address = self._said()["address"]
            if scheme != ZEROMQ:
                asked = ["connect", address, "--address", "tcp://127.0.0.1:0", "--states"]
                self.relay = Child("connector", asked)
                self._stack.callback(self.relay.close)
                address = self.relay.wait_ready(PATIENCE_S)["markers"]
            self.address, topics = address, ("markers", "telemetry")
            self._subscriber = self._stack.enter_context(Subscriber(address, topics, backlog=4096))
            due = time.monotonic() + PATIENCE_S
            while not self.taken:
                self.take(0.05)
                if time.monotonic() > due:
                    raise RuntimeError(
                        f"no frame of the simulated {scheme} server came within {PATIENCE_S:g} s"
                    )
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def tell(self, *words: object) -> None:
        """Send a command line to the double."""
        assert self._driver.stdin is not None
        print(*words, file=self._driver.stdin, flush=True)

    def asked(self, *words: object) -> dict[str, Any]:
        """Send a command line to the double, and take frames until it reports that the command is done;
        return the report.
        """
        self.tell(*words)
        assert self._driver.stdout is not None
        os.set_blocking(self._driver.stdout.fileno(), False)
        line, due = "", time.monotonic() + LONGEST_S
        while not line.endswith("\n"):
            self.take(0.05)
            line += self._driver.stdout.readline() or ""
            if time.monotonic() > due or self._driver.poll() is not None:
                raise RuntimeError(f"the simulated server does not answer to {words[0]!r}")
        return dict(json.loads(line))

    def take(self, seconds: float) -> None:
        """Take the frames that arrive within this time [s]."""
        due_ns = now_ns() + round(1e9 * seconds)
        while (left_ns := due_ns - now_ns()) > 0:
            frame = self._subscriber.wait(1e-9 * left_ns)
            while self._subscriber.telemetry:
                self.telemetry = self._subscriber.telemetry.popleft()
            if frame is None:
                continue
            spec = frame.session.fields[0]
            scale = 1e-3 if spec.unit == "mm" else 1.0
            # whichever axis points up, one coordinate of the last marker is the frame's, the others are fixed
            place = PER_METRE * scale * float(frame.data["positions"][-1, 0])
            number = round(place) if 0.0 <= place < LAST else -1  # others are of damaged messages
            self.taken.append(
                Taken(
                    session=frame.session.session,
                    seq=frame.seq,
                    t_capture=frame.t_capture,
                    t_arrived=frame.t_arrived,
                    frame=number,
                    names=tuple(spec.labels),
                )
            )

    def memory_mb(self) -> float:
        """Return the resident memory of the relay [MB]; NaN where the system does not report it."""
        assert self.relay is not None
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.relay.pid}/status").read_text().splitlines():
                if line.startswith("VmRSS"):
                    return float(line.split()[1]) / 1024.0
        return float("nan")

    def ended(self) -> NDArray[np.int64]:
        """End the double; return for each frame that it sent its number, when it was due and when it was
        sent, (n, 3) [ns].
        """
        assert self._driver.stdin is not None
        self._driver.stdin.close()
        self.take(0.5)
        self._driver.wait(PATIENCE_S)
        log: NDArray[np.int64] = np.load(self._log)
        return log

    def close(self) -> None:
        """End all processes of the chain."""
        if self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()
        self._stack.close()

    def _said(self) -> dict[str, Any]:
        assert self._driver.stdout is not None
        return dict(json.loads(self._driver.stdout.readline()))
