"""A figure: panels of curves above each other, in the colours of the monitor, drawn on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError
from rtsim.monitor.paper import PX_PER_MM, Paper, draw_on, ready_to_draw

if TYPE_CHECKING:
    from rtsim.files.panels import Panel

WIDTH = 1000.0  # px at 96 per inch, where the size is not given
PLOT_HEIGHT, LONE_HEIGHT = 125.0, 520.0  # px of a panel among others, and alone
MARGIN, HEAD, BETWEEN = 12.0, 26.0, 4.0  # px
TITLE, TITLE_LEAST = 14.0, 7.0  # px
PLOT_LEAST = 120.0  # px; a narrower plot is not worth looking at


def save_panels(paper: Paper, title: str, panels: Sequence[Panel]) -> None:
    """Save panels as a figure; ConfigError where the paper is too small for them or cannot be written."""
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor, QFontMetricsF, QPainter

    from rtsim.monitor.chart import LEFT, NAME_LEAST, Chart, font_of, height_least, names_width
    from rtsim.monitor.theme import LIGHT

    titled = [panel.enlarged or k == last_common(panels) for k, panel in enumerate(panels)]
    shapes = list(zip(panels, titled, strict=True))
    names = max((names_width(panel) for panel in panels), default=0.0)
    least = [height_least(panel, below, NAME_LEAST) for panel, below in shapes]
    usual = LONE_HEIGHT if len(panels) == 1 else PLOT_HEIGHT
    wanted = [max(usual, height_least(panel, below)) + 30.0 * below for panel, below in shapes]
    around = 2.0 * MARGIN + HEAD + BETWEEN * max(0, len(panels) - 1)
    width, height = paper.size
    width = WIDTH if width is None else width
    height = around + sum(wanted) if height is None else height
    need = (2.0 * MARGIN + LEFT + PLOT_LEAST + names, around + sum(least))
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
        y = MARGIN + HEAD
        for (panel, below), low, high in zip(shapes, least, wanted, strict=True):
            tall = low + spare * (high - low)
            Chart(panel, QRectF(MARGIN, y, width - 2.0 * MARGIN, tall), names, below).paint(painter)
            y += tall + BETWEEN

    draw_on(paper, width, height, title, draw)


def title_size(title: str, room: float) -> float:
    """The usual size of a title [px], or the smaller one at which it fits into its room [px]."""
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.chart import font_of

    size = TITLE
    while size > TITLE_LEAST and QFontMetricsF(font_of(size, bold=True)).horizontalAdvance(title) > room:
        size -= 1.0
    return size


def last_common(panels: Sequence[Panel]) -> int:
    """The lowest of the panels that share their abscissa."""
    return max((k for k, panel in enumerate(panels) if not panel.enlarged), default=-1)
