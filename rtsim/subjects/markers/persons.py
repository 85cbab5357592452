"""Choice of the person whose markers are solved, in a file or stream with several persons; markers of two
persons are never mixed.

A person named by the user is chosen; else the person of the subject or of the static trial; else the only
person who has the needed markers. If two persons have them, the user must choose.
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
"""Largest number of persons that are compared, those with the most markers."""
Share = Callable[[Sequence[str]], float]
"""Function that returns, for the names of a person's markers, which fraction of the needed markers is among
them [1]. The needed markers are those of the subject, of the model or of a marker map."""


class Choice(NamedTuple):
    """The person whose markers are used.

    person : name of the person whose markers are used, "" = there is no choice to make; told : notes on the
        choice
    """

    person: str
    told: tuple[str, ...] = ()


NOTHING = Choice("")


def share_of(wanted: Sequence[str]) -> Share:
    """Return a function that gives, for a person's marker names, the fraction of the wanted markers among
    them [1].
    """
    return lambda names: len(find_markers(wanted, names)) / max(1, len(wanted))


def share_of_labs(lab: LabMap | None = None, side: str = "") -> Share:
    """Return a function that gives, for a person's marker names, which fraction [1] of the markers that a
    marker map tracks on one side is among them, for the best fitting side; without a map, for the best
    fitting of the shipped maps.
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
    """Read the markers of one person from a file, with notes on the choice if there are several persons.

    share : function that returns which fraction of the needed markers (see Share) a person has
    person : name of the person; "" = chosen by the markers
    strict : whether a file of only one person with another name raises ConfigError
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
    """Choose the person in a trial whose markers are used, by the markers that any frame shows.

    share : function that returns which fraction of the needed markers (see Share) a person has
    person : requested person
    known : name of a person who is preferred if nobody is requested, such as the subject's -> reason in words
    strict : whether a trial of only one person with another name raises ConfigError
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
    """Choose the person whose markers are used, in a file or a stream with these marker names.

    share : function that returns which fraction of the needed markers (see Share) a person has
    person : requested person
    known : name of a person who is preferred if nobody is requested, such as the subject's -> reason in words

    ConfigError if several could be meant, and for a name that none of them has.
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
            return Choice(
                name, (f"the file contains markers of several persons ({listed}); {name} was used, {by}",)
            )
    shares = {p: share(bare_names([names[k] for k in rows], p)) for p, rows in largest(persons).items()}
    able = [p for p, x in shares.items() if x >= ENOUGH] or [p for p, x in shares.items() if x > 0.0]
    if len(able) == 1:
        said = f"{able[0]} was used, because nobody else has the necessary markers ({OPTION} chooses)"
        return Choice(able[0], (f"the file contains markers of several persons ({listed}): {said}",))
    able = able or list(persons)
    counts = [f"{p} ({count_of(len(persons[p]), 'marker')})" for p in able]
    raise ConfigError(
        f"the file contains markers of several persons: {name_some(counts)}", where=where,
        allowed=name_some(able), remedy=f"choose the person: {OPTION} {able[0]}",
    )  # fmt: skip


def nobody(person: str, where: str, persons: Sequence[str]) -> ConfigError:
    """Return the error for a name that no person in the file or stream has."""
    if not persons:
        return ConfigError(
            f"no marker name has the prefix {person}: (as in {person}:LASI)",
            where=f"{OPTION} {person}, {where}",
            remedy="leave out the option, or give the text before the colon in the person's marker names",
        )  # fmt: skip
    return ConfigError(
        f"no marker in the file belongs to {person}", where=f"{OPTION} {person}, {where}",
        allowed=name_some(persons), remedy="give one of these names, or leave out the option",
    )  # fmt: skip


def persons_by(names: Sequence[str], share: Share) -> dict[str, list[int]]:
    """Return the indices of each person's markers by the name of the person, which stands before a colon in
    the labels, as in Anna:RASI; markers without a name are listed under "unnamed".

    If no label has a colon, the name may also stand before the first "_", ".", "-" or blank, as in Anna_RASI.
    Labels are split there only if fewer than 70 % of the needed markers are found among the whole labels, and
    at least 70 % among those of one person after the split; so R_ASIS is not read as a marker of a person R.

    names : labels of the markers
    share : function that returns which fraction of the needed markers is among given marker names (Share)
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
    """Return the labels of a stream with "" in the places of other persons' markers."""
    if not person:
        return tuple(labels)
    rows = rows_of(labels, person)
    own = dict(zip(rows, bare_names([labels[k] for k in rows], person), strict=True))
    return tuple(own.get(k, "") for k in range(len(labels)))


def of_another(trial: MarkerTrial, static: MarkerTrial) -> list[str]:
    """Return a note if the labels of a static trial name another person than those of the trial."""
    if not (trial.person and static.person) or trial.person.casefold() == static.person.casefold():
        return []
    return [
        f"the labels of the static trial belong to {static.person}, but those of the trial to "
        f"{trial.person}; are these different persons?"
    ]


def check_one_person(trial: MarkerTrial, static: MarkerTrial, *, anyway: bool) -> None:
    """Raise ConfigError for a static trial whose labels name another person than those of the trial, unless
    `anyway`.
    """
    if (said := of_another(trial, static)) and not anyway:
        raise ConfigError(
            said[0],
            where=trial.source,
            remedy="give the static trial of this person, or add --anyway if one person has two names",
        )
