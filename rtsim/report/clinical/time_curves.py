"""Quantities of a trial over time, for trials without a full stride: squats, standing, walks that are too
short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.report.clinical.curve_pages import all_trials, joint_sources
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import (
    KINETIC_SOURCES,
    CurveSource,
    FloatArray,
    ReportTrial,
    kinematic_sources,
    rows_in,
)

ANGLES = "joint_angles"


class TimeCurve(NamedTuple):
    """A quantity over the frames of a trial.

    source : where the quantity is found in the results, and how it is printed
    times : (n,) - times since the first frame [s]
    values : side -> (n,) values in the printed unit; side "" = a quantity without a side, or equal on both
        sides
    sound : side -> (n,) whether these values are reliable, as their frames or joints have no flag
    """

    source: CurveSource
    times: FloatArray
    values: dict[str, FloatArray]
    sound: dict[str, NDArray[np.bool_]]


def is_over_time(report: GaitReport) -> bool:
    """Return whether no trial of a report has a full stride, so that curves are drawn over time."""
    return not any(trial.cycles for trial in all_trials(report))


def time_curves(trial: ReportTrial, sources: Sequence[CurveSource]) -> list[TimeCurve]:
    """Return the curves over time of a trial for those of the `sources` (quantities) that have a value in at
    least one frame.
    """
    times = trial.results.times - trial.results.times[0] if len(trial.results.times) else np.zeros(0)
    found = []
    for source in sources:
        rows = {side: row for side, row in rows_in(trial, source).items() if np.isfinite(row[0]).any()}
        if len(rows) > 1 and _alike(*(row for row, _ in rows.values())):
            rows = {"": next(iter(rows.values()))}
        if rows:
            values = {side: row for side, (row, _) in rows.items()}
            sound = {side: ~unsound for side, (_, unsound) in rows.items()}
            found.append(TimeCurve(source, times, values, sound))
    return found


def _alike(one: FloatArray, other: FloatArray) -> bool:
    return bool(np.array_equal(one, other, equal_nan=True))


def angles_of(trial: ReportTrial, convention: str) -> list[TimeCurve]:
    """Return the curves over time of the nine angles of a convention; for a model that lacks some of them,
    its other angles, too.
    """
    sources = kinematic_sources(convention)
    own = time_curves(trial, sources)
    if len(own) == len(sources):
        return own
    there = {curve.source.label for curve in own if curve.source.field == ANGLES}
    others = [s for s in joint_sources([trial], only=ANGLES) if s.label not in there]
    return [*own, *time_curves(trial, others)]


def loads_of(trial: ReportTrial) -> list[TimeCurve]:
    """Return the curves of joint moments, joint powers and the vertical ground reaction force of a trial."""
    return time_curves(trial, KINETIC_SOURCES)


def others_of(trial: ReportTrial) -> list[TimeCurve]:
    """Return the curves of knee displacements, contact, ligaments, muscles, and all further quantities
    that are drawn over time.
    """
    return time_curves(trial, joint_sources([trial]))
