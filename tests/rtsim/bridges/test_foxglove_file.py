"""`rtsim export RUN.mcap RUN.foxglove.mcap`, read back by the plain MCAP reader."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mcap.reader import make_reader

from rtsim.bridges.foxglove_file import export_foxglove
from rtsim.errors import ConfigError
from streams.codec import FieldLayout, encode
from streams.messages import Result, Telemetry
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder
from tests.rtsim.bridges.conftest import walk_arrays, walk_session

STEP = 10_000_000


def record(path, n_frame=30, n_session=1, skew=0, late=0):
    """Write a recording of the walk; late : frames that came so much after their time [ns]."""
    with Recorder(path) as recorder:
        t = 5_000_000_000
        for _ in range(n_session):
            session = walk_session()
            layout = FieldLayout(session)
            recorder.write(*encode(session), t)
            for seq in range(n_frame):
                t += STEP
                frame = Result(
                    session=session.session, seq=seq, t_capture=777 + seq * (STEP + skew), time=0.01 * seq,
                    t_received=t, t_solved=t, t_published=t, status=0, iterations=1, residual=0.0,
                    data=layout.pack(walk_arrays(seq)),
                )  # fmt: skip
                recorder.write(*encode(frame), t + late * (seq % 2))
            account = Telemetry(session=session.session, t=t, text=["A marker is lost."])
            recorder.write(*encode(account), t)
    return path


def read(path):
    """Return (topic, schema name, log time, content) of each message, checked against its schema."""
    with path.open("rb") as file:
        found = []
        for schema, channel, message in make_reader(file).iter_messages():
            assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
            content = json.loads(message.data)
            for key in json.loads(schema.data)["required"]:
                assert key in content
            found.append((channel.topic, schema.name, message.log_time, content))
    return found


def test_a_recording_is_read_back_whole(tmp_path):
    """Protects the export: every frame has its scene, frames, numbers and status, and sentences are there;
    the steps are those of the source's clock, whenever frames came.
    """
    out = tmp_path / "run.foxglove.mcap"
    assert export_foxglove(record(tmp_path / "run.mcap", late=3_000_000), out) == []
    found = read(out)
    topics = {"/tf": "foxglove.FrameTransforms", "/scene": "foxglove.SceneUpdate", "/status": "rtsim.status"}
    for topic, name in topics.items():
        of_topic = [row for row in found if row[0] == topic]
        assert {row[1] for row in of_topic} == {name}
        assert np.diff([row[2] for row in of_topic]).tolist() == [STEP] * 29
    flexions = [row[3]["knee_flexion_r"] for row in found if row[0] == "/numbers/joint_angles"]
    np.testing.assert_allclose(flexions, [np.degrees(walk_arrays(k)["joint_angles"][0]) for k in range(30)])
    assert "A marker is lost." in [row[3]["message"] for row in found if row[0] == "/log"]


def test_times_are_those_of_the_day_it_was_recorded(tmp_path):
    """Protects who looks for a measurement by its date."""
    out = tmp_path / "run.foxglove.mcap"
    export_foxglove(record(tmp_path / "run.mcap"), out)
    (first, *_) = [row[3] for row in read(out) if row[0] == "/scene"]
    assert first["entities"][0]["timestamp"]["sec"] > 1_500_000_000


def test_sessions_follow_each_other_and_a_clock_that_runs_away_is_not_used(tmp_path):
    """Protects runs with several sessions, and sources whose clock has another unit."""
    out = tmp_path / "run.foxglove.mcap"
    export_foxglove(record(tmp_path / "run.mcap", n_session=3, skew=10**10), out)
    times = [row[2] for row in read(out) if row[0] == "/status"]
    assert np.diff(times).tolist() == [STEP] * 89


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_recording_that_was_cut_is_exported_as_far_as_it_goes(tmp_path, cut):
    """Protects measurements that ended in a crash: what is whole is there, and the cut is told."""
    path = record(tmp_path / "run.mcap", 60)
    path.write_bytes(path.read_bytes()[: round(cut * path.stat().st_size)])
    (note,) = export_foxglove(path, tmp_path / "run.foxglove.mcap")
    assert "tail is cut" in note
    assert read(tmp_path / "run.foxglove.mcap")


def test_what_holds_no_results_is_refused_and_leaves_nothing(tmp_path):
    """Protects folders: no recording, none with results, and none at all are told in a sentence each."""
    (tmp_path / "text.mcap").write_text("hello")
    with Recorder(tmp_path / "empty.mcap") as recorder:
        recorder.write(*encode(Telemetry(session="", t=5)), 5)
    for name, words in (("text", "cannot be read"), ("empty", "no results"), ("gone", "no such file")):
        with pytest.raises(ConfigError, match=words):
            export_foxglove(tmp_path / f"{name}.mcap", tmp_path / "out.foxglove.mcap")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.mcap", "text.mcap"]


def test_messages_of_times_that_no_clock_has_are_left_out_and_counted(tmp_path):
    """Protects from a traceback: a time beyond what the file's format holds is told, the rest is there."""
    with Recorder(tmp_path / "changed.mcap") as recorder:
        for k, (t_ns, topic, payload) in enumerate(read_messages(record(tmp_path / "run.mcap"))):
            recorder.write(topic, payload, 2**64 - 1 if k == 20 else t_ns)
    (note,) = export_foxglove(tmp_path / "changed.mcap", tmp_path / "run.foxglove.mcap")
    assert "left out because their times are impossible" in note
    assert len([row for row in read(tmp_path / "run.foxglove.mcap") if row[0] == "/status"]) == 29


def test_damaged_messages_are_left_out_and_counted(tmp_path):
    """Protects the rest of a recording: frames of no descriptor, of another shape, and noise among them."""
    session = walk_session()
    layout = FieldLayout(session)
    with Recorder(tmp_path / "run.mcap") as recorder:
        for seq in range(8):
            data = layout.pack(walk_arrays(seq))
            if seq == 3:
                data["joint_angles"] = b"1"
            frame = Result(
                session=session.session, seq=seq, t_capture=seq * STEP, time=0.01 * seq, t_received=0,
                t_solved=0, t_published=0, status=0, iterations=1, residual=0.0, data=data,
            )  # fmt: skip
            if seq == 1:
                recorder.write(*encode(session), seq * STEP)
            recorder.write(*encode(frame), seq * STEP)
            recorder.write("result", b"\xc1\xff", seq * STEP)
    notes = export_foxglove(tmp_path / "run.mcap", tmp_path / "run.foxglove.mcap")
    assert notes == [
        "messages that could not be decoded, left out: 8",
        "frames left out because they fit no descriptor: 2",
    ]
    assert sum(row[0] == "/status" for row in read(tmp_path / "run.foxglove.mcap")) == 6
