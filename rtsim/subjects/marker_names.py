"""Find markers by name whatever the case, the separators and the name of the subject in front."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rtsim.files.landmarks import plain_name, plain_names


def find_markers(wanted: Iterable[str], names: Sequence[str]) -> dict[str, int]:
    """Index in `names` of each wanted marker; those that are not there are left out.

    The exact name comes first, then the name without case, spaces, dots, underscores and hyphens, then the
    same without a subject's name in front (`Ann:RASI`, or `Ann_RASI` where all names begin so).
    """
    wanted = list(wanted)
    exact = first_of(names)
    if all(name in exact for name in wanted):  # so that a stream that is in order costs little
        return {name: exact[name] for name in wanted}
    tables = [first_of(spelling) for spelling in spellings(names)]
    found: dict[str, int] = {}
    for name in wanted:
        keys = (plain_name(name), plain_name(without_subject(name)))
        hits = [table[key] for key in keys for table in tables if key in table]
        if name in exact or hits:
            found[name] = exact[name] if name in exact else hits[0]
    return found


def without_subject(name: str) -> str:
    """The name behind the last colon."""
    return name.rsplit(":", 1)[-1]


def spellings(names: Sequence[str]) -> list[list[str]]:
    """The names plain, without what stands before a colon, and without a beginning all share."""
    shared = re.sub(r"[^_.:\- ]*$", "", shared_beginning(names)) if len(names) > 1 else ""
    return [
        plain_names(names),
        plain_names([without_subject(name) for name in names]),
        plain_names([name[len(shared) :] for name in names]),
    ]


def shared_beginning(names: Sequence[str]) -> str:
    """What all names begin with: what the first and the last in the alphabet share."""
    first, last = min(names), max(names)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:n]


def first_of(names: Sequence[str]) -> dict[str, int]:
    """Name -> its first index."""
    return {name: index for index, name in reversed(list(enumerate(names)))}
