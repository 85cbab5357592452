"""Models by file or by the name of a shipped one, packed for dynamics and moment arms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.config.load import load_toml
from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config

if TYPE_CHECKING:
    from rtsim.models.packing.mechanism import Mechanism


OPENSIM = ".osim"
Note = Callable[[str], None]


def load_model(name: str, note: Note | None = None) -> ModelSpec:
    """The model of that name or file (.toml, .osim); note hears what was left out or assumed on the way."""
    if Path(name).suffix.lower() != OPENSIM:
        return load_toml(find_config(name, "models"), ModelSpec)
    from rtsim.files.osim.model import read_osim

    spec, notes = read_osim(name)
    if note:
        for text in notes:
            note(text)
    return spec


def load_mechanism(
    name: str, subject: str | None = None, method: str | None = None, note: Note | None = None
) -> Mechanism:
    """The packed model of that name or file, scaled to a subject where it has anatomy."""
    from rtsim.models.packing.mechanism import pack_mechanism  # loads the compiler: only where it is needed
    from rtsim.models.subject import load_subject

    person = load_subject(find_config(subject, "subjects")) if subject else None
    return pack_mechanism(load_model(name, note), person, method)
