"""A double in a process of its own, which sends frames on time and carries out commands from standard input.

Standard output: {"address": ...}, and an answer to each line: {"done": ...}. Standard input:

    go SECONDS             frames at the rate, for this time, answered at the end
    restart PAUSE          the server ends and comes back
    describe N EXCHANGED   this many markers, the first two exchanged or not (1, 0)
    storm 1                the first marker has another name in every frame (0: it has not)
    stuck 1                frame numbers stand still (0: they do not)
    damaged N              so many damaged messages

Frame k has k / 8 m in the first coordinate of its last marker, exact in 32 bits in metres and in
millimetres; every REPEATED-th is sent twice. Where a last argument says `walker`, the first markers are
those of the synthetic walker instead, whom an estimator can follow. The server's clock is an hour ahead and
runs 50 ppm fast.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.adapters.damage import damaged
from benchmarks.adapters.double import ByteDouble, CaptureDouble, DoubledFrame, double_of
from rtsim.live.inputs.sources import WALKER, load_trial
from streams.clock import now_ns, sleep_until_ns
from streams.codec import FieldLayout
from streams.messages import Markers, marker_session
from streams.publisher import Publisher

HOUR_NS = 3_600_000_000_000
DRIFT_PPM = 50
REPEATED = 100
UNDER_WAY_S = 0.3
"""Time that the last messages have to arrive before the server ends [s]."""
PER_METRE = 8
WALK_S = 10.0
Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
ZEROMQ = "zeromq"
"""Name for our own publisher in place of a double: the same frames without a relay."""


def server_ns(local_ns: int) -> int:
    """Return the server's clock at a time of our clock [ns]."""
    return HOUR_NS + local_ns + local_ns * DRIFT_PPM // 1_000_000


def positions_of(k: int, n_marker: int) -> np.ndarray:
    """Return the marker positions of frame k, (n_marker, 3) [m]."""
    rows = np.arange(3 * n_marker, dtype=np.float64).reshape(n_marker, 3) / PER_METRE
    rows[-1, 0] = k / PER_METRE
    return rows


def names_of(n_marker: int, exchanged: bool = False) -> list[str]:
    """Return the names of markers; the last name is always that of the last marker."""
    names = [f"M{k:02d}" for k in range(n_marker)]
    if exchanged:
        names[:2] = names[1], names[0]
    return names


class DoubledWalker:
    """Names and positions of the synthetic walker in a loop, followed by further markers."""

    def __init__(self, rate: float, n_marker: int, z_up: bool) -> None:
        trial = load_trial(WALKER, WALK_S, rate)
        others = positions_of(0, n_marker)[len(trial.names) :]
        self.names = [*trial.names, *names_of(n_marker)[len(trial.names) :]]
        self._places = trial.positions @ Y_TO_Z.T if z_up else trial.positions
        self._others = others

    def positions(self, k: int) -> np.ndarray:
        """Return the marker positions of frame k, (n_marker, 3) [m]."""
        return np.vstack((self._places[k % len(self._places)], self._others))


class ZeroMqSource:
    """A source of frames by our own publisher, in place of the double of a system."""

    def __init__(self, names: list[str], rate: float) -> None:
        self._publisher = Publisher("tcp://127.0.0.1:0")
        self._session = marker_session(names, rate=rate, t_start=now_ns(), unit="mm", up="Z")
        self._layout = FieldLayout(self._session)
        self._publisher.announce(self._session)
        self._seq = 0
        self.address = self._publisher.address

    @property
    def n_client(self) -> int:
        self._publisher.service()
        return self._publisher.n_subscriber

    def send(self, frame: DoubledFrame) -> None:
        """Publish a frame."""
        data = self._layout.pack({"positions": 1e3 * frame.positions})
        self._publisher.send(
            Markers(
                session=self._session.session,
                seq=self._seq,
                t_capture=now_ns(),
                time=0.005 * self._seq,
                data=data,
            )
        )
        self._seq += 1
        self._publisher.service()


class AdapterDrive:
    """The sequence of frames of a double, with the times when they were due and sent."""

    def __init__(self, scheme: str, rate: float, n_marker: int, walker: bool = False) -> None:
        self._rate, self._n_marker = rate, n_marker
        self._step_ns = round(1e9 / rate)
        self._walker = DoubledWalker(rate, n_marker, scheme != "natnet") if walker else None
        self._names = self._walker.names if self._walker is not None else names_of(n_marker)
        self.double: CaptureDouble | None = None
        if scheme == ZEROMQ:
            self.source: Any = ZeroMqSource(self._names, rate)
        else:
            self.source = self.double = double_of(scheme)(self._names, rate)
            self.double.keep_clock(server_ns)
            self.double.start()
        self._stuck = self._storm = False
        self.log: list[tuple[int, int, int]] = []  # frame, when due, when sent
        self._start_ns = now_ns()
        self._told: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def hear(self) -> None:
        """Read command lines from standard input in a separate thread."""
        for line in sys.stdin:
            self._told.put(line.split())
        self._told.put(["over"])

    def run(self) -> None:
        """Send a frame at each tick, and carry out commands in between, until the input closes."""
        k, until_ns = 0, 0
        while True:
            due_ns = self._start_ns + k * self._step_ns
            if now_ns() < due_ns - 1_000_000 or not self.source.n_client:
                word = self._obeyed()
                if word == "over":
                    return
                if word.startswith("go"):
                    until_ns = now_ns() + round(1e9 * float(word[2:]))
                if until_ns and now_ns() > until_ns:
                    until_ns = 0
                    say({"done": "go", "frame": k})
            sleep_until_ns(due_ns)
            self._send(k, due_ns)
            k += 1

    def _send(self, k: int, due_ns: int) -> None:
        walker = self._walker
        positions = walker.positions(k) if walker is not None else positions_of(k, self._n_marker)
        frame = DoubledFrame(positions, server_ns(due_ns), 1 if self._stuck else k)
        if self._storm and self.double is not None:
            self.double.describe([f"S{k}", *names_of(self._n_marker)[1:]])
        self.log.append((k, due_ns, now_ns()))
        self.source.send(frame)
        if self.double is not None and k % REPEATED == REPEATED - 1:
            self.double.send(frame)

    def _obeyed(self) -> str:
        """Carry out waiting commands; return "over" if the input is closed, "goN" if frames are to be
        counted.
        """
        try:
            word, *rest = self._told.get_nowait()
        except queue.Empty:
            return ""
        if word == "go":
            return f"go{rest[0]}"
        if word == "restart" and self.double is not None:
            self.double.stop()
            back_ns = now_ns() + round(1e9 * float(rest[0]))
            sleep_until_ns(back_ns)
            self.double.start()
            say({"done": word, "t": now_ns()})
        elif word == "describe" and self.double is not None:
            self._n_marker = int(rest[0])
            self.double.describe(names_of(self._n_marker, rest[1] == "1"))
            say({"done": word, "t": now_ns()})
        elif word in ("stuck", "storm"):
            self._stuck, self._storm = (rest[0] == "1" and word == named for named in ("stuck", "storm"))
            say({"done": word, "t": now_ns()})
        elif word == "damaged":
            self._send_damaged(int(rest[0]))
            say({"done": word, "t": now_ns()})
        return word

    def _send_damaged(self, n: int) -> None:
        """Send damaged messages as fast as clients read them, and wait for clients that were disconnected."""
        double = cast(ByteDouble, self.double)
        random = np.random.default_rng(1)
        for i in range(n):
            frame = DoubledFrame(positions_of(i, self._n_marker), server_ns(now_ns()), i)
            double.send_bytes(damaged(double.message(frame), random, double.head_bytes))
            if not double.n_client:
                due_ns = now_ns() + 5_000_000_000
                while not double.n_client and now_ns() < due_ns:
                    sleep_until_ns(now_ns() + 2_000_000)


def say(state: dict[str, Any]) -> None:
    """Print a line on standard output."""
    print(json.dumps(state), flush=True)


def main() -> None:
    """Run until standard input closes; then write when each frame was due and sent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scheme")
    parser.add_argument("rate", type=float)
    parser.add_argument("n_marker", type=int)
    parser.add_argument("log", type=Path)
    parser.add_argument("walker", nargs="?", choices=["walker"])
    given = parser.parse_args()
    drive = AdapterDrive(given.scheme, given.rate, given.n_marker, bool(given.walker))
    threading.Thread(target=drive.hear, daemon=True).start()
    say({"address": drive.source.address})
    drive.run()
    time.sleep(UNDER_WAY_S)
    np.save(given.log, np.array(drive.log, dtype=np.int64))


if __name__ == "__main__":
    main()
