"""The quality page of the gait report: for each trial flagged frames with reasons, markers and their gaps,
standard deviations of the angles, notes; settings and versions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rtsim.files.markers.trial import count_of
from rtsim.files.tables.legs import groups_of
from rtsim.files.tables.sound import flags_by_joint
from rtsim.methods.gait.summary import source_words
from rtsim.report.clinical.drawing import SOFT, Page
from rtsim.report.clinical.frame import PageFlow
from rtsim.report.clinical.quality_notes import FOLDERS, calm_notes
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import ReportTrial, number_of, spec_of
from rtsim.report.clinical.sources import sources_of
from rtsim.report.tally import in_full
from rtsim.units import DEGREES
from streams.messages import Status

MOST_NOTES, MOST_MARKERS = 30, 60


class MarkerQuality(NamedTuple):
    """Quality of one marker in a trial: root mean square and largest size of its residual, the distance
    between its measured position and that on the fitted model [mm]; and the percentage of frames without a
    residual, in which it is not visible.
    """

    trial: str
    marker: str
    rms_mm: float
    largest_mm: float
    missing_percent: float


def marker_rows(trial: ReportTrial) -> list[MarkerQuality]:
    """Return residuals and gaps of every marker of a trial, one row for each."""
    spec = spec_of(trial.results, "marker_residuals")
    if spec is None:
        return []
    values = 1e3 * trial.results.fields["marker_residuals"]
    rows = []
    for k, name in enumerate(spec.labels):
        known = values[np.isfinite(values[:, k]), k]
        rows.append(
            MarkerQuality(
                trial.name, name,
                float(np.sqrt(np.mean(known**2))) if len(known) else math.nan,
                float(known.max()) if len(known) else math.nan,
                100.0 * (1.0 - len(known) / max(1, len(values))),
            )
        )  # fmt: skip
    return rows


def trial_facts(trial: ReportTrial) -> list[tuple[str, str]]:
    """Return facts about a trial as pairs of name and text: file, number of frames with each status flag,
    strides, origin of the gait events, model, method, marker residual, body mass, filter.
    """
    results, meta = trial.results, trial.results.session.meta
    n = len(results.times)
    counted: Counter[str] = Counter()
    for status in results.status.tolist():
        counted.update(Status(int(status)).names().split(", "))
    flags = ", ".join(f"{name.replace('_', ' ')} {k}" for name, k in counted.items())
    flagged = flags_by_joint(results)
    joints = ", ".join(f"{name} {k}" for name, k in zip(in_words(flagged), flagged.values(), strict=True))
    span = float(results.times[-1] - results.times[0]) if n else 0.0
    strides = {side: sum(c.side == side for c in trial.cycles) for side in trial.gait.feet}
    taken = meta.get("chosen")
    chosen = [str(choice) for choice in taken] if isinstance(taken, (list, tuple)) else []
    facts = [
        ("source", FOLDERS.sub("", str(meta.get("source") or "not known"))),
        ("frames", f"{n} in {span:.2f} s; {flags}"),
        ("flagged joints (frames)", joints or "none"),
        ("strides", ", ".join(f"{side} {k}" for side, k in strides.items()) or "none"),
        ("gait events from", source_words(trial.gait) if trial.gait.used else "no events"),
        ("model, method", f"{meta.get('model', '')}, {in_full(meta.get('method'), chosen)}"),
        ("subject, side", f"{meta.get('subject') or 'no subject file'}, {meta.get('side') or 'no side'}"),
    ]
    if meta.get("static"):
        facts.insert(1, ("static trial", FOLDERS.sub("", str(meta["static"]))))
    if results.marks:
        facts.append(("marked", "; ".join(f"{mark.label} {mark.time:.2f} s" for mark in results.marks)))
    rms = results.fields.get("marker_rms")
    if rms is not None and np.isfinite(rms).any():
        facts.append(
            ("marker residual", f"{1e3 * float(np.sqrt(np.nanmean(rms**2))):.2f} mm root mean square")
        )
    mass, stature = trial.mass, number_of(meta, "stature_m")
    facts.append(("body mass", f"{mass:.1f} kg" if mass else "not known"))
    if stature:
        facts.append(("stature", f"{stature:.3f} m"))
    rates = meta.get("rates")
    if isinstance(rates, dict) and number_of(rates, "cutoff_hz"):
        facts.append(
            ("filter", f"{rates.get('kind')} of order {rates.get('order')}, {rates['cutoff_hz']:g} Hz")
        )
    return facts


def deviation_rows(trial: ReportTrial) -> list[tuple[str, float, float]]:
    """Return for each joint angle its name, and the median and the largest value over the frames of its
    estimated standard deviation (uncertainty) [deg]; no rows if the results do not contain it.
    """
    spec = spec_of(trial.results, "joint_angles_deviation")
    if spec is None:
        return []
    values = DEGREES * trial.results.fields["joint_angles_deviation"]
    rows = []
    for k, label in enumerate(spec.labels):
        known = values[np.isfinite(values[:, k]), k]
        if len(known):
            rows.append((label, float(np.median(known)), float(known.max())))
    return rows


def in_words(labels: Iterable[str]) -> list[str]:
    """Return names of joints and angles without underscores, preceded by the side in full."""
    names = list(labels)
    sides = {own: (g.name, side) for g in groups_of(names, "") for side, own in g.of.items()}
    told = [sides[name] for name in names]
    return [f"{side} {name.replace('_', ' ')}".strip() for name, side in told]


def quality_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return pages, each with its title, that state for trial after trial its facts, marker residuals,
    uncertainty of its angles and notes, and last the published sources of the methods.
    """
    flow = PageFlow("Gait report: quality and settings")
    for session in report.sessions:
        for trial in session.trials:
            label = f" ({session.label})" if len(report.sessions) > 1 else ""
            flow.head(f"{trial.name}{label}")
            flow.facts(trial_facts(trial))
            _markers(flow, trial)
            _deviations(flow, trial)
            _notes(flow, trial)
    flow.head("Sources")
    trials = [trial for session in report.sessions for trial in session.trials]
    for words in sources_of(trials, report.convention):
        flow.words(words, 24.0, SOFT)
    flow.words(f"rtsim {report.version}; {count_of(len(trials), 'trial')}", 24.0, SOFT)
    return flow.pages


def _in_three(rows: list[list[str]]) -> list[list[str]]:
    """Arrange the rows of a long table in three columns: each returned row consists of three of the given
    rows.
    """
    n = -(-len(rows) // 3)
    blank = [""] * len(rows[0])
    padded = [*rows, *[blank] * (3 * n - len(rows))]
    return [[*padded[i], *padded[i + n], *padded[i + 2 * n]] for i in range(n)]


def _markers(flow: PageFlow, trial: ReportTrial) -> None:
    rows = marker_rows(trial)
    if not rows:
        return
    worst = sorted(rows, key=lambda row: -row.rms_mm if math.isfinite(row.rms_mm) else -math.inf)[
        :MOST_MARKERS
    ]
    cells = [
        [
            row.marker,
            f"{row.rms_mm:.1f}" if math.isfinite(row.rms_mm) else "unseen",
            f"{row.missing_percent:.0f}",
        ]
        for row in worst
    ]
    flow.table(["marker", "RMS mm", "missing %"] * 3, _in_three(cells), [0.14, 0.1, 0.09] * 3, 23.0, 3)
    if len(rows) > len(worst):
        flow.words(f"{len(rows) - len(worst)} markers with smaller residuals are in the tables.", 23.0, SOFT)


def _deviations(flow: PageFlow, trial: ReportTrial) -> None:
    rows = deviation_rows(trial)
    if rows:
        names = in_words(label for label, _, _ in rows)
        cells = [[name, f"{m:.1f}", f"{most:.1f}"] for name, (_, m, most) in zip(names, rows, strict=True)]
        flow.table(
            ["SD of angle, deg", "median", "max"] * 3, _in_three(cells), [0.221, 0.062, 0.05] * 3, 20.0, 3
        )


def _notes(flow: PageFlow, trial: ReportTrial) -> None:
    notes = calm_notes(trial)
    for note in notes[:MOST_NOTES]:
        flow.words(f"- {note}", 23.0)
    if len(notes) > MOST_NOTES:
        flow.words(
            f"{len(notes) - MOST_NOTES} more notes are in the tables and in the recording.", 23.0, SOFT
        )
