"""Player, estimator, recorder and export, each a process of its own, as a laboratory would chain them."""

from __future__ import annotations

import csv
import shutil
import signal
import sys

import numpy as np
import pytest

from rtsim.files.markers.markers import read_markers, write_trc
from rtsim.files.recording import read_results
from rtsim.files.tables.storage import read_storage
from streams.recording.recorded import read_messages
from tests.recorded_messages import await_messages

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
pytestmark = pytest.mark.process


@pytest.fixture
def recording(start, rtsim, trial, any_ports, tmp_path):
    """Half a second of a TRC file: played, estimated, and its results recorded."""
    write_trc(tmp_path / "walk.trc", trial)
    player = start("replay", "walk.trc", "--address", LOCAL, "--states")
    markers = player.state("ready")["markers"]
    estimator = start("estimate", "--markers", markers, "--subject", "walker", "--wait", GUARD_S, *any_ports)
    ready = estimator.state("ready")
    recorded = rtsim("record", ready["results"], "walk.mcap")
    assert recorded.code == 0, recorded.err
    assert "0 refused" in recorded.err
    assert player.wait().code == 0
    assert player.state("over")["n_sent"] == len(trial.times)
    assert estimator.wait().code == 0
    return tmp_path / "walk.mcap"


def test_what_was_played_is_in_the_files(recording, rtsim, trial, tmp_path):
    """Protects the chain to its end: markers, angles and everything, frame by frame, in files others read."""
    results = read_results(recording)
    n = len(results.times)
    assert len(trial.times) - 20 <= n  # what a slow machine skipped
    frames = np.round(100.0 * results.times).astype(int)
    labels = next(spec.labels for spec in results.session.fields if spec.name == "joint_angles")
    knee = np.degrees(results.fields["joint_angles"][:, labels.index("knee_flexion")])

    for name in ("walk_2.trc", "model.trc", "walk.mot", "walk.sto", "walk.csv"):
        more = ("--model-markers",) if name == "model.trc" else ()
        done = rtsim("export", "walk.mcap", name, *more)
        assert (done.code, done.out) == (0, "")
        assert done.err.endswith(f"wrote {name}\n")

    measured, model = read_markers(tmp_path / "walk_2.trc"), read_markers(tmp_path / "model.trc")
    assert measured.names == model.names == trial.names
    np.testing.assert_allclose(measured.positions, trial.positions[frames], atol=2e-9)
    distance = np.linalg.norm(measured.positions - model.positions, axis=2)
    assert 0.0 < np.sqrt(np.mean(distance**2)) < 0.012

    for name in ("walk.mot", "walk.sto"):
        table = read_storage(tmp_path / name)
        assert table.in_degrees
        np.testing.assert_allclose(table.column("time"), results.times, atol=1e-9)
        np.testing.assert_allclose(table.column("knee_flexion"), knee, atol=1e-9)

    with (tmp_path / "walk.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert len(rows) == n
    column = head.index("joint_angles.knee_flexion [deg]")
    np.testing.assert_allclose([float(row[column]) for row in rows], knee, atol=1e-9)
    assert {row[head.index("status [bits]")] for row in rows} <= {"0", "1", "4", "5"}


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_a_killed_recorder_leaves_a_readable_file(start, rtsim, tmp_path):
    """Protects recordings: after kill -9 everything up to the last message is there."""
    player = start("replay", "walker", "--address", LOCAL, "--states", "--loop")
    recorder = start("record", player.state("ready")["markers"], "cut.mcap")
    path = tmp_path / "cut.mcap"
    await_messages(path, 21, b"markers")
    recorder.popen.send_signal(signal.SIGKILL)
    assert recorder.wait().code == -signal.SIGKILL
    player.close()
    with path.open("ab") as file:
        file.write(b"\x05\xff")  # half a record, as a crash of the machine may leave
    messages = read_messages(path)
    assert sum(topic == b"markers" for _, topic, _ in messages) > 20
    assert "tail is cut" in messages.note
    trial = read_markers(path)
    assert len(trial.names) == 17
    done = rtsim("export", "cut.mcap", "cut.trc")
    assert done.code == 0
    assert "tail is cut" in done.err
    assert len(read_markers(tmp_path / "cut.trc").times) == len(trial.times)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_an_interrupted_recorder_closes_its_file(start, tmp_path, how):
    """Protects recordings that are ended by hand: closed properly, without a word of damage."""
    player = start("replay", "walker", "--address", LOCAL, "--states", "--loop")
    recorder = start("record", player.state("ready")["markers"], "walk.mcap")
    path = tmp_path / "walk.mcap"
    await_messages(path, 6, b"markers")
    recorder.popen.send_signal(how)
    done = recorder.wait()
    assert "Traceback" not in done.err
    assert done.code == 128 + how
    messages = read_messages(path)
    assert sum(1 for _ in messages) > 5
    assert messages.note == ""


def test_a_recorder_ends_with_its_stream(start, rtsim):
    """Protects scripts: --duration is the longest time, not the shortest."""
    player = start("replay", "walker", "--duration", 0.2, "--address", LOCAL, "--states")
    recorder = start("record", player.state("ready")["markers"], "walk.mcap", "--duration", 3600)
    done = recorder.wait()
    assert done.code == 0
    assert "messages, 0 refused" in done.err


def test_a_recorder_of_a_silent_address_ends_in_time(rtsim, port, tmp_path):
    """Protects --duration: nobody need be there; it is said, and no empty file blocks a retry."""
    done = rtsim("record", f"tcp://127.0.0.1:{port}", "nothing.mcap", "--duration", 1.5)
    assert done.code == 1
    assert "nothing.mcap: 0 messages" in done.err
    assert "no message was received" in done.sentence
    assert "Nobody answers" in done.sentence
    assert not (tmp_path / "nothing.mcap").exists()


def test_keys_open_the_network_to_their_holder(start, rtsim, tmp_path):
    """Protects streams that leave the machine: keys are made, the stream opens, only with them it is read."""
    for name in ("server", "friend"):
        assert rtsim("keys", "keys", name).code == 0
    (tmp_path / "allowed").mkdir()
    shutil.copy(tmp_path / "keys" / "friend.key", tmp_path / "allowed")
    server = ("--key", "keys/server.key_secret", "--clients", "allowed")
    player = start("replay", "walker", "--address", "tcp://0.0.0.0:0", "--duration", 0.2, "--states", *server)
    address = player.state("ready")["markers"].replace("0.0.0.0", "127.0.0.1")
    stranger = rtsim("record", address, "stranger.mcap", "--duration", 1.5)
    assert stranger.code == 1
    assert "stranger.mcap: no message was received" in stranger.sentence
    assert "keys are missing or wrong on one side" in stranger.sentence
    assert not (tmp_path / "stranger.mcap").exists()
    friend = ("--client-key", "keys/friend.key_secret", "--server-key", "keys/server.key")
    done = rtsim("record", address, "friend.mcap", *friend)
    assert done.code == 0, done.err
    assert len(read_markers(tmp_path / "friend.mcap").times) == 20


def test_from_a_trial_to_a_subject_to_a_run(rtsim, here, any_ports, trial, own_lab, tmp_path):
    """Protects the way of a new laboratory: own marker map, calibration, check, live run."""
    write_trc(tmp_path / "walk.trc", trial)
    done = here("calibrate", "walk.trc", "--lab", own_lab, "--out", "me.toml")
    assert done.code == 0, done.err
    assert "wrote me.toml" in done.err
    done = here("check", "lab.toml", "me.toml")
    assert (done.code, done.err) == (0, "")
    assert "lab mine" in done.out
    assert "4 segments, 17 markers" in done.out
    done = rtsim("live", "--source", "walk.trc", "--subject", "me.toml", *any_ports)
    assert done.code == 0, done.err
    assert "0 lost" in done.out
