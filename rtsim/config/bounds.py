"""Checks for implausible numbers and texts of a config: not finite, beyond any plausible size, unprintable.

The end of a key gives the unit, as in mass_kg. The bounds are wide: they only exclude typing errors and
numbers that would overflow.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

# end of a key -> the smallest amount, unless it is 0, of what must not be negative; the largest
UNITS = {
    "kg": (1e-9, 1e4),
    "kg_m2": (1e-15, 1e5),
    "mm": (1e-6, 1e5),
    "deg": (1e-9, 3600.0),
    "s": (1e-9, 604_800.0),
    "ms": (1e-6, 1e8),
    "mm_s": (1e-9, 1e6),
    "m_s": (1e-12, 1e3),
    "deg_s": (1e-9, 1e6),
    "m_s2": (1e-9, 1e3),
    "N": (1e-9, 1e7),
    "N_m": (1e-9, 1e12),
    "N_mm": (1e-9, 1e9),
    "N_mm2": (1e-9, 1e9),
    "MPa": (1e-9, 1e9),
    "N_s_m": (1e-12, 1e9),
    "N_m_rad": (1e-12, 1e9),
    "N_m_s_rad": (1e-12, 1e9),
    "s_m": (1e-12, 1e9),
    "Nm_s": (1e-9, 1e7),
    "hz": (1e-6, 1e6),
    "W": (1e-9, 1e6),
    "J": (1e-9, 1e6),
}
ANY = (1e-15, 1e15)
"""Range of numbers without a unit."""
# keys whose numbers may say "without end"
RANGES = {"range_deg": 1e9, "range_mm": 1e9}


def check_numbers(value: Any, key: str = "", name: str = "", floor: str = "") -> None:
    """Raise ValueError with the key and the allowed values for an implausible number.

    value : a record, table, list or number; everything that it contains is checked
    key : its key in the file
    name : field of the record that contains it, whose ending is the unit, as in mass_kg
    floor : lower bound in the schema: "> 0", ">= 0" or ""
    """
    if isinstance(value, msgspec.Struct):
        for field, own_floor in fields_of(type(value)):
            check_numbers(getattr(value, field), f"{key}.{field}" if key else field, field, own_floor)
    elif isinstance(value, dict):
        for entry, inner in value.items():
            check_numbers(inner, f"{key}.{entry}", name, floor)
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            check_numbers(inner, f"{key}[{i}]", name, floor)
    elif isinstance(value, float):
        check_number(value, key, name, floor)


def check_number(value: float, key: str, name: str, floor: str) -> None:
    """Raise ValueError for a number outside the plausible range of its unit.

    key : its key in the file, for the message
    name : field that contains it, whose ending is the unit, as in mass_kg
    floor : lower bound in the schema: "> 0", ">= 0" or ""
    """
    unit = unit_of(name)
    least, most = UNITS.get(unit, ANY)
    most = RANGES.get(name, most)
    if abs(value) <= most and (not floor or value == 0.0 or value >= least):
        return  # NaN fails both
    words = f"{least if floor else -most:g} to {most:g}"
    if floor == ">= 0":
        words = f"0, or {words}"
    raise ValueError(f"{key}: {value:g} is out of range; allowed: {words} {in_words(unit)}".rstrip())


def check_texts(value: Any, key: str = "") -> None:
    """Raise ValueError for a name or a text with control characters, which a terminal would interpret."""
    if isinstance(value, dict):
        for entry, inner in value.items():
            check_texts(entry, key)
            check_texts(inner, f"{key}.{entry}" if key else entry)
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            check_texts(inner, f"{key}[{i}]")
    elif isinstance(value, str) and any(unicodedata.category(c) == "Cc" and c not in "\t\r\n" for c in value):
        raise ValueError(f"{key}: {value!r} contains control characters; allowed: text that can be printed")


def unit_of(name: str) -> str:
    """Return the longest unit with which a key ends; "" if it has none."""
    parts = name.split("_")
    return next((unit for k in range(1, len(parts)) if (unit := "_".join(parts[k:])) in UNITS), "")


def in_words(unit: str) -> str:
    """Return a unit in the usual spelling: kg m^2 for kg_m2, N/mm^2 for N_mm2."""
    return WORDS.get(unit, unit)


WORDS = {
    "kg_m2": "kg m^2", "mm_s": "mm/s", "m_s": "m/s", "deg_s": "deg/s", "m_s2": "m/s^2", "N_m": "N/m",
    "N_mm": "N/mm", "N_mm2": "N/mm^2", "N_s_m": "N s/m", "N_m_rad": "N m/rad", "N_m_s_rad": "N m s/rad",
    "s_m": "s/m", "Nm": "N m", "Nm_s": "N m/s", "hz": "Hz",
}  # fmt: skip


@cache
def fields_of(record: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the names of a record's fields, each with the lower bound from its schema."""
    hints = get_type_hints(record, include_extras=True)
    return tuple((field, floor_of(hints[field])) for field in record.__struct_fields__)


def floor_of(hint: Any) -> str:
    """Return the lower bound in a type, > 0 or >= 0, if the type has a bound at 0; "" otherwise."""
    if isinstance(hint, msgspec.Meta):
        return "> 0" if hint.gt == 0.0 else ">= 0" if hint.ge == 0.0 else ""
    parts = (*get_args(hint), *getattr(hint, "__metadata__", ()))
    return next((found for part in parts if (found := floor_of(part))), "")
