"""A warning for the head of all pages if the right and left marker labels contradict the body."""

from __future__ import annotations

from rtsim.files.markers.sides import DOUBTED
from rtsim.files.markers.trial import name_some
from rtsim.report.clinical.letters import short_name
from rtsim.report.clinical.quality_notes import notes_of
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import ReportSession, ReportTrial
from rtsim.subjects.markers.sides import TAKEN


def side_warning(report: GaitReport) -> str:
    """Return a warning that names the trials whose right and left labels contradict the body, and says
    whether right and left in the report follow the labels or the axes of the recording; "" for none.
    """
    told = [
        (_name_of(report, session, trial), [note for note in notes_of(trial) if DOUBTED in note])
        for session in report.sessions for trial in session.trials
    ]  # fmt: skip
    doubted = [name for name, notes in told if notes]
    if not doubted:
        return ""
    by_axes = [name for name, notes in told if any(TAKEN in note for note in notes)]
    by_labels = [name for name, notes in told if notes and not any(TAKEN in note for note in notes)]
    if by_axes and by_labels:
        by = f"from the axes in {name_some(by_axes, 1)}, from the labels in {name_some(by_labels, 1)}"
    else:
        by = "from the axes, not from the labels" if by_axes else "from the labels"
    return (
        f"Check the sides of {name_some(doubted, 2)}: labels exchanged, or axes left-handed? Right "
        f"and left come {by}."
    )


def _name_of(report: GaitReport, session: ReportSession, trial: ReportTrial) -> str:
    """Return the short name of a trial, with that of its session if the report has several."""
    name = short_name(trial.name, 28)
    return f"{name} ({session.label})" if len(report.sessions) > 1 else name
