"""Every writer of files on a disk that takes the begin of one: a sentence, the file of before, no litter."""

from __future__ import annotations

import ast
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rtsim
import streams
from rtsim.bridges.foxglove_file import export_foxglove
from rtsim.errors import ConfigError
from rtsim.files.anonymous import write_anonymous
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.c3d_bytes.write import write_c3d
from rtsim.files.markers.markers import MarkerTrial, write_trc
from rtsim.files.output import write_bytes, write_text
from rtsim.files.recovery import recover
from rtsim.files.tables.export import export
from rtsim.report.clinical.tables import ReportTable, curves_of, tables_of, write_folder, write_xlsx
from rtsim.studies.store import write_arrays
from rtsim.studies.table import write_parquet
from tests.rtsim.bridges.test_foxglove_file import record
from tests.rtsim.files.c3d_bytes.results import results_of, source_file
from tests.rtsim.report.clinical.made_up import gait_results, report_of

resource = pytest.importorskip("resource")
BEFORE = b"of yesterday"
ROOTS = (Path(rtsim.__file__).parent, Path(streams.__file__).parent)
CALLS = frozenset({"write_text", "write_bytes", "savez", "savez_compressed", "savetxt", "tofile"})
NOT_UNDER_A_NAME = {
    "rtsim/bridges/foxglove_file.py": "into a part",
    "rtsim/cli/main.py": "the null device",
    "rtsim/files/c3d_bytes/readable.py": "a copy in a temporary folder",
    "rtsim/files/c3d_bytes/write.py": "into a part",
    "rtsim/files/output.py": "into a part",
    "rtsim/live/exact/restored_files.py": "copies in a temporary folder",
    "rtsim/live/hardware/device_process.py": "a log, which grows",
    "rtsim/models/jaw/jaw_surfaces.py": "surfaces in a temporary folder",
    "rtsim/studies/store.py": "into a part",
    "streams/access/key_files.py": "into a part",
}


def write_c3d_to(out: Path, sources: Path) -> None:
    """Results in a copy of their C3D file."""
    source = open_source(sources / "source84.c3d")
    write_c3d(out, results_of((source.first + np.arange(source.n_frame)) / source.rate), source)


def write_spreadsheet(out: Path, _: Path) -> None:
    """A report as a spreadsheet."""
    pytest.importorskip("xlsxwriter")
    report = report_of(gait_results())
    write_xlsx(out, tables_of(report), curves_of(report))


def write_columns(out: Path, _: Path) -> None:
    """The table of a study as Parquet."""
    pytest.importorskip("pyarrow")
    write_parquet(out, {"mass": np.arange(300.0)}, {"mass": "kg"})


def write_markers(out: Path, _: Path) -> None:
    """Markers as TRC."""
    positions = np.linspace(0.0, 1.0, 600).reshape(100, 2, 3)
    write_trc(out, MarkerTrial(("a", "b"), np.arange(100) / 100.0, positions, 100.0, "made"))


def longest_table() -> ReportTable:
    """The longest table of a report."""
    return max(tables_of(report_of(gait_results())), key=lambda table: len(table.rows))


WRITERS: dict[str, Callable[[Path, Path], object]] = {
    "walk.rtsim.c3d": write_c3d_to,
    "walk.trc": write_markers,
    "walk.mot": lambda out, sources: export(sources / "run.mcap", out),
    "walk.csv": lambda out, sources: export(sources / "run.mcap", out),
    "walk.foxglove.mcap": lambda out, sources: export_foxglove(sources / "run.mcap", out),
    "anonymous.mcap": lambda out, sources: write_anonymous(sources / "run.mcap", out),
    "recovered.mcap": lambda out, sources: recover(sources / "cut.mcap", out),
    "report.xlsx": write_spreadsheet,
    "tables": lambda out, _: write_folder(out.parent, [longest_table()]),
    "report.html": lambda out, _: write_text(out, ["<html>"] * 1000),
    "report.pdf": lambda out, _: write_bytes(out, bytes(5000)),
    "rows.npz": lambda out, _: write_arrays(out, {"x": np.arange(1000.0)}),
    "study.parquet": write_columns,
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is written again: a C3D file, a recording, and one that was cut."""
    folder = tmp_path_factory.mktemp("sources")
    source_file(folder)
    whole = record(folder / "run.mcap")
    (folder / "cut.mcap").write_bytes(whole.read_bytes()[:-200])
    return folder


@pytest.mark.parametrize("room", [0, 100, 900])
@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_takes_a_part_leaves_the_file_of_before(
    tmp_path: Path, sources: Path, name: str, room: int
) -> None:
    """Protects whatever is written: no half file under the name, none beside it, and a sentence."""
    path, write = tmp_path / name, WRITERS[name]
    write(path, sources)
    (made,) = tmp_path.iterdir()
    assert made.stat().st_size > room
    path = made
    made.unlink()
    if name != "recovered.mcap":  # which never replaces a file
        path.write_bytes(BEFORE)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            write(path, sources)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, former)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_no_file_is_written_under_its_name() -> None:
    """Protects writers that come: each goes through `rtsim.files.output`, or is listed with a reason."""
    found = {
        path.relative_to(root.parent).as_posix()
        for root in ROOTS
        for path in root.rglob("*.py")
        if "bench" not in path.relative_to(root).parts and any(map(writes, nodes(path)))
    }
    assert found == NOT_UNDER_A_NAME.keys()


def nodes(path: Path) -> list[ast.Call]:
    """The calls of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def writes(call: ast.Call) -> bool:
    """Whether a call writes a file as a whole, or opens one to be written."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in CALLS:
        return isinstance(call.func, ast.Attribute)
    if name != "open":
        return False
    modes = [each.value for each in call.args[:2] if isinstance(each, ast.Constant)]
    modes += [each.value.value for each in call.keywords if isinstance(each.value, ast.Constant)]
    return any(isinstance(mode, str) and set(mode) & set("wax") and len(mode) < 4 for mode in modes)
