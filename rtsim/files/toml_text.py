"""Keys and values as TOML text with exact numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

WIDTH = 110
BARE = re.compile(r"[A-Za-z0-9_-]+")


def is_table(value: Any) -> bool:
    """Return whether a value is written as one or several tables."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    )


def entry(key: str, value: Any) -> str:
    """Return a key and its value as TOML; a long list is written over several lines."""
    line = f"{word(key)} = {inline(value)}"
    if len(line) <= WIDTH or not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return line
    rows = "".join(f"  {inline(row)},\n" for row in value)
    return f"{word(key)} = [\n{rows}]"


def entries(table: Mapping[str, Any]) -> list[str]:
    """Return a line of TOML for each key of a table."""
    return [entry(key, value) for key, value in table.items()]


def inline(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{word(key)} = {inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(inner) for inner in value) + "]"
    if isinstance(value, float):  # TOML has infinity, JSON has not
        return repr(float(value))
    return text(value)


def word(key: str) -> str:
    """Return the key of a TOML file as text, without quotation marks where that is permitted."""
    return key if BARE.fullmatch(key) else text(key)


def text(value: object) -> str:
    """Return a string, integer or boolean as TOML text, written as in JSON, with the delete character
    escaped.
    """
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")
