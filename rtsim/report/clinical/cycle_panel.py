"""A panel on a page of the gait report: a quantity over the gait cycle on both sides, with single strides,
means, deviation bands and norms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rtsim.files.norms.norm_set import NormCurve
from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycle_curves import PERCENT
from rtsim.report.clinical.drawing import (
    BEFORE_DASHES,
    COLOURS,
    DASHES,
    GRID,
    INK,
    MARGIN,
    NORM,
    SOFT,
    THIN_DASHES,
    WIDTH,
    FloatArray,
    Page,
    rows_to_show,
    span_of,
    ticks,
)
from rtsim.report.clinical.letters import width_of
from rtsim.report.clinical.session import ReportCurve

LEAST = {"deg": 20.0, "N m/kg": 0.5, "W/kg": 1.0, "body weight": 0.5, "%": 2.0, "mm": 1.0, "N": 20.0}
"""Shortest ordinate worth showing."""
Box = tuple[float, float, float, float]
AXIS, TOP, BOTTOM = 96.0, 52.0, 44.0
SMALL = 25.0


class PanelRoom(NamedTuple):
    """Position of the upper left corner and size of a panel on a page [tenths of a mm]."""

    x: float
    y: float
    width: float
    height: float


def draw_panel(
    page: Page, room: PanelRoom, now: ReportCurve, before: ReportCurve | None = None,
    norm: NormCurve | None = None, offs: Mapping[str, float] | None = None, lacks: str = "",
) -> None:  # fmt: skip
    """Draw the panel of one quantity over the gait cycle.

    room : position and size of the panel
    now : curves of the session of the report
    before : curves of an earlier session, drawn dotted
    norm : mean and standard deviation in the norms
    offs : side -> instant of foot off [% of the cycle]
    lacks : why there is no curve, written in an empty panel
    """
    left, right, top, bottom = frame_panel(page, room, now.title, now.unit)
    rows = rows_shown([curve for curve in (now, before) if curve is not None])
    for curve, side in [(c, s) for c in (now, before) if c for s in c.strides]:
        mean, spread = curve.mean(side), curve.deviation(side)
        rows += [mean - spread, mean + spread]
    if norm is not None:
        rows += [norm.mean - norm.deviation, norm.mean + norm.deviation]
    low, high = span_of(rows, LEAST.get(now.unit, 1e-3))
    left_out = incomplete_in_words(now)
    if left_out:  # they stand below the curves
        low -= 0.12 * (high - low)

    up = heights((left, right, top, bottom), (low, high))
    x = left + PERCENT / 100.0 * (right - left)
    marks = [(percent / 100.0, f"{percent}") for percent in range(0, 101, 20)]
    draw_axes(page, (left, right, top, bottom), (low, high), up, (now.up, now.down), marks)
    if norm is not None:
        page.area(x, up(norm.mean - norm.deviation), up(norm.mean + norm.deviation), NORM, 0.75)
    if not any(len(rows) for rows in now.strides.values()):
        words, y = lacks or ("now: not known" if before else "not known"), top + 0.3 * (bottom - top)
        page.text(0.5 * (left + right), y, words, SMALL, SOFT, "middle", room=right - left)
    for side, percent in (offs or {}).items():
        if math.isfinite(percent) and side in now.strides:
            at = left + percent / 100.0 * (right - left)
            page.line(at, top, at, bottom, COLOURS[side], 2.5, DASHES[side] or "4 6")
    for side in SIDES:
        if before is not None and side in before.strides:
            page.curve(x, up(before.mean(side)), COLOURS[side], 3.5, BEFORE_DASHES[side], 0.9)
        if side in now.strides:
            _strides(page, x, up, now, side)
    if left_out:
        wide = min(width_of(left_out, 21.0) + 16.0, right - left)
        page.box(right - wide, bottom - 30.0, wide, 28.0, "#ffffff", 0.85)
        page.text(right - 4.0, bottom - 10.0, left_out, 21.0, SOFT, "end", room=right - left - 12.0)
    page.panels.append(_data(now, before, norm, (left, right, top, bottom)))


def frame_panel(page: Page, room: PanelRoom, title: str, unit: str) -> Box:
    """Write title and unit of a panel; return left, right, top and bottom of the area for its curves [tenths
    of a mm].
    """
    left, right = room.x + AXIS, room.x + room.width - 8.0
    unit_room = width_of(unit, SMALL) + 20.0
    page.text(room.x + 12.0, room.y + 32.0, title, 28.0, bold=True, room=right - room.x - unit_room)
    page.text(right, room.y + 34.0, unit, SMALL, SOFT, "end")
    return left, right, room.y + TOP, room.y + room.height - BOTTOM


def heights(box: Box, span: tuple[float, float]) -> Callable[[FloatArray], FloatArray]:
    """Return a function that converts values of a curve to vertical positions inside the box of a panel; NaN
    for values outside the range `span` of the vertical axis.
    """
    (_, _, top, bottom), (low, high) = box, span

    def up(values: FloatArray) -> FloatArray:
        slack = 1e-6 * (high - low)
        inside = np.where((values >= low - slack) & (values <= high + slack), values, math.nan)
        return np.asarray(bottom - (inside - low) / (high - low) * (bottom - top))

    return up


def rows_shown(curves: Sequence[ReportCurve]) -> list[FloatArray]:
    """Return the curves of single strides, of all sessions and sides, that determine the range of the panel's
    vertical axis, with NaN in place of flagged values that would stretch it.
    """
    drawn = [(curve.strides[side], curve.sound[side]) for curve in curves for side in curve.strides]
    return rows_to_show(drawn, LEAST.get(curves[0].unit, 1e-3))


def incomplete_in_words(curve: ReportCurve) -> str:
    """Return a sentence on how many strides enter the mean of each side, where strides with gaps are left
    out; "" if none is left out.
    """
    n = {side: (curve.n_averaged(side), len(rows)) for side, rows in curve.strides.items()}
    few = [f"{side} {used} of {there}" for side, (used, there) in n.items() if used < there]
    return f"strides in the mean: {', '.join(few)}" if few else ""


def draw_axes(
    page: Page, box: Box, span: tuple[float, float], up: Callable[[FloatArray], FloatArray],
    ends: tuple[str, str], marks: Sequence[tuple[float, str]],
) -> None:  # fmt: skip
    """Draw the frame and the numbers of both axes, and the words beside the upper and the lower end of the
    vertical axis.

    box : left, right, top and bottom of the plot
    span : range of the vertical axis
    up : function from values to vertical positions on the page
    ends : meaning of positive and of negative values, such as flexion and extension
    marks : positions of the numbers on the horizontal axis, as fractions of its length, and their texts
    """
    left, right, top, bottom = box
    for value in ticks(*span):
        y = float(up(np.array([value]))[0])
        page.line(left, y, right, y, SOFT if value == 0.0 else GRID, 2.0 if value == 0.0 else 1.5)
        page.text(left - 8.0, y + 9.0, f"{value:g}", SMALL, SOFT, "end")
    for part, words in marks:
        x = left + part * (right - left)
        page.line(x, bottom, x, bottom + 7.0, SOFT, 1.5)
        page.text(x, bottom + 34.0, words, SMALL, SOFT, "middle")
    page.line(left, top, left, bottom, SOFT, 1.5)
    page.line(left, bottom, right, bottom, SOFT, 1.5)
    room = 0.5 * (bottom - top)
    for words, y, anchor in ((ends[0], top, "end"), (ends[1], bottom, "start")):
        if words:
            page.text(left - AXIS + 22.0, y, words, 23.0, SOFT, anchor, room=room, upright=True)


def _strides(page: Page, x: FloatArray, up, curve: ReportCurve, side: str) -> None:
    """Draw single strides of a side as thin lines, paler where they are flagged, the mean as a thick line,
    and the standard deviation as a band.

    x : horizontal positions of the 101 points on the page
    up : function from values to vertical positions
    """
    colour, rows, sound = COLOURS[side], curve.strides[side], curve.sound[side]
    alone = len(rows) == 1
    for row, good in zip(rows, sound, strict=True):
        page.curve(x, up(row), colour, 1.5, THIN_DASHES[side], 0.45)
        if not alone:
            page.curve(x, up(np.where(good, row, math.nan)), colour, 1.5, THIN_DASHES[side], 0.5)
    mean, deviation = curve.mean(side), curve.deviation(side)
    page.area(x, up(mean - deviation), up(mean + deviation), colour, 0.14)
    page.curve(x, up(mean), colour, 5.0, DASHES[side])


def _data(
    now: ReportCurve,
    before: ReportCurve | None,
    norm: NormCurve | None,
    box: Box,
) -> dict:
    """Return the numbers of a panel (title, unit, place on the page, mean and deviation of each curve) for
    the script that shows them when a reader points at the panel.
    """
    series = []
    for label, curve in (("", now), ("before", before)):
        for side in SIDES:
            if curve is not None and side in curve.strides:
                mean = curve.mean(side)
                series.append(
                    {
                        "name": f"{side} {label}".strip(), "colour": COLOURS[side],
                        "mean": numbers(mean), "sd": numbers(curve.deviation(side)),
                        **_without_mean(curve.strides[side], mean),
                    }
                )  # fmt: skip
    if norm is not None:
        series.append(
            {"name": "norm", "colour": SOFT, "mean": numbers(norm.mean), "sd": numbers(norm.deviation)}
        )
    return {"title": now.title, "unit": now.unit, "box": [round(v, 1) for v in box], "series": series}


def _without_mean(rows: FloatArray, mean: FloatArray) -> dict[str, list[float | None]]:
    """Return the smallest and the largest value over the strides (n_stride, 101) at points without a mean;
    {} if there are none.
    """
    known = np.isfinite(rows) & ~np.isfinite(mean)
    if not known.any():
        return {}
    low, high = np.where(known, rows, math.inf).min(axis=0), np.where(known, rows, -math.inf).max(axis=0)
    return {"low": numbers(low), "high": numbers(high)}


def numbers(values: FloatArray) -> list[float | None]:
    """Return the values of a curve as numbers for JSON, with None in place of NaN."""
    return [round(float(v), 4) if math.isfinite(v) else None for v in values]


def legend(
    page: Page, x: float, y: float, sides: Sequence[str], before: str, norms: str, several: bool = True,
    bands: bool = True,
) -> None:  # fmt: skip
    """Draw the legend: the meaning of the horizontal axis, the lines and the bands, in one or two rows.

    before : text for curves of the earlier session; "" = there are none
    norms : whether norms are drawn; "" = no
    several : whether a side has several strides
    bands : whether a mean has several strides, and so a band
    """
    for side in sides:
        page.curve(np.array([x, x + 70.0]), np.array([y, y]), COLOURS[side], 5.0, DASHES[side])
        page.text(x + 82.0, y + 9.0, side, 27.0, INK)
        x += 200.0
    words = [
        "abscissa: % of the gait cycle",
        "thin lines: single strides, paler where flagged" if several else "pale lines: flagged",
        "vertical line: foot off",
    ]
    words += ["band: ± 1 SD over complete strides"] if bands else []
    words += [f"dotted (left side dash-dotted): {before}"] if before else []
    words += ["grey: norms, mean ± 1 SD"] if norms else []
    page.text(x, y + 9.0, "; ".join(words[:3]), 23.0, SOFT, room=WIDTH - MARGIN - x)
    if len(words) > 3:
        page.text(x, y + 42.0, "; ".join(words[3:]), 23.0, SOFT, room=WIDTH - MARGIN - x)
