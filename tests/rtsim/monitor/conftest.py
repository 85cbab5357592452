"""A result stream over real sockets, and a window on it, drawn off screen."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from streams.codec import FieldLayout
from streams.errors import StreamError
from streams.messages import Curves, FieldSpec, Result, Session, Telemetry, new_session_id
from streams.publisher import Publisher
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

if TYPE_CHECKING:
    from rtsim.monitor.window import MonitorWindow

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0  # how long a test may wait before it counts as hung
PERIOD_NS = 10_000_000
MARKERS = ("RASI", "RKNE", "RANK")
CENTRES = ("lumbar", "hip", "knee", "ankle", "toe")
SEGMENTS = ("pelvis", "thigh", "shank", "foot")
ALL_FIELDS = (
    FieldSpec(
        name="joint_angles",
        shape=(4,),
        unit="rad",
        labels=("hip_flexion", "hip_adduction", "knee_flexion", "ankle_flexion"),
        curves=Curves("", "angle", 0, 0.17),
    ),
    FieldSpec(
        name="knee_displacements",
        shape=(3,),
        unit="m",
        labels=("lateral", "anterior", "proximal"),
        curves=Curves("Knee displacement", "displacement", 1, 0.004),
    ),
    FieldSpec(
        name="ligament_lengthening",
        shape=(4,),
        unit="1",
        labels=("ACL", "PCL", "MCL", "LCL"),
        curves=Curves("Ligaments", "lengthening", 1, 0.04),
    ),
    FieldSpec(name="contact_points", shape=(2, 3), unit="m", labels=("medial", "lateral")),
    FieldSpec(name="markers_measured", shape=(3, 3), unit="m", labels=MARKERS),
    FieldSpec(name="markers_model", shape=(3, 3), unit="m", labels=MARKERS),
    FieldSpec(name="marker_residuals", shape=(3,), unit="m", labels=MARKERS),
    FieldSpec(name="marker_gap_age", shape=(3,), unit="s", labels=MARKERS),
    FieldSpec(
        name="marker_rms", shape=(1,), unit="m", curves=Curves("Marker residual", "RMS", 1, 0.005, True)
    ),
    FieldSpec(name="segment_positions", shape=(4, 3), unit="m", labels=SEGMENTS),
    FieldSpec(name="segment_rotations", shape=(4, 3, 3), unit="1", labels=SEGMENTS),
    FieldSpec(name="joint_centres", shape=(5, 3), unit="m", labels=CENTRES),
)
META: dict[str, Any] = {
    "method": "minimised",
    "model": "leg",
    "source": "walk.trc",
    "subject": "S01",
    "up": "Y",
    "stick": [["lumbar", "hip"], ["hip", "knee"], ["knee", "ankle"], ["ankle", "toe"]],
}


def make_session(
    fields: Sequence[FieldSpec] = ALL_FIELDS, rate: float = 100.0, meta: dict[str, Any] | None = None
) -> Session:
    """A result descriptor with a fresh id."""
    return Session(
        session=new_session_id(), stream="result", t_start=0, rate=rate, fields=fields, meta=meta or META
    )


def make_arrays(session: Session, seq: int) -> dict[str, np.ndarray]:
    """A leg that walks along x and swings slowly; only the fields of the session."""
    swing = 0.3 * np.sin(0.05 * seq)
    forward = np.array([0.01 * seq, 0.0, 0.0])
    heights = np.array([1.0, 0.9, 0.5, 0.1, 0.02])
    centres = forward + np.column_stack([swing * (1.0 - heights), heights, np.full(5, 0.1)])
    model = centres[[0, 2, 3]] + np.array([0.0, 0.0, 0.05])
    arrays = {
        "joint_angles": swing * np.array([1.0, 0.2, 2.0, 0.5]),
        "knee_displacements": 0.001 * np.array([1.0, 2.0, 3.0]),
        "ligament_lengthening": np.array([0.01, -0.02, 0.005, 0.0]),
        "contact_points": np.array([[0.001, 0.0, -0.022], [-0.002, 0.0, 0.023]]),
        "markers_measured": model + 0.005,
        "markers_model": model,
        "marker_residuals": np.full(3, 0.0087),
        "marker_gap_age": np.zeros(3),
        "marker_rms": np.array([0.0087]),
        "segment_positions": centres[:4],
        "segment_rotations": np.tile(np.eye(3), (4, 1, 1)),
        "joint_centres": centres,
    }
    return {spec.name: arrays[spec.name] for spec in session.fields if spec.name in arrays}


@dataclass
class FakeSource:
    """A subscriber without sockets, for tests that need each frame at its place."""

    session: Session | None = None
    counters: dict[str, int] = field(default_factory=lambda: {"received": 0, "lost": 0, "skipped": 0})
    events: deque[str] = field(default_factory=deque)
    telemetry: deque[Telemetry] = field(default_factory=deque)
    ended: bool = False
    frames: deque[ReceivedFrame] = field(default_factory=deque)
    fault: str = ""

    def wait(self, timeout_s: float) -> ReceivedFrame | None:
        if self.fault:
            raise StreamError(self.fault)
        return self.frames.popleft() if self.frames else None

    def add(self, seq: int, status: int = 0, session: Session | None = None, **stamps: int) -> ReceivedFrame:
        """Queue a frame of a session, by default of the current one."""
        session = session or self.session
        assert session is not None
        frame = ReceivedFrame(session, FieldLayout(session))
        for name, array in make_arrays(session, seq).items():
            frame.data[name][...] = array
        frame.seq, frame.status, frame.iterations = seq, status, 3
        frame.t_capture = stamps.get("t_capture", seq * PERIOD_NS)
        frame.t_received = frame.t_capture + 1_000_000
        frame.t_published = frame.t_received + 2_000_000
        frame.t_arrived = frame.t_published + 1_000_000
        self.frames.append(frame)
        return frame


class Sender:
    """Publishes result frames over a real socket."""

    def __init__(self, address: str = LOCAL) -> None:
        self.publisher = Publisher(address)
        self.address = self.publisher.address
        self.session: Session | None = None
        self.seq = 0

    def announce(self, session: Session) -> None:
        self.session, self.seq = session, 0
        self._layout = FieldLayout(session)
        self.publisher.announce(session)

    def send(self, n_frame: int = 1, status: int = 0, **changed: np.ndarray) -> None:
        """Send frames one after the other, without pauses but with the stamps of a steady source."""
        assert self.session is not None
        for _ in range(n_frame):
            arrays = {**make_arrays(self.session, self.seq), **changed}
            t = time.perf_counter_ns()
            self.publisher.send(
                Result(
                    session=self.session.session,
                    seq=self.seq,
                    time=0.01 * self.seq,
                    t_capture=1_000_000_000 + self.seq * PERIOD_NS,
                    t_received=t - 2_000_000,
                    t_solved=t - 1_000_000,
                    t_published=t,
                    status=status,
                    iterations=3,
                    residual=0.0,
                    data=self._layout.pack(arrays),
                )
            )
            self.seq += 1

    def close(self) -> None:
        self.publisher.close()


@pytest.fixture
def sender() -> Iterator[Sender]:
    sender = Sender()
    yield sender
    sender.close()


@pytest.fixture
def new_sender() -> Iterator[Callable[[str], Sender]]:
    """Makes senders at addresses of the test's choice."""
    senders: list[Sender] = []

    def make(address: str) -> Sender:
        senders.append(Sender(address))
        return senders[-1]

    yield make
    for sender in senders:
        sender.close()


@pytest.fixture
def source() -> FakeSource:
    return FakeSource(session=make_session())


@pytest.fixture
def session_of() -> Callable[..., Session]:
    return make_session


@pytest.fixture
def all_fields() -> tuple[FieldSpec, ...]:
    return ALL_FIELDS


class Stage:
    """A window on a real subscriber, turned by hand instead of by its timer."""

    def __init__(self, address: str, control: str | None = None) -> None:
        from rtsim.monitor.device.commands import Commander
        from rtsim.monitor.feed import Feed
        from rtsim.monitor.opening import make_application
        from rtsim.monitor.window import MonitorWindow

        self.application = make_application()
        self.subscriber = Subscriber(address, ("result", "telemetry"), backlog=512)
        commander = Commander(control) if control else None
        self.window: MonitorWindow = MonitorWindow(Feed(self.subscriber, address), commander)
        self.window.show()

    def turn(self, n: int = 6) -> None:
        """Let the window do what its timer makes it do."""
        for _ in range(n):
            self.window.turn()
            self.application.processEvents()

    def until(self, done: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None) -> None:
        """Turn the window until something has happened."""
        due = time.monotonic() + GUARD_S
        while not done():
            assert time.monotonic() < due, "what was awaited has not happened"
            meanwhile()
            self.turn()
            time.sleep(0.002)

    def join(self, sender: Sender) -> None:
        """Wait until the window has built the layout of the sender's session."""
        assert sender.session is not None
        session_id = sender.session.session

        def joined() -> bool:
            layout = self.window.feed.layout
            return layout is not None and layout.session_id == session_id

        self.until(joined, sender.publisher.service)

    def receive(self, sender: Sender, n_frame: int, status: int = 0, **changed: np.ndarray) -> None:
        """Send frames and wait until the window has taken them."""
        wanted = self.window.feed.meter.n_frame + n_frame
        sender.send(n_frame, status, **changed)
        self.until(lambda: self.window.feed.meter.n_frame >= wanted)

    def picture(self) -> np.ndarray:
        """(height, width, 4) pixels of the figure."""
        from PySide6.QtGui import QImage

        image = self.window.figure_card.figure.grab().toImage()
        image = image.convertToFormat(QImage.Format.Format_RGBA8888)
        pixels = np.frombuffer(image.constBits(), dtype=np.uint8)
        return pixels.reshape(image.height(), image.width(), 4).copy()

    def close(self) -> None:
        self.window.close()
        self.subscriber.close()


@pytest.fixture
def open_stage() -> Iterator[Callable[..., Stage]]:
    """Opens windows; skips the test where Qt is not installed."""
    pytest.importorskip("PySide6.QtWidgets")
    pytest.importorskip("pyqtgraph")
    stages: list[Stage] = []

    def open_one(address: str, control: str | None = None) -> Stage:
        stages.append(Stage(address, control))
        return stages[-1]

    yield open_one
    for stage in stages:
        stage.close()


@pytest.fixture
def stage(open_stage: Callable[..., Stage], sender: Sender) -> Stage:
    """A window that has joined a session with every field."""
    sender.announce(make_session())
    stage = open_stage(sender.address)
    stage.join(sender)
    return stage
