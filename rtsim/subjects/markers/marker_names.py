"""Search for markers by name, regardless of case, separators and a preceding subject name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtsim.files.markers.landmarks import plain_name, plain_names
from rtsim.files.markers.persons import COLON, parted, persons_of

SEPARATORS = "_.:- "
"""Characters that may end a prefix that all marker names of a person share."""


def find_markers(wanted: Iterable[str], names: Sequence[str]) -> dict[str, int]:
    """Return the index in `names` of each requested marker; missing ones are left out.

    The exact name comes first, then the name without case, spaces, dots, underscores and hyphens, then the
    same without a preceding subject name (`Ann:RASI`, or `Ann_RASI` if all names begin so). If there are
    several persons by the prefix before a colon, only one person's markers are found: the person of the
    wanted names, else the one with most of them, and none if that is not clear.
    """
    wanted = list(wanted)
    exact = first_of(names)
    if all(name in exact for name in wanted):  # so that a stream that is in order costs little
        return {name: exact[name] for name in wanted}
    if len(persons_of(names)) > 1 and any(COLON in name for name in names):
        names = names_of_one(wanted, names)
        exact = first_of(names)
    tables = [first_of(spelling) for spelling in spellings(names)]
    found: dict[str, int] = {}
    for name in wanted:
        keys = (plain_name(name), plain_name(without_subject(name)))
        hits = [table[key] for key in keys for table in tables if key in table]
        if name in exact or hits:
            found[name] = exact[name] if name in exact else hits[0]
    return found


def names_of_one(wanted: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of a trial's markers with "" in place of those of other persons than the one to whom
    the `wanted` markers belong, or else the one who has most of them.
    """
    persons = persons_of(names)
    plain = plain_names([without_subject(name) for name in names])
    looked_for = {plain_name(without_subject(name)) for name in wanted}
    n_found = {person: len(looked_for & {plain[k] for k in rows}) for person, rows in persons.items()}
    most = [person for person, n in n_found.items() if n == max(n_found.values())]
    own = {parted(name)[0] for name in wanted}
    one = most[0] if len(most) == 1 else ""
    one = own.pop() if len(own) == 1 and own <= persons.keys() else one
    rows = set(persons.get(one, ()))
    return [name if k in rows else "" for k, name in enumerate(names)]


def without_subject(name: str) -> str:
    """Return the part of a name after the last colon."""
    return name.rsplit(":", 1)[-1]


def spellings(names: Sequence[str]) -> list[list[str]]:
    """Return three spellings of the names without case and separators: whole, without the part before a
    colon, and without a prefix shared by all.
    """
    return [
        plain_names(names),
        plain_names([without_subject(name) for name in names]),
        plain_names(without_shared(names)),
    ]


def without_shared(names: Sequence[str]) -> list[str]:
    """Return the names without the prefix, up to a separator, that all of them have in common."""
    shared = shared_beginning(names) if len(names) > 1 else ""
    n_shared = 1 + max(shared.rfind(separator) for separator in SEPARATORS)
    return [name[n_shared:] for name in names]


def shared_beginning(names: Sequence[str]) -> str:
    """Return the common beginning of all names, found as that of the first and the last in the alphabet."""
    first, last = min(names), max(names)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:n]


def first_of(names: Sequence[str]) -> dict[str, int]:
    """Return for each name the index at which it first occurs."""
    return {name: index for index, name in reversed(list(enumerate(names)))}
