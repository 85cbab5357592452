"""A made-up walk whose foot strikes are known."""

from __future__ import annotations

import numpy as np

from streams.codec import FieldLayout
from streams.messages import Curves, FieldSpec, Session, new_session_id
from streams.receiving.ring import ReceivedFrame

SEGMENTS = ("pelvis", "foot_r", "foot_l")
STRIDE_S, RATE = 1.1, 100.0
FIELDS = (
    FieldSpec(name="segment_positions", shape=(3, 3), unit="m", labels=SEGMENTS),
    FieldSpec(name="segment_rotations", shape=(3, 3, 3), unit="1", labels=SEGMENTS),
    FieldSpec(
        name="joint_angles", shape=(2,), unit="rad", labels=("knee_flexion_r", "knee_flexion_l"),
        curves=Curves("", "angle", 0, 0.1),
    ),
)  # fmt: skip
LOADS = FieldSpec(
    name="foot_loads", shape=(2,), unit="N", labels=("right", "left"), curves=Curves("Feet", "force", 1, 10.0)
)


def session(fields: tuple[FieldSpec, ...] = FIELDS) -> Session:
    """The descriptor of the walk."""
    return Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=fields,
        meta={"subject": "Anna", "side": "both", "source": "walk.c3d", "method": "zero"},
    )  # fmt: skip


def phase(time: float, side: int) -> float:
    """Part of the stride of a side, 0 where its foot is foremost; the left is half a stride later."""
    return (time / STRIDE_S - 0.5 * side) % 1.0


def arrays(time: float) -> dict[str, np.ndarray]:
    """Feet that go back before the pelvis for 60 % of the stride, and forwards for the rest."""
    ahead, load = [], []
    for side in range(2):
        p = phase(time, side)
        stance = p < 0.6
        ahead.append(0.3 - p if stance else 0.3 - 0.6 + 0.6 * (p - 0.6) / 0.4)
        load.append(700.0 * np.sin(np.pi * p / 0.6) if stance else 0.0)
    x = 1.2 * time
    positions = np.array([[x, 0.9, 0.0], [x + ahead[0], 0.05, 0.1], [x + ahead[1], 0.05, -0.1]])
    angles = np.array([phase(time, side) for side in range(2)])
    return {
        "segment_positions": positions, "segment_rotations": np.tile(np.eye(3), (3, 1, 1)),
        "joint_angles": angles, "foot_loads": np.array(load),
    }  # fmt: skip


def frame(walk: Session, seq: int) -> ReceivedFrame:
    """The frame with this number."""
    found = ReceivedFrame(walk, FieldLayout(walk))
    found.seq, found.time = seq, seq / RATE
    found.t_capture = found.t_received = found.t_published = found.t_arrived = int(1e9 * seq / RATE)
    for name, array in arrays(found.time).items():
        if name in found.data:
            found.data[name][...] = array
    return found
