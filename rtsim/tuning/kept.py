"""Storage of a tuning: a JSON file with every trial, with which it can be continued."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError
from rtsim.files.output import write_text

MOST_BYTES = 64_000_000
VERSION = 1


class TuningTrial(msgspec.Struct, forbid_unknown_fields=True):
    """A trial of a tuning: one setting and its cost, or the two settings of a comparison and their costs.

    why : reason why a setting has no cost; its cost is then None
    """

    settings: list[dict[str, float]]
    costs: list[float | None]
    why: str = ""


class KeptTuning(msgspec.Struct, forbid_unknown_fields=True):
    """A stored tuning: its config, method, seed and parameters, all its trials, and the best setting so
    far.
    """

    config: str
    method: str
    seed: int
    # tuned parameters: name = [lowest, highest]
    parameters: dict[str, list[float]]
    # how the cost of a setting is defined, in words
    cost: str
    # number of settings that are requested at the same time, on which the course of the search depends
    together: int = 1
    # everything else on which costs depend, by its keys in the config; empty in files of earlier versions
    settings: dict[str, Any] = {}
    trials: list[TuningTrial] = []
    best: dict[str, float] = {}
    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION

    @property
    def n_tried(self) -> int:
        """Number of settings that were tried; a comparison counts as two."""
        return sum(len(trial.settings) for trial in self.trials)


def read_kept(path: Path) -> KeptTuning:
    """Read a stored tuning; ConfigError if the file does not contain one."""
    data = read_bounded(path, MOST_BYTES, "give a file that rtsim tune --file has written")
    try:
        return msgspec.json.decode(data, type=KeptTuning)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"the file contains no trials of a tuning ({error})", where=str(path),
            remedy="give a file that `rtsim tune --auto` has written by --file",
        ) from None  # fmt: skip


def write_kept(path: Path, kept: KeptTuning) -> None:
    """Write the tuning to its file, completely or not at all."""
    write_text(path, msgspec.json.format(msgspec.json.encode(kept), indent=1).decode() + "\n")
