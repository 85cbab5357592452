"""`rtsim export RUN.mcap RUN.foxglove.mcap`, read back by the plain MCAP reader."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import pytest
from mcap.reader import make_reader

from rtsim.bridges.foxglove_file import export_foxglove
from rtsim.errors import ConfigError
from streams.codec import FieldLayout, encode
from streams.messages import Result, Status, Telemetry
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


def stamped(path, stamps, statuses=None):
    """Write frames of the walk with these times of capture and of receipt [ns], and their status bits."""
    session = walk_session()
    layout = FieldLayout(session)
    with Recorder(path) as recorder:
        recorder.write(*encode(session), stamps[0][1])
        for seq, (captured, received) in enumerate(stamps):
            frame = Result(
                session=session.session, seq=seq, t_capture=captured, time=0.01 * seq, t_received=received,
                t_solved=received, t_published=received, status=statuses[seq] if statuses else 0,
                iterations=1, residual=0.0, data=layout.pack(walk_arrays(seq)),
            )  # fmt: skip
            recorder.write(*encode(frame), received)
    return path


def began_ns(path):
    """Return the Unix time at which the recorder's clock was 0 [ns], by the file's metadata."""
    recorded = read_messages(path)
    assert list(recorded)
    told = recorded.metadata["recording"]
    return round(1e9 * datetime.fromisoformat(told["started"]).timestamp()) - int(told["started_log_time"])


def times_of(recording):
    """Return the times of the frames in the file for Foxglove, by the clock of the recorder [ns]."""
    out = recording.with_suffix(".foxglove.mcap")
    export_foxglove(recording, out)
    return [row[2] - began_ns(recording) for row in read(out) if row[0] == "/status"]


def test_frames_of_this_clock_have_their_own_stamps(tmp_path):
    """Protects who compares two recordings: the latency of one frame is put on none of the others."""
    captured = [10**12 + k * STEP for k in range(6)]
    late = [300_000_000, 4_000_000, 4_000_000, 9_000_000, 4_000_000, 4_000_000]
    path = stamped(tmp_path / "run.mcap", [(c, c + more) for c, more in zip(captured, late, strict=True)])
    assert times_of(path) == captured


def test_frames_of_another_clock_follow_the_quickest(tmp_path):
    """Protects a source on another machine: a slow first frame does not put all frames late."""
    received = [10**12 + k * STEP for k in range(6)]
    late = [300_000_000, 0, 4_000_000, 9_000_000, 4_000_000, 4_000_000]
    stamps = [(777 + k * STEP, t + late[k]) for k, t in enumerate(received)]
    assert times_of(stamped(tmp_path / "run.mcap", stamps)) == received


def test_repetitions_stand_where_they_were_received(tmp_path):
    """Protects curves: a stale frame says something about the time when it came, not about that before."""
    t = 10**12
    stamps = [(t, t), *((t, t + k * 250_000_000) for k in range(1, 7))]
    path = stamped(tmp_path / "run.mcap", stamps, [0, *[int(Status.STALE)] * 6])
    assert times_of(path) == [received for _, received in stamps]


def test_a_recording_without_a_date_is_told(tmp_path):
    """Protects who looks for a measurement by its date: without one times begin in 1970."""
    undated = tmp_path / "undated.mcap"
    undated.write_bytes(record(tmp_path / "run.mcap").read_bytes().replace(b"started", b"stopped"))
    notes = export_foxglove(undated, tmp_path / "run.foxglove.mcap")
    assert any("states no date of its beginning" in note for note in notes)


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
    found = read(tmp_path / "run.foxglove.mcap")
    assert min(row[2] for row in found) > 1_500_000_000 * 10**9


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
