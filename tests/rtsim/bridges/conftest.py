"""A result stream of a walk with gait events, over a real socket, for what carries results elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from streams.codec import FieldLayout
from streams.messages import Curves, FieldSpec, Result, Session, new_session_id
from streams.publisher import Publisher
from streams.receiving.ring import ReceivedFrame

CENTRES = ("lumbar", "hip_r", "knee_r", "hip_l", "knee_l")
FIELDS = (
    FieldSpec(
        name="joint_angles",
        shape=(2,),
        unit="rad",
        labels=("knee_flexion_r", "knee_flexion_l"),
        curves=Curves("", "angle", 0, 0.17),
    ),
    FieldSpec(name="marker_rms", shape=(1,), unit="m", curves=Curves("Residual", "RMS", 1, 0.005, True)),
    FieldSpec(
        name="markers_measured", shape=(2, 3), unit="m", labels=("RKNE", "LKNE"), parts=("x", "y", "z")
    ),
    FieldSpec(name="markers_model", shape=(2, 3), unit="m", labels=("RKNE", "LKNE"), parts=("x", "y", "z")),
    FieldSpec(name="joint_centres", shape=(5, 3), unit="m", labels=CENTRES),
    FieldSpec(name="segment_positions", shape=(1, 3), unit="m", labels=("pelvis",)),
    FieldSpec(name="segment_rotations", shape=(1, 3, 3), unit="1", labels=("pelvis",)),
    FieldSpec(name="heel_strikes", shape=(2,), unit="1", labels=("right", "left")),
    FieldSpec(name="toe_offs", shape=(2,), unit="1", labels=("right", "left")),
)
META = {
    "method": "minimised",
    "model": "both_legs",
    "stick": [["lumbar", "hip_r"], ["hip_r", "knee_r"], ["lumbar", "hip_l"], ["hip_l", "knee_l"]],
}


def walk_session(rate: float = 100.0) -> Session:
    """A result descriptor with a fresh id."""
    return Session(
        session=new_session_id(), stream="result", t_start=0, rate=rate, fields=FIELDS, meta=dict(META)
    )


def walk_arrays(seq: int) -> dict[str, np.ndarray]:
    """A person of two thighs; right heels strike at frames 50, 100, ..., left toes are off at 25, 75, ..."""
    swing = 0.4 * np.sin(0.06 * seq)
    centres = np.array(
        [[0.0, 1.0, 0.0], [0.0, 0.9, 0.1], [swing, 0.5, 0.1], [0.0, 0.9, -0.1], [-swing, 0.5, -0.1]]
    )
    model = centres[[2, 4]]
    return {
        "joint_angles": np.array([swing, -swing]),
        "marker_rms": np.array([0.002]),
        "markers_measured": model + 0.004,
        "markers_model": model,
        "joint_centres": centres,
        "segment_positions": centres[:1],
        "segment_rotations": np.eye(3)[None],
        "heel_strikes": np.array([float(seq // 50), 0.0]),
        "toe_offs": np.array([0.0, float((seq + 25) // 50)]),
    }


class Walk:
    """Publishes the walk over a real socket."""

    def __init__(self) -> None:
        self.publisher = Publisher("tcp://127.0.0.1:0")
        self.address = self.publisher.address
        self.session = walk_session()
        self.layout = FieldLayout(self.session)
        self.seq = 0
        self.publisher.announce(self.session)

    def send(self, n_frame: int = 1, status: int = 0, **changed: np.ndarray) -> None:
        """Frames one after the other, stamped as of a steady source."""
        self.publisher.service()
        for _ in range(n_frame):
            t = time.perf_counter_ns()
            stamps = {"t_capture": 1_000_000_000 + self.seq * 10_000_000, "t_received": t - 2_000_000}
            self.publisher.send(
                Result(
                    session=self.session.session,
                    seq=self.seq,
                    time=0.01 * self.seq,
                    **stamps,
                    t_solved=t - 1_000_000,
                    t_published=t,
                    status=status,
                    iterations=3,
                    residual=0.0,
                    data=self.layout.pack({**walk_arrays(self.seq), **changed}),
                )
            )
            self.seq += 1


@pytest.fixture
def walk() -> Iterator[Walk]:
    walk = Walk()
    yield walk
    walk.publisher.close()


@pytest.fixture
def walk_frames() -> Callable[..., list[ReceivedFrame]]:
    """Makes frames of the walk without a socket."""

    def make(first: int, n_frame: int, session: Session | None = None, **changed: Any) -> list[ReceivedFrame]:
        session = session or walk_session()
        layout, frames = FieldLayout(session), []
        for seq in range(first, first + n_frame):
            frame = ReceivedFrame(session, layout)
            for name, array in {**walk_arrays(seq), **changed}.items():
                frame.data[name][...] = array
            frame.seq, frame.time, frame.iterations = seq, 0.01 * seq, 3
            frame.t_capture = round(seq * 1e9 / session.rate)
            frames.append(frame)
        return frames

    return make


@pytest.fixture
def new_walk_session() -> Callable[..., Session]:
    return walk_session
