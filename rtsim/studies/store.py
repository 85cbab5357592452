"""The folder of a study: its plan, and the rows of the finished cases, in files that are always complete.

`plan.json` identifies the study. Rows are added to `parts` one file at a time, which is written under a
temporary name, flushed to disk and renamed; so a file is complete or does not exist, whatever ends the
process. A case that occurs in two files, for example after a kill while files are merged, counts once.
"""

from __future__ import annotations

import secrets
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.output import check_writable, whole, write_bytes
from rtsim.studies.plan import StudyPlan
from rtsim.studies.record import PLAN, PlanRecord, read_record
from rtsim.studies.solving import LOST, SolvedCase

PARTS = "parts"
COLUMNS = (
    "plan",
    "number",
    "status",
    "reason",
    "numbers",
    "units",
    "frames",
    "unusable",
    "seconds",
    "versions",
)


class StudyStore:
    """The folder of one study; ConfigError if it belongs to another study.

    Parameters
    ----------
    folder : `make` creates it if it does not exist; plan : the study whose rows it stores
    """

    def __init__(self, folder: Path, plan: StudyPlan) -> None:
        self.folder, self.plan = folder, plan
        check_folder_of(folder, plan)

    def make(self) -> None:
        """Create the folder of the study and its plan, unless they exist."""
        plan = self.plan
        try:
            (self.folder / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot be created ({error.strerror})", where=str(self.folder)) from None
        if (self.folder / PLAN).exists():
            return
        record = PlanRecord(
            hash=plan.digest, name=plan.spec.name, n_case=len(plan.cases),
            parameters=tuple(one.name for one in plan.spec.parameters),
            results=tuple(one.name for one in plan.spec.results), study=plan.text, folder=plan.folder,
        )  # fmt: skip
        write_bytes(self.folder / PLAN, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")

    def rows(self) -> dict[int, SolvedCase]:
        """Return all finished cases by their numbers."""
        found: dict[int, SolvedCase] = {}
        for path in self.parts():
            try:
                part = read_part(path, self.plan)
            except FileNotFoundError:  # put together with others by another process, whose file comes later
                return self.rows()
            for row in part:
                if row.number not in found or found[row.number].status == LOST:
                    found[row.number] = row
        return dict(sorted(found.items()))

    def parts(self) -> list[Path]:
        """Return the paths of all files of rows."""
        return sorted((self.folder / PARTS).glob("*.npz"))

    def add(self, rows: Sequence[SolvedCase], shard: str) -> Path:
        """Write rows of finished cases to a new file; ConfigError if that fails; shard : name of the part of
        the study, for the file's name
        """
        path = self.folder / PARTS / f"{shard}-{secrets.token_hex(6)}.npz"
        write_part(path, rows, self.plan)
        return path

    def put_together(self, paths: Sequence[Path], shard: str) -> None:
        """Merge several files of rows into one; shard : name of the part of the study, for the file's name"""
        if len(paths) < 2:
            return
        self.add([row for path in paths for row in read_part(path, self.plan)], shard)
        for path in paths:
            with suppress(OSError):
                path.unlink()


def check_folder_of(folder: Path, plan: StudyPlan) -> None:
    """Raise ConfigError if a folder contains another study, or other files."""
    if (folder / PLAN).exists():
        record = read_record(folder)
        if record.hash != plan.digest:
            raise ConfigError(
                f"the folder contains the study {record.name} with the hash {record.hash}, but this "
                f"study has the hash {plan.digest}",
                where=str(folder), remedy="give another folder with --out, or remove this folder",
            )  # fmt: skip
    elif folder.exists() and not folder.is_dir():
        raise ConfigError("this is a file", where=str(folder), remedy="give a new folder by --out")
    elif folder.is_dir() and any(path.name != PARTS for path in folder.iterdir()):
        raise ConfigError(
            "the folder contains other files and no study",
            where=str(folder),
            remedy="give a new folder by --out",
        )
    elif not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise ConfigError(f"there is no folder {folder.parent}", where="--out", remedy="make it first")
        check_writable(folder, "--out")


def write_part(path: Path, rows: Iterable[SolvedCase], plan: StudyPlan) -> None:
    """Write rows of finished cases as a file of arrays (.npz), which is on the disk when this returns."""
    rows = list(rows)
    n_result = len(plan.spec.results)
    units = next((row.units for row in rows if row.units), ())
    arrays = {
        "plan": np.array(plan.digest),
        "number": np.array([row.number for row in rows], np.int64),
        "status": np.array([row.status for row in rows]),
        "reason": np.array([row.reason for row in rows]),
        "numbers": np.array([row.numbers for row in rows]).reshape(len(rows), n_result),
        "units": np.array(units, dtype="U32"),
        "frames": np.array([row.frames for row in rows], np.int64),
        "unusable": np.array([row.unusable for row in rows], np.int64),
        "seconds": np.array([row.seconds for row in rows]),
        "versions": np.array([row.versions for row in rows]),
    }
    curves = [row.curves for row in rows if row.curves is not None]
    if curves:
        arrays["curves"] = np.array(curves)
    write_arrays(path, arrays)


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write a file of arrays (.npz), which is on the disk when this returns."""
    with whole(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_part(path: Path, plan: StudyPlan) -> list[SolvedCase]:
    """Read the rows of finished cases from a file; ConfigError if it is damaged or of another study."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = {name: found[name] for name in (*COLUMNS, *(["curves"] if "curves" in found else []))}
    except FileNotFoundError:
        raise
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigError(
            f"the file is damaged ({error})",
            where=str(path),
            remedy="remove the file; its cases are solved again",
        ) from None
    if str(arrays["plan"]) != plan.digest:
        raise ConfigError("the rows of the file belong to another study", where=str(path), remedy="remove it")
    units = tuple(map(str, arrays["units"]))
    curves = arrays.get("curves")
    return [
        SolvedCase(
            number=int(arrays["number"][k]), status=str(arrays["status"][k]), reason=str(arrays["reason"][k]),
            numbers=tuple(map(float, arrays["numbers"][k])), units=units, frames=int(arrays["frames"][k]),
            unusable=int(arrays["unusable"][k]), curves=None if curves is None else curves[k],
            seconds=float(arrays["seconds"][k]), versions=str(arrays["versions"][k]),
        )
        for k in range(len(arrays["number"]))
    ]  # fmt: skip
