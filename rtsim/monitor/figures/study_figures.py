"""Figures of a parameter study, one page each: tornado (influence of each parameter on a result), heat map
(means over two parameters) and bands (spread of curves over the cases).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rtsim.monitor.figures.landscape import colour, ticks
from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw
from rtsim.studies.summary import BandPanel, HeatPanel, StudySummary, TornadoPanel

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QPainter

WIDTH, MARGIN, HEAD = 900.0, 14.0, 26.0  # px at 96 per inch
LEFT, RIGHT, TOP, BOTTOM = 150.0, 90.0, 22.0, 38.0
ROW, HEAT_HEIGHT, BAND_HEIGHT = 20.0, 260.0, 200.0
MOST_BARS = 20
"""Bars of a panel; those beyond are of parameters that matter less than all of these."""
MOST_PANELS = 12


def save_tornado(paper: Paper, shown: StudySummary) -> None:
    """Save the tornado figure of a study: for each result, bars of the influence of the parameters on it."""
    panels = [panel for panel in shown.tornados if panel.bars][:MOST_PANELS]
    heights = [TOP + BOTTOM + ROW * min(len(panel.bars), MOST_BARS) for panel in panels]
    save_panels(
        paper, f"{shown.name}: influence of the parameters on the result", panels, heights, paint_tornado
    )


def save_heat(paper: Paper, shown: StudySummary) -> None:
    """Save the heat maps of a study: for each result, its mean over the two parameters that matter most."""
    panels = shown.heats[:MOST_PANELS]
    title = f"{shown.name}: mean result over the two most influential parameters"
    save_panels(paper, title, panels, [HEAT_HEIGHT] * len(panels), paint_heat)


def save_bands(paper: Paper, shown: StudySummary) -> None:
    """Save the bands of a study: for each curve, the range of all cases, that of nine tenths of them, and the
    median.
    """
    panels = shown.bands[:MOST_PANELS]
    title = f"{shown.name}: all cases (light), 90 % of them (dark), median (line)"
    save_panels(paper, title, panels, [BAND_HEIGHT] * len(panels), paint_bands)


def save_panels(
    paper: Paper, title: str, panels: Sequence[Any], heights: Sequence[float],
    paint: Callable[[QPainter, QRectF, Any], None],
) -> None:  # fmt: skip
    """Save the panels of a study, one below the other on one page.

    heights : usual heights of the panels [px], scaled to the page
    paint : function that draws a panel in a rectangle
    """
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.figures.stack import title_size
    from rtsim.monitor.theme import LIGHT

    width = paper.size[0] or WIDTH
    height = paper.size[1] or 2.0 * MARGIN + HEAD + sum(heights)

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
        painter.setRenderHint(painter.RenderHint.Antialiasing, True)
        painter.setPen(QColor(LIGHT.text))
        painter.setFont(font_of(title_size(title, width - 2.0 * MARGIN), bold=True))
        painter.drawText(QPointF(MARGIN, MARGIN + 12.0), title)
        top, scale = MARGIN + HEAD, (height - 2.0 * MARGIN - HEAD) / max(sum(heights), 1.0)
        for panel, tall in zip(panels, heights, strict=True):
            paint(painter, QRectF(MARGIN, top, width - 2.0 * MARGIN, tall * scale), panel)
            top += tall * scale

    draw_on(paper, width, height, title, draw)


def plot_of(painter: QPainter, room: QRectF, title: str) -> QRectF:
    """Paint the title of a panel; return the rectangle that remains for its plot."""
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(11.0, bold=True))
    painter.setPen(QColor(LIGHT.text))
    painter.drawText(QPointF(room.left() + LEFT, room.top() + 14.0), title)
    painter.setFont(font_of(11.0))
    return QRectF(
        room.left() + LEFT, room.top() + TOP, room.width() - LEFT - RIGHT, room.height() - TOP - BOTTOM
    )


def axis_below(painter: QPainter, plot: QRectF, low: float, high: float, words: str) -> None:
    """Draw the vertical grid lines of a plot, and below it their numbers and the title `words`."""
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor

    from rtsim.monitor.theme import LIGHT

    for value in ticks(low, high):
        x = plot.left() + (value - low) / (high - low) * plot.width()
        painter.setPen(QColor(LIGHT.grid))
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        painter.setPen(QColor(LIGHT.text_dim))
        box = QRectF(x - 40.0, plot.bottom() + 2.0, 80.0, 14.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, f"{value:.4g}")
    painter.setPen(QColor(LIGHT.text))
    below = QRectF(plot.left(), plot.bottom() + 16.0, plot.width(), 16.0)
    painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, words)


def paint_tornado(painter: QPainter, room: QRectF, panel: TornadoPanel) -> None:
    """Draw for one result the bars of the influence of each parameter, the longest at the top."""
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen

    from rtsim.monitor.theme import LIGHT

    bars = panel.bars[:MOST_BARS]
    ends = [x for bar in bars for x in (bar.start, bar.stop, *bar.marks) if math.isfinite(x)] + [panel.zero]
    low, high = min(ends), max(ends)
    spread = (high - low) or abs(high) or 1.0
    low, high = (low if low == panel.zero else low - 0.05 * spread), high + 0.05 * spread
    plot = plot_of(painter, room, panel.title)
    axis_below(painter, plot, low, high, panel.axis)
    tall = plot.height() / len(bars)

    def at(value: float) -> float:
        return plot.left() + (value - low) / (high - low) * plot.width()

    for k, bar in enumerate(bars):
        top = plot.top() + k * tall
        painter.setPen(QColor(LIGHT.text))
        label = QRectF(room.left(), top, LEFT - 8.0, tall)
        painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, bar.name)
        if not (math.isfinite(bar.start) and math.isfinite(bar.stop)):
            continue
        for start, stop, fill in (
            (panel.zero, bar.start, LIGHT.curves[1]),
            (panel.zero, bar.stop, LIGHT.model),
        ):
            left, right = sorted((at(start), at(stop)))
            painter.fillRect(QRectF(left, top + 0.2 * tall, right - left, 0.6 * tall), QColor(fill))
        painter.setPen(QPen(QColor(LIGHT.text), 1.2))
        if bar.marks:
            y = top + 0.5 * tall
            painter.drawLine(QPointF(at(bar.marks[0]), y), QPointF(at(bar.marks[1]), y))
            for x in map(at, bar.marks):
                painter.drawLine(QPointF(x, y - 3.0), QPointF(x, y + 3.0))
    painter.setPen(QPen(QColor(LIGHT.text), 1.0))
    painter.drawLine(QPointF(at(panel.zero), plot.top()), QPointF(at(panel.zero), plot.bottom()))
    if bars[0].words[0]:
        painter.setPen(QColor(LIGHT.curves[1]))
        painter.drawText(QPointF(plot.right() + 8.0, plot.top() + 10.0), "lowest")
        painter.setPen(QColor(LIGHT.model))
        painter.drawText(QPointF(plot.right() + 8.0, plot.top() + 24.0), "highest")


def paint_heat(painter: QPainter, room: QRectF, panel: HeatPanel) -> None:
    """Draw the means of a result over two parameters of a study, with a colour bar; a cell without a mean
    stays white.
    """
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor

    from rtsim.monitor.theme import LIGHT

    plot = plot_of(painter, room, panel.title)
    known = panel.values[np.isfinite(panel.values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    span = high - low if high > low else 1.0
    n_x, n_y = panel.values.shape
    across, up = plot.width() / n_x, plot.height() / n_y
    centre = Qt.AlignmentFlag.AlignCenter
    painter.setRenderHint(painter.RenderHint.Antialiasing, False)  # else cells have seams
    for i in range(n_x):
        for j in range(n_y):
            value = panel.values[i, j]
            cell = QRectF(plot.left() + i * across, plot.bottom() - (j + 1) * up, across + 0.5, up + 0.5)
            if math.isfinite(value):
                painter.fillRect(cell, QColor(*colour((value - low) / span)))
                if across > 44.0 and up > 14.0:
                    painter.setPen(QColor("black" if (value - low) / span > 0.6 else "white"))
                    painter.drawText(cell, centre, f"{value:.4g}")
    painter.setRenderHint(painter.RenderHint.Antialiasing, True)
    painter.setPen(QColor(LIGHT.text))
    every = max(1, math.ceil(60.0 / across))
    for i in range(0, n_x, every):
        box = QRectF(plot.left() + i * across, plot.bottom() + 2.0, across, 14.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextDontClip, panel.levels[0][i])
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for j in range(0, n_y, max(1, math.ceil(14.0 / up))):
        box = QRectF(room.left(), plot.bottom() - (j + 1) * up, LEFT - 6.0, up)
        painter.drawText(box, right, panel.levels[1][j])
    below = QRectF(plot.left(), plot.bottom() + 16.0, plot.width(), 16.0)
    painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, panel.names[0])
    painter.drawText(QPointF(room.left(), plot.top() + 10.0), panel.names[1])
    for k in range(100):
        tall = plot.height() / 100.0
        bar = QRectF(plot.right() + 12.0, plot.bottom() - (k + 1) * tall, 14.0, tall + 0.5)
        painter.fillRect(bar, QColor(*colour(k / 99.0)))
    for value, y in ((high, plot.top() + 8.0), (low, plot.bottom())):
        painter.drawText(QPointF(plot.right() + 30.0, y), f"{value:.4g}")


def paint_bands(painter: QPainter, room: QRectF, panel: BandPanel) -> None:
    """Draw the quantiles of a curve over the cases of a study, over time."""
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen, QPolygonF

    from rtsim.monitor.theme import LIGHT

    plot = plot_of(painter, room, panel.title)
    there = np.isfinite(panel.values).all(axis=0)
    axis_below(painter, plot, 0.0, 100.0, "part of the time [%]")
    if not there.any():
        return
    part, values = panel.part[there], panel.values[:, there]
    low, high = float(values.min()), float(values.max())
    spread = (high - low) or abs(high) or 1.0
    low, high = low - 0.05 * spread, high + 0.05 * spread

    def line(row: int) -> list[QPointF]:
        return [
            QPointF(plot.left() + x * plot.width(), plot.bottom() - (y - low) / (high - low) * plot.height())
            for x, y in zip(part.tolist(), values[row].tolist(), strict=True)
        ]

    for value in ticks(low, high):
        y = plot.bottom() - (value - low) / (high - low) * plot.height()
        painter.setPen(QColor(LIGHT.grid))
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        painter.setPen(QColor(LIGHT.text_dim))
        box = QRectF(room.left(), y - 8.0, LEFT - 6.0, 16.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{value:.4g}")
    fill = QColor(LIGHT.model)
    painter.setPen(Qt.PenStyle.NoPen)
    for below, above, opacity in ((0, 4, 0.18), (1, 3, 0.30)):
        fill.setAlphaF(opacity)
        painter.setBrush(fill)
        painter.drawPolygon(QPolygonF([*line(below), *reversed(line(above))]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(LIGHT.model), 1.6))
    painter.drawPolyline(QPolygonF(line(2)))
