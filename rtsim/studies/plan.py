"""The plan of a study: its numbered cases, and a hash of everything on which their results depend."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rtsim.config.load import check_record, parse_toml
from rtsim.config.reading import is_file, read_bounded
from rtsim.config.runs.study_schema import StudySpec
from rtsim.errors import ConfigError
from rtsim.studies.changes import ChangedKey, changed_keys, check_distinct, placed
from rtsim.studies.designs import cases_of
from rtsim.studies.task import StudyTask, task_of

MOST_BYTES = 4_000_000


class StudyPlan(NamedTuple):
    """A study with its cases, ready to be solved.

    text, folder : content and folder of its file; task : what each case solves
    keys : (n_parameter,) - keys in models, runs, subjects or inputs that each parameter changes
    cases : (n_case,) - values of the parameters; digest : hash of the cases, the tables before any change,
        and files
    """

    text: str
    folder: str
    spec: StudySpec
    task: StudyTask
    keys: tuple[tuple[ChangedKey, ...], ...]
    cases: Sequence[tuple[Any, ...]]
    digest: str

    def seed(self, case: int) -> int:
        """Return the seed of a case, different for each case."""
        return int(np.random.SeedSequence([self.spec.seed, case]).generate_state(1)[0])


def read_plan(path: Path) -> StudyPlan:
    """Read the plan from a study's file; ConfigError for an impossible study."""
    data = read_bounded(path, MOST_BYTES, "the file is too large for a study; give a UTF-8 TOML file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot be read ({error})", where=str(path), remedy="give a UTF-8 TOML") from None
    return plan_of(text, os.path.dirname(os.path.realpath(path)), str(path))


def plan_of(text: str, folder: str, where: str) -> StudyPlan:
    """Return the plan from the text of a study; folder : folder of its files; where : origin of the text,
    for errors.
    """
    spec = check_record(parse_toml(text, where), StudySpec, where)
    cases = cases_of(spec)
    task = task_of(spec, folder)
    keys = tuple(changed_keys(one, task.bases) for one in spec.parameters)
    check_distinct(spec.parameters, keys)
    digest = digest_of(spec, cases, task, folder)
    return StudyPlan(text=text, folder=folder, spec=spec, task=task, keys=keys, cases=cases, digest=digest)


def digest_of(spec: StudySpec, cases: Sequence[tuple[Any, ...]], task: StudyTask, folder: str) -> str:
    """Return a hash of a study: its settings, its cases, the nested tables before any change (model, run,
    subject, input), and the content of its files.

    The paths of files do not count, so that shards on several machines belong to one study.
    """
    values = {value for row in cases for value in row if isinstance(value, str)}
    given = (Path(path) for value in values if is_file(path := placed(value, folder)))
    files = {*task.files, *surface_files(task.bases), *given}
    lies = {str(path): path.name for path in files}
    content = sorted((path.name, hash_of_file(path)) for path in files)
    told = (msgspec.to_builtins(spec), list(cases), without_folders(task.bases, lies), content)
    text = json.dumps(told, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def surface_files(tables: Any) -> Iterator[Path]:
    """Yield the files of the surfaces that nested tables of a model name, if they exist."""
    if isinstance(tables, dict):
        file = tables.get("file")
        if isinstance(file, str) and file and is_file(file):
            yield Path(file)
    if isinstance(tables, (dict, list, tuple)):
        for one in tables.values() if isinstance(tables, dict) else tables:
            yield from surface_files(one)


def without_folders(value: Any, lies: dict[str, str]) -> Any:
    """Return nested tables in which the paths of files are replaced by their names, without folders.

    lies : path of each file of the study -> its name
    """
    if isinstance(value, dict):
        return {str(key): without_folders(one, lies) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_folders(one, lies) for one in value]
    return lies.get(value, value) if isinstance(value, str) else value


def hash_of_file(path: Path) -> str:
    """Return a hash of a file's content; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=str(path)) from None
