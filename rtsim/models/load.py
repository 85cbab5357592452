"""Loading of models from a file, or by the name of a shipped model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rtsim.config.load import check_record, read_toml
from rtsim.config.models import addition_schema
from rtsim.config.models.addition_schema import Addition
from rtsim.config.models.both_sides_schema import KEY, BothSides
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import beside, find_config
from rtsim.errors import ConfigError
from rtsim.models.addition import with_addition
from rtsim.models.both_sides import both_sides

OPENSIM = ".osim"
ONE_LEG, BOTH_LEGS = "lower_limb", "both_legs"
NEXT = {
    KEY: ("has both sides already", "a model of the right side alone"),
    addition_schema.KEY: ("is itself an addition to another model", "a model with bodies"),
}
"""Keys of files that name another model, and what is told where one leads to another of its kind."""
Note = Callable[[str], None]


def load_model(name: str, note: Note | None = None) -> ModelSpec:
    """Load the model of that name or file (.toml, .osim); note : called with sentences on
    omissions and assumptions.
    """
    return loaded(name, note, {})


def loaded(name: str, note: Note | None, through: dict[str, str]) -> ModelSpec:
    """Load a model by name or file, together with the base model that its file may name: the leg of a model
    of both legs (key both_sides_of), or the model that is extended (key adds_to).

    through : key -> file that has led to this one by this key; empty for the file that the user names.
        ConfigError if this file uses such a key again, which prevents files that name each other in a circle
    """
    if Path(name).suffix.lower() != OPENSIM:
        path = find_config(name, "models")
        tables = with_files_beside(read_toml(path), path.parent)
        for key, (words, allowed) in NEXT.items():
            if key in tables and key in through:
                raise ConfigError(f"{name} {words}", where=f"{through[key]}: {key}", allowed=allowed)
        if KEY in tables:
            how = check_record(tables, BothSides, str(path))
            return both_sides(loaded(how.both_sides_of, note, {**through, KEY: str(path)}), how)
        if addition_schema.KEY in tables:
            more = check_record(tables, Addition, str(path))
            base = loaded(more.adds_to, note, {**through, addition_schema.KEY: str(path)})
            return with_addition(base, more, str(path))
        return check_record(tables, ModelSpec, str(path))
    from rtsim.files.osim.model import read_osim

    spec, notes = read_osim(name)
    if note:
        for text in notes:
            note(text)
    return spec


def with_files_beside(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the tables of a model whose other models, and surfaces of contacts, are sought beside its
    file."""
    named = {key: beside(tables[key], folder) for key in NEXT if isinstance(tables.get(key), str)}
    contacts = tables.get("contacts")
    for contact in contacts if isinstance(contacts, list) else ():
        for surface in contact.values() if isinstance(contact, dict) else ():
            if isinstance(surface, dict) and isinstance(surface.get("file"), str):
                surface["file"] = beside(surface["file"], folder)
    return tables | named


def model_for(name: str, side: str) -> str:
    """Return the name of the model for a person: if both sides are to be solved, the shipped model of both
    legs takes the place of that of one leg; any other name stays unchanged.

    side : right, left or both
    """
    return BOTH_LEGS if name == ONE_LEG and side == "both" else name
