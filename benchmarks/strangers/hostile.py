"""Benchmark of attacks on a real estimator beside a stream at 200 Hz: answered frames, and growth of its
memory.

The source of markers, the estimator and the attacker are processes of their own. Where a source attacks,
that is the source which the estimator listens to: the same socket sends the frames that count
(hostile_source). A frame counts as answered when a result with its stamp arrives here, late or not. On a
machine that is slowed (benchmarks/strangers/slowed.py) the estimator has a part of a processor, everybody
else the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.strangers.attackers import ENDLESS_SOURCE, FLOODS
from benchmarks.strangers.hostile_source import ATTACKS
from benchmarks.strangers.slowed import ChosenProcessors, slowed
from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import BenchProgress
from rtsim.bench.runs.latency import ANY_PORT, READY_S
from rtsim.errors import ConfigError
from rtsim.live.processes.children import Child
from rtsim.live.processes.thread_priority import pinned
from streams.clock import now_ns
from streams.receiving.subscriber import Subscriber

ANSWERED_PERCENT, GROWTH_MB = 99.9, 50.0
SETTLE_S = 2.0
"""Undisturbed before and after an attack [s]."""
SAMPLE_NS = 20_000_000
END_S = 10.0


def run(seconds: float = 10.0, only: str = "", slow: int = 1) -> list[BenchFigure]:
    """Return the results of every attack, or of those whose name begins with `only`, for `seconds` each.

    slow : the estimator gets 1/slow of a processor
    """
    every = (*ATTACKS, *FLOODS, ENDLESS_SOURCE)
    if not any(attack.startswith(only) for attack in every):
        raise ConfigError(
            f"no attack has a name that begins with {only!r}", where="--only", allowed=", ".join(every)
        )
    figures = [BenchFigure("slow", float(slow), "times")]
    attacks = [attack for attack in every if attack.startswith(only)]
    with slowed(slow) as places, BenchProgress("hostile", len(attacks)) as course:
        for attack in attacks:
            course.begin(f"{attack} for {seconds:g} s")
            endless = attack == ENDLESS_SOURCE
            figures += endless_source(seconds, places) if endless else Attack(attack, seconds, places).run()
    return figures


class Attack:
    """One attack."""

    def __init__(self, attack: str, seconds: float, places: ChosenProcessors) -> None:
        self.attack, self.seconds, self._places = attack, seconds, places
        self.allowed_percent: list[float] = []
        self.answered: set[int] = set()
        self.memory = Memory()
        self._first_ns = self._last_ns = 0

    def run(self) -> list[BenchFigure]:
        """Figures of the attack."""
        with contextlib.ExitStack() as stack:
            source = python(stack, "benchmarks.strangers.hostile_source", self.attack)
            address = line_of(source)["markers"]
            estimator = start_estimator(stack, address, self._places)
            ready = estimator.wait_ready(READY_S)
            topics = ("result", "telemetry")
            results = stack.enter_context(Subscriber(ready["results"], topics, backlog=4096))
            self._read(results, SETTLE_S)
            self.memory.begin(estimator.pid)
            n_hostile = self._attack(stack, source, ready, results)
            self._read(results, SETTLE_S)
            tell(source, "end")
            self._read(results, END_S, until_end=True)
            account = line_of(source)
            alive = estimator.running or estimator.wait(END_S)
            estimator.check()
        sent = [stamp for stamp in account["stamps"] if self._first_ns <= stamp <= self._last_ns]
        n_answered = len(self.answered.intersection(sent))
        percent = 100.0 * n_answered / len(sent) if sent and alive else 0.0
        return [
            BenchFigure(f"answered_percent.{self.attack}", percent, "%", ANSWERED_PERCENT, "higher"),
            BenchFigure(f"frames_sent.{self.attack}", float(len(sent)), "frames"),
            BenchFigure(f"hostile_sent.{self.attack}", float(n_hostile), "bytes")
            if n_hostile
            else BenchFigure(f"hostile_sent.{self.attack}", float(account["n_hostile"]), "messages"),
            BenchFigure(f"allowed_percent.{self.attack}", max(self.allowed_percent, default=0.0), "%"),
            *self.memory.figures(self.attack),
        ]

    def _attack(
        self, stack: contextlib.ExitStack, source: subprocess.Popen[str], ready: dict, results: Subscriber
    ) -> int:
        """Execute the attack; return the number of bytes that a separate attacker sent, 0 if the source
        attacks.
        """
        if self.attack in ATTACKS:
            self._first_ns = now_ns()
            tell(source, "attack")
            self._read(results, self.seconds)
            tell(source, "quiet")
            self._last_ns = now_ns()
            return 0
        kind = FLOODS[self.attack][0]
        address = ready["control" if kind == b"DEALER" else "results"]
        attacker = python(stack, "benchmarks.strangers.attackers", self.attack, address, str(self.seconds))
        while attacker.poll() is None:
            self._read(results, 0.1)
        done = line_of(attacker)
        self._first_ns, self._last_ns = done["first_ns"], done["last_ns"]
        return int(done["bytes"])

    def _read(self, results: Subscriber, seconds: float, until_end: bool = False) -> None:
        """Take results for this time [s]."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0.0 and not (until_end and results.ended):
            frame = results.wait(min(left, 0.02))
            if frame is not None:
                self.answered.add(frame.t_capture)
            while results.telemetry:
                gauges = results.telemetry.popleft().gauges
                self.allowed_percent.append(gauges.get("strangers_percent", 0.0))
            self.memory.sample()


class Memory:
    """Resident memory of a process, from Linux; on other systems it is unknown."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._first = self._largest = 0
        self._due_ns = 0

    def begin(self, pid: int) -> None:
        """Count growth from now on."""
        file = Path(f"/proc/{pid}/statm")
        if file.exists():
            self._file = file
            self._first = self._largest = self._now()

    def sample(self) -> None:
        """Measure the memory."""
        if self._file is not None and now_ns() > self._due_ns:
            self._due_ns = now_ns() + SAMPLE_NS
            with contextlib.suppress(OSError):  # it may have ended
                self._largest = max(self._largest, self._now())

    def figures(self, attack: str) -> list[BenchFigure]:
        """Return the largest growth."""
        if self._file is None:
            return []
        growth = 1e-6 * (self._largest - self._first)
        return [BenchFigure(f"rss_growth_MB.{attack}", growth, "MB", GROWTH_MB, "lower")]

    def _now(self) -> int:
        assert self._file is not None
        pages = self._file.read_text().split()
        return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


def endless_source(seconds: float, places: ChosenProcessors) -> list[BenchFigure]:
    """Measure an endless message from a source: it has no frames to be answered, so only memory is
    measured.
    """
    memory = Memory()
    with contextlib.ExitStack() as stack:
        source = python(stack, "benchmarks.strangers.attackers", ENDLESS_SOURCE, "", str(seconds))
        # the source begins with the connection, which is made when the estimator is ready
        estimator = start_estimator(stack, line_of(source)["markers"], places)
        estimator.wait_ready(READY_S)
        memory.begin(estimator.pid)
        while source.poll() is None:
            memory.sample()
            time.sleep(1e-9 * SAMPLE_NS)
        done = line_of(source)
        if not estimator.running:
            estimator.check()
    name = ENDLESS_SOURCE
    return [BenchFigure(f"hostile_sent.{name}", float(done["bytes"]), "bytes"), *memory.figures(name)]


def start_estimator(stack: contextlib.ExitStack, markers: str, places: ChosenProcessors) -> Child:
    """Start the estimator of the markers at an address; it ends with the stack."""
    where = ["--markers", markers, "--results", ANY_PORT, "--control", ANY_PORT]
    slowed = places.measured is not None
    shared = ["--priority", "ordinary"] if slowed else []  # with priority it would not be slowed
    with pinned(places.measured):  # which its children take over
        estimator = Child("estimator", ["estimate", "--source", "walker", *where, *shared])
    stack.callback(estimator.close)
    return estimator


def python(stack: contextlib.ExitStack, module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a module as a process that ends with the stack."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def end() -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    stack.callback(end)
    return process


def line_of(process: subprocess.Popen[str]) -> dict:
    """The next line of a process."""
    assert process.stdout is not None
    return dict(json.loads(process.stdout.readline()))


def tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
