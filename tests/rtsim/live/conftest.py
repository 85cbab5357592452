"""A live run in one process: a source that sends what it is told, the loop, and a reader of its results."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import zmq
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.compiled.cache_warming import CacheWarming
from rtsim.live.inputs.inputs import StreamInput
from rtsim.live.loop import Loop
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from rtsim.stages.stage import Stage
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import Subject, load_subject
from streams.codec import FieldLayout, encode
from streams.control.commands import ControlServer, request
from streams.messages import End, Markers, Session, Telemetry, marker_session
from streams.publisher import Publisher
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber
from tests.rtsim.live.rig import Rig

Array = NDArray[np.float64]
LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0  # how long a test may wait before it counts as hung
BACKLOG = 2000  # so that nothing is skipped however slow the machine


@dataclass(frozen=True)
class Seen:
    """A copy of one result, as a subscriber got it."""

    session: Session
    seq: int
    time: float
    t_capture: int
    t_received: int
    t_solved: int
    t_published: int
    status: int
    iterations: int
    residual: float
    data: dict[str, Array]


def copy_of(frame: ReceivedFrame) -> Seen:
    return Seen(
        frame.session, frame.seq, frame.time, frame.t_capture, frame.t_received, frame.t_solved,
        frame.t_published, frame.status, frame.iterations, frame.residual,
        {name: array.copy() for name, array in frame.data.items()},
    )  # fmt: skip


class Source:
    """A bound socket that sends markers, right or wrong, without any check of its own."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.linger = 1000
        self._socket.sndhwm = 0
        self._socket.bind(LOCAL)
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self.session: Session | None = None
        self.seq = 0

    def wait_joined(self) -> None:
        """Wait until the loop listens."""
        awaited = {b"\x01session", b"\x01markers", b"\x01end"}
        while awaited:
            assert self._socket.poll(int(1000 * GUARD_S)), "the loop never subscribed"
            awaited.discard(self._socket.recv())

    def parts(self, *parts: bytes) -> None:
        self._socket.send_multipart(list(parts))

    def begin(self, session: Session) -> None:
        """Announce a session; frames count from 0."""
        self.session, self.seq = session, 0
        self.parts(*encode(session))

    def send(self, positions: Array, **keys: object) -> None:
        """The next frame of the session; keys replace what stands in its message."""
        assert self.session is not None
        data = FieldLayout(self.session).pack({"positions": positions})
        given = {"seq": self.seq, "t_capture": time.perf_counter_ns(), "time": self.seq / 100.0, "data": data}
        message = Markers(session=self.session.session, **{**given, **keys})
        self.parts(*encode(message))
        self.seq = message.seq + 1

    def end(self, reason: str = "that was all") -> None:
        assert self.session is not None
        self.parts(*encode(End(session=self.session.session, seq=self.seq, reason=reason)))

    def close(self) -> None:
        self._socket.close()
        self._context.term()


@dataclass
class Run:
    """A loop at work, and what its subscriber has seen so far."""

    source: Source
    loop: Loop
    markers: Subscriber
    results: Subscriber
    control: str
    thread: threading.Thread
    faults: list[BaseException]
    seen: list[Seen] = field(default_factory=list)
    telemetry: list[Telemetry] = field(default_factory=list)

    def read(self, n_frame: int, what: Callable[[Seen], bool] = lambda seen: True) -> list[Seen]:
        """Read until there are `n_frame` results in all that are `what`; those."""
        due = time.monotonic() + GUARD_S
        while len(found := [seen for seen in self.seen if what(seen)]) < n_frame:
            assert time.monotonic() < due, f"{len(found)} of {n_frame} results came"
            assert not self.faults, self.faults
            self._take(0.1)
        return found

    def finish(self) -> list[Seen]:
        """Wait for the end of the run; all its results."""
        due = time.monotonic() + GUARD_S
        while not self.results.ended or self.thread.is_alive():
            assert time.monotonic() < due, "the run never ended"
            assert not self.faults, self.faults
            self._take(0.05)
        while self._take(0.0):
            pass
        return self.seen

    def ask(self, name: str, **args: object) -> tuple[bool, str]:
        """Send a command."""
        return request(self.control, name, args, timeout_s=GUARD_S)

    @property
    def final(self) -> Telemetry:
        """The last account of a finished run."""
        assert self.telemetry[-1].gauges["final"] == 1.0
        return self.telemetry[-1]

    @property
    def text(self) -> str:
        """Everything that was said."""
        return "\n".join(sentence for message in self.telemetry for sentence in message.text)

    def _take(self, timeout_s: float) -> bool:
        frame = self.results.wait(timeout_s)
        if frame is not None:
            self.seen.append(copy_of(frame))
        while self.results.telemetry:
            self.telemetry.append(self.results.telemetry.popleft())
        return frame is not None


@pytest.fixture(scope="session")
def subject() -> Subject:
    return load_subject(find_config("walker", "subjects"))


@pytest.fixture(scope="session")
def trial(subject: Subject) -> MarkerTrial:
    """One second of walking at 100 Hz."""
    return walk(load_model("lower_limb"), subject, 1.0)


@pytest.fixture(scope="session")
def one_estimator(subject: Subject) -> MultibodyEstimator:
    allow_compilation()  # another test may have forbidden it
    return MultibodyEstimator(load_model("lower_limb"), subject, "minimised", ("zero", "prescribed"))


@pytest.fixture
def estimator(one_estimator: MultibodyEstimator) -> MultibodyEstimator:
    """Offers minimised, zero and prescribed; by the method minimised; knows nothing yet."""
    one_estimator.switch("minimised")
    one_estimator.set_downweighting(True)
    one_estimator.restart()
    return one_estimator


@pytest.fixture
def make_session(trial: MarkerTrial) -> Callable[..., Session]:
    """A marker session; irregular, so that no frame is late however slow the machine."""

    def make(names: tuple[str, ...] = trial.names, rate: float = 0.0, **keys: object) -> Session:
        return marker_session(names, rate=rate, t_start=0, **keys)  # type: ignore[arg-type]

    return make


@pytest.fixture
def start(estimator: MultibodyEstimator, subject: Subject) -> Iterator[Callable[..., Run]]:
    """Start a loop that listens to a source; its results are read from the first on."""
    with contextlib.ExitStack() as stack:

        def begin(
            duration_s: float = 0.0,
            backlog: int = BACKLOG,
            address: str = "",
            rehearses: bool = False,
            first: bool = False,
            beyond: Callable[[Kinematics], list[Stage]] = lambda kinematics: [],
        ) -> Run:
            source = Source()
            stack.callback(source.close)
            publisher = stack.enter_context(Publisher(LOCAL))
            kinematics = Kinematics(estimator, subject)
            stages = [kinematics, MuscleLengths(kinematics), *beyond(kinematics)]
            source_of = StreamInput(lambda: markers, duration_s)
            source_of.rehearsal = CacheWarming(stages) if rehearses else None
            meta = {"model": "lower_limb", "source": "test", "up": "Y"}
            loop = Loop(source_of, stages, publisher, meta, first=first)
            control = stack.enter_context(ControlServer(LOCAL, loop.command, loop.commands))
            results = stack.enter_context(Subscriber(publisher.address, ("result", "telemetry"), BACKLOG))
            assert publisher.wait_for_subscriber(GUARD_S)
            markers = stack.enter_context(Subscriber(address or source.address, ("markers",), backlog))
            faults: list[BaseException] = []

            def work() -> None:
                try:
                    loop.run()
                except BaseException as fault:
                    faults.append(fault)

            thread = threading.Thread(target=work, name="loop")
            thread.start()
            stack.callback(thread.join, GUARD_S)
            stack.callback(request, control.address, "stop", None, 1.0)
            if not address:
                source.wait_joined()
            return Run(source, loop, markers, results, control.address, thread, faults)

        yield begin


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Waits until a condition holds; fails after GUARD_S."""

    def wait(condition: Callable[[], object]) -> None:
        due = time.monotonic() + GUARD_S
        while not condition():
            assert time.monotonic() < due, "the condition never came true"
            time.sleep(0.005)

    return wait


@pytest.fixture(scope="module")
def knee() -> Simulator:
    allow_compilation()  # another test may have forbidden it
    return Simulator(build(load_model("knee")), load_model("knee").simulation)


@pytest.fixture
def simulator(knee):
    """The knee at its start, where a test finds it and leaves it."""
    allow_compilation()
    start = knee.q.copy(), knee.v.copy()
    yield knee
    knee.q[:], knee.v[:], knee.n_step = *start, 0
    allow_compilation()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """No process runs yet."""
    with Rig(tmp_path) as made:
        yield made
