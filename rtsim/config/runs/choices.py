"""Choices of a run config: alternative sets of keys under a name (`--set NAME=CHOICE`).

A table `[choices.NAME.CHOICE]` holds the keys of the run for that choice; by default the first choice of
each name is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rtsim.config.load import check_record, read_toml
from rtsim.config.paths import beside
from rtsim.config.runs.run_schema import FILE_KEYS, Compare, RunConfig
from rtsim.errors import ConfigError

KEY, CHOSEN = "choices", "chosen"
Tables = dict[str, Any]


def load_run(path: Path, asked: Iterable[str] = ()) -> RunConfig:
    """Return the run of a config, with the choices that the words NAME=CHOICE in `asked` select; ConfigError
    for an unknown name or choice. Files that it names are those beside it, or of the working folder.
    """
    data = read_toml(path)
    offered = choices_in(data, path)
    taken = {name: next(iter(tables)) for name, tables in offered.items()}
    taken |= asked_of(asked, offered, str(path))
    if CHOSEN in data:
        raise ConfigError(
            "the choices of a run config are selected on the command line",
            where=f"{path}: {CHOSEN}",
            remedy="remove this key and give --set on the command line",
        )
    data.pop(KEY, None)
    for name, choice in taken.items():
        overlay(data, offered[name][choice])
    data[CHOSEN] = [f"{name}={choice}" for name, choice in taken.items()]
    data |= {key: beside(data[key], path.parent) for key in FILE_KEYS if isinstance(data.get(key), str)}
    run = check_record(data, RunConfig, str(path))
    if run.compare is not None:
        check_compared(run.compare, offered, str(path))
    return run


def check_compared(compare: Compare, offered: Mapping[str, Tables], where: str) -> None:
    """Raise ConfigError, before any run, if a name or a choice to be compared does not exist in the config.

    offered : name -> its choices, each with the keys that it sets
    where : the file, for messages
    """
    known = offered.get(compare.choice)
    if known is None:
        raise ConfigError(
            f"the run config offers no choice of {compare.choice!r}", where=f"{where}: compare.choice",
            allowed=", ".join(offered) or "none",
        )  # fmt: skip
    for field, choices in compare.fields.items():
        unknown = next((choice for choice in choices if choice not in known), None)
        if unknown is not None:
            raise ConfigError(
                f"unknown choice {unknown!r}", where=f"{where}: compare.fields.{field}",
                allowed=", ".join(known),
            )  # fmt: skip


def choices_of(path: Path, name: str) -> tuple[str, ...]:
    """Return the choices that a run config offers under a name, the default one first."""
    offered = choices_in(read_toml(path), path)
    if name not in offered:
        raise ConfigError(
            f"the run config offers no choice of {name!r}",
            where=str(path),
            allowed=", ".join(offered) or "none",
        )
    return tuple(offered[name])


def choices_in(data: Tables, path: Path) -> dict[str, Tables]:
    """Return the choices in the tables of a run config: name -> choice -> the keys that it sets; ConfigError
    if a choice is not a table.
    """
    offered = data.get(KEY, {})
    for name, tables in offered.items() if isinstance(offered, dict) else [(KEY, offered)]:
        sound = (
            isinstance(tables, dict) and tables and all(isinstance(keys, dict) for keys in tables.values())
        )
        if not sound:
            raise ConfigError(
                f"{name} does not contain tables of keys",
                where=f"{path}: {KEY}",
                remedy=f"write [{KEY}.NAME.CHOICE], and below this line keys of a run config",
            )
    return dict(offered)


def asked_of(asked: Iterable[str], offered: Mapping[str, Tables], where: str) -> dict[str, str]:
    """Return the chosen alternatives, name -> choice, from the words NAME=CHOICE of the command line;
    ConfigError for an unknown one.

    offered : name -> its choices, each with the keys that it sets
    where : the file, for messages
    """
    taken: dict[str, str] = {}
    for words in asked:
        name, _, choice = words.partition("=")
        known = offered.get(name, {})
        if choice not in known:
            allowed = [f"{of}={one}" for of, tables in offered.items() for one in tables]
            raise ConfigError(
                f"{words!r} is not a choice in the form NAME=CHOICE",
                where=f"--set ({where})",
                allowed=", ".join(allowed) or "nothing",
            )
        if taken.get(name, choice) != choice:
            raise ConfigError(
                f"{name} is set to both {taken[name]} and {choice}",
                where=f"--set ({where})",
                remedy="give only one of them",
            )
        taken[name] = choice
    return taken


def overlay(data: Tables, keys: Tables) -> None:
    """Overwrite the values in `data` by those of the same keys in `keys`, also within nested tables, in
    place.
    """
    for key, value in keys.items():
        below = data.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            data[key] = dict(below)
            overlay(data[key], value)
        else:
            data[key] = value
