"""A simulation whose coordinate follows a stream of results, over real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.live.inputs import motion_stream
from rtsim.live.inputs.motion_stream import MotionStream
from rtsim.live.paced import paced_loop
from rtsim.quantity import Fields, Quantity
from rtsim.simulation.load import load_simulator
from streams.clock import now_ns
from streams.messages import Result, Status
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
KNEE = 0.3


class Sender(threading.Thread):
    """Publishes a coordinate at rest as a live run with rates does, until it is told to stop."""

    def __init__(self, publisher: Publisher, name: str = "knee", unit: str = "rad", at: float = KNEE) -> None:
        super().__init__(name="sender")
        self.publisher, self.over = publisher, threading.Event()
        self.coordinate, self.unit, self.at = name, unit, at

    def run(self) -> None:
        names = ("coordinates", "coordinate_speeds", "coordinate_accelerations")
        values = [np.array([self.at]), np.zeros(1), np.zeros(1)]
        units = (self.unit, f"{self.unit}/s", f"{self.unit}/s^2")
        label = (self.coordinate,)
        told = [Quantity(n, v, u, label) for n, v, u in zip(names, values, units, strict=True)]
        fields = Fields(told, 100.0, 0, {})
        self.publisher.announce(fields.session)
        seq = 0
        while not self.over.wait(0.01):
            now = now_ns()
            self.publisher.send(Result(
                session=fields.session.session, seq=seq, time=0.01 * seq, t_capture=now, t_received=now,
                t_solved=now, status=0, iterations=0, residual=0.0, data=fields.data(), t_published=now,
            ))  # fmt: skip
            self.publisher.service()
            seq += 1


@pytest.fixture
def compiling():
    """A warm loop compiles nothing more; tests after this one do."""
    allow_compilation()
    yield
    allow_compilation()


@pytest.mark.usefixtures("compiling")
def test_a_simulation_follows_a_stream_and_outlives_it():
    """Protects the way from a socket into the model: to the stream's value, and degraded after its end."""
    with Publisher(LOCAL) as source, Publisher(LOCAL) as publisher:
        simulator = load_simulator("kick", motion=source.address, prescribed=("knee",), step_ms=1.0)
        loop = paced_loop(simulator, publisher, 200.0, 50.0, motion=(source.address, ("knee",)))
        turning, sender = threading.Thread(target=loop.run, name="loop"), Sender(source)
        with Subscriber(publisher.address, ("result",), 1) as results:
            assert publisher.wait_for_subscriber(GUARD_S)
            turning.start()
            try:
                assert until(results, lambda knee, status: status == Status.DEGRADED), "moved by nobody"
                sender.start()
                followed = until(results, lambda knee, status: not status and abs(knee - KNEE) < 1e-6)
                assert followed, "the knee never came to the stream's angle"
                sender.over.set()
                assert until(results, lambda knee, status: status == Status.DEGRADED), "its end was not told"
            finally:
                sender.over.set()
                loop.stop()
                turning.join(GUARD_S)
    counters, _ = loop.stages[0].collect()
    assert counters["motion_taken"] > 0
    assert counters["motion_missing"] > 0


def until(results: Subscriber, condition: Callable[[float, int], bool]) -> bool:
    """Whether a frame comes whose knee angle and status, without that of lateness, are as wanted."""
    due = time.monotonic() + GUARD_S
    while time.monotonic() < due:
        frame = results.wait(0.1)
        if frame is None:
            continue
        spec = next(spec for spec in frame.session.fields if spec.name == "joint_angles")
        knee = float(frame.data["joint_angles"][spec.labels.index("knee")])
        if condition(knee, frame.status & ~int(Status.LATE)):
            return True
    return False


def test_a_stream_is_silent_where_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects whoever wears the device: after a step of the clock silence is found, not an hour later."""
    at = [7_200_000_000_000]
    monkeypatch.setattr(motion_stream, "now_ns", lambda: at[0])
    stream = object.__new__(MotionStream)
    stream.heard_ns = at[0]
    assert not stream.silent
    at[0] -= 3_600_000_000_000
    assert stream.silent
