"""Appends results to a copy of a C3D file that keeps the whole recording; used by `analyse` and `export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.files.recording import Results
    from rtsim.methods.gait.summary import RunGait

SUFFIX = ".c3d"


def is_c3d(path: Path) -> bool:
    """Return whether the suffix of a file is that of a C3D file."""
    return path.suffix.lower() == SUFFIX


def check_into(outputs: Sequence[Path], source: str) -> None:
    """Raise ConfigError before a run if an output is a C3D file and the results could not be appended to a
    copy of the recording, for example because the recording is no C3D file.
    """
    from rtsim.files.c3d_bytes.write import check_source

    for path in outputs:
        if is_c3d(path):
            check_source(source, path, "--out")


def write_beside(
    out: Path, results: Results, gait: RunGait, source: str | Path, up: str | None, units: str | None
) -> tuple[str, ...]:
    """Write the whole C3D source and the results into a new C3D file; return notes for the user.

    gait : gait events and spatio-temporal parameters, which are written too
    up, units : vertical axis and unit of length, as given for the markers of the source
    """
    from rtsim.files.c3d_bytes.marks import AnalysisValue
    from rtsim.files.c3d_bytes.source import open_source
    from rtsim.files.c3d_bytes.write import write_c3d
    from rtsim.methods.gait.cycles import UNITS

    values = [
        AnalysisValue(name, side, UNITS[name], value)
        for side, of_side in gait.values.items()
        for name, value in of_side.items()
    ]
    person = str(results.session.meta.get("person") or "")
    opened = open_source(source, up or None, units or None, person)
    return write_c3d(out, results, opened, gait.lacking, values)


def export_beside(recording: Path, out: Path, into: Path | None, up: str | None, units: str | None) -> None:
    """Write the results in a recording (.mcap) into a copy of the C3D file that was solved, and report it.

    into : path of the solved C3D file, if the recording does not name it or it was moved
    up, units : vertical axis and unit of length of its markers, if given
    """
    import click

    from rtsim.cli.terminal.lines import tell
    from rtsim.files.c3d_bytes.write import check_source
    from rtsim.files.recording import read_results
    from rtsim.methods.gait.summary import gait_of

    results = read_results(recording)
    meta = results.session.meta
    source = into or str(meta.get("source") or "")
    if into is None and not is_c3d(Path(source)):
        raise ConfigError(
            f"{recording} does not say which C3D file was solved"
            + (f", but {source}" if source else ""),
            where=str(out), remedy="name the C3D file with --into",
        )  # fmt: skip
    check_source(source, out, "OUT")
    gait = gait_of(results, source, str(meta.get("person") or ""))
    for note in (*results.notes, *gait.notes, *write_beside(out, results, gait, source, up, units)):
        tell(note)
    click.echo(f"wrote {out}", err=True)
