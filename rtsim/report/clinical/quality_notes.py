"""The notes of a trial, shortened for the pages of a report."""

from __future__ import annotations

import re

from rtsim.report.clinical.session import ReportTrial
from rtsim.report.notes import calm

FOLDERS = re.compile(r"(?:(?<=\s)|^)(?:/|[A-Za-z]:\\)\S*[/\\]")
"""Pattern of the folders before names of files in notes: they tell of the machine, not of the person."""


def calm_notes(trial: ReportTrial) -> list[str]:
    """Return the notes of a trial in fewer lines for a page: routine notes share one line, and notes on the
    right and left leg are merged.
    """
    own = {FOLDERS.sub("", note) for note in trial.notes}
    of_files = [note for note in notes_of(trial) if ": " in note and note not in own]
    others = [note for note in notes_of(trial) if note not in of_files]
    return [
        *others,
        *(note.replace("(--all-notes prints them)", "(in the tables)") for note in calm(of_files)),
    ]


def notes_of(trial: ReportTrial) -> list[str]:
    """Return the notes on a trial, each once: those of the report, and those that the run stored with the
    results.
    """
    told = trial.results.session.meta.get("notes")
    run = [str(note) for note in told] if isinstance(told, (list, tuple)) else []
    return [FOLDERS.sub("", note) for note in dict.fromkeys([*trial.notes, *run])]
