"""The side of the body in the names of results, and the corresponding name on the other side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SIDES = ("right", "left")
MIDDLE = ("trunk", "pelvis", "lumbar", "lumbosacral", "shoulders", "torso", "thorax", "neck", "head")
"""Beginnings of labels that belong to no side."""
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
    """Group labels so that those of both sides are together, in the order of their first appearance.

    A letter counts as a side only if the label of the other side exists, too, as `_l` may mean lateral. A
    whole word ("left") always counts, as for an electromyogram of one leg.
    side : side of all labels that state none, for a run of one leg
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
    """Return the side of each label: right, left or ""; side : side of labels that state none"""
    found = {label: own for group in groups_of(labels, side) for own, label in group.of.items()}
    return tuple(found[label] for label in labels)


def _read(label: str) -> tuple[str, str, str]:
    """Return the style in which a label states its side, the label without the side, and the side, right or
    left; the style and the side are "" for a label without a side.
    """
    for k, pattern in enumerate(_SIDED):
        match = pattern.fullmatch(label)
        if match:
            side = "right" if match["side"].lower().startswith("r") else "left"
            return f"{k}{len(match['side']) > 1}", match["base"], side
    return "", label, ""
