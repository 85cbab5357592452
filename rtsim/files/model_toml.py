"""A model as the TOML text of a model file: what is at its default is left out."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rtsim.config.model_schema import ModelSpec

WIDTH = 110
BARE = re.compile(r"[A-Za-z0-9_-]+")


def model_text(spec: ModelSpec, comment: str = "") -> str:
    """The text that is read as the same model again, number for number."""
    tables = given(spec)
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [entry(key, value) for key, value in tables.items() if not is_table(value)]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *(entry(k, v) for k, v in value.items())]
        elif is_table(value):
            for row in value:
                lines += ["", f"[[{key}]]", *(entry(k, v) for k, v in row.items())]
    return "\n".join(lines) + "\n"


def given(record: msgspec.Struct) -> dict[str, Any]:
    """The fields of a record that are not at their default, records inside as tables."""
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


def is_table(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    )


def entry(key: str, value: Any) -> str:
    """A key and its value; a long list in lines of its own."""
    line = f"{word(key)} = {inline(value)}"
    if len(line) <= WIDTH or not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return line
    rows = "".join(f"  {inline(row)},\n" for row in value)
    return f"{word(key)} = [\n{rows}]"


def inline(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{word(key)} = {inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(inline(inner) for inner in value) + "]"
    if isinstance(value, float):  # TOML has infinity, JSON has not
        return repr(value)
    return text(value)


def word(key: str) -> str:
    """A key, bare where it may be."""
    return key if BARE.fullmatch(key) else text(key)


def text(value: object) -> str:
    """Strings, whole numbers and truth are written as in JSON, but for the delete character."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")
