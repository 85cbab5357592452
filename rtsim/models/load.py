"""Models by file or by the name of a shipped one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rtsim.config.load import load_toml
from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config

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
