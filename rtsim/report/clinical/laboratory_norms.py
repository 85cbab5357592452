"""Norms of gait angles from a laboratory's own trials: mean and standard deviation over persons, each person
represented by the mean of their strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.files.norms.norm_set import NormCurve, NormSet
from rtsim.files.tables.legs import SIDES
from rtsim.report.clinical.person_size import NAMES
from rtsim.report.clinical.session import (
    ReportSession,
    ReportTrial,
    convention_of,
    curve_of,
    kinematic_sources,
)


def norms_of_trials(
    trials: Sequence[tuple[str, ReportTrial]], where: str, angles: str, name: str, source: str, licence: str
) -> tuple[NormSet, list[str]]:
    """Return norms of the nine gait angles from trials, and sentences for the user on what was left out. Both
    legs of a person count as one curve; for a single person the deviation is over strides.

    trials : the person ("" = as named in the results) and the trial
    where : folder or files of the trials, for error messages
    angles : angle convention, "" = that of the results
    name, source, licence : texts stored with the norms: their name, where they come from, terms of use

    ConfigError if no trial has a complete stride.
    """
    unnamed = [trial for person, trial in trials if not person and trial.cycles]
    found = _persons(unnamed)
    whose = iter(found)
    walks = [((person,) if person else next(whose), trial) for person, trial in trials if trial.cycles]
    notes = [
        f"{trial.name}: left out, because no full stride was found" for _, trial in trials if not trial.cycles
    ]
    notes += _told_persons(unnamed, found)
    if not walks:
        raise ConfigError(
            "no trial contains a full stride",
            where=where,
            remedy="give recordings of walking with two footsteps or more",
        )
    convention = convention_of([trial for _, trial in walks], angles)
    persons = sorted({person for person, _ in walks})
    curves = {}
    for origin in kinematic_sources(convention):
        rows, strides = [], []
        for person in persons:
            own = ReportSession("", tuple(trial for who, trial in walks if who == person))
            curve = curve_of(own, origin)
            means = [curve.mean(side) for side in SIDES if side in curve.strides]
            known = [row for row in means if np.isfinite(row).all()]
            if known:
                rows.append(np.mean(known, axis=0))
                strides += [r for side in curve.strides for r in curve.usable(side) if np.isfinite(r).all()]
        over = rows if len(persons) > 1 else strides
        if len(rows) < len(persons):
            notes.append(
                f"{origin.name}: norms from {len(rows)} of {len(persons)} persons; the curves of "
                "the other persons have gaps"
            )
        if len(over) < 2:
            notes.append(f"{origin.name}: left out, because fewer than two strides are free of gaps")
            continue
        curves[origin.name] = NormCurve(np.mean(rows, axis=0), np.std(over, axis=0, ddof=1))
    if not curves:
        raise ConfigError(
            "no angle has two strides without gaps", where=where, remedy="give more recordings of walking"
        )
    if len(persons) == 1:
        notes.append(
            "all trials are of one person, so the standard deviations are over strides and the norms "
            "are not those of a population"
        )
    n = sum(len(trial.cycles) for _, trial in walks)
    norms = NormSet(
        name=name, convention=convention, curves=curves, source=source or "trials of this laboratory",
        licence=licence, n_person=len(persons), n_stride=n,
    )  # fmt: skip
    return norms, notes


def _persons(trials: Sequence[ReportTrial]) -> list[tuple[str, ...]]:
    """Return the person of each trial of whom only the results tell, as names that are equal for one person.

    Trials whose results name somebody are of one person if no entry of NAMES differs and a name is common to
    them. A trial without a name is of the only person among those with the same subject or static trial; else
    this file stands for its person, or the name of the trial.
    """
    names = [_names(trial) for trial in trials]
    groups: list[list[tuple[str, ...]]] = []
    for own in sorted({own for own in names if any(own)}, key=lambda own: (own.count(""), own)):
        alike = [group for group in groups if _are_one(own, group)]
        if len(alike) == 1:
            alike[0].append(own)
        else:
            groups.append([own])
    first = {own: group[0] for group in groups for own in group}
    named: dict[str, set[tuple[str, ...]]] = {}
    for own, trial in zip(names, trials, strict=True):
        if any(own):
            named.setdefault(_subject(trial), set()).add(first[own])
    found = []
    for own, trial in zip(names, trials, strict=True):
        subject = _subject(trial)
        alone = named.get(subject, set()) if subject else set()
        of_file = next(iter(alone)) if len(alone) == 1 else (subject or Path(trial.name).stem,)
        found.append(first[own] if any(own) else of_file)
    return found


def _names(trial: ReportTrial) -> tuple[str, ...]:
    """Return the names of the person in the results of a trial, in the order of NAMES and without regard to
    case; "" = none.
    """
    meta = trial.results.session.meta
    return tuple(str(meta.get(key) or "").strip().casefold() for key in NAMES)


def _are_one(own: tuple[str, ...], group: Sequence[tuple[str, ...]]) -> bool:
    """Return whether names, as of `_names`, are of the person of a group of names."""
    differ = any(a and b and a != b for other in group for a, b in zip(own, other, strict=True))
    return not differ and any(set(own) & set(other) - {""} for other in group)


def _subject(trial: ReportTrial) -> str:
    """Return the name of the file of the subject of a trial, or of its static trial, without suffix; files
    called subject.toml are told apart by their folders. "" = none.
    """
    subject = Path(str(trial.results.session.meta.get("subject") or ""))
    name = subject.name.removesuffix(".toml")
    return f"{subject.parent.name}/{name}" if name == "subject" else name


def _told_persons(trials: Sequence[ReportTrial], persons: Sequence[tuple[str, ...]]) -> list[str]:
    """Return notes on trials that count as one person, or as another one, because of a name or file alone.

    trials : trials of whose persons only the results tell; persons : of `_persons`
    """
    notes = []
    for person in dict.fromkeys(persons):
        own = [trial for trial, whose in zip(trials, persons, strict=True) if whose == person]
        by_file: dict[str, list[ReportTrial]] = {}
        for trial in own:
            by_file.setdefault(_subject(trial), []).append(trial)
        for subject, alike in by_file.items():
            if subject and len(alike) > 1 and not all(any(_names(trial)) for trial in alike):
                notes.append(
                    f"{_listed(alike)}: counted as one person, because the subject or static trial of each "
                    f"is called {subject}; put trials of different persons into a folder for each person"
                )
        if len([subject for subject in by_file if subject]) > 1:
            notes.append(
                f"{_listed(own)}: counted as one person, because the results of each name "
                f"{name_some([name for name in person if name])}, although their subjects or static trials "
                f"differ ({name_some([subject for subject in by_file if subject])}); put trials of different "
                "persons into a folder for each person"
            )
    return notes + _told_unclear(trials, persons)


def _told_unclear(trials: Sequence[ReportTrial], persons: Sequence[tuple[str, ...]]) -> list[str]:
    """Return notes on trials that may be of several of the persons, and count as another one; trials and
    persons as for `_told_persons`.
    """
    notes = []
    for trial, person in zip(trials, persons, strict=True):
        own, subject = _names(trial), _subject(trial)
        others = [
            (_names(other), _subject(other))
            for other, whose in zip(trials, persons, strict=True) if whose != person
        ]  # fmt: skip
        if not any(own) and subject and any(any(names) and file == subject for names, file in others):
            why = f"it names nobody, and its subject or static trial {subject} is that of several persons"
        elif any(own) and "" in own and any(_are_one(own, [names]) for names, _ in others):
            why = f"its name {name_some([name for name in own if name])} is that of several persons"
        else:
            continue
        notes.append(f"{trial.name}: counted as another person, because {why}")
    return notes


def _listed(trials: Sequence[ReportTrial]) -> str:
    """Return the names of trials as text."""
    return name_some([trial.name for trial in trials])
