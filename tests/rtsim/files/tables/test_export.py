"""Export: every format other programs read, with labels from the descriptor and units in the names."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trc import read_trc
from rtsim.files.recording import Results
from rtsim.files.tables.export import export, of_leg
from rtsim.files.tables.storage import read_storage
from rtsim.files.tables.tables import units_of
from streams.codec import FieldLayout, encode
from streams.messages import AnyMessage, FieldSpec, Result, Session, new_session_id
from streams.recording.recorder import Recorder

NAMES = ("RASI", "RHEE")
FIELDS = (
    FieldSpec("joint_angles", (2,), "rad", ("hip_flexion", "knee_flexion")),
    FieldSpec("knee_displacements", (2,), "m", ("lateral", "hip_flexion")),
    FieldSpec("ligament_lengthening", (2,), "1", ("ACL", "PCL")),
    FieldSpec("marker_rms", (1,), "m"),
    FieldSpec("markers_measured", (2, 3), "m", NAMES),
    FieldSpec("markers_model", (2, 3), "m", NAMES),
)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Five frames of results, one of them not converged and without angles."""
    return write_results(tmp_path / "a.mcap", FIELDS)


def write_message(recorder: Recorder, message: AnyMessage, t_ns: int) -> None:
    topic, payload = encode(message)
    recorder.write(topic, payload, t_ns)


def write_results(path: Path, fields: tuple[FieldSpec, ...], **meta) -> Path:
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=fields,
        meta={"up": "Y", **meta},
    )  # fmt: skip
    layout = FieldLayout(session)
    with Recorder(path) as recorder:
        write_message(recorder, session, 0)
        for seq in range(5):
            arrays = {spec.name: np.full(tuple(spec.shape), 0.1 * (seq + 1)) for spec in fields}
            for name, value in (("markers_measured", 0.0), ("markers_model", 0.001)):
                if name in arrays:
                    arrays[name] = np.array([[1.0, 0.9, 0.0], [1.0, 0.1, 0.0]]) + value
            if seq == 2 and "joint_angles" in arrays:
                arrays["joint_angles"][:] = np.nan
            frame = Result(
                session=session.session, seq=seq, t_capture=seq, time=seq / 100, data=layout.pack(arrays),
                t_received=1, t_solved=2, t_published=3, status=8 if seq == 2 else 0, iterations=1,
                residual=0.0,
            )  # fmt: skip
            write_message(recorder, frame, seq + 1)
    return path


def test_trc_of_measured_and_model_markers(recording, tmp_path):
    """Measured markers by default, the model's on request."""
    export(recording, tmp_path / "a.trc")
    np.testing.assert_allclose(read_trc(tmp_path / "a.trc").positions[0, 0], [1.0, 0.9, 0.0], atol=1e-8)
    notes = export(recording, tmp_path / "b.TRC", model_markers=True)
    trial = read_trc(tmp_path / "b.TRC")
    assert trial.names == NAMES
    np.testing.assert_allclose(trial.positions[0, 0], [1.001, 0.901, 0.001], atol=1e-8)
    assert any("up axis" in note for note in notes)


def test_csv_names_moment_arms_by_muscle_and_angle(tmp_path):
    """A column for each muscle and angle, in the order of the field; without names of the angles none."""
    arms = FieldSpec("moment_arms", (2, 2), "m", ("vasti", "psoas"), ("hip_flexion", "knee_flexion"))
    bare = FieldSpec("moment_arms", (2, 2), "m", ("vasti", "psoas"))
    lengths = FieldSpec("muscle_lengths", (2,), "m", ("vasti", "psoas"))
    export(write_results(tmp_path / "a.mcap", (FIELDS[0], lengths, arms)), tmp_path / "a.csv")
    export(write_results(tmp_path / "b.mcap", (lengths, bare)), tmp_path / "b.csv")
    rows = list(csv.reader((tmp_path / "a.csv").open(newline="")))
    assert rows[0][4:] == [
        "muscle_lengths.vasti [m]", "muscle_lengths.psoas [m]",
        "moment_arms.vasti.hip_flexion [m]", "moment_arms.vasti.knee_flexion [m]",
        "moment_arms.psoas.hip_flexion [m]", "moment_arms.psoas.knee_flexion [m]",
    ]  # fmt: skip
    assert [float(x) for x in rows[1][6:]] == pytest.approx([0.1] * 4)
    assert "moment_arms" not in (tmp_path / "b.csv").read_text()


@pytest.mark.parametrize(
    ("suffix", "more"),
    [(".mot", ()), (".sto", ("ligament_lengthening.ACL", "ligament_lengthening.PCL", "marker_rms"))],
)
def test_motion_file(recording, tmp_path, suffix, more):
    """Angles in degrees, displacements in metres, columns by label; a label twice gets its field's name."""
    out = tmp_path / f"knee{suffix}"
    export(recording, out)
    table = read_storage(out)
    motion = ("time", "hip_flexion", "knee_flexion", "lateral", "knee_displacements_hip_flexion")
    assert table.columns == (*motion, *more, "status")
    assert table.in_degrees
    assert table.name == "knee"
    np.testing.assert_allclose(table.column("knee_flexion")[[0, 3]], np.degrees([0.1, 0.5]))
    np.testing.assert_allclose(table.column("lateral"), [0.1, 0.2, 0.4, 0.5])
    np.testing.assert_allclose(table.column("time"), np.array([0, 1, 3, 4]) / 100)
    assert "1 row of 5 left out, because a value is unknown" in out.read_text()


@pytest.mark.parametrize("suffix", [".mot", ".sto"])
def test_entries_that_stay_in_radians(tmp_path, suffix):
    """Protects OpenSim's coordinates of the type Coupled: in radians among degrees, said, and read so."""
    spec = FieldSpec("joint_angles", (2,), "rad", ("hip", "kneecap"), as_is=("kneecap",))
    write_results(tmp_path / "a.mcap", (spec,))
    export(tmp_path / "a.mcap", tmp_path / f"a{suffix}")
    table = read_storage(tmp_path / f"a{suffix}")
    assert table.in_degrees
    assert table.in_radians == ("kneecap",)
    np.testing.assert_allclose(table.column("hip")[0], np.degrees(0.1))
    np.testing.assert_allclose(table.column("kneecap")[0], 0.1)
    if suffix == ".sto":
        assert "kneecap [rad]" in (tmp_path / f"a{suffix}").read_text()
    export(tmp_path / "a.mcap", tmp_path / "a.csv")
    row = next(csv.DictReader((tmp_path / "a.csv").open(newline="")))
    assert float(row["joint_angles.kneecap [deg]"]) == pytest.approx(np.degrees(0.1))


def test_frames_are_marked_left_out_or_neither(recording, tmp_path):
    """Protects who reads a table from frames that were not solved: by default they are marked."""
    heads, rows, notes = {}, {}, {}
    for frames in ("marked", "all", "ok"):
        notes[frames] = export(recording, tmp_path / "a.csv", frames=frames)
        table = list(csv.reader((tmp_path / "a.csv").open(newline="")))
        heads[frames], rows[frames] = table[0], table[1:]
    assert heads["marked"][1] == "status [bits]"
    assert [float(row[1]) for row in rows["marked"]] == [0.0, 0.0, 8.0, 0.0, 0.0]
    assert heads["all"] == heads["ok"] == [name for name in heads["marked"] if "status" not in name]
    assert (len(rows["all"]), len(rows["ok"])) == (5, 4)
    assert "1 frame of 5 left out, because these frames are flagged" in notes["ok"]


def test_csv_names_units(recording, tmp_path):
    """Every scalar with its unit in the column name, status included, arrays left out."""
    export(recording, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "time [s]", "status [bits]", "joint_angles.hip_flexion [deg]", "joint_angles.knee_flexion [deg]",
        "knee_displacements.lateral [m]", "knee_displacements.hip_flexion [m]",
        "ligament_lengthening.ACL [1]", "ligament_lengthening.PCL [1]", "marker_rms [m]",
    ]  # fmt: skip
    assert len(rows) == 6
    assert rows[3][1:4] == ["8", "", ""]
    assert float(rows[1][2]) == pytest.approx(np.degrees(0.1))


def test_units_of_a_leg_are_cut_with_its_labels() -> None:
    """Protects tables of one leg: each entry has its own unit, and not that of an entry of the other leg."""
    labels, units = ("hip_l", "knee_l", "hip_r", "knee_r"), ("m", "N", "rad", "s")
    spec = FieldSpec("a", (4,), "m, N, rad, s", labels, units=units)
    session = Session(session=new_session_id(), stream="result", t_start=0, rate=1.0, fields=(spec,))
    results = Results(session, {"a": np.array([[1.0, 2.0, 3.0, 4.0]])}, np.zeros(1), np.zeros(1, np.int64))
    (cut, (few,)), (_, (both,)) = (of_leg(results, (spec,), side, "here") for side in ("right", ""))
    assert (few.labels, few.units) == (("hip_r", "knee_r"), ("rad", "s"))
    assert units_of(few) == few.units
    assert cut.fields["a"].tolist() == [[3.0, 4.0]]
    assert both.units == spec.units


def test_absent_fields(tmp_path):
    """A recording without angles has no motion file, but still a CSV."""
    path = write_results(tmp_path / "b.mcap", FIELDS[2:4])
    with pytest.raises(ConfigError, match="no joint angles"):
        export(path, tmp_path / "a.mot")
    export(path, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith("time [s],status [bits],ligament_lengthening.ACL [1]")


def test_other_suffixes_are_refused(recording, tmp_path):
    """An unknown format is refused before the recording is read, with the formats there are."""
    with pytest.raises(ConfigError, match=r"\.trc, \.mot, \.sto, \.csv"):
        export(recording, tmp_path / "a.xlsx")


@pytest.mark.parametrize("suffix", [".mot", ".sto"])
def test_the_header_says_of_whom_and_where_from(tmp_path, suffix):
    """Protects a file that lies alone: person, side, method, its bias, both addresses, what was noticed."""
    said = {"subject": "anna", "side": "left", "method": "zero", "source": "tcp://a:1", "markers": "tcp://a:1",
            "forces": "tcp://b:2"}  # fmt: skip
    notes = ["walk.trc: lengths were converted to metres (factor 0.001)", "two\nlines"]
    path = tmp_path / f"a{suffix}"
    bias = {"hip_flexion": 2.1, "knee_flexion": 1.1}
    export(write_results(tmp_path / "a.mcap", FIELDS, **said, notes=notes, bias_deg=bias), path)
    head = path.read_text().split("endheader")[0].splitlines()
    assert [f"{key}: {value}" for key, value in said.items() if f"{key}: {value}" not in head] == []
    assert f"note: {notes[0]}" in head
    assert [line for line in head if line.startswith("bias_deg")] == [
        "bias_deg: hip_flexion 2.1", "bias_deg: knee_flexion 1.1",
    ]  # fmt: skip
    assert "note: two\\nlines" in head
    assert len(read_storage(path).data) == 4  # one is unknown


def test_headers_have_no_lines_that_end_opensim(tmp_path):
    """Protects OpenSim, whose table reader crashes at a very long line: hundreds of columns, short lines."""
    names = tuple(f"a_column_with_a_long_name_{k}" for k in range(700))
    path = tmp_path / "a.sto"
    export(write_results(tmp_path / "a.mcap", (FieldSpec("joint_angles", (700,), "rad", names),)), path)
    lines = path.read_text().splitlines()
    head = lines[: lines.index("endheader")]
    assert max(map(len, head)) < 1000
    assert "a_column_with_a_long_name_699 [deg]" in "".join(head)
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("off")
    assert opensim.TimeSeriesTable(str(path)).getNumColumns() >= 700
