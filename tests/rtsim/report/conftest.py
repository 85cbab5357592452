"""Result frames and telemetry as a subscriber hands them over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rtsim.live.latency import StageTimes
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, Telemetry, new_session_id
from streams.receiving.ring import ReceivedFrame

MARKERS = ("RASI", "RKNE", "RANK", "RHEE")
FIELDS = (
    FieldSpec("joint_angles", (2,), "rad", ("hip_flexion", "knee_flexion")),
    FieldSpec("knee_displacements", (3,), "m", ("lateral", "anterior", "proximal")),
    FieldSpec("ligament_lengthening", (2,), "1", ("ACL", "PCL")),
    FieldSpec("marker_weights", (4,), "1", MARKERS),
    FieldSpec("marker_gap_age", (4,), "s", MARKERS),
    FieldSpec("marker_swap_with", (4,), "1", MARKERS),
    FieldSpec("marker_rms", (1,), "m"),
)
VALUES: dict[str, Any] = {
    "joint_angles": np.radians([12.5, -60.0]),
    "knee_displacements": [0.001, -0.002, 0.0035],
    "ligament_lengthening": [0.05, -0.012],
    "marker_weights": 1.0,
    "marker_gap_age": 0.0,
    "marker_swap_with": -1.0,
    "marker_rms": 0.0043,
}


@pytest.fixture
def make_frame() -> Callable[..., ReceivedFrame]:
    """A result frame of some fields; keywords replace values of fields and what the frame itself says."""

    def make(
        fields: tuple[FieldSpec, ...] = FIELDS, meta: dict | None = None, **change: Any
    ) -> ReceivedFrame:
        given = {"method": "minimised", "subject": "S01"} if meta is None else meta
        session = Session(
            session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=fields, meta=given
        )
        frame = ReceivedFrame(session, FieldLayout(session))
        values = VALUES if fields == FIELDS else {}
        for name, array in frame.data.items():
            array[...] = change.pop(name, values.get(name, 0.0))
        for key, value in change.items():
            setattr(frame, key, value)
        return frame

    return make


@pytest.fixture
def telemetry() -> Telemetry:
    """The account of a run with latencies of 1 to 16 us."""
    labels = ("p50", "p99", "p99_9", "max")
    gauges = {
        f"{stage}_us.{label}": float(4 * s + k + 1)
        for s, stage in enumerate(StageTimes.STAGES)
        for k, label in enumerate(labels)
    }
    counters = {"received": 200, "published": 198, "lost": 2, "late": 3, "duplicate": 1, "skipped": 0}
    text = ["2 frames lost on the way here."]
    return Telemetry(
        session="", t=1, counters=counters, gauges={**gauges, "marker_rms_mm": 4.21049}, text=text
    )
