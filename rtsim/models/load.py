"""Models by file or by the name of a shipped one, packed for dynamics and moment arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rtsim.config.load import load_toml
from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config

if TYPE_CHECKING:
    from rtsim.models.packing.mechanism import Mechanism


def load_model(name: str) -> ModelSpec:
    """The model of that name or file."""
    return load_toml(find_config(name, "models"), ModelSpec)


def load_mechanism(name: str, subject: str | None = None, method: str | None = None) -> Mechanism:
    """The packed model of that name or file, scaled to a subject where it has anatomy."""
    from rtsim.models.packing.mechanism import pack_mechanism  # loads the compiler: only where it is needed
    from rtsim.models.subject import load_subject

    person = load_subject(find_config(subject, "subjects")) if subject else None
    return pack_mechanism(load_model(name), person, method)
