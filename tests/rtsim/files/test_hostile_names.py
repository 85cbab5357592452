"""Names that somebody else chose, in files that are opened elsewhere; and who may read the files."""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from rtsim.files.output import cell_of
from rtsim.files.tables.storage import Table, csv_parts
from rtsim.report.clinical.tables import ReportTable, write_folder
from rtsim.studies.table import csv_text
from streams.codec import encode
from streams.messages import marker_session
from streams.publisher import Publisher
from streams.recording.recorder import Recorder

FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1")


@pytest.mark.parametrize("name", FORMULAS)
def test_a_name_that_is_a_formula_is_shown_and_not_calculated(tmp_path: Path, name: str) -> None:
    """Protects whoever opens a table in a spreadsheet: no table has a text cell that begins as a formula."""
    label = name.strip()  # a label with a tab or a line end is refused anyhow
    export = "".join(csv_parts(Table(("time", label), np.zeros((1, 2)), False, "a"), "a.csv"))
    study = csv_text({"case": np.array([1]), name: np.array([name])}, {})
    write_folder(tmp_path, [ReportTable("steps", ("side", name), [(name, 1.5)])])
    report = (tmp_path / "steps.csv").read_bytes().decode("utf-8")
    kept = name.replace("\r", " ")
    for text, shown in ((export, label), (study, kept), (report, kept)):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert f"'{shown}" in cells
        assert shown not in cells
    assert cell_of("LASI") == "LASI"


@pytest.mark.skipif(os.name != "posix", reason="files have no modes there")
def test_new_files_are_closed_to_other_users(tmp_path: Path) -> None:
    """Protects a person's data on a machine that others use: recordings are not theirs to read."""
    before = os.umask(0)
    try:
        with Recorder(tmp_path / "a.mcap") as recorder:
            recorder.write(*encode(marker_session(["LASI"], rate=100.0, t_start=0)), 1)
        write_folder(tmp_path, [ReportTable("steps", ("side",), [("left",)])])
    finally:
        os.umask(before)
    for name in ("a.mcap", "steps.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) & 0o007 == 0


@pytest.mark.skipif(os.name != "posix", reason="there are no such addresses there")
def test_an_address_in_the_file_system_is_for_its_user_alone(tmp_path: Path) -> None:
    """Protects a run at ipc://: no other user can connect, whatever the umask, which stays as it was."""
    before = os.umask(0)
    try:
        with Publisher(f"ipc://{tmp_path}/results"):
            assert stat.S_IMODE((tmp_path / "results").stat().st_mode) == 0o600
        assert os.umask(0) == 0
    finally:
        os.umask(before)
