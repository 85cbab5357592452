"""A client written only from docs/protocol.md, as a process of its own, against our side."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Result, Session, Status, Telemetry, force_session, new_session_id
from streams.receiving.subscriber import Subscriber

CLIENT = Path(__file__).with_name("stranger_client.py")
GUARD_S = 120.0


def start(*args: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, str(CLIENT), *args], stdout=subprocess.PIPE, text=True)


def test_the_stranger_knows_nothing_of_us():
    """Protects the worth of these tests: the client imports none of our packages."""
    tree = ast.parse(CLIENT.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert imported <= {"json", "secrets", "struct", "sys", "time", "msgpack", "zmq"}


@pytest.mark.process
def test_a_stranger_sends_markers():
    """Protects the protocol document, as a source of markers reads it."""
    n_frame = 100
    process = start("source", "tcp://127.0.0.1:*", str(n_frame))
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with Subscriber(address, ["markers"], backlog=n_frame) as subscriber:
        for seq in range(n_frame):
            frame = subscriber.wait(GUARD_S)
            assert frame is not None
            assert (frame.seq, frame.time) == (seq, seq / 200.0)
            expected = [[seq, 0.5 * seq, -1.0], [np.nan] * 3]
            np.testing.assert_array_equal(frame.data["positions"], expected)
        assert subscriber.wait(GUARD_S) is None
        assert subscriber.ended
        session = subscriber.session
        assert session is not None
        (spec,) = session.fields
        assert (spec.name, spec.shape, spec.unit, spec.labels) == (
            "positions",
            (2, 3),
            "mm",
            ("LASI", "RASI"),
        )
        assert session.meta == {"up": "Z", "subject": "a stranger"}
        assert session.rate == 200.0
        assert {name: n for name, n in subscriber.counters.items() if n} == {"received": n_frame}
    assert process.wait(GUARD_S) == 0


@pytest.mark.process
def test_a_stranger_sends_forces():
    """Protects the protocol document, as a source of forces reads it."""
    n_frame = 50
    process = start("forces", "tcp://127.0.0.1:*", str(n_frame))
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with Subscriber(address, ["forces"], backlog=n_frame) as subscriber:
        for seq in range(n_frame):
            frame = subscriber.wait(GUARD_S)
            assert frame is not None
            assert (frame.seq, frame.time) == (seq, seq / 100.0)
            np.testing.assert_array_equal(
                frame.data["sample_times"], [seq / 100.0 - 0.005, seq / 100.0, np.nan]
            )
            np.testing.assert_array_equal(frame.data["force"][0], [[0, 0, 700.0]] * 2 + [[np.nan] * 3])
            assert np.isnan(frame.data["moment"][1]).all()
        assert subscriber.wait(GUARD_S) is None
        assert subscriber.ended
        session = subscriber.session
        assert session is not None
        ours = force_session(["left", "right"], 3, rate=100.0, sample_rate=200.0, t_start=0, up="Z")
        assert session.fields == ours.fields
        assert session.meta.keys() == ours.meta.keys()
        assert {name: n for name, n in subscriber.counters.items() if n} == {"received": n_frame}
    assert process.wait(GUARD_S) == 0


@pytest.mark.process
def test_a_stranger_reads_results(publisher):
    """Protects the protocol document, as a monitor reads it."""
    session = Session(
        session=new_session_id(),
        stream="result",
        t_start=now_ns(),
        rate=100.0,
        fields=[
            FieldSpec("joint_angles", [2], "rad", ["hip_flexion", "knee_flexion"]),
            FieldSpec("segment_rotations", [1, 3, 3], "1"),
        ],
        meta={"method": "mbo", "up": "Y"},
    )
    layout = FieldLayout(session)
    process = start("sink", publisher.address)
    publisher.announce(session)
    assert publisher.wait_for_subscriber(GUARD_S)
    rotation = np.arange(9.0).reshape(1, 3, 3)
    for seq in range(50):
        angles = np.array([0.1 * seq, -0.2 * seq])
        data = layout.pack({"joint_angles": angles, "segment_rotations": rotation + seq})
        publisher.send(
            Result(
                session=session.session,
                seq=seq,
                time=seq / 100.0,
                t_capture=1,
                t_received=1000,
                t_solved=2000,
                t_published=3500,
                status=int(Status.LATE if seq == 7 else Status.OK),
                iterations=3,
                residual=float("nan"),
                data=data,
            )
        )
        publisher.service()
    publisher.send(Telemetry(session=session.session, t=now_ns(), text=["All is well."]))
    publisher.end("that was all")
    out, _ = process.communicate(timeout=GUARD_S)
    read = json.loads(out)
    assert read["sentences"] == ["All is well."]
    assert [result["seq"] for result in read["results"]] == list(range(50))
    assert [result["seq"] for result in read["results"] if result["late"]] == [7]
    for seq, result in enumerate(read["results"]):
        assert result["delay_ns"] == 2500
        assert result["values"]["joint_angles"] == {"hip_flexion": 0.1 * seq, "knee_flexion": -0.2 * seq}
        assert result["values"]["segment_rotations"] == list(np.arange(9.0) + seq)
