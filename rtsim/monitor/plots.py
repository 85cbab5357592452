"""What the plots have in common: axes, colours, headers, a grid, and shaded bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout

from rtsim.monitor.scaling import nice_step
from rtsim.monitor.theme import LIGHT, Theme

Spans = list[tuple[float, float]]

CURVE_WIDTH = 1.6  # px
AXIS_WIDTH = 44  # px; the same for all plots, so that their time axes stand above each other
AXIS_HEIGHT, AXIS_HEIGHT_TITLED = 17, 31  # px
SMALL_PIXELS = 10


class Backdrop(pg.GraphicsObject):
    """What lies behind the curves: a grid, and full-height bands over intervals of the x axis."""

    def __init__(self) -> None:
        super().__init__()
        self.bands: list[tuple[Spans, QColor]] = []
        self._pen = QPen()
        self._step = (1.0, 1.0)
        self.setZValue(-100)

    def set_bands(self, bands: list[tuple[Spans, QColor]]) -> None:
        """Intervals [x units] with their colour."""
        if any(where for where, _ in bands + self.bands):
            self.bands = bands
            self.update()

    def set_grid(self, step: tuple[float, float], colour: str) -> None:
        """Distance of the grid lines along x and y."""
        self._step, self._pen = step, pg.mkPen(colour, width=1)
        self.update()

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else QRectF(box.viewRect())

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()

    def paint(self, painter: QPainter, *_: object) -> None:
        view = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(self._pen)
        for x in _multiples(self._step[0], view.left(), view.right()):
            painter.drawLine(QPointF(x, view.top()), QPointF(x, view.bottom()))
        for y in _multiples(self._step[1], view.top(), view.bottom()):
            painter.drawLine(QPointF(view.left(), y), QPointF(view.right(), y))
        for where, colour in self.bands:
            for start, end in where:
                left, right = max(start, view.left()), min(end, view.right())
                if right > left:
                    painter.fillRect(QRectF(left, view.top(), right - left, view.height()), colour)


class PlotCard(QFrame):
    """A plot that keeps still under the mouse, with a line of text above it."""

    def __init__(self, left: str, bottom: str) -> None:
        super().__init__()
        self.setObjectName("card")
        self.theme: Theme = LIGHT
        self.header = QLabel()
        self.header.setObjectName("header")
        self.header.setTextFormat(Qt.TextFormat.RichText)
        self.header.setMinimumWidth(1)  # a long header is cut rather than widening the window
        self.plot = pg.PlotWidget()
        self.plot.setMinimumHeight(60)
        self.plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.item = self.plot.getPlotItem()
        self.item.setMouseEnabled(x=False, y=False)
        self.item.setMenuEnabled(False)
        self.item.hideButtons()
        self.item.disableAutoRange()
        self.item.layout.setContentsMargins(0, 7, 6, 0)
        self.backdrop = Backdrop()
        self.item.addItem(self.backdrop, ignoreBounds=True)
        self.item.getViewBox().sigRangeChanged.connect(self._space_ticks)
        self.title_axes(left, bottom)
        self.item.getAxis("left").setWidth(AXIS_WIDTH)
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setCacheMode(
                axis.CacheMode.DeviceCoordinateCache
            )  # axes hardly change, and are slow to draw
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 5, 6, 2)
        column.setSpacing(1)
        column.addWidget(self.header)
        column.addWidget(self.plot, 1)

    def title_axes(self, left: str, bottom: str) -> None:
        """Quantities with units beside the axes; an empty title takes no room."""
        for side, title in (("left", left), ("bottom", bottom)):
            self.item.setLabel(side, title, **{"font-size": f"{SMALL_PIXELS}px"})
            self.item.getAxis(side).showLabel(bool(title))
        self.item.getAxis("bottom").setHeight(AXIS_HEIGHT_TITLED if bottom else AXIS_HEIGHT)

    def paint_axes(self, theme: Theme) -> None:
        """Take the colours of a theme for everything but the curves."""
        self.theme = theme
        self.plot.setBackground(theme.panel)
        font = QFont(self.plot.font())
        font.setPixelSize(SMALL_PIXELS)
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setPen(theme.text_dim)
            axis.setTextPen(theme.text_dim)
            axis.setStyle(tickFont=font, tickLength=-3, tickTextOffset=4, maxTickLevel=0)
            axis.setStyle(hideOverlappingLabels=False)  # room is left for the last label

        self._space_ticks()

    def _space_ticks(self) -> None:
        """Ticks and grid lines at the same round numbers."""
        (left, right), (low, high) = self.item.getViewBox().viewRange()
        step = (nice_step(right - left), nice_step(high - low))
        self.item.getAxis("bottom").setTickSpacing(step[0], step[0])
        self.item.getAxis("left").setTickSpacing(step[1], step[1])
        self.backdrop.set_grid(step, self.theme.grid)

    def write_header(self, title: str, names: Sequence[str], values: Sequence[str] | None = None) -> None:
        """A title and the names of the curves after their colours, with values when there are any."""
        parts = [f"<b>{escape(title)}</b>"]
        for i, name in enumerate(names):
            colour, dim = self.theme.curve(i), self.theme.text_dim
            swatch = f"<span style='color:{colour}'>■</span>&nbsp;"
            value = values[i] if values else ""
            parts.append(f"{swatch}<span style='color:{dim}'>{escape(name)}</span>{value}")
        self.header.setText("&ensp;".join(parts))


def _multiples(step: float, low: float, high: float) -> list[float]:
    """The whole multiples of a step in [low, high]."""
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
