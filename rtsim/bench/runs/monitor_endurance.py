"""Benchmark of the memory of a monitor window that shows hours of a walk, played fast, and of the memory of
window and sender while the window is frozen.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.runs.monitor import RATE_HZ, environment, walk_on
from rtsim.errors import ConfigError
from rtsim.live.processes.memory_growth import ResidentMemory
from streams.publisher import Publisher

SETTLED_S = 900.0
"""Time of the walk after which the store of the last ten minutes is full [s]."""
FLAT_MB = 8.0
"""Limit of the growth of memory in an hour of the walk [MB]; all values of the curves would take 350 MB."""
FROZEN_MB = 64.0
"""Limit of the growth of memory of the sender, and of the window, while the window is frozen [MB]."""
LOOK_S = 0.5
START_S, BUILT_S = 60.0, 20.0
"""Times allowed for a window to subscribe to results, and then to build and draw its plots [s]."""


def replay(hours: float, speed: float) -> list[BenchFigure]:
    """Return the memory of a monitor window and its growth while it shows `hours` [h] of a synthetic walk,
    played `speed` times as fast; ConfigError where the system does not report memory.
    """
    say(f"monitor: {hours:g} h of the walk, {speed:g} times as fast as real time")
    with WatchedWindow(speed) as watched:
        walked, taken = watched.until(3600.0 * hours / speed)
        account = watched.end()
    walked = speed * walked
    late = walked > min(SETTLED_S, 0.5 * walked[-1])
    slope = float(np.polyfit(walked[late] / 3600.0, taken[late], 1)[0]) if late.sum() > 2 else math.nan
    return [
        BenchFigure("replayed_h", float(walked[-1]) / 3600.0, "h"),
        BenchFigure("replay_speed", speed, "1"),
        BenchFigure("frames_due", RATE_HZ * float(walked[-1]), "1"),
        BenchFigure("frames_taken", account["n_frame"], "1"),
        BenchFigure("memory_settled_MB", float(taken[late][0]), "MB"),
        BenchFigure("memory_last_MB", float(taken[-1]), "MB"),
        BenchFigure("memory_MB_per_h", slope, "MB/h", FLAT_MB, "lower"),
    ]


def frozen(seconds: float) -> list[BenchFigure]:
    """Return how much the memory of a monitor window and of the process that sends results to it grows while
    the window is frozen (its process is stopped by the system) for `seconds` [s], and after it runs again.
    """
    if not (hasattr(signal, "SIGSTOP") and hasattr(signal, "SIGCONT")):
        raise ConfigError("this system cannot stop a process and continue it", where="--frozen")
    say(f"monitor: a window that does not respond for {seconds:g} s")
    own = ResidentMemory()
    with WatchedWindow(1.0) as watched:
        _, before = watched.until(BUILT_S)
        of_sender = own()
        os.kill(watched.pid, signal.SIGSTOP)
        try:
            _, still = watched.until(seconds)
        finally:
            os.kill(watched.pid, signal.SIGCONT)
        waiting = own() - of_sender
        _, after = watched.until(BUILT_S)
    return [
        BenchFigure("frozen_s", seconds, "s"),
        BenchFigure("frozen_memory_MB", float(still[-1] - before[-1]), "MB", FROZEN_MB, "lower"),
        BenchFigure("frozen_sender_MB", waiting, "MB", FROZEN_MB, "lower"),
        BenchFigure("resumed_memory_MB", float(after[-1] - before[-1]), "MB", FROZEN_MB, "lower"),
    ]


class WatchedWindow:
    """An off-screen monitor window that shows a synthetic walk, in a process of its own whose memory is
    measured.

    speed : how many times as fast as it was walked the walk is played
    """

    def __init__(self, speed: float) -> None:
        self._speed, self._over = speed, threading.Event()

    def __enter__(self) -> WatchedWindow:
        self._folder = TemporaryDirectory()
        self._publisher = Publisher("tcp://127.0.0.1:0").__enter__()
        walking = (self._publisher, self._over, self._speed)
        self._sender = threading.Thread(target=walk_on, args=walking, daemon=True)
        command = [sys.executable, "-m", "rtsim.cli.main", "monitor", self._publisher.address, "--json"]
        self._said = Path(self._folder.name) / "said"
        with self._said.open("wb") as said:
            self._window = subprocess.Popen(command, env=environment(self._folder.name), stdout=said)
        self.pid = self._window.pid
        self._memory = ResidentMemory(self.pid)
        self._sender.start()
        if not self._publisher.wait_for_subscriber(START_S):
            raise ConfigError(f"the window has not asked for results within {START_S:g} s", where="monitor")
        return self

    def __exit__(self, *error: object) -> None:
        self._window.kill()
        self._window.wait()
        self._over.set()
        self._sender.join()
        self._publisher.__exit__(None, None, None)
        self._folder.cleanup()

    def end(self) -> dict[str, float]:
        """End the window and return the counts that it prints."""
        self._window.terminate()
        self._window.wait(60.0)
        account: dict[str, float] = json.loads(self._said.read_text(encoding="utf-8").splitlines()[-1])
        return account

    def until(self, seconds: float) -> tuple[np.ndarray, np.ndarray]:
        """Measure for `seconds` [s]; return the times since the start [s] and the memory of the window [MB],
        (n,) each.
        """
        rows: list[tuple[float, float]] = []
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < seconds or not rows:
            if self._window.poll() is not None:
                raise ConfigError("the window ended too early", where="monitor")
            rows.append((now, self._memory()))
            time.sleep(LOOK_S)
        times, taken = np.array(rows).T
        if not np.isfinite(taken).all():
            raise ConfigError("the memory of a process is not known on this system", where="monitor")
        return times, taken
