"""The forces stream on real sockets: beside markers, hostile, recorded."""

from __future__ import annotations

import struct
import threading

import numpy as np

from streams.clock import now_ns
from streams.codec import FieldLayout, decode
from streams.messages import Forces, force_session, marker_session
from streams.recording.player import MarkerFrames, PlayedStream, play
from streams.recording.recorded import read_messages
from streams.recording.recorder import record

GUARD_S = 120.0
OTHER = "00000000000000bb"
FIELDS = [
    {"name": "sample_times", "shape": [2], "unit": "s", "labels": []},
    {"name": "force", "shape": [1, 2, 3], "unit": "N", "labels": ["plate"]},
    {"name": "moment", "shape": [1, 2, 3], "unit": "N m", "labels": ["plate"]},
]


def pack(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}d", *numbers)


class Sender:
    """Sends crafted forces under a session of its own."""

    def __init__(self, raw) -> None:
        self.raw = raw

    def descriptor(self, **keys: object) -> None:
        self.raw.descriptor(OTHER, **{"stream": "forces", "fields": FIELDS, "meta": {"up": "Y"}, **keys})

    def frame(self, seq: int, **keys: object) -> None:
        data = {"sample_times": pack(seq, seq + 0.5), "force": pack(*[seq] * 6), "moment": pack(*[0.0] * 6)}
        given = {"session": OTHER, "seq": seq, "t_capture": now_ns(), "time": seq + 0.5, "data": data}
        self.raw.message("forces", **{**given, **keys})


def joined(raw, subscribe) -> tuple[Sender, object]:
    subscriber = subscribe(raw.address, ("forces",), backlog=64)
    raw.wait_joined(b"session", b"forces", b"end")
    sender = Sender(raw)
    sender.descriptor()
    return sender, subscriber


def test_a_descriptor_of_forces_has_the_three_fields():
    """Protects the protocol: names, shapes, units and labels as docs/protocol.md has them."""
    square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    session = force_session(
        ["a", "b"], 10, rate=100.0, sample_rate=1000.0, t_start=1, corners=[square, []], meta={"source": "x"}
    )
    fields = {spec.name: (tuple(spec.shape), spec.unit, spec.labels) for spec in session.fields}
    assert fields == {
        "sample_times": ((10,), "s", ()),
        "force": ((2, 10, 3), "N", ("a", "b")),
        "moment": ((2, 10, 3), "N m", ("a", "b")),
    }
    assert session.meta == {"source": "x", "up": "Y", "sample_rate": 1000.0, "corners": [square, []]}
    assert FieldLayout(session).n_value == 10 + 2 * 60


def test_hostile_forces_are_counted_as_markers_are(raw_sender, subscribe, eventually):
    """Protects the receiver: each fault under its name, and the good frames in between are used."""
    sender, subscriber = joined(raw_sender, subscribe)
    sender.frame(0)
    sender.frame(0)  # duplicate
    sender.frame(3)  # two lost
    sender.frame(2)  # out of order
    sender.frame(4, data={"sample_times": pack(1, 2), "force": pack(1), "moment": pack(*[0.0] * 6)})
    sender.frame(5, data={"sample_times": pack(1, 2), "force": pack(*[0.0] * 6)})  # wrong_shape twice
    sender.frame(
        6, data={"sample_times": pack(6, 6.5), "force": pack(*[np.inf] * 6), "moment": pack(*[0.0] * 6)}
    )
    sender.frame(7, time=float("nan"))  # malformed
    sender.frame(8, data="bytes")  # malformed
    sender.frame(8, v=2)
    sender.frame(8, session="00000000000000cc")
    raw_sender.message("markers", session=OTHER, seq=8, t_capture=1, time=0.0, data={})  # not of this stream
    raw_sender.parts(b"forces", b"\xc1" * 100)
    raw_sender.parts(b"forces", b"\x00" * ((1 << 20) + 1))
    sender.descriptor(rate=7.0)  # changed within its session
    sender.frame(8)
    used = []
    eventually(
        lambda: (frame := subscriber.wait(0.1)) is not None and (used.append(frame.seq) or frame.seq == 8)
    )
    assert used == [0, 3, 6, 8]
    counted = {name: n for name, n in subscriber.counters.items() if n}
    # Frames 4 and 5 were in order and of another shape; 7 was never read.
    assert counted == {
        "received": 4, "duplicate": 1, "lost": 3, "out_of_order": 1, "wrong_shape": 2, "non_finite": 1,
        "malformed": 4, "bad_version": 1, "unknown_session": 1, "oversize": 1,
    }  # fmt: skip


def test_infinities_become_missing(raw_sender, subscribe):
    """Protects kernels: an infinite force is one that was not measured."""
    sender, subscriber = joined(raw_sender, subscribe)
    sender.frame(
        0, data={"sample_times": pack(0, 0.5), "force": pack(*[-np.inf] * 6), "moment": pack(*[0.0] * 6)}
    )
    frame = subscriber.wait(GUARD_S)
    assert np.isnan(frame.data["force"]).all()
    assert subscriber.counters["non_finite"] == 1


def test_markers_and_forces_of_one_address_do_not_mix(raw_sender, subscribe):
    """Protects both receivers of one sender: neither takes the other's frames, ends or descriptors."""
    plates = subscribe(raw_sender.address, ("forces",))
    raw_sender.wait_joined(b"session", b"forces", b"end")
    markers = subscribe(raw_sender.address)
    raw_sender.wait_joined(b"markers")
    sender = Sender(raw_sender)
    raw_sender.descriptor()
    sender.descriptor()
    for seq in range(3):
        sender.frame(seq)
        raw_sender.frame(seq)
    raw_sender.message("end", seq=3, reason="markers are over")
    assert [markers.wait(GUARD_S).seq for _ in range(3)] == [0, 1, 2]
    assert markers.wait(GUARD_S) is None
    assert markers.ended
    sender.frame(3)
    assert [plates.wait(GUARD_S).seq for _ in range(4)] == [0, 1, 2, 3]
    assert not plates.ended
    for subscriber, n in ((markers, 3), (plates, 4)):
        assert {name: count for name, count in subscriber.counters.items() if count} == {"received": n}


def test_both_streams_are_recorded_whole(publisher, tmp_path):
    """Protects the recorder: it follows each stream's session, and is over when both are."""
    n, rate = 30, 500.0
    times = np.arange(n) / rate
    markers = marker_session(["LASI"], rate=rate, t_start=0)
    forces = force_session(["plate"], 1, rate=rate / 2, sample_rate=rate / 2, t_start=0)
    half = times[::2]
    wrench = np.arange(len(half) * 3.0).reshape(-1, 1, 1, 3)
    channel = PlayedStream(forces, half, {"sample_times": half[:, None], "force": wrench, "moment": wrench})
    done = []
    path = tmp_path / "both.mcap"
    thread = threading.Thread(target=lambda: done.append(record(publisher.address, path)))
    thread.start()
    play(publisher, markers, MarkerFrames(times, np.ones((n, 1, 3))), beside=[channel], wait_s=GUARD_S)
    thread.join(GUARD_S)
    assert done[0].n_lost == done[0].n_refused == 0
    found = [decode([topic, payload]) for _, topic, payload in read_messages(path)]
    sent = [message for message in found if isinstance(message, Forces)]
    assert [message.seq for message in sent] == list(range(len(half)))
    assert [message.time for message in sent] == half.tolist()
    layout = FieldLayout(forces)
    out = layout.views(np.full(layout.n_value, np.nan))
    for message, row in zip(sent, wrench, strict=True):
        assert layout.unpack_into(message.data, out) is None
        np.testing.assert_array_equal(out["force"], row)
    assert sum(message.type == "markers" for message in found) == n
    assert sum(message.type == "end" for message in found) == 2
