"""The side of the body that names of results refer to, and the counterpart on the other side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SIDES = ("right", "left")
MIDDLE = ("trunk", "pelvis", "lumbar", "lumbosacral", "shoulders", "torso", "thorax", "neck", "head")
"""Begin labels of what has no side."""
_SIDED = (
    re.compile(r"(?P<base>.+)[_ .](?P<side>r|l|right|left)", re.IGNORECASE),
    re.compile(r"(?P<side>r|l|right|left)[_ .](?P<base>.+)", re.IGNORECASE),
    re.compile(r"(?P<base>)(?P<side>right|left)", re.IGNORECASE),
    re.compile(r"(?P<side>[RL])(?P<base>[A-Z].+)"),  # as channels and markers are named: RTibAnt
)


class SideGroup(NamedTuple):
    """Curves of both sides that belong together, or a curve without a side.

    name : name without its side
    of : side -> its label; "" for a curve without a side
    """

    name: str
    of: Mapping[str, str]


def groups_of(labels: Sequence[str], side: str = "") -> list[SideGroup]:
    """Labels in groups, with those of both sides together, in the order in which they first come.

    A letter names a side only if the other side exists as well, as `_l` may mean lateral; a whole word names
    it alone, as for an electromyogram of one leg.
    side : side of all labels that name none, as when only one leg was solved
    """
    read = {label: _read(label) for label in labels}
    there = set(read.values())
    found: dict[tuple[str, str], dict[str, str]] = {}
    for label in labels:
        form, base, own = read[label]
        in_full = form.endswith("True") and bool(base)
        if own and (in_full or all((form, base, other) in there for other in SIDES)):
            found.setdefault((form, base), {})[own] = label
        else:
            middle = label.partition("_")[0].lower() in MIDDLE
            found[("", label)] = {"" if middle else side: label}
    return [SideGroup(base, of) for (_, base), of in found.items()]


def sides_of(labels: Sequence[str], side: str = "") -> tuple[str, ...]:
    """Right, left or "" for each label, as in `groups_of`."""
    found = {label: own for group in groups_of(labels, side) for own, label in group.of.items()}
    return tuple(found[label] for label in labels)


def _read(label: str) -> tuple[str, str, str]:
    """Style in which a label names a side, what it names, and the side; "" for none."""
    for k, pattern in enumerate(_SIDED):
        match = pattern.fullmatch(label)
        if match:
            side = "right" if match["side"].lower().startswith("r") else "left"
            return f"{k}{len(match['side']) > 1}", match["base"], side
    return "", label, ""
