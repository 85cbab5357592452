"""Moments and powers in the tables that other programs read, which have no gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.files.recording import Results, read_results
from rtsim.files.tables.recorded import write_results
from rtsim.files.tables.storage import Table, read_storage
from streams.messages import FieldSpec, Session, new_session_id

N = 40
ANGLES, JOINTS = ("knee_flexion_r", "knee_flexion_l"), ("knee_r", "knee_l")
MOMENTS = tuple(f"joint_moments.{name}" for name in ANGLES)
POWERS = tuple(f"joint_powers.{name}.{part}" for name in JOINTS for part in ("moment", "force"))


def recorded(path: Path, right: slice, left: slice) -> None:
    """A recording of angles of all frames, and of moments and powers of each leg on some of them."""
    specs = (
        FieldSpec("joint_angles", (2,), "rad", ANGLES),
        FieldSpec("joint_moments", (2,), "N m", ANGLES),
        FieldSpec("joint_powers", (2, 2), "W", JOINTS, ("moment", "force")),
        FieldSpec("muscle_lengths", (300,), "m", tuple(f"muscle_{k}" for k in range(300))),
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=1, rate=100.0, fields=specs, meta={"side": "both"}
    )
    fields = {spec.name: np.full((N, *spec.shape), 0.5) for spec in specs}
    for k, part in enumerate((right, left)):
        known = np.zeros(N, bool)
        known[part] = True
        fields["joint_moments"][:, k] = np.where(known, 1.0 + np.arange(N), np.nan)
        fields["joint_powers"][~known, k] = np.nan
    write_results(path, Results(session, fields, np.arange(N) / 100.0, np.zeros(N, np.int64)))


def written(here, *options: str, name: str = "w.mot") -> tuple[Table, str]:
    """A table of the recording, and what was told."""
    done = here("export", "w.mcap", name, "--force", *options)
    assert done.code == 0, done.err
    return read_storage(name), done.err


@pytest.mark.parametrize("name", ["w.mot", "w.sto"])
def test_moments_and_powers_stand_in_storage_files(here, tmp_path: Path, name: str) -> None:
    """Protects who reads results in OpenSim: moments and powers are beside the motion, in their units, and
    the frames that lack them alone are told with the way to have them."""
    recorded(tmp_path / "w.mcap", slice(4, N), slice(4, N))
    table, told = written(here, name=name)
    assert {*ANGLES, *MOMENTS, *POWERS} <= set(table.columns)
    assert len(table.data) == N - 4
    np.testing.assert_allclose(table.column(MOMENTS[0]), 5.0 + np.arange(N - 4))
    np.testing.assert_allclose(table.column(ANGLES[0]), np.degrees(0.5))
    head = (tmp_path / name).read_text().partition("endheader")[0]
    assert "joint_moments.knee_flexion_r [N m]" in head
    assert "joint_powers.knee_l.force [W]" in head
    assert "status [bits]" in head
    assert "4 of these rows lack only moments and powers: --columns motion writes these rows" in told
    motion, told = written(here, "--columns", "motion", name=name)
    assert len(motion.data) == N
    assert set(motion.columns) == {"time", *ANGLES, "status"}


@pytest.mark.parametrize("name", ["w.mot", "w.sto"])
def test_moments_of_a_stance_are_written_by_themselves(here, tmp_path: Path, name: str) -> None:
    """Protects walks over a plate or two, where moments are known on few frames: the motion keeps all of its
    rows, and each leg's moments and powers have those that are theirs."""
    recorded(tmp_path / "w.mcap", slice(2, 16), slice(14, 24))
    table, told = written(here, name=name)
    assert len(table.data) == N
    assert not any(column.startswith("joint_moments") for column in table.columns)
    assert "--columns kinetics writes only moments and powers, in the" in told
    for options, columns, rows in (
        ("kinetics", (MOMENTS[0], *POWERS[:2]), slice(2, 16)),
        ("kinetics-right", (MOMENTS[0], *POWERS[:2]), slice(2, 16)),
        ("kinetics-left", (MOMENTS[1], *POWERS[2:]), slice(14, 24)),
    ):
        table, told = written(here, "--columns", options, name=name)
        assert set(table.columns) == {"time", *columns, "status"}
        np.testing.assert_allclose(table.column("time"), np.arange(N)[rows] / 100.0)
        np.testing.assert_allclose(table.column(columns[0]), 1.0 + np.arange(N)[rows])
        assert ("a table of only one leg would have values in more rows" in told) == (options == "kinetics")


def test_moments_leave_no_hole_in_a_motion(here, tmp_path: Path) -> None:
    """Protects who reads a motion, and would draw a line over the frames between: where moments are not known
    for some frames in its middle, the motion goes before."""
    recorded(tmp_path / "w.mcap", slice(0, N), slice(0, N))
    results = read_results(tmp_path / "w.mcap")
    results.fields["joint_moments"][18:22, 1] = np.nan
    (tmp_path / "w.mcap").unlink()
    write_results(tmp_path / "w.mcap", results)
    table, told = written(here)
    assert len(table.data) == N
    assert set(table.columns) == {"time", *ANGLES, "status"}
    assert "--columns kinetics writes only moments and powers, in the" in told
    table, _ = written(here, "--columns", "kinetics-left")
    assert len(table.data) == N - 4


def test_a_csv_has_all_frames_of_a_few_columns(here, tmp_path: Path) -> None:
    """Protects who wants moments alone from a file of a thousand columns; unknown ones are empty cells."""
    recorded(tmp_path / "w.mcap", slice(2, 16), slice(14, 24))
    assert here("export", "w.mcap", "w.csv", "--columns", "kinetics-left").code == 0
    head, *rows = (tmp_path / "w.csv").read_text().splitlines()
    names = head.split(",")
    assert names == [
        "time [s]", "status [bits]", "joint_moments.knee_flexion_l [N m]",
        "joint_powers.knee_l.moment [W]", "joint_powers.knee_l.force [W]",
    ]  # fmt: skip
    assert len(rows) == N
    assert rows[0].endswith(",,,")


def test_what_a_recording_does_not_hold_is_told(here, refused, tmp_path: Path) -> None:
    """Protects from an empty file: without plates there are no moments, and of one leg none of the other."""
    assert here("analyse", "walker", "--out", "w.mcap").code == 0
    for columns in ("kinetics", "kinetics-right"):
        said = refused("export", "w.mcap", "w.mot", "--columns", columns)
        assert "the table contains no joint moments and powers" in said
        assert "--forces, --mass" in said
    assert "the option applies only to tables" in refused("export", "w.mcap", "w.trc", "--columns", "motion")
    assert "the option applies only to tables" in refused("analyse", "walker", "--columns", "motion")
    assert here("analyse", "walker", "--forces", "walker", "--mass", "72", "--out", "w2.mcap").code == 0
    said = refused("export", "w2.mcap", "w.mot", "--columns", "kinetics-left")
    assert "there are no moments and powers of the left leg" in said
