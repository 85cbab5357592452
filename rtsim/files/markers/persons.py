"""Several persons in one file or stream, distinguished by the prefix of their markers: `Anna:RASI`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import plain_name
from rtsim.files.markers.trial import RawTrial, name_some

COLON = ":"
SEPARATORS = "_.- "
"""Characters that may separate person and marker where no label has a colon."""
UNNAMED = "unnamed"
"""Name of the person of markers without a prefix, beside others that have one."""


def parted(label: str, separators: str = COLON) -> tuple[str, str]:
    """Split a label into the name of a person and that of a marker, at its last colon or at the first of
    other given separators; the person is "" if there is no separator.
    """
    if separators == COLON:
        person, _, marker = label.rpartition(COLON)
        return person.strip(), marker.strip()
    at = min((k for s in separators if (k := label.find(s)) > 0), default=0)
    return (label[:at], label[at + 1 :]) if at else ("", label)


def persons_of(names: Sequence[str], separators: str = COLON) -> dict[str, list[int]]:
    """Return the indices of the markers of each person, in the order of their first markers.

    Markers without a person's name are listed under "unnamed"; if there is only one person, they belong to
    that person, unless both have a marker with the same name.

    separators : characters that may stand between person and marker
    """
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        found.setdefault(parted(name, separators)[0] or UNNAMED, []).append(k)
    if len(found) == 2 and UNNAMED in found:
        one, other = ({plain_name(parted(names[k], separators)[1]) for k in rows} for rows in found.values())
        if one.isdisjoint(other):
            return {next(p for p in found if p != UNNAMED): list(range(len(names)))}
    return found


def rows_of(names: Sequence[str], person: str) -> list[int]:
    """Return the indices of the markers of a person; upper and lower case of the name do not matter. [] if
    there are none.
    """
    if not any(COLON in name for name in names):
        return [k for k, name in enumerate(names) if begins_with(name, person)]
    wanted = person.strip().rstrip(COLON).casefold()
    alike = [rows for p, rows in persons_of(names).items() if p.casefold() == wanted]
    return alike[0] if len(alike) == 1 else persons_of(names).get(person, [])


def begins_with(name: str, person: str) -> bool:
    """Return whether a marker's name begins with the name of a person and one of the separators other than a
    colon, as in `Anna_RASI`.
    """
    n = len(person)
    return 0 < n < len(name) and name[:n].casefold() == person.casefold() and name[n] in SEPARATORS


def bare_names(names: Sequence[str], person: str) -> list[str]:
    """Return the names of a person's markers without the person's name."""
    return [name[len(person) + 1 :] if begins_with(name, person) else parted(name)[1] for name in names]


def of_person(raw: RawTrial, person: str = "") -> RawTrial:
    """Return the markers and measures of one person, without the prefix, if there are several persons.

    person : name of the person; "" = all. A trial of one person is unchanged, whatever the name. ConfigError
        for a name that none of several persons has.
    """
    persons = persons_of(raw.names)
    rows = rows_of(raw.names, person) if person else []
    nameless = [name for name in raw.names if COLON not in name] if len(persons) == 1 else []
    if 0 < len(nameless) < len(raw.names):
        if not rows:
            return raw._replace(notes=(*raw.notes, shared_in(nameless, next(iter(persons)))))
        rows = [k for k in rows if COLON in raw.names[k]]  # who is asked for is nobody without a name
    if not person or (len(persons) == 1 and len(rows) in (0, len(raw.names))):
        alone = raw.person or (next(iter(persons)) if len(persons) == 1 else UNNAMED)
        alone = "" if alone == UNNAMED else alone
        measures = measures_of(raw.subject, alone, several=len(persons) > 1)
        return raw._replace(person=alone, subject=measures)
    if not rows:
        raise ConfigError(
            f"no marker in the file belongs to {person}", where=raw.source, allowed=name_some(list(persons)),
            remedy="give one of these names with --person",
        )  # fmt: skip
    whose = (
        name for name in persons if set(rows) <= set(persons[name]) and (name != UNNAMED or len(persons) > 1)
    )
    person = next(whose, person.strip())
    others = [name for name in persons if name != person] if len(persons) > 1 else ["all other labels"]
    return raw._replace(
        names=tuple(bare_names([raw.names[k] for k in rows], person)),
        positions=np.ascontiguousarray(raw.positions[:, rows]),
        person=person,
        notes=(*raw.notes, f"the markers of {person} were used, those of {name_some(others)} left out"),
        subject=measures_of(raw.subject, person, several=True),
    )


def shared_in(nameless: Sequence[str], person: str) -> str:
    """Return a note that markers without a prefix were assigned to the only person in the labels."""
    n = len(nameless)
    return (
        f"{n} {'marker' if n == 1 else 'markers'} without a person's name before the label, as in Anna:LASI "
        f"({name_some(list(nameless))}) {'was' if n == 1 else 'were'} taken as markers of {person}; "
        f"--person {person} leaves {'it' if n == 1 else 'them'} out"
    )


def measures_of(measures: Mapping[str, float], person: str, several: bool) -> dict[str, float]:
    """Return the measures of a person without the prefix of their names.

    several : whether there are several persons; then measures without this person's prefix are left out,
        unless they have no prefix at all
    """
    own = {"", person.casefold()}
    whose = {name: parted(name)[0].casefold() for name in measures}
    strict = several or len({p for p in whose.values() if p}) > 1
    return {parted(name)[1]: x for name, x in measures.items() if not strict or whose[name] in own}
