"""Which person's markers are solved, where a file or a stream has several persons: never those of two
together.

A person who is named is taken. Else the one of the subject, or of the static trial, is; else the only one who
has the markers that are wanted. Where two have them, the user has to say who is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.persons import COLON, SEPARATORS, UNNAMED, bare_names, parted, persons_of, rows_of
from rtsim.files.markers.trial import MarkerTrial, count_of, name_some
from rtsim.subjects.markers.labs import ENOUGH, SIDES, cover, shipped_labs
from rtsim.subjects.markers.marker_names import find_markers

OPTION = "--person"
MOST = 32
"""Number of persons that are looked at, those with the most markers."""
Share = Callable[[Sequence[str]], float]
"""Names of markers -> part of those that are wanted which are there [1]."""


class Choice(NamedTuple):
    """The person whose markers are used.

    person : whose markers are used, "" = there is no choice to make; told : sentences on that
    """

    person: str
    told: tuple[str, ...] = ()


NOTHING = Choice("")


def share_of(wanted: Sequence[str]) -> Share:
    """Return a function that gives, for a person's marker names, the share of the wanted markers that are
    among them [1].
    """
    return lambda names: len(find_markers(wanted, names)) / max(1, len(wanted))


def share_of_labs(lab: LabMap | None = None, side: str = "") -> Share:
    """Return a function that gives, for a person's marker names, the share of the markers of a map that are
    among them, on the best fitting side; without a map, of the best fitting shipped map.
    """
    sides = (side,) if side in SIDES else SIDES
    labs = shipped_labs() if lab is None else (lab,)
    return lambda names: max(cover(one, s, names).share for one in labs for s in sides)


def read_one(
    path: str | Path,
    share: Share,
    person: str = "",
    up: str | None = None,
    units: str | None = None,
    *,
    strict: bool = False,
) -> MarkerTrial:
    """The markers of one person in a file, with sentences on the choice where there are several.

    strict : ConfigError where the file is of one person, and of another than is asked for
    """
    trial = read_markers(path, up=up, units=units)
    choice = choose_in(trial, share, str(path), person, strict=strict)
    if not choice.person:
        return trial
    one = read_markers(path, up=up, units=units, person=choice.person)
    return one._replace(notes=(*choice.told, *one.notes))


def choose_in(
    trial: MarkerTrial,
    share: Share,
    where: str,
    person: str = "",
    known: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
) -> Choice:
    """Choose a person in a trial, as `choose`, by the markers that any frame shows.

    strict : as `read_one`
    """
    there: NDArray[np.bool_] = np.asarray(np.isfinite(trial.positions).all(axis=2).any(axis=0))
    names = [name for name, seen in zip(trial.names, there, strict=True) if seen]
    if trial.person and person.casefold() != trial.person.casefold():
        if person and strict:
            raise nobody(person, where, [trial.person])
        return NOTHING
    if trial.person or (len(persons_by(names, share)) < 2 and not strict):
        return NOTHING
    return choose(names, share, where, person, known)


def choose(
    names: Sequence[str], share: Share, where: str, person: str = "", known: Mapping[str, str] | None = None
) -> Choice:
    """Choose the person whose markers are used, in a file or a stream with these names.

    person : who is asked for; known : who else it may be, and by what that is known, in words
    ConfigError where several could be meant, and for a name that none of them has.
    """
    persons = persons_by(names, share)
    if len(persons) < 2 and not person:
        return NOTHING
    if person:
        if not rows_of(names, person):
            raise nobody(person, where, [name for name in persons if name != UNNAMED])
        return Choice(person)
    listed = name_some(list(persons))
    for name, by in (known or {}).items():
        if name and rows_of(names, name):
            return Choice(name, (f"the markers of several persons are in it ({listed}): {name}, {by}",))
    shares = {p: share(bare_names([names[k] for k in rows], p)) for p, rows in largest(persons).items()}
    able = [p for p, x in shares.items() if x >= ENOUGH] or [p for p, x in shares.items() if x > 0.0]
    if len(able) == 1:
        said = f"{able[0]}, as nobody else has the markers that are wanted ({OPTION} chooses)"
        return Choice(able[0], (f"the markers of several persons are in it ({listed}): {said}",))
    able = able or list(persons)
    counts = [f"{p} ({count_of(len(persons[p]), 'marker')})" for p in able]
    raise ConfigError(
        f"the markers of several persons are in it: {name_some(counts)}", where=where,
        allowed=name_some(able), remedy=f"say who is meant: {OPTION} {able[0]}",
    )  # fmt: skip


def nobody(person: str, where: str, persons: Sequence[str]) -> ConfigError:
    """Return the error for a name that no person in the file or stream has."""
    if not persons:
        return ConfigError(
            f"no marker's name begins with {person}", where=f"{OPTION} {person}, {where}",
            remedy="leave it out, or give what stands before the names of the person's markers",
        )  # fmt: skip
    return ConfigError(
        f"none of its markers are those of {person}", where=f"{OPTION} {person}, {where}",
        allowed=name_some(persons), remedy="give one of these names, or leave it out",
    )  # fmt: skip


def persons_by(names: Sequence[str], share: Share) -> dict[str, list[int]]:
    """Persons by the colons in the labels. Where labels have none, by other separators, if the needed
    markers are not among the plain labels, and are complete once a prefix is removed: R_ASIS names
    nobody.
    """
    if any(COLON in name for name in names) or share(names) >= ENOUGH:
        return persons_of(names)
    apart = persons_of(names, SEPARATORS)
    able = (
        share([parted(names[k], SEPARATORS)[1] for k in rows]) >= ENOUGH for rows in largest(apart).values()
    )
    return apart if len(apart) > 1 and any(able) else persons_of(names)


def largest(persons: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Return the persons with the most markers, at most MOST of them, as the labels of a stream may name
    thousands.
    """
    order = sorted(persons, key=lambda person: -len(persons[person]))[:MOST]
    return {person: rows for person, rows in persons.items() if person in order}


def masked(labels: Sequence[str], person: str) -> tuple[str, ...]:
    """The labels of a stream with "" in the places of other persons' markers."""
    if not person:
        return tuple(labels)
    rows = rows_of(labels, person)
    own = dict(zip(rows, bare_names([labels[k] for k in rows], person), strict=True))
    return tuple(own.get(k, "") for k in range(len(labels)))


def of_another(trial: MarkerTrial, static: MarkerTrial) -> list[str]:
    """The sentence on a static trial whose labels name another person than those of the trial."""
    if not (trial.person and static.person) or trial.person.casefold() == static.person.casefold():
        return []
    return [
        f"the labels of the static trial are those of {static.person}, of the trial those of {trial.person}: "
        "another person?"
    ]


def check_one_person(trial: MarkerTrial, static: MarkerTrial, *, anyway: bool) -> None:
    """ConfigError for a static trial whose labels name another person than those of the trial, unless
    `anyway`.
    """
    if (said := of_another(trial, static)) and not anyway:
        raise ConfigError(
            said[0],
            where=trial.source,
            remedy="give the static trial of this person, or add --anyway where one person has two names",
        )
