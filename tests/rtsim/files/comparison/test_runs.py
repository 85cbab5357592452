"""Two recordings and two tables beside each other: what differs is found, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.files.comparison.runs import compared
from streams.codec import FieldLayout, encode
from streams.messages import FieldSpec, Result, Session, Status
from streams.recording.recorder import Recorder

ROOT = Path(__file__).resolve().parents[4]
N = 50
ANGLES = FieldSpec("joint_angles", (2,), "rad", ("hip_flexion", "knee_flexion"))


def written(
    path: Path,
    angles: np.ndarray,
    skip: int = -1,
    status: int = 0,
    always: int = 0,
    begun: float = 0.0,
    **meta: str,
) -> Path:
    """Return a recording of results, with a frame left out, a status in frame 20 and one in all, repetitions,
    and times from a beginning on [s].
    """
    session = Session(
        session="00c0ffee00c0ffee", stream="result", t_start=0, rate=100.0, fields=(ANGLES,), meta=meta
    )
    layout, number = FieldLayout(session), 0
    with Recorder(path) as recorder:
        recorder.write(*encode(session), 0)
        for k, row in enumerate(angles):
            if k == skip:
                continue
            for repeated in range(2 if k % 10 == 9 else 1):
                bits = (int(Status.STALE) if repeated else status if k == 20 else 0) | always
                message = Result(
                    session=session.session, seq=number, t_capture=k, time=begun + 0.01 * k, t_received=k,
                    t_solved=k, t_published=k, status=bits | int(Status.LATE) * (k % 3 == 0 and skip < 0),
                    iterations=1, residual=0.0, data=layout.pack({"joint_angles": row}),
                )  # fmt: skip
                recorder.write(*encode(message), k)
                number += 1
    return path


@pytest.fixture
def angles() -> np.ndarray:
    return np.random.default_rng(3).normal(0.0, 1.0, (N, 2))


def told(*args: object) -> tuple[int, str]:
    """Return the exit code and the output of the command."""
    found = CliRunner().invoke(cli, ["diff", *map(str, args)])
    return found.exit_code, found.stdout if "--json" in args else found.output


def test_equal_runs_are_equal(tmp_path, angles):
    """Protects from false alarm: flags and repetitions that are of the clock make no difference."""
    a, b = written(tmp_path / "a.mcap", angles), written(tmp_path / "b.mcap", angles)
    code, text = told(a, b)
    assert (code, text.splitlines()[-1]) == (0, "The files are equal bit for bit.")
    assert told(a, b, "--json")[0] == 0


def test_one_bit_is_found_at_its_place(tmp_path, angles):
    """Protects the finding: session, frame, label, first and largest, and the mean over all values."""
    other = angles.copy()
    other[30, 1] = np.nextafter(other[30, 1], 9.0)
    other[40, 0] += 0.25
    a, b = written(tmp_path / "a.mcap", angles), written(tmp_path / "b.mcap", other)
    found = compared(a, b).quantities["result", "joint_angles"]
    assert (found.n_value, found.n_differ, found.n_lacking) == (2 * N, 2, 0)
    assert found.largest == pytest.approx(0.25)
    assert found.rms == pytest.approx(np.sqrt(np.mean((other - angles) ** 2)))
    assert found.peak == np.abs(angles).max()
    assert (found.first.session, found.first.time, found.first.label) == (1, 0.3, "knee_flexion")
    assert (found.most.time, found.most.label) == (0.4, "hip_flexion")
    code, text = told(a, b)
    assert code == 1
    assert "joint_angles: 2 of 100 values differ" in text
    assert "largest difference 0.25 rad (hip_flexion, 0.4 s)" in text
    assert told(a, b, "--within", "joint_angles=0.3")[0] == 0
    assert told(a, b, "--within", "joint_angles=0.2")[0] == 1
    assert told(a, b, "--tolerance", "1.0")[0] == 0


def test_a_frame_a_status_and_a_gap_are_found(tmp_path, angles):
    """Protects what numbers alone do not tell: dropped frames, other statuses, values that are gone."""
    other = angles.copy()
    other[10, 0] = np.nan
    a = written(tmp_path / "a.mcap", angles, method="zero")
    b = written(tmp_path / "b.mcap", other, skip=5, status=int(Status.SUSPECT), method="minimised")
    code, text = told(a, b, "--tolerance", "0.5", "--json")
    assert code == 1
    row = json.loads(text)
    assert row["frames"] == N - 1
    assert row["unpaired"] == [
        "session 1 of result: 1 of 50 frames are only in the first file, 0 of 49 only in the second"
    ]
    assert row["status"]["differ"] == 1
    assert row["status"]["first"]["time"] == 0.2
    assert row["quantities"][0]["in_one_run_alone"] == 1
    assert row["settings"] == [
        "session 1 of result: `method` is 'zero' in the first file and 'minimised' in the second"
    ]


def test_settings_alone_make_no_run_different(tmp_path, angles):
    """Protects the meaning of the exit code: results decide, and what else differs is told."""
    a = written(tmp_path / "a.mcap", angles, method="zero")
    code, text = told(a, written(tmp_path / "b.mcap", angles, method="other"))
    assert code == 0
    assert "`method` is 'zero' in the first file and 'other'" in text


def test_tables_are_compared(tmp_path):
    """Protects result files: columns by their names, rows by their times."""
    for name, last in (("a", 3.0), ("b", 3.5)):
        rows = [f"{0.01 * k:.2f},{k},{last if k == 3 else 2.0 * k}" for k in range(5)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,knee,hip", *rows]) + "\n", encoding="utf-8")
    code, text = told(tmp_path / "a.csv", tmp_path / "b.csv")
    assert code == 1
    assert "hip: 1 of 5 values differ" in text
    assert "knee" not in text
    assert told(tmp_path / "a.csv", tmp_path / "a.csv")[0] == 0


def test_what_cannot_be_compared_is_said_in_a_sentence(tmp_path, angles):
    """Protects the third exit code: no file, no recording, two kinds, an empty recording, a wrong amount."""
    a = written(tmp_path / "a.mcap", angles)
    (tmp_path / "no.mcap").write_bytes(b"no recording")
    (tmp_path / "a.csv").write_text("time,knee\n0,1\n", encoding="utf-8")
    (tmp_path / "bad.csv").write_text("time,knee\n0\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    for args in (
        (a, tmp_path / "gone.mcap"), (a, tmp_path / "no.mcap"), (a, tmp_path / "a.csv"), (a, tmp_path),
        (tmp_path / "a.csv", tmp_path / "bad.csv"), (tmp_path / "a.csv", tmp_path / "empty.csv"),
        (a, a, "--within", "x"), (a, a, "--within", "nothing=1"),
    ):  # fmt: skip
        code, text = told(*args)
        assert code == 2, args
        assert text.startswith("rtsim: "), text
        assert len(text.splitlines()) == 1


def two_sessions(path: Path, second: list[float], unit: str = "rad") -> Path:
    """Return a recording of a frame of two angles, then one of a session with three."""
    with Recorder(path) as recorder:
        for number, values in enumerate(([1.0, 2.0], second), 1):
            spec = FieldSpec("joint_angles", (len(values),), unit, tuple("abc"[: len(values)]))
            session = Session(
                session=f"{number:016x}", stream="result", t_start=0, rate=100.0, fields=(spec,), meta={}
            )
            recorder.write(*encode(session), 0)
            frame = Result(
                session=session.session, seq=0, t_capture=0, time=0.0, t_received=0, t_solved=0,
                t_published=0, status=0, iterations=1, residual=0.0,
                data=FieldLayout(session).pack({"joint_angles": values}),
            )  # fmt: skip
            recorder.write(*encode(frame), 0)
    return path


def test_a_session_with_other_entries_than_the_one_before_is_compared(tmp_path):
    """Protects from runs that are called equal where a quantity has more entries after a switch of method."""
    a = two_sessions(tmp_path / "a.mcap", [1.0, 2.0, 3.0])
    b = two_sessions(tmp_path / "b.mcap", [1.0, 2.0, 4.0])
    code, text = told(a, b)
    assert code == 1
    assert (
        "joint_angles: 1 of 5 values differ; the first difference is in frame 0 of session 2 at 0 s (c)"
        in text
    )


def test_the_same_numbers_in_another_unit_are_not_equal(tmp_path):
    """Protects from radians that are taken for degrees."""
    a = two_sessions(tmp_path / "a.mcap", [1.0, 2.0, 3.0])
    b = two_sessions(tmp_path / "b.mcap", [1.0, 2.0, 3.0], "deg")
    code, text = told(a, b)
    assert code == 1
    assert "or another unit" in text


def test_json_has_no_number_that_is_none(tmp_path, angles):
    """Protects strict readers of JSON, which knows no NaN and no infinity."""
    other = angles.copy()
    other[3, 0], other[4, 0] = np.nan, 1e308
    a, b = written(tmp_path / "a.mcap", angles), written(tmp_path / "b.mcap", other)
    code, text = told(a, b, "--json")
    assert code == 1
    quantity = json.loads(text, parse_constant=pytest.fail)["quantities"][0]
    assert quantity["first"]["other"] is None
    assert quantity["in_one_run_alone"] == 1
    assert quantity["rms"] is None


@pytest.mark.filterwarnings("error")
def test_a_difference_beyond_all_numbers_is_told_without_a_warning(tmp_path, angles):
    """Protects the terminal from a library's warnings about a stranger's 1e308."""
    other = angles.copy()
    other[4, 0] = 1e308
    code, text = told(written(tmp_path / "a.mcap", angles), written(tmp_path / "b.mcap", other))
    assert code == 1
    assert "largest difference 1e+308 rad" in text


@pytest.mark.parametrize("text", ["time,a\n0,1\n0.1," + "1" * 200_000 + "\n", "", "time\n", "time,a\n0,x\n"])
def test_a_table_that_is_none_is_told(tmp_path, text):
    """Protects from tracebacks of the library's reader, whose fields have a limit of their own."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    code, said = told(path, path)
    assert code == 2
    assert "the table cannot be read" in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_the_place_of_a_table_is_not_waited_for(tmp_path):
    """Protects from a comparison that never ends."""
    os.mkfifo(tmp_path / "a.csv")
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", "diff", "a.csv", "a.csv"], cwd=tmp_path, timeout=120,
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "is a pipe, not a file" in done.stderr


def test_runs_without_a_common_frame_are_told(tmp_path, angles):
    """Protects from a traceback, and from equality, where there is nothing in common: of other times, or all
    of it repetitions.
    """
    one = written(tmp_path / "one.mcap", angles)
    later = written(tmp_path / "later.mcap", angles, begun=100.0)
    stale = [written(tmp_path / f"{k}.mcap", angles[:3], always=int(Status.STALE)) for k in range(2)]
    for other in (later, stale[0]):
        code, text = told(one, other)
        assert code == 1
        assert "50 of 50 frames are only in the first file" in text
    code, text = told(*stale)
    assert code == 2
    assert "repeats the frame before" in text
    assert len(text.splitlines()) == 1


def motion(path: Path, header: str) -> Path:
    """Return a .mot file of two columns with these lines in its header."""
    rows = "".join(f"{0.01 * k:.2f}\t{k}\t{2 * k}\n" for k in range(5))
    path.write_text(f"walk\nversion=1\n{header}\nendheader\ntime\tknee\tjaw\n{rows}", encoding="utf-8")
    return path


def test_the_same_numbers_of_other_angles_are_not_equal(tmp_path):
    """Protects from degrees that are taken for radians in storage files, of all columns or of some."""
    degrees = motion(tmp_path / "a.mot", "inDegrees=yes")
    radians = motion(tmp_path / "b.mot", "inDegrees=no")
    partly = motion(tmp_path / "c.mot", "inDegrees=yes\ninRadians=jaw")
    code, text = told(degrees, radians)
    assert code == 1
    assert "if they are angles, they are in degrees in the first file and in radians in the second" in text
    assert "knee, jaw" in text
    code, text = told(radians, partly)
    assert code == 1
    assert "knee: if it is an angle, it is in radians in the first file and in degrees in the second" in text
    for one in (degrees, radians, partly):
        assert told(one, one)[0] == 0


def test_a_column_that_is_there_twice_is_compared_twice(tmp_path):
    """Protects result files whose columns have the same name: none stands for the other."""
    for name, first in (("a", 1.0), ("b", 100.0)):
        rows = [f"{0.01 * k:.2f},{first * (k + 1)},7" for k in range(2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,F,F", *rows]) + "\n", encoding="utf-8")
    code, text = told(tmp_path / "a.csv", tmp_path / "b.csv")
    assert code == 1
    assert "F: 2 of 2 values differ" in text
    assert "was renamed F_2" in text
    assert told(tmp_path / "a.csv", tmp_path / "a.csv")[0] == 0
