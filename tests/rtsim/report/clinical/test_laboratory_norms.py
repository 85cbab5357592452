"""Persons of norms from a laboratory's own trials: who is one and who are two."""

from __future__ import annotations

import pytest

from rtsim.report.clinical.laboratory_norms import norms_of_trials
from rtsim.report.clinical.session import trial_of
from tests.rtsim.report.clinical.made_up import gait_results

Metas = list[dict[str, str]]


def counted(metas: Metas) -> tuple[int, list[str]]:
    """The number of persons of trials with these entries of their descriptors, and the notes on persons."""
    trials = [("", trial_of(gait_results(seed=k, **meta), f"{k}.c3d")) for k, meta in enumerate(metas)]
    norms, notes = norms_of_trials(trials, "folder", "", "lab", "", "")
    return norms.n_person, [note for note in notes if ".c3d" in note]


@pytest.mark.parametrize(
    ("metas", "n_person", "told"),
    [
        ([{"subject_name": "Sub", "person": "Anna"}, {"subject_name": "Sub", "person": "Bob"}], 2, ""),
        (
            [{"subject_name": "Subject", "subject": f"{who}/subject.toml"} for who in ("anna", "bob")], 1,
            "0.c3d, 1.c3d: counted as one person, because the results of each name subject, although",
        ),
        (
            [{"subject_name": "Anna", "subject": "static"}, {"subject": "static"}], 1,
            "0.c3d, 1.c3d: counted as one person, because the subject or static trial of each is",
        ),
        (
            [{"person": who, "subject": "static"} for who in ("Anna", "Bob")] + [{"subject": "static"}], 3,
            "2.c3d: counted as another person, because it names nobody",
        ),
        ([{"subject_name": "Anna", "person": "A"}, {"person": "A"}, {"subject_name": "anna"}], 1, ""),
        ([{"subject_name": "Anna"}, {"person": "Anna"}, {"person": "Bob"}], 2, ""),
        (
            [{"subject_name": "Sub", "person": "A"}, {"subject_name": "Sub", "person": "B"},
             {"subject_name": "Sub"}], 3, "2.c3d: counted as another person, because its name sub is",
        ),
    ],
)  # fmt: skip
def test_persons_are_told_apart_by_each_name_by_itself(metas: Metas, n_person: int, told: str) -> None:
    """Protects the number of persons from the name of a template, from prefixes that a name hides, and from
    one person who is counted twice; what only a name or a file says is told."""
    found, notes = counted(metas)
    assert found == n_person
    assert [note.startswith(told) for note in notes] == [True] * bool(told)
