"""Writes a model as the TOML text of a model file, without values that are at their default."""

from __future__ import annotations

from typing import Any

import msgspec

from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.toml_text import entries, entry, is_table


def model_text(spec: ModelSpec, comment: str = "") -> str:
    """Return a model as the text of a model file, from which the same model with identical numbers is
    read.
    """
    tables = given(spec)
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [entry(key, value) for key, value in tables.items() if not is_table(value)]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *entries(value)]
        elif is_table(value):
            for row in value:
                lines += ["", f"[[{key}]]", *entries(row)]
    return "\n".join(lines) + "\n"


def given(record: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a record that are not at their default, with nested records as tables."""
    found = {}
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if value is not None and (default is msgspec.NODEFAULT or value != default):
            found[field.name] = plain(value)
    return found


def plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return given(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
