"""Drawing of a figure that consists of panels with curves, in the colours of the monitor, on as many pages as
necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.monitor.figures.key import KEY_LINE, paint_key
from rtsim.monitor.figures.pages import BETWEEN, FOOT, HEAD, LINE, MARGIN, FigurePage, pages_of, size_of_pages
from rtsim.monitor.figures.paper import Paper, draw_pages, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.files.tables.panels import FigurePanel

TITLE, TITLE_LEAST = 14.0, 7.0  # px


def save_panels(
    paper: Paper, title: str, panels: Sequence[FigurePanel], notes: Sequence[str] = ()
) -> list[Path]:
    """Save panels as a figure with notes at the foot, on pages of the size that `paper` states; return the
    files.

    ConfigError if the page is too small for a row of panels or a file cannot be written.
    """
    ready_to_draw()
    pages = pages_of(paper, panels, notes)
    size = size_of_pages(paper)
    titles = [title if len(pages) == 1 else f"{title} (page {k + 1} of {len(pages)})"
              for k in range(len(pages))]  # fmt: skip
    draws = [partial(paint_page, page=page, title=words, size=size)
             for page, words in zip(pages, titles, strict=True)]  # fmt: skip
    return draw_pages(paper, *size, title, draws)


def paint_page(painter: QPainter, page: FigurePage, title: str, size: tuple[float, float]) -> None:
    """Draw the panels, key and notes of a page of a size [px]."""
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor, QFontMetricsF

    from rtsim.monitor.figures.chart import NAME, Chart, font_of, names_width
    from rtsim.monitor.theme import LIGHT

    width, height = size
    painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
    painter.setFont(font_of(title_size(title, width - 2.0 * MARGIN), bold=True))
    painter.setPen(QColor(LIGHT.text))
    painter.drawText(QPointF(MARGIN, MARGIN + QFontMetricsF(painter.font()).ascent()), title)
    paint_key(painter, page.key, MARGIN, MARGIN + HEAD - 2.0)
    y = MARGIN + HEAD + KEY_LINE * len(page.key)
    for n, (row, tall) in enumerate(zip(page.rows, page.heights, strict=True)):
        each = (width - 2.0 * MARGIN) / (page.columns if row.panels[0].row else 1)
        for k, panel in enumerate(row.panels):
            box = QRectF(MARGIN + k * each, y, each, tall)
            names = page.names if not panel.row else names_width(panel)
            Chart(panel, box, names, row.below, lettered=n == 0).paint(painter)
        y += tall + BETWEEN
    painter.setFont(font_of(NAME))
    painter.setPen(QColor(LIGHT.text))
    for k, line in enumerate(page.notes):
        painter.drawText(QPointF(MARGIN, y + FOOT + LINE * (k + 0.5)), line)


def title_size(title: str, room: float) -> float:
    """Return the usual size of a title [px], or the smaller size at which it fits into the available width
    [px].
    """
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.figures.chart import font_of

    size = TITLE
    while size > TITLE_LEAST and QFontMetricsF(font_of(size, bold=True)).horizontalAdvance(title) > room:
        size -= 1.0
    return size
