"""Pages of the gait report with panels over time, for trials without a full stride."""

from __future__ import annotations

import math

import numpy as np

from rtsim.files.tables.legs import SIDES
from rtsim.report.clinical.curve_pages import COLUMNS, LEGEND, MORE_ROWS, ROWS, kinetic_words, room_of
from rtsim.report.clinical.cycle_panel import LEAST, PanelRoom, draw_axes, frame_panel, heights, numbers
from rtsim.report.clinical.drawing import (
    COLOURS,
    DASHES,
    INK,
    MARGIN,
    SOFT,
    THIN_DASHES,
    WIDTH,
    Page,
    rows_to_show,
    span_of,
    ticks,
)
from rtsim.report.clinical.frame import END
from rtsim.report.clinical.letters import short_name
from rtsim.report.clinical.report import GaitReport
from rtsim.report.clinical.session import ReportTrial
from rtsim.report.clinical.time_curves import TimeCurve, angles_of, loads_of, others_of

UNLOADED = "there is no foot on a force plate."
UNKNOWN = "the moments of the joints could not be computed in any frame."
MOST_POINTS = 600
"""Frames of a curve that are drawn: more cannot be told apart in print."""


def time_pages(report: GaitReport) -> list[tuple[str, Page]]:
    """Return for every trial of all sessions, one after the other, pages with its angles, moments and powers,
    and other results over time; each page with its title.
    """
    trials = [(session, trial) for session in report.sessions for trial in session.trials]
    pages = []
    for session, trial in trials:
        name = short_name(trial.name)
        label = f"{name} ({session.label})" if len(report.sessions) > 1 else name
        of_trial = f": {label}" if len(trials) > 1 else ""
        words = [
            f"{label}: no full stride was found, so curves are drawn over time and there are no footsteps."
        ]
        loads = loads_of(trial)
        words += [] if loads else [_without_loads(trial)]
        pages += _pages(angles_of(trial, report.convention), ROWS, f"Kinematics over time{of_trial}", words)
        if loads:
            kinetic = _pages(loads, ROWS, f"Moments and powers over time{of_trial}", [])
            for _, page in kinetic:
                kinetic_words(page, [trial])
            if not any(curve.source.field == "joint_moments" for curve in loads):
                room = room_of(len(loads), ROWS)
                why = UNLOADED if _unloaded(loads) else UNKNOWN
                told = f"There are no moments and powers: {why}"
                page.text(room.x + 12.0, room.y + 60.0, told, 26.0, SOFT, room=WIDTH - MARGIN - room.x)
            pages += kinetic
        others = others_of(trial)
        if others:
            pages += _pages(others, MORE_ROWS, f"Joints and muscles over time{of_trial}", [])
    return pages


def _unloaded(loads: list[TimeCurve]) -> bool:
    """Return whether all known ground reaction forces are zero."""
    return not any(np.nan_to_num(row).any() for curve in loads for row in curve.values.values())


def _without_loads(trial: ReportTrial) -> str:
    """Return a text on why a trial has no joint moments."""
    plates = "foot_loads" in trial.results.fields
    return "No moments: body mass not known (--mass)." if plates else "No moments: no force plates."


def _pages(curves: list[TimeCurve], rows: int, title: str, words: list[str]) -> list[tuple[str, Page]]:
    """Return pages of panels over time in rows of three, with a legend and the given words below them; each
    page with its title.

    rows : number of rows of panels on a page
    title : title of the first page; further ones add "continued"
    """
    pages = []
    each = COLUMNS * rows
    for begin in range(0, max(len(curves), 1), each):
        page, few = Page(), curves[begin : begin + each]
        for k, curve in enumerate(few):
            draw_time_panel(page, room_of(k, rows), curve)
        _legend(page, [side for side in (*SIDES, "") if any(side in curve.values for curve in few)])
        page.text(MARGIN, END + 20.0, " ".join(words), 23.0, SOFT, room=WIDTH - 2.0 * MARGIN)
        pages.append((title + (", continued" if begin else ""), page))
    return pages


def draw_time_panel(page: Page, room: PanelRoom, curve: TimeCurve) -> None:
    """Draw the panel of a quantity over time, paler where values are flagged."""
    source, box = curve.source, frame_panel(page, room, curve.source.title, curve.source.unit)
    left, right = box[:2]
    rows = {side: np.where(curve.sound[side], values, math.nan) for side, values in curve.values.items()}
    least = LEAST.get(source.unit, 1e-3)
    counted = [(values[None], curve.sound[side][None]) for side, values in curve.values.items()]
    span = span_of(rows_to_show(counted, least), least)
    up = heights(box, span)
    length = max(float(curve.times[-1]), 1e-9)
    marks = [(t / length, f"{t:g}") for t in ticks(0.0, length, 5)]
    draw_axes(page, box, span, up, (source.up, source.down), marks)
    drawn = _drawn(len(curve.times))
    x = left + curve.times[drawn] / length * (right - left)
    for side, values in curve.values.items():
        colour = COLOURS.get(side, INK)
        page.curve(x, up(values[drawn]), colour, 1.5, THIN_DASHES.get(side, ""), 0.5)
        page.curve(x, up(rows[side][drawn]), colour, 4.0, DASHES.get(side, ""))
    flagged = {side: np.where(curve.sound[side], math.nan, values) for side, values in curve.values.items()}
    apart = {side: numbers(values[drawn]) for side, values in flagged.items() if np.isfinite(values).any()}
    series = [
        {
            "name": side or "value", "colour": COLOURS.get(side, INK), "mean": numbers(values[drawn]),
            "sd": [None] * len(drawn),
            **({"low": apart[side], "high": apart[side]} if side in apart else {}),
        }
        for side, values in rows.items()
    ]  # fmt: skip
    page.panels.append(
        {
            "title": source.title, "unit": source.unit, "box": [round(v, 1) for v in box],
            "times": numbers(curve.times[drawn]), "series": series,
        }
    )  # fmt: skip


def _drawn(n: int) -> np.ndarray:
    """Return the indices of the frames that are drawn, evenly spread over all n frames."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(np.int64))


def _legend(page: Page, sides: list[str]) -> None:
    x, y = MARGIN, LEGEND
    for side in sides:
        line = np.array([x, x + 70.0])
        page.curve(line, np.array([y, y]), COLOURS.get(side, INK), 4.0, DASHES.get(side, ""))
        page.text(x + 82.0, y + 9.0, side or "both, or no side", 27.0)
        x += 200.0 if side else 340.0
    page.text(x, y + 9.0, "abscissa: time [s] from the first frame; thin: flagged", 23.0, SOFT)
