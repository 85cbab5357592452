"""The key of a figure, below its title: a list of line samples, bands and shades with their meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rtsim.files.tables.legs import SIDES
from rtsim.files.tables.panels import DEVIATION, RANGE

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.files.tables.panels import FigurePanel

KEY_LINE, SAMPLE, APART = 18.0, 26.0, 22.0  # px: of each line, a piece of a line in it, between entries
FLAGGED, STRIKE, OFF, GAP_ENDS = (
    "flagged frames", "foot strike", "foot off", "ends of a gap in the data",
)  # fmt: skip


BANDS = (DEVIATION, RANGE)


def key_of(panels: Sequence[FigurePanel]) -> list[str]:
    """Return the texts that explain the lines, bands and shades of these panels in the key of a figure."""
    from rtsim.monitor.figures.chart import has_gaps

    sides = {side for panel in panels for side in (panel.sides or {}).values()}
    found = [side for side in SIDES if side in sides]
    rows = {
        **{band: any(panel.deviations and panel.band == band for panel in panels) for band in BANDS},
        FLAGGED: any(panel.flagged is not None and panel.flagged.any() for panel in panels),
        STRIKE: any(mark[2] for panel in panels for mark in panel.marks),
        OFF: any(not mark[2] for panel in panels for mark in panel.marks),
        GAP_ENDS: any(has_gaps(panel) for panel in panels),
    }
    return [*found, *(words for words, there in rows.items() if there)]


def key_lines(key: Sequence[str], room: float) -> list[list[str]]:
    """Wrap the entries of the key into lines of a given width [px]."""
    lines: list[list[str]] = []
    taken = room
    for words in key:
        wide = entry_width(words)
        if taken + wide > room:
            lines.append([])
            taken = 0.0
        lines[-1].append(words)
        taken += wide + APART
    return lines


def entry_width(words: str) -> float:
    """Return the width of an entry of the key, line sample and text [px]."""
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.figures.chart import GAP, NAME, font_of

    return SAMPLE + GAP + QFontMetricsF(font_of(NAME)).horizontalAdvance(words)


def paint_key(painter: QPainter, lines: Sequence[Sequence[str]], left: float, top: float) -> None:
    """Draw the lines of a key from a position [px]."""
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QColor, QFontMetricsF

    from rtsim.monitor.figures.chart import GAP, NAME, font_of
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(NAME))
    metrics = QFontMetricsF(painter.font())
    for k, line in enumerate(lines):
        x, y = left, top + KEY_LINE * (k + 0.5)
        for words in line:
            paint_sample(painter, words, x, y)
            painter.setPen(QColor(LIGHT.text))
            painter.drawText(QPointF(x + SAMPLE + GAP, y + 0.5 * metrics.xHeight()), words)
            x += entry_width(words) + APART


def paint_sample(painter: QPainter, words: str, x: float, y: float) -> None:
    """Draw the line, band or shade that an entry of the key explains: SAMPLE px wide from x on, centred at
    the height y [px]. words : text of the entry
    """
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen

    from rtsim.monitor.figures.chart import MARKED, RING, paint_rings, side_pen
    from rtsim.monitor.figures.outline import ALPHA
    from rtsim.monitor.theme import LIGHT

    box, middle = QRectF(x, y - 5.0, SAMPLE, 10.0), x + 0.5 * SAMPLE
    colour = QColor(LIGHT.stick)
    if words in BANDS:
        colour.setAlpha(ALPHA)
        painter.fillRect(box, colour)
    elif words == FLAGGED:
        painter.fillRect(box, QColor(LIGHT.degraded_fill))
    elif words in (STRIKE, OFF):
        colour.setAlpha(MARKED)
        style = Qt.PenStyle.SolidLine if words == STRIKE else Qt.PenStyle.DotLine
        painter.setPen(QPen(colour, 1.0, style))
        painter.drawLine(QPointF(middle, y - 6.0), QPointF(middle, y + 6.0))
    elif words == GAP_ENDS:
        painter.setPen(side_pen(""))
        ends = [QPointF(middle - 2.5 * RING, y), QPointF(middle + 2.5 * RING, y)]
        painter.drawLine(QPointF(x, y), ends[0])
        painter.drawLine(ends[1], QPointF(x + SAMPLE, y))
        paint_rings(painter, ends)
    else:
        painter.setPen(side_pen(words))
        painter.drawLine(QPointF(x, y), QPointF(x + SAMPLE, y))
