"""Mutations of nested tables, as in TOML and MessagePack: keys and values exchanged or extreme."""

from __future__ import annotations

import math
import tomllib
from copy import deepcopy
from random import Random
from typing import Any

import msgspec

from benchmarks.fuzz.mutation.raw import mutated_bytes
from benchmarks.fuzz.mutation.words import mutated_text
from rtsim.files.toml_text import inline, word

EXTREMES: tuple[Any, ...] = (
    0, 1, -1, 2, 0.0, -0.0, 1e308, -1e308, 1e-320, math.nan, math.inf, -math.inf, 1 << 62, -(1 << 63), 1e9,
    0.5, "", "x", "a" * 300, "\u202ex", "\x1b[31m", "\u2028", "ground", "../x", "tcp://127.0.0.1:1", True,
    False, [], [0.0, 0.0, 0.0], [math.nan] * 3, [1, 2], {}, {"x": 1}, [[]], ["a", "a"], [{}],
)  # fmt: skip
MOST_PLACES, MOST_ROWS = 600, 200
Place = tuple[Any, Any]
"""A table or list, and the key or index in it."""


def mutated_toml(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return a TOML text with changed keys and values; a text that is not TOML is mutated as plain text."""
    try:
        if random.random() < 0.2:
            return mutated_text(data, others, random)
        table = tomllib.loads(data.decode("utf-8"))
        for _ in range(random.randint(1, 3)):
            _change(table, random)
        return "".join(f"{word(key)} = {inline(value)}\n" for key, value in table.items()).encode()
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return mutated_text(data, others, random)


def mutated_msgpack(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return a MessagePack value with changed keys and values; other bytes are mutated as bytes."""
    try:
        if random.random() < 0.2:
            return mutated_bytes(data, others, random)
        table = msgspec.msgpack.decode(data)
        holder = [table]
        for _ in range(random.randint(1, 3)):
            _change(holder, random)
        return msgspec.msgpack.encode(holder[0] if holder else None)
    except (msgspec.MsgspecError, RecursionError, TypeError, ValueError, OverflowError):
        return mutated_bytes(data, others, random)


def places(value: Any) -> list[Place]:
    """Return the places of values below this one, the first MOST_PLACES of them."""
    found: list[Place] = []
    waiting = [value]
    while waiting and len(found) < MOST_PLACES:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(min(len(holder), MOST_ROWS))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return found


def _change(root: Any, random: Random) -> None:
    """Change one place in the tree."""
    found = places(root) if isinstance(root, (dict, list)) else []
    if not found:
        return
    holder, key = random.choice(found)
    kind = random.randrange(7)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, there = random.choice(found)
        holder[key] = other[there] if not _holds(other[there], holder) else 0
    elif kind == 2 and isinstance(holder, dict):
        holder[random.choice([k for _, k in found if isinstance(k, str)] or ["x"])] = holder.pop(key)
    elif kind == 3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif kind == 4 and isinstance(holder[key], bytes):
        holder[key] = mutated_bytes(holder[key], [], random)
    elif kind == 5 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * random.choice((-1, 0.001, 1000, 2))
    else:
        holder[key] = deepcopy(random.choice(EXTREMES))


def _holds(value: Any, holder: Any) -> bool:
    """Return whether a value contains this table or list, which would make it endless."""
    if not isinstance(value, (dict, list)):
        return False
    return value is holder or any(inner[key] is holder for inner, key in places(value))
