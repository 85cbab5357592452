"""A figure of a parameter search (tuning): expected cost and its standard deviation over two parameters, with
the settings that were tried and the best one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw
from rtsim.monitor.plots.scaling import nice_step
from rtsim.tuning.landscape import Landscape

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QPainter

Array = NDArray[np.float64]

WIDTH, HEIGHT, MARGIN, HEAD = 980.0, 420.0, 14.0, 44.0  # px at 96 per inch
LEFT, BOTTOM, BAR, BAR_GAP, NUMBERS = 62.0, 46.0, 16.0, 12.0, 58.0
HEAT = ((0.27, 0.00, 0.33), (0.23, 0.32, 0.55), (0.13, 0.57, 0.55), (0.37, 0.79, 0.38), (0.99, 0.91, 0.14))
"""Viridis at five places, from low to high: red, green, blue."""
LINES = 5
"""Numbers along an axis or a bar, about."""


def save_landscape(paper: Paper, shown: Landscape) -> None:
    """Save the figure of a parameter search, maps of expected cost and its deviation, to the file of
    `paper`.
    """
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.figures.stack import title_size
    from rtsim.monitor.theme import LIGHT

    width, height = paper.size[0] or WIDTH, paper.size[1] or HEIGHT

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
        painter.setPen(QColor(LIGHT.text))
        painter.setFont(font_of(title_size(shown.title, width - 2.0 * MARGIN), bold=True))
        painter.drawText(QPointF(MARGIN, MARGIN + 12.0), shown.title)
        painter.setFont(font_of(11.0))
        held = f"; {shown.held}" if shown.held else ""
        words = f"{len(shown.tried)} settings tried (dots), the best one (cross){held}"
        painter.drawText(QPointF(MARGIN, MARGIN + 28.0), words)
        half = 0.5 * (width - MARGIN)
        maps = (("expected cost", shown.mean), ("its standard deviation", shown.deviation))
        for k, (name, values) in enumerate(maps):
            room = QRectF(MARGIN + k * half, HEAD + MARGIN, half - MARGIN, height - HEAD - 2.0 * MARGIN)
            paint_map(painter, room, name, values, shown)

    draw_on(paper, width, height, shown.title, draw)


def paint_map(painter: QPainter, room: QRectF, name: str, values: Array, shown: Landscape) -> None:
    """Draw one map over two parameters with its axes, colour bar and the settings that were tried.

    name : title of the map, such as expected cost
    values : (n, n) values, the first axis of the array horizontal
    """
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(11.0))
    painter.setPen(QColor(LIGHT.text))
    painter.drawText(QPointF(room.left() + LEFT, room.top() + 10.0), name)
    plot = QRectF(
        room.left() + LEFT, room.top() + 18.0,
        room.width() - LEFT - BAR - BAR_GAP - NUMBERS, room.height() - 18.0 - BOTTOM,
    )  # fmt: skip
    low, high = float(values.min()), float(values.max())
    span = high - low if high > low else 1.0
    n = len(values)
    across, up = plot.width() / n, plot.height() / n
    painter.setRenderHint(painter.RenderHint.Antialiasing, False)  # else cells have seams
    for i in range(n):
        for j in range(n):
            cell = QRectF(plot.left() + i * across, plot.bottom() - (j + 1) * up, across + 0.5, up + 0.5)
            painter.fillRect(cell, QColor(*colour((values[i, j] - low) / span)))
    bar = QRectF(plot.right() + BAR_GAP, plot.top(), BAR, plot.height())
    for j in range(n):
        cell = QRectF(bar.left(), bar.bottom() - (j + 1) * up, BAR, up + 0.5)
        painter.fillRect(cell, QColor(*colour(j / (n - 1))))
    painter.setRenderHint(painter.RenderHint.Antialiasing, True)
    painter.setPen(QColor(LIGHT.text))
    for value in ticks(low, high):
        y = bar.bottom() - (value - low) / span * bar.height()
        painter.drawText(QPointF(bar.right() + 5.0, y + 4.0), f"{value:.4g}")
    for value in ticks(shown.low[0], shown.high[0]):
        x = plot.left() + (value - shown.low[0]) / (shown.high[0] - shown.low[0]) * plot.width()
        box = QRectF(x - 40.0, plot.bottom() + 3.0, 80.0, 16.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, f"{value:.4g}")
    for value in ticks(shown.low[1], shown.high[1]):
        y = plot.bottom() - (value - shown.low[1]) / (shown.high[1] - shown.low[1]) * plot.height()
        box = QRectF(plot.left() - LEFT, y - 8.0, LEFT - 5.0, 16.0)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{value:.4g}")
    below = QRectF(plot.left(), plot.bottom() + 20.0, plot.width(), 18.0)
    painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, shown.names[0])
    painter.save()
    painter.translate(room.left() + 10.0, plot.center().y())
    painter.rotate(-90.0)
    painter.drawText(QRectF(-120.0, -10.0, 240.0, 18.0), Qt.AlignmentFlag.AlignHCenter, shown.names[1])
    painter.restore()

    def at(point: Array) -> QPointF:
        part = (point - shown.low) / (shown.high - shown.low)
        return QPointF(plot.left() + part[0] * plot.width(), plot.bottom() - part[1] * plot.height())

    painter.setPen(QPen(QColor("black"), 0.8))
    painter.setBrush(QColor("white"))
    for point in shown.tried:
        painter.drawEllipse(at(point), 3.0, 3.0)
    cross = at(shown.best)
    for pen in (QPen(QColor("white"), 5.0), QPen(QColor(LIGHT.residual), 2.5)):
        painter.setPen(pen)
        for dx, dy in ((7.0, 7.0), (7.0, -7.0)):
            painter.drawLine(cross - QPointF(dx, dy), cross + QPointF(dx, dy))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def ticks(low: float, high: float) -> Array:
    """Return round numbers between low and high as positions of ticks."""
    step = nice_step(max(high - low, 1e-12), LINES)
    return np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1.0) * step + 0.0


def colour(part: float) -> tuple[int, int, int]:
    """Return the colour (red, green, blue; 0 to 255) for a value of a map, given as a fraction of the
    range.
    """
    at = float(np.clip(part, 0.0, 1.0)) * (len(HEAT) - 1)
    colours = np.array(HEAT)
    red, green, blue = (
        round(255.0 * float(np.interp(at, np.arange(len(HEAT)), colours[:, k]))) for k in range(3)
    )
    return red, green, blue
