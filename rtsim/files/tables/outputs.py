"""Results of a simulation as files: OpenSim storage, CSV, and a recording as of a live session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder, write_text
from rtsim.files.recording import Results
from rtsim.files.tables.export import table_parts
from rtsim.files.tables.recorded import write_results

SUFFIXES = (".mot", ".sto", ".csv", ".mcap")
RECORDING = ".mcap"
C3D = ".c3d"
"""Suffix of results appended to a copy of the recording."""


def check_outputs(
    paths: Sequence[Path],
    option: str = "--out",
    whole_c3d: bool = False,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Raise ConfigError, before a run begins, if one of the files for its results cannot be written later, or
    would replace a file that the run reads.

    option : command-line option that states the files, for the error
    whole_c3d : whether results may be appended to a copy of the run's recording
    inputs : files that the run reads; addresses, names of shipped configs, "" and None are passed over
    """
    suffixes = (*SUFFIXES, C3D) if whole_c3d else SUFFIXES
    for k, path in enumerate(paths):
        if path.suffix.lower() not in suffixes:
            raise ConfigError(
                f"cannot write {path.suffix or '(no suffix)'!r}",
                where=f"{option} {path}",
                allowed=", ".join(suffixes),
            )
        if path in paths[:k]:
            raise ConfigError(f"{path} is given twice", where=option, remedy="give each file once")
        check_folder(path, option)
        if path.is_dir():
            raise ConfigError(f"{path} is a folder", where=option, remedy="give the name of a file")
        if path.suffix.lower() in (RECORDING, C3D) and path.exists():
            raise ConfigError(f"{path} exists already", where=option, remedy="choose another name")
    check_not_read(paths, option, inputs)


def check_not_read(paths: Sequence[Path], option: str, inputs: Iterable[str | Path | None]) -> None:
    """Raise ConfigError for an output that is, by whatever name, one of the files that the run reads."""
    there = [path for path in paths if path.is_file()]
    read = [Path(given) for given in inputs if there and given]
    for path in there:
        if any(given.is_file() and given.samefile(path) for given in read):
            raise ConfigError(
                f"{path} is read by this run, and would be replaced by its results", where=option,
                remedy="choose another name",
            )  # fmt: skip


def write(
    path: Path, results: Results, name: str, frames: str = "marked", columns: str = "all"
) -> tuple[str, ...]:
    """Write the results of a run called `name` in the format of the suffix; return notes on what is left out.

    frames : frames that a table has: marked (all, with a column `status`), all (without it), or ok (reliable
        ones)
    columns : columns that a table has: all, motion, or kinetics (moments and powers)
    """
    suffix = path.suffix.lower()
    if suffix == RECORDING:
        write_results(path, results)
    else:
        text, notes = table_parts(results, suffix, str(path), name, name, frames, columns)
        write_text(path, text)
        return notes
    return ()
