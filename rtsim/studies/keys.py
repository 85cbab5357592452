"""Dotted paths into the tables of models, runs, subjects and inputs: found, read, and set in a copy."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rtsim.errors import ConfigError

Step = str | int
N_NEAREST = 5


def place_of(tables: Any, key: str, where: str) -> tuple[Step, ...]:
    """The steps of a dotted path; ConfigError for one that leads nowhere, with names that are near.

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
    """Step from a table or a list to the entry of a name or number; None where it has none."""
    if isinstance(at, dict):
        return word if word in at else None
    if not isinstance(at, (list, tuple)):
        return None
    named = names_in(at)
    if word in named:
        return named.index(word)
    return int(word) if word.isdecimal() and int(word) < len(at) else None


def names_in(rows: Sequence[Any]) -> list[str]:
    """The names of the entries of a list, "" for one without."""
    return [str(row.get("name", "")) if isinstance(row, dict) else "" for row in rows]


def near(word: str, at: Any) -> str:
    """Names that come nearest to one that is not there, else all, in words."""
    if isinstance(at, dict):
        names = [*map(str, at)]
    elif isinstance(at, (list, tuple)):
        names = [name for name in names_in(at) if name] or ([f"0 to {len(at) - 1}"] if at else [])
    else:
        return "nothing: it is a single value" if at is not None else "nothing: it is not set in the base"
    return ", ".join(get_close_matches(word, names, N_NEAREST, 0.5) or names) or "nothing: it is empty"


def value_at(tables: Any, steps: Sequence[Step]) -> Any:
    """Return the value at a place in nested tables."""
    for step in steps:
        tables = tables[step]
    return tables


def with_value(tables: Any, steps: Sequence[Step], value: Any) -> Any:
    """The tables with another value at a place; those on the way are copies, all others are shared."""
    if not steps:
        return value
    step, *further = steps
    changed: Any = dict(tables) if isinstance(tables, dict) else list(tables)
    changed[step] = with_value(tables[step], further, value)
    return changed
