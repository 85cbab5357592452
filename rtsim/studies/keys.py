"""Dotted paths into the nested tables of models, runs, subjects and inputs: to find a value, to read it, and
to change it in a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rtsim.errors import ConfigError

Step = str | int
N_NEAREST = 5


def place_of(tables: Any, key: str, where: str) -> tuple[Step, ...]:
    """Find the steps of a dotted path in nested tables; ConfigError with similar names for a path that does
    not exist.

    An entry of a list is named by its `name` or counted from 0: ligaments.ACL.a.offset_mm.0
    """
    at = tables
    steps: list[Step] = []
    for word in key.replace("[", ".").replace("]", "").split("."):
        step = step_of(at, word)
        if step is None:
            so_far = ".".join(map(str, steps)) or "the top"
            raise ConfigError(
                f"the key {key!r} does not exist: there is no {word!r} below {so_far}", where=where,
                allowed=near(word, at), remedy="correct the key",
            )  # fmt: skip
        steps.append(step)
        at = at[step]
    return tuple(steps)


def step_of(at: Any, word: str) -> Step | None:
    """Return the key or index of the entry that a word of the path denotes, by name or by position; None if
    there is no such entry.
    """
    if isinstance(at, dict):
        return word if word in at else None
    if not isinstance(at, (list, tuple)):
        return None
    named = names_in(at)
    if word in named:
        return named.index(word)
    return int(word) if word.isdecimal() and int(word) < len(at) else None


def names_in(rows: Sequence[Any]) -> list[str]:
    """Return the names of the entries of a list, "" for an entry without a name."""
    return [str(row.get("name", "")) if isinstance(row, dict) else "" for row in rows]


def near(word: str, at: Any) -> str:
    """Return, as text, the names in a table or list that are most similar to a missing name; all its names if
    none is similar.
    """
    if isinstance(at, dict):
        names = [*map(str, at)]
    elif isinstance(at, (list, tuple)):
        names = [name for name in names_in(at) if name] or ([f"0 to {len(at) - 1}"] if at else [])
    else:
        return (
            "nothing: it is a single value"
            if at is not None
            else "nothing: the unchanged config does not set it"
        )
    return ", ".join(get_close_matches(word, names, N_NEAREST, 0.5) or names) or "nothing: it is empty"


def value_at(tables: Any, steps: Sequence[Step]) -> Any:
    """Return the value in nested tables to which these steps (keys and indices) lead."""
    for step in steps:
        tables = tables[step]
    return tables


def with_value(tables: Any, steps: Sequence[Step], value: Any) -> Any:
    """Return the nested tables with the value replaced to which these steps (keys and indices) lead. Tables
    on the way to it are copied; the other tables are shared with the original.
    """
    if not steps:
        return value
    step, *further = steps
    changed: Any = dict(tables) if isinstance(tables, dict) else list(tables)
    changed[step] = with_value(tables[step], further, value)
    return changed
