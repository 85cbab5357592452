"""Named numbers for PlotJuggler, read as its plugin reads them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import zmq

from rtsim.bridges.plot_numbers import PlotNumbers, distinct, serve_plot
from rtsim.errors import ConfigError
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, Status, new_session_id
from streams.receiving.ring import ReceivedFrame

GUARD_S = 120.0


def flattened(topic: str, value: Any) -> dict[str, float]:
    """What the plugin makes of a payload: maps and arrays become topic/key/sub[i]; numbers and booleans
    count, texts and bin are ignored."""
    if isinstance(value, dict):
        return {k: v for key, sub in value.items() for k, v in flattened(f"{topic}/{key}", sub).items()}
    if isinstance(value, list):
        return {k: v for i, sub in enumerate(value) for k, v in flattened(f"{topic}[{i}]", sub).items()}
    return {topic: float(value)} if isinstance(value, bool | int | float) else {}


def test_the_plugin_sees_every_number_by_its_name(walk: Any) -> None:
    """Protects PlotJuggler's way of reading: two parts, numbers alone, named by field, label and part."""
    stop, told, sent = threading.Event(), [], []
    args = (walk.address, "tcp://127.0.0.1:0", (), None, stop, told.append)
    thread = threading.Thread(target=lambda: sent.append(serve_plot(*args)))
    thread.start()
    due = time.monotonic() + GUARD_S
    while not told:
        assert time.monotonic() < due
        time.sleep(0.01)
    with zmq.Context() as context, context.socket(zmq.SUB) as plugin:
        plugin.connect(told[0].split()[4].rstrip(","))
        plugin.subscribe(b"")
        plugin.rcvtimeo = 100
        parts: list[bytes] = []
        while not parts:
            assert time.monotonic() < due
            walk.send(1)
            try:
                parts = plugin.recv_multipart()
            except zmq.Again:
                continue
        assert len(parts) == 2
        seen = flattened(parts[0].decode(), msgspec.msgpack.decode(parts[1]))
    stop.set()
    thread.join(GUARD_S)
    k = round(seen["plot/time"] / 0.01)
    swing = 0.4 * math.sin(0.06 * k)
    assert seen["plot/joint_angles/knee_flexion_r"] == pytest.approx(math.degrees(swing))
    assert seen["plot/markers_measured/RKNE/x"] == pytest.approx(swing + 0.004)
    assert seen["plot/heel_strikes/right"] == k // 50
    assert seen["plot/status"] == 0
    assert "plot/segment_rotations" not in " ".join(seen)
    assert sent[0] > 0


def test_values_not_to_be_used_are_no_numbers(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects curves from old values: a stale frame has NaN, and its status says so; its array stays."""
    frame = walk_frames(5, 1)[0]
    frame.status = int(Status.STALE)
    before = frame.data["joint_angles"].copy()
    told = PlotNumbers(("joint_angles",), print).of(frame)
    assert math.isnan(told["joint_angles"]["knee_flexion_r"])
    assert set(told) == {"time", "status", "joint_angles"}
    np.testing.assert_array_equal(frame.data["joint_angles"], before)


def test_fields_that_are_not_there_are_told(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects whoever mistypes a field: told with those that there are, and the status goes on."""
    said: list[str] = []
    assert set(PlotNumbers(("angles",), said.append).of(walk_frames(0, 1)[0])) == {"time", "status"}
    assert "no field 'angles'" in said[0]
    assert "joint_angles" in said[0]


def test_a_single_number_is_masked_like_others() -> None:
    """Protects curves of fields without axes: NaN where they are not to be used, by a mask or in a frame."""
    fields = (FieldSpec("angle", (), "rad"), FieldSpec("unsure", (), "1", of="angle", role="mask"))
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=fields, meta={}
    )
    frame = ReceivedFrame(session, FieldLayout(session))
    frame.data["angle"][...], frame.data["unsure"][...] = 0.5, 0.0
    numbers = PlotNumbers((), lambda text: None)
    assert numbers.of(frame)["angle"] == pytest.approx(math.degrees(0.5))
    frame.data["unsure"][...] = 1.0
    assert math.isnan(numbers.of(frame)["angle"])
    frame.data["unsure"][...], frame.status = 0.0, int(Status.NOT_CONVERGED)
    assert math.isnan(numbers.of(frame)["angle"])
    assert frame.data["angle"] == 0.5


def test_angles_among_lengths_are_in_degrees() -> None:
    """Protects coordinates of a model, where labels have units of their own: degrees for angles alone."""
    spec = FieldSpec(
        "coordinates", (3,), "rad, m", ("knee", "pelvis_x", "pelvis_qw"), units=("rad", "m", "1")
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=(spec,), meta={}
    )
    frame = ReceivedFrame(session, FieldLayout(session))
    frame.data["coordinates"][:] = 0.5, 0.25, 1.0
    told = PlotNumbers((), lambda text: None).of(frame)["coordinates"]
    assert told == pytest.approx({"knee": math.degrees(0.5), "pelvis_x": 0.25, "pelvis_qw": 1.0})


def test_labels_that_are_alike_stay_two() -> None:
    """Protects numbers of labels that a sender gives twice."""
    assert distinct(["a", "b", "a", ""]) == ["a", "b", "a 3", ""]


@pytest.mark.parametrize(
    ("bound", "fields", "words"),
    [
        ("tcp://0.0.0.0:0", (), "can be reached from the network"),
        ("tcp://127.0.0.1:0", ("a", "a"), "named twice"),
    ],
)
def test_wrong_calls_are_told(walk: Any, bound: str, fields: tuple[str, ...], words: str) -> None:
    """Protects the person from the network, which the plugin has no keys for, and from fields named twice."""
    with pytest.raises(ConfigError, match=words):
        serve_plot(walk.address, bound, fields, None, threading.Event(), print)
