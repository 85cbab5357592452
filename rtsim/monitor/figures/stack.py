"""A figure: panels of curves above each other, in the colours of the monitor, drawn on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.tables.legs import SIDES
from rtsim.monitor.figures.paper import PX_PER_MM, Paper, draw_on, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.files.tables.panels import FigurePanel

WIDTH = 1000.0  # px at 96 per inch, where the size is not given
PLOT_HEIGHT, LONE_HEIGHT = 125.0, 520.0  # px of a panel among others, and alone
MARGIN, HEAD, BETWEEN = 12.0, 26.0, 4.0  # px
KEY, SAMPLE = 18.0, 26.0  # px: room of the key of legs, and a piece of a line in it
FOOT, LINE = 10.0, 15.0  # px: above the notes, and of each line
TITLE, TITLE_LEAST = 14.0, 7.0  # px
PLOT_LEAST = 120.0  # px; a narrower plot is not worth looking at


class PanelRow(NamedTuple):
    """Panels side by side; below : with the numbers and the title of their abscissa."""

    panels: list[FigurePanel]
    below: bool


def save_panels(paper: Paper, title: str, panels: Sequence[FigurePanel], notes: Sequence[str] = ()) -> None:
    """Save panels as a figure, notes at its foot; ConfigError where the paper is too small for them or cannot
    be written.
    """
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor, QFontMetricsF

    from rtsim.monitor.figures.chart import LEFT, NAME, NAME_LEAST, Chart, font_of, height_least, names_width
    from rtsim.monitor.theme import LIGHT

    rows, sides = rows_of(panels), sides_of(panels)
    n_cell = max((len(row.panels) for row in rows), default=1)
    names = max((names_width(panel) for panel in panels), default=0.0)
    least = [max(height_least(panel, row.below, NAME_LEAST) for panel in row.panels) for row in rows]
    usual = LONE_HEIGHT if len(panels) == 1 else PLOT_HEIGHT
    wanted = [
        max(usual, *(height_least(panel, row.below) for panel in row.panels)) + 30.0 * row.below
        for row in rows
    ]
    wide, high = paper.size
    width = WIDTH if wide is None else wide
    foot = folded(notes, width - 2.0 * MARGIN)
    key = KEY if sides else 0.0
    under = FOOT + LINE * len(foot) if foot else 0.0
    around = 2.0 * MARGIN + HEAD + key + BETWEEN * max(0, len(rows) - 1) + under
    height = around + sum(wanted) if high is None else high
    need = (2.0 * MARGIN + n_cell * (LEFT + PLOT_LEAST + names), around + sum(least))
    if width < need[0] or height < need[1]:
        wide, high = (math.ceil(px / PX_PER_MM) for px in need)
        raise ConfigError(
            f"{len(panels)} panels with their names need {wide} x {high} mm",
            where="--plot-size",
            remedy="choose more, or draw fewer curves",
        )
    spare = (height - around - sum(least)) / max(1e-9, sum(wanted) - sum(least))

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
        font = font_of(title_size(title, width - 2.0 * MARGIN), bold=True)
        head = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(QPointF(MARGIN, MARGIN + head.ascent()), title)
        paint_key(painter, sides, MARGIN + HEAD)
        y = MARGIN + HEAD + key
        for row, small, large in zip(rows, least, wanted, strict=True):
            tall = small + spare * (large - small)
            each = (width - 2.0 * MARGIN) / (n_cell if row.panels[0].row else 1)
            for k, panel in enumerate(row.panels):
                box = QRectF(MARGIN + k * each, y, each, tall)
                Chart(panel, box, names if not panel.row else names_width(panel), row.below).paint(painter)
            y += tall + BETWEEN
        painter.setFont(font_of(NAME))
        painter.setPen(QColor(LIGHT.text))
        for k, line in enumerate(foot):
            painter.drawText(QPointF(MARGIN, y + FOOT + LINE * (k + 0.5)), line)

    draw_on(paper, width, height, title, draw)


def rows_of(panels: Sequence[FigurePanel]) -> list[PanelRow]:
    """Panels by their rows; an abscissa has numbers where nothing stands below that shares it."""
    rows: list[list[FigurePanel]] = []
    for panel in panels:
        if panel.row and rows and rows[-1][0].row == panel.row:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    last = last_common(panels)
    below = [
        row[0].enlarged
        or row[-1] is panels[last]
        or (bool(row[0].row) and len(row) > len(after))
        or (bool(row[0].row) != bool(after[0].row))
        for row, after in zip(rows, [*rows[1:], rows[-1]], strict=True)
    ]
    return [PanelRow(row, one) for row, one in zip(rows, below, strict=True)]


def sides_of(panels: Sequence[FigurePanel]) -> list[str]:
    """Right and left, as far as curves of these legs are there."""
    there = {side for panel in panels for side in (panel.sides or {}).values()}
    return [side for side in SIDES if side in there]


def paint_key(painter: QPainter, sides: Sequence[str], y: float) -> None:
    """How the curves of the legs are drawn, in a line at a height [px]."""
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QColor, QFontMetricsF

    from rtsim.monitor.figures.chart import GAP, NAME, font_of, side_pen
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(NAME))
    metrics, x = QFontMetricsF(painter.font()), MARGIN
    for side in sides:
        painter.setPen(side_pen(side))
        painter.drawLine(QPointF(x, y), QPointF(x + SAMPLE, y))
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(QPointF(x + SAMPLE + GAP, y + 0.5 * metrics.xHeight()), side)
        x += SAMPLE + 4.0 * GAP + metrics.horizontalAdvance(side)


def folded(notes: Sequence[str], room: float) -> list[str]:
    """Notes in lines that fit into a room [px]."""
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.figures.chart import NAME, font_of

    metrics, lines = QFontMetricsF(font_of(NAME)), []
    for note in notes:
        line = ""
        for word in note.split():
            longer = f"{line} {word}".strip()
            if line and metrics.horizontalAdvance(longer) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def title_size(title: str, room: float) -> float:
    """The usual size of a title [px], or the smaller one at which it fits into its room [px]."""
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.figures.chart import font_of

    size = TITLE
    while size > TITLE_LEAST and QFontMetricsF(font_of(size, bold=True)).horizontalAdvance(title) > room:
        size -= 1.0
    return size


def last_common(panels: Sequence[FigurePanel]) -> int:
    """The lowest of the panels that share their abscissa."""
    return max((k for k, panel in enumerate(panels) if not panel.enlarged), default=-1)
