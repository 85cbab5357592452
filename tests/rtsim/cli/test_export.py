"""`rtsim export` and what it shares: no silent overwriting, standard output, units and axes by option."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from rtsim.files.markers.markers import read_markers, write_trc
from rtsim.files.recording import Results, read_results
from rtsim.files.tables.recorded import write_results
from rtsim.monitor.figures.sticks import cameras_for, data_of, points_of
from rtsim.monitor.layout import layout_of
from streams.codec import FieldLayout, encode
from streams.messages import End, FieldSpec, Markers, Session, marker_session, new_session_id
from streams.recording.recorder import Recorder

OLD = "measured yesterday\n"
# Nor bytecode: half a file of it would be left to the other tests.
LIMITED = """if True:
    import resource, sys
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    from rtsim.cli.main import main
    main()
"""


@pytest.fixture
def walk(tmp_path):
    """A recording of results with angles of 0.5 rad."""
    field = FieldSpec("joint_angles", (1,), "rad", ("knee_flexion",))
    session = Session(session=new_session_id(), stream="result", t_start=1, rate=100.0, fields=(field,))
    times = np.arange(20) / 100.0
    results = Results(session, {"joint_angles": np.full((20, 1), 0.5)}, times, np.zeros(20, dtype=np.int64))
    write_results(tmp_path / "walk.mcap", results)
    return tmp_path / "walk.mcap"


@pytest.fixture
def markers(tmp_path):
    """A recording of two markers of a file that says m and means dm, in which X points up."""
    session = marker_session(["RASI", "RHEE"], rate=100.0, t_start=0)
    layout = FieldLayout(session)
    with Recorder(tmp_path / "markers.mcap") as recorder:
        topic, payload = encode(session)
        recorder.write(topic, payload, 0)
        for seq in range(3):
            data = layout.pack({"positions": [[9.0, 1.0, 1.0], [1.0, 1.0, 1.0]]})
            frame = Markers(session=session.session, seq=seq, t_capture=seq, time=seq / 100.0, data=data)
            recorder.write(*encode(frame), seq)
        recorder.write(*encode(End(session=session.session, seq=3, reason="over")), 3)
    return tmp_path / "markers.mcap"


@pytest.mark.parametrize("name", ["old.csv", "old.mot", "old.sto", "old.trc"])
def test_no_export_overwrites_in_silence(here, walk, tmp_path, name):
    """Protects a file of the same name: refused before anything is read, replaced only when told to."""
    (tmp_path / name).write_text(OLD)
    done = here("export", walk, name)
    assert (done.code, done.sentence) == (
        1,
        f"rtsim: {name}: the file exists already; choose another name or give --force",
    )
    assert (tmp_path / name).read_text() == OLD
    if name != "old.trc":  # there are no markers in it
        assert here("export", walk, name, "--force").code == 0
        assert (tmp_path / name).read_text() != OLD


def test_a_failed_export_leaves_what_was_there(here, walk, tmp_path):
    """Protects --force: what cannot be exported replaces nothing and leaves no part."""
    (tmp_path / "old.trc").write_text(OLD)
    assert here("export", walk, "old.trc", "--force").code == 1
    assert (tmp_path / "old.trc").read_text() == OLD
    assert sorted(os.listdir(tmp_path)) == ["old.trc", "walk.mcap"]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="limits of another kind")
@pytest.mark.parametrize("name", ["new.csv", "new.mot"])
def test_a_full_disk_leaves_no_half_export(start, walk, tmp_path, name):
    """Protects the retry, and the file of before, when the disk takes only the beginning."""
    done = start("export", walk, name, python=("-c", LIMITED)).wait()
    assert (done.code, done.err) == (1, f"rtsim: {name}: cannot be written (File too large)\n")
    assert os.listdir(tmp_path) == ["walk.mcap"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such devices")
def test_a_device_is_not_replaced(here, walk):
    """Protects the system from --force."""
    done = here("export", walk, "/dev/null", "--format", "csv", "--force")
    assert "/dev/null: null is not a regular file" in done.sentence
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("form", ["csv", "mot", "sto"])
def test_standard_output_has_the_same_bytes(here, walk, tmp_path, form):
    """Protects pipes: what - writes is what the file holds, and nothing else."""
    assert here("export", walk, f"walk.{form}").code == 0
    done = here("export", walk, "-", "--format", form)
    assert (done.code, done.err) == (0, "")
    assert done.out == (tmp_path / f"walk.{form}").read_text()
    assert not (tmp_path / "-").exists()


def test_standard_output_needs_a_format(here, walk):
    """Protects the user: which options there are."""
    done = here("export", walk, "-")
    assert done.code == 1
    assert "allowed: --format trc, --format mot, --format sto, --format csv" in done.sentence
    assert here("export", walk, "-", "--format", "xls").code == 2


def test_a_format_goes_before_the_suffix(here, walk, tmp_path):
    """Protects names of the user's own."""
    assert here("export", walk, "walk.txt", "--format", "csv").code == 0
    assert (tmp_path / "walk.txt").read_text().startswith("time [s],status [bits],joint_angles")


def test_units_and_axes_of_an_export_are_given_by_options(here, markers, tmp_path):
    """Protects the remedy in the sentence: the options that it names exist, and do what it says."""
    done = here("export", markers, "a.trc")
    assert done.code == 1
    assert "RASI" not in done.out
    assert "give --units with the true unit of the file" in done.sentence
    done = here("export", markers, "a.trc", "--units", "dm", "--up", "X")
    assert done.code == 0, done.err
    trial = read_markers(tmp_path / "a.trc", up="Y", units="mm")
    np.testing.assert_allclose(trial.positions[0], [[-0.1, 0.9, 0.1], [-0.1, 0.1, 0.1]], atol=1e-9)


@pytest.fixture
def wrong(tmp_path, trial) -> str:
    """The walker as a TRC file that says nothing true of units and axes: half a metre is 0.02."""
    positions = 39.37 * trial.positions[:, :, [2, 0, 1]]
    write_trc(tmp_path / "wrong.trc", trial._replace(positions=positions))
    text = (tmp_path / "wrong.trc").read_text().replace("\tmm\t", "\tft\t", 1)
    (tmp_path / "wrong.trc").write_text(text)
    return "wrong.trc"


def test_units_and_axes_of_a_trial_are_given_by_options(here, wrong):
    """Protects commands that read a marker file: refused with the option that helps, and helped by it."""
    replay = ("replay", wrong, "--address", "tcp://127.0.0.1:0", "--wait", "0", "--speed", "1000")
    for command in (replay, ("calibrate", wrong)):
        done = here(*command)
        assert done.code == 1
        assert "give --units with the true unit of the file (m, cm or mm)" in done.sentence
        done = here(*command, "--units", "furlong")
        assert "--units: 'furlong' is not a unit of length; allowed: m, cm, mm, dm, in, ft" in done.sentence
        done = here(*command, "--units", "mm", "--up", "sideways")
        assert "--up: 'sideways' is not an up axis; allowed: X, Y or Z" in done.sentence
    done = here(*replay, "--units", "mm", "--up", "Z")
    assert done.code == 0, done.err
    assert "unit of length: mm, as requested by --units" in done.err
    assert "up axis: +Z, as requested by --up" in done.err


def test_a_source_whose_units_are_known_takes_none(here):
    """Protects the user: an option that would do nothing is refused."""
    done = here("replay", "walker", "--units", "mm")
    assert (
        done.sentence
        == "rtsim: --units: the units and axes of 'walker' are known and cannot be changed; leave it out"
    )


@pytest.mark.process
def test_units_and_axes_reach_the_processes_of_a_run(rtsim, tmp_path, trial, own_lab, any_ports):
    """Protects `live`: player and estimator read the file alike, which lies on its side in inches."""
    positions = np.ascontiguousarray((trial.positions / 0.0254)[:, :, [2, 0, 1]]) * 1e-3
    write_trc(tmp_path / "inches.trc", trial._replace(positions=positions))
    corrected = ("--units", "in", "--up", "Z", "--lab", own_lab)
    done = rtsim("live", "--source", "inches.trc", *corrected, "--json", *any_ports)
    assert done.code == 0, done.err
    assert '"lost": 0' in done.out


def test_a_subject_file_is_not_overwritten_in_silence(here, tmp_path, wrong):
    """Protects a subject that was corrected by hand."""
    (tmp_path / "me.toml").write_text(OLD)
    done = here("calibrate", wrong, "--out", "me.toml")
    assert done.sentence == "rtsim: me.toml: the file exists already; choose another name or give --force"
    assert (tmp_path / "me.toml").read_text() == OLD


@pytest.fixture
def standing(tmp_path):
    """A recording of a stick of two joints that falls over."""
    field = FieldSpec("joint_centres", (2, 3), "m", ("hip_r", "knee_r"))
    session = Session(session=new_session_id(), stream="result", t_start=1, rate=10.0, fields=(field,))
    angles = np.linspace(0.0, 1.5, 11)
    tips = np.stack([np.sin(angles), np.cos(angles), np.zeros(11)], axis=1)
    fields = {"joint_centres": np.stack([np.zeros((11, 3)), tips], axis=1)}
    results = Results(session, fields, np.arange(11) / 10.0, np.zeros(11, dtype=np.int64))
    write_results(tmp_path / "fall.mcap", results)
    return tmp_path / "fall.mcap"


@pytest.mark.parametrize("name", ["fall.png", "fall.svg", "fall.pdf"])
def test_the_stick_figure_at_some_instants(here, standing, tmp_path, name):
    """Protects the figure of a motion: a picture for each instant, with its time, and names."""
    done = here("export", standing, name, "--at", "0", "--at", "0.52", "--view", "frontal", "--names")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / name).stat().st_size > 500
    if name.endswith(".svg"):
        text = (tmp_path / name).read_text()
        assert [text.count(word) for word in ("0.00 s", "0.50 s", ">hip<", ">knee<")] == [1, 1, 2, 2]


def test_pictures_side_by_side_have_one_scale(standing):
    """Protects lengths from instant to instant: what is as long is drawn as long, whichever way it points."""
    results = read_results(standing)
    layout = layout_of(results.session)
    shown = [data_of(results, layout, k) for k in (0, 10)]
    cameras, width = cameras_for([points_of(data) for data in shown], "Sagittal", 300.0)
    lengths = []
    for data, camera in zip(shown, cameras, strict=True):
        pixels = camera.project(data["joint_centres"], 1e6, 300.0)[:, :2]
        lengths.append(np.hypot(*(pixels[1] - pixels[0])))
    assert lengths[0] == pytest.approx(lengths[1], rel=1e-9)
    assert lengths[0] <= 300.0 < 300.0 + width


def test_a_figure_without_a_frame_to_show_is_refused(here, walk, standing):
    """Protects from an empty picture: no joints, and an instant that is not in the recording."""
    done = here("export", walk, "a.png")
    assert (done.code, "shows no joints and no markers" in done.sentence) == (1, True)
    done = here("export", standing, "a.png", "--at", "7")
    assert (done.code, "--at: 7 s" in done.sentence, "0 to 1 s" in done.sentence) == (1, True, True)
    done = here("export", standing, "a.csv", "--names")
    assert (done.code, "--names" in done.sentence) == (1, True)
