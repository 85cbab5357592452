"""Models by file or by the name of a shipped one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rtsim.config import addition_schema
from rtsim.config.addition_schema import Addition
from rtsim.config.both_sides_schema import KEY, BothSides
from rtsim.config.load import check_record, read_toml
from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.addition import with_addition
from rtsim.models.both_sides import both_sides

OPENSIM = ".osim"
ONE_LEG, BOTH_LEGS = "lower_limb", "both_legs"
Note = Callable[[str], None]


def load_model(name: str, note: Note | None = None) -> ModelSpec:
    """The model of that name or file (.toml, .osim); note hears what was left out or assumed on the way."""
    if Path(name).suffix.lower() != OPENSIM:
        path = find_config(name, "models")
        tables = read_toml(path)
        if KEY in tables:
            return doubled(check_record(tables, BothSides, str(path)), note)
        if addition_schema.KEY in tables:
            return added(check_record(tables, Addition, str(path)), str(path), note)
        return check_record(tables, ModelSpec, str(path))
    from rtsim.files.osim.model import read_osim

    spec, notes = read_osim(name)
    if note:
        for text in notes:
            note(text)
    return spec


def doubled(how: BothSides, note: Note | None = None) -> ModelSpec:
    """The model of a file that doubles another one, which must not be such a file itself."""
    base = how.both_sides_of
    if Path(base).suffix.lower() != OPENSIM and KEY in read_toml(find_config(base, "models")):
        raise ConfigError(
            f"{base} has both sides already", where=f"{how.name}: {KEY}", allowed="a model of the right side"
        )
    return both_sides(load_model(base, note), how)


def added(more: Addition, where: str, note: Note | None = None) -> ModelSpec:
    """The model of a file that adds to another one, which must not be such a file itself."""
    base = more.adds_to
    if Path(base).suffix.lower() != OPENSIM and addition_schema.KEY in read_toml(find_config(base, "models")):
        raise ConfigError(
            f"{base} adds to another model itself", where=f"{more.name}: {addition_schema.KEY}",
            allowed="a model with bodies",
        )  # fmt: skip
    return with_addition(load_model(base, note), more, where)


def model_for(name: str, side: str) -> str:
    """The name of the model for a person of one side or of both; a leg asked for by name becomes two."""
    return BOTH_LEGS if name == ONE_LEG and side == "both" else name
