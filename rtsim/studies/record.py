"""The record of a study: the file in its folder that states which study it is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

PLAN = "plan.json"
MOST_BYTES = 16_000_000


def is_study(folder: Path) -> bool:
    """Return whether a folder is that of a study: whether it contains the record plan.json."""
    return (folder / PLAN).is_file()


class PlanRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The content of the file in a study's folder that states which study it is: its name, its text, the
    number of cases, and a hash.
    """

    hash: str
    name: str
    n_case: int
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    # the text of the study
    study: str
    # where it lay
    folder: str
    version: int = 1


def read_record(folder: Path) -> PlanRecord:
    """Read the record of the study in a folder; ConfigError if there is none."""
    path = folder / PLAN
    data = read_bounded(path, MOST_BYTES, "give a folder that `rtsim study` has written")
    try:
        return msgspec.json.decode(data, type=PlanRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"the folder contains no plan of a study ({error})", where=str(path)) from None
