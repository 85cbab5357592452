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
    walks = [(person or _person(trial), trial) for person, trial in trials if trial.cycles]
    notes = [
        f"{trial.name}: left out, because no full stride was found" for _, trial in trials if not trial.cycles
    ]
    notes += _told_alike([trial for person, trial in trials if not person and trial.cycles])
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


def _person(trial: ReportTrial) -> str:
    """Return the person of a trial: the name in its results, else its subject, else the name of the trial."""
    return _name(trial) or _subject(trial) or Path(trial.name).stem


def _name(trial: ReportTrial) -> str:
    """Return the name of the person in the results of a trial, without regard to case; "" = none."""
    meta = trial.results.session.meta
    return next((name for key in NAMES if (name := str(meta.get(key) or "").strip().casefold())), "")


def _subject(trial: ReportTrial) -> str:
    """Return the name of the file of the subject of a trial, or of its static trial, without suffix; files
    called subject.toml are told apart by their folders. "" = none.
    """
    subject = Path(str(trial.results.session.meta.get("subject") or ""))
    name = subject.name.removesuffix(".toml")
    return f"{subject.parent.name}/{name}" if name == "subject" else name


def _told_alike(trials: Sequence[ReportTrial]) -> list[str]:
    """Return notes on trials that count as one person because of the name of their subject or static trial
    alone, which different persons may share.
    """
    alike: dict[str, list[str]] = {}
    for trial in trials:
        if not _name(trial) and (subject := _subject(trial)):
            alike.setdefault(subject, []).append(trial.name)
    return [
        f"{name_some(names)}: counted as one person, because the subject or static trial of each is called "
        f"{subject}; put trials of different persons into a folder for each person"
        for subject, names in alike.items() if len(names) > 1
    ]  # fmt: skip
