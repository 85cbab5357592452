"""Common parts of the monitor's plots: axes, colours, headers, a grid, and shaded bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout

from rtsim.monitor.plots.behind import BehindCurves
from rtsim.monitor.plots.header import Entry, Header
from rtsim.monitor.plots.scaling import roomy_step
from rtsim.monitor.theme import LIGHT, Theme

Spans = list[tuple[float, float]]

CURVE_WIDTH = 1.6  # px
AXIS_WIDTH = 44  # px; the same for all plots, so that their time axes stand above each other
AXIS_HEIGHT, AXIS_HEIGHT_TITLED = 17, 31  # px
SMALL_PIXELS = 10
HEIGHT_LEAST = 62  # px, of a plot
N_TICK = 4  # distances between ticks at the least, where there is room ...
TICK_ROOM = (26, 17)  # ... px along x and y, for the number beside each
HEADER_SHARE = 0.34  # of the height of a card that the words above the plot may take


class Backdrop(BehindCurves):
    """Background of the curves: a grid, and bands of full height over intervals of the x axis."""

    def __init__(self) -> None:
        super().__init__()
        self.bands: list[tuple[Spans, QColor]] = []
        self._pen = QPen()
        self._step = (1.0, 1.0)
        self.setZValue(-100)

    def set_bands(self, bands: list[tuple[Spans, QColor]]) -> None:
        """Set the shaded intervals, in units of the horizontal axis, with their colours."""
        if any(where for where, _ in bands + self.bands):
            self.bands = bands
            self.update()

    def set_grid(self, step: tuple[float, float], colour: str) -> None:
        """Set the distance of the grid lines along x and y, and their colour."""
        self._step, self._pen = step, pg.mkPen(colour, width=1)
        self.update()

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
    """A plot that cannot be moved with the mouse, with a line of text above it."""

    def __init__(self, left: str, bottom: str) -> None:
        super().__init__()
        self.setObjectName("card")
        self.theme: Theme = LIGHT
        self.header = Header()
        self.plot = pg.PlotWidget()
        self.plot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.item = self.plot.getPlotItem()
        self.item.setMouseEnabled(x=False, y=False)
        self.item.setMenuEnabled(False)
        self.item.hideButtons()
        self.item.disableAutoRange()
        self.backdrop = Backdrop()
        self.item.addItem(self.backdrop, ignoreBounds=True)
        self.item.getViewBox().sigRangeChanged.connect(self._space_ticks)
        self.item.getViewBox().sigResized.connect(self._fit_axes)
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setCacheMode(
                axis.CacheMode.DeviceCoordinateCache
            )  # axes hardly change, and are slow to draw
            axis.enableAutoSIPrefix(False)  # the title names the unit, not a thousandth of it
        self._titles = (left, bottom)
        self._shown: dict[str, tuple[str, dict[str, str]]] = {}  # title and style of each side
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 5, 6, 2)
        column.setSpacing(1)
        column.addWidget(self.header)
        column.addWidget(self.plot, 1)

    def title_axes(self, left: str, bottom: str) -> None:
        """Set quantities with units beside the axes; an empty title takes no room."""
        self._titles = (left, bottom)
        self._write_titles()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        line = QFontMetricsF(self._font(11)).height()
        self.header.set_lines_most(max(1, int(HEADER_SHARE * self.height() / line)))

    def _fit_axes(self) -> None:
        """Fit titles and ticks to the available room."""
        self._write_titles()
        self._space_ticks()

    def _write_titles(self) -> None:
        """Write the titles as far as they fit beside the axes; without room for the quantity, write its unit
        alone.
        """
        metrics = QFontMetricsF(self._font(SMALL_PIXELS))
        view = self.item.getViewBox()
        rooms = (view.height(), view.width())
        for side, title, room in zip(("left", "bottom"), self._titles, rooms, strict=True):
            shown = title if metrics.horizontalAdvance(title) < room else title[title.rfind("(") + 1 : -1]
            style = {"color": self.theme.text, "font-size": f"{self.theme.px(SMALL_PIXELS)}px"}
            if self._shown.get(side) == (shown, style):
                continue
            self._shown[side] = (shown, style)
            axis = self.item.getAxis(side)
            axis.setLabel(escape(shown), **style)  # pyqtgraph reads markup in it
            axis.showLabel(bool(shown))
            axis.resizeEvent()  # or the title stays where the last one was centred
        height = AXIS_HEIGHT_TITLED if self._titles[1] else AXIS_HEIGHT
        self.item.getAxis("bottom").setHeight(self.theme.px(height))

    def _font(self, size: float) -> QFont:
        font = QFont(self.plot.font())
        font.setPixelSize(self.theme.px(size))
        return font

    def paint_axes(self, theme: Theme) -> None:
        """Apply the colours of a theme to all parts of the plot except its curves."""
        self.theme = theme
        self.header.set_theme(theme)
        self.plot.setBackground(theme.panel)
        self.plot.setMinimumHeight(theme.px(HEIGHT_LEAST))
        self.item.layout.setContentsMargins(0, theme.px(7), theme.px(12), 0)  # half a number juts out
        self.item.getAxis("left").setWidth(theme.px(AXIS_WIDTH))
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setPen(theme.text_dim)
            axis.setTextPen(theme.text_dim)
            axis.setStyle(tickFont=self._font(SMALL_PIXELS), tickLength=-3, tickTextOffset=4, maxTickLevel=0)
            axis.setStyle(hideOverlappingLabels=False)  # room is left for the last label
        self._write_titles()
        self._space_ticks()

    def _space_ticks(self) -> None:
        """Place ticks and grid lines at the same round numbers."""
        (left, right), (low, high) = self.item.getViewBox().viewRange()
        box = self.item.getViewBox()
        metrics = QFontMetricsF(self._font(SMALL_PIXELS))
        widest = max(metrics.horizontalAdvance(f" {x:.4g} ") for x in (left, right))
        rooms = ((right - left, box.width(), TICK_ROOM[0], widest),
                 (high - low, box.height(), TICK_ROOM[1], metrics.height()))  # fmt: skip
        across, up = (
            roomy_step(extent, max(1, min(N_TICK, int(size / self.theme.px(room)))), size, least)
            for extent, size, room, least in rooms
        )
        self.item.getAxis("bottom").setTickSpacing(across, across)
        self.item.getAxis("left").setTickSpacing(up, up)
        self.backdrop.set_grid((across, up), self.theme.grid)

    def write_header(
        self, title: str, names: Sequence[str], values: Sequence[str] = (), colours: Sequence[int] = ()
    ) -> None:
        """Write a title and the names of the curves in their colours, with values if there are any.

        colours : index of the colour of each curve; in order if not given
        """
        rows = zip(names, values or [""] * len(names), colours or range(len(names)), strict=True)
        entries = [Entry(name, self.colour(k), self.dashed(k), value) for name, value, k in rows]
        self.header.write(title, entries)

    def colour(self, k: int) -> str:
        """Return the colour of the curve with this index."""
        return self.theme.curve(k)

    def dashed(self, k: int) -> bool:
        """Return whether the curve with this index is dashed because another curve has the same colour."""
        return k // len(self.theme.curves) % 2 == 1


def _multiples(step: float, low: float, high: float) -> list[float]:
    """Return the multiples of a step in [low, high]."""
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
