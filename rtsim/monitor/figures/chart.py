"""One panel of a saved figure: axes, a grid, curves, and their names beside their ends or in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from rtsim.files.tables.panels import FigurePanel
from rtsim.monitor.figures.axis_numbers import tick_texts, ticks
from rtsim.monitor.figures.outline import ALPHA, outline
from rtsim.monitor.plots.history import Window, thin
from rtsim.monitor.plots.scaling import nice_range
from rtsim.monitor.theme import LIGHT

Array = NDArray[np.float64]

TEXT, NAME, NAME_LEAST = 12.0, 11.0, 6.5  # px
LEFT, BOTTOM, BOTTOM_TITLED, TOP = 58.0, 10.0, 40.0, 24.0  # px around the plot
SWATCH, GAP, LEADER = 18.0, 6.0, 22.0  # px
LINE, DOT, RING = 1.6, 1.2, 2.1  # px; a lone value and the end before a gap are circles of these radii
LETTER = 8.0  # px: R and L above gait events
FLAT = 1e-5  # a curve that changes less, beside its size, is a straight line
N_DIRECT = 6  # more curves than this are named at their ends, as their colours repeat
N_POINT = 3000  # of a curve; more show nothing
LEADING = 1.15
MARKED = 120  # opacity of the lines at gait events, of 255
OF_SIDES = {"left": (6.0, 2.5)}
"""Dashes of a side: legs are told apart without colour, too."""
STYLES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)


class Name(NamedTuple):
    """A curve's name: text, number of the curve, height of the text, end point of the curve [px]."""

    text: str
    number: int
    y: float
    end: QPointF | None


def font_of(size: float, bold: bool = False) -> QFont:
    """Return the font of figures at a size [px]."""
    font = QFont()
    font.setPixelSize(max(1, round(size)))
    font.setBold(bold)
    return font


def bold_width(text: str, size: float) -> float:
    """Return the width of a text in bold letters of a size [px]."""
    return QFontMetricsF(font_of(size, bold=True)).horizontalAdvance(text)


def width_of_texts(texts: Sequence[str], size: float) -> float:
    """Return the width of the widest of some texts in letters of a size [px]."""
    metrics = QFontMetricsF(font_of(size))
    return max((metrics.horizontalAdvance(text) for text in texts), default=0.0)


def direct(panel: FigurePanel) -> bool:
    """Return whether the names of a panel's curves stand at the ends of the curves, not in a list."""
    return len(panel.curves) > N_DIRECT and bool((np.diff(panel.x) >= 0.0).all())


def names_width(panel: FigurePanel) -> float:
    """Return the space beside the plot for the names of its curves [px]; 0 for curves of the right and left
    leg, which the key of the figure explains.
    """
    if panel.sides is not None:
        return GAP
    metrics = QFontMetricsF(font_of(NAME))
    widest = max((metrics.horizontalAdvance(name) for name in panel.curves), default=0.0)
    return widest + GAP + (LEADER if direct(panel) else SWATCH + GAP) + GAP


def height_least(panel: FigurePanel, titled: bool, size: float = NAME) -> float:
    """Return the smallest height of a panel [px]; titled : whether the horizontal axis has numbers and a
    title.
    """
    n_name = len(panel.curves) if panel.sides is None else 0
    names = LEADING * QFontMetricsF(font_of(size)).height() * n_name
    return max(TOP + 40.0 + (BOTTOM_TITLED if titled else BOTTOM), TOP + names + BOTTOM)


class Chart:
    """A panel of a figure in a rectangle [px]; all panels have equally wide space for names on the right."""

    def __init__(
        self, panel: FigurePanel, box: QRectF, names: float, titled: bool, lettered: bool = False
    ) -> None:
        """Lay out the panel in the rectangle `box` [px], with a space of the width `names` [px] for names.

        titled : whether the horizontal axis has numbers and a title; lettered : whether foot strikes get R
            and L
        """
        self.panel, self.box, self.titled, self.lettered = panel, box, titled, lettered
        bottom = BOTTOM_TITLED if titled else BOTTOM
        has_letters = lettered and any(strike and side for _, side, strike in panel.marks)
        letters = LETTER + 2.0 if has_letters else 0.0
        self.plot = box.adjusted(LEFT, TOP + letters, -names, -bottom)
        x = panel.x[np.isfinite(panel.x)]
        self.x_range = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
        if self.x_range[0] == self.x_range[1]:
            self.x_range = (self.x_range[0] - 0.5, self.x_range[0] + 0.5)
        shown = self._values() if panel.whole_band and panel.curves else panel.curves.values()
        values = np.concatenate([np.ravel(y) for y in shown] or [np.zeros(1)])
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        from_zero = panel.from_zero and low >= 0.0
        low = 0.0 if from_zero else low
        least = max(FLAT * max(abs(low), abs(high)), panel.least, 1e-12)
        self.y_range = nice_range(low, max(high, least) if from_zero else high, least)
        if from_zero:
            self.y_range = (0.0, self.y_range[1])

    def paint(self, painter: QPainter) -> None:
        """Draw axes, grid, shaded intervals, curves and names."""
        self._paint_flagged(painter)
        self._paint_axes(painter)
        self._paint_marks(painter)
        ends = self._paint_curves(painter)
        painter.setPen(QColor(LIGHT.text))
        title = f"{self.panel.title} [{self.panel.unit}]" if self.panel.unit else self.panel.title
        room, size = self.box.right() - self.plot.left(), TEXT
        while size > NAME_LEAST and bold_width(title, size) > room:
            size -= 0.5
        painter.setFont(font_of(size, bold=True))
        painter.drawText(QPointF(self.plot.left(), self.box.top() + TOP - 9.0), title)
        if self.panel.sides is not None:
            return
        if direct(self.panel):
            self._paint_names_at_ends(painter, ends)
        else:
            self._paint_list(painter)

    def _place(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the pixel positions of points given by their values x and y."""
        (left, right), (low, high) = self.x_range, self.y_range
        across = self.plot.left() + self.plot.width() * (x - left) / (right - left)
        return across, self.plot.bottom() - self.plot.height() * (y - low) / (high - low)

    def _paint_flagged(self, painter: QPainter) -> None:
        """Shade flagged samples, each from half a step before to half a step after it."""
        x, flagged = self.panel.x, self.panel.flagged
        if flagged is None or not flagged.any():
            return
        edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
        across = self._place(edges, np.zeros(len(edges)))[0]
        for part in runs(flagged):
            wide = max(1.0, across[part.stop] - across[part.start])
            box = QRectF(across[part.start], self.plot.top(), wide, self.plot.height())
            painter.fillRect(box, QColor(LIGHT.degraded_fill))

    def _paint_axes(self, painter: QPainter) -> None:
        painter.setFont(font_of(NAME))
        plot = self.plot
        n_up = max(1, min(5, int(plot.height() / 28.0)))
        n_across = max(1, min(8, int(plot.width() / 70.0)))
        y_ticks, x_ticks = ticks(self.y_range, n_up), ticks(self.x_range, n_across)
        ys = self._place(np.zeros(len(y_ticks)), np.array(y_ticks))[1]
        xs = self._place(np.array(x_ticks), np.zeros(len(x_ticks)))[0]
        painter.setPen(QPen(QColor(LIGHT.grid), 1.0))
        for y in ys:
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        for x in xs:
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        painter.setPen(QColor(LIGHT.text_dim))
        beside = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        numbers, size = tick_texts(y_ticks), NAME
        while size > NAME_LEAST and width_of_texts(numbers, size) > LEFT - GAP:
            size -= 0.5
        painter.setFont(font_of(size))
        for y, text in zip(ys, numbers, strict=True):
            painter.drawText(QRectF(self.box.left(), y - 8.0, LEFT - GAP, 16.0), int(beside), text)
        painter.setFont(font_of(NAME))
        if self.titled:
            centred = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
            for x, text in zip(xs, tick_texts(x_ticks), strict=True):
                painter.drawText(QRectF(x - 40.0, plot.bottom() + 3.0, 80.0, 16.0), centred, text)
            painter.setPen(QColor(LIGHT.text))
            below = QRectF(plot.left(), plot.bottom() + 19.0, plot.width(), 18.0)
            painter.drawText(below, centred, self.panel.x_title)

    def _paint_marks(self, painter: QPainter) -> None:
        """Draw lines at gait events in the colour of the leg, dotted at foot off."""
        left, right = self.x_range
        for at, side, comes_down in self.panel.marks:
            if not left <= at <= right:
                continue
            colour = side_pen(side).color()
            colour.setAlpha(MARKED)
            painter.setPen(QPen(colour, 1.0, Qt.PenStyle.SolidLine if comes_down else Qt.PenStyle.DotLine))
            x = self._across(at)
            painter.drawLine(QPointF(x, self.plot.top()), QPointF(x, self.plot.bottom()))
        if self.lettered:
            self._paint_letters(painter)

    def _across(self, at: float) -> float:
        """Return the horizontal pixel position of a value on the horizontal axis."""
        return float(self._place(np.array([at]), np.zeros(1))[0][0])

    def _paint_letters(self, painter: QPainter) -> None:
        """Write R and L above foot strikes: one text for close strikes of both feet, none for more."""
        left, right = self.x_range
        near: list[tuple[float, list[str]]] = []
        for at, side, comes_down in sorted(self.panel.marks):
            if not (comes_down and side and left <= at <= right):
                continue
            x = self._across(at)
            if near and x - near[-1][0] < 2.0 * LETTER:
                near[-1][1].append(side)
            else:
                near.append((x, [side]))
        painter.setFont(font_of(LETTER))
        metrics = QFontMetricsF(painter.font())
        for x, sides in near:
            if len(sides) == len(set(sides)):
                text = "".join(side[0].upper() for side in sides)
                painter.setPen(side_pen(sides[0] if len(sides) == 1 else "").color())
                painter.drawText(
                    QPointF(x - 0.5 * metrics.horizontalAdvance(text), self.plot.top() - 1.0), text
                )

    def _paint_curves(self, painter: QPainter) -> list[QPointF | None]:
        """Draw the curves; return the end point of each."""
        x, n = self.panel.x, len(self.panel.curves)
        values = self._values()
        if len(x) > N_POINT and bool((np.diff(x) >= 0.0).all()):
            good = np.zeros(len(x), dtype=np.uint8)
            x, values = thin(Window(time=x, values=values, quality=good, first=0, in_trial=x), N_POINT)
        curves, low, high = values[:n], values[n : 2 * n], values[2 * n :]
        ends: list[QPointF | None] = []
        painter.save()
        painter.setClipRect(self.plot.adjusted(-1.0, -1.0, 1.0, 1.0))
        for k, (under, over) in enumerate(zip(low, high, strict=True)):
            self._paint_band(painter, k, x, under, over)
        for k, y in enumerate(curves):
            painter.setPen(self._pen(k))
            across, up = self._place(x, y)
            known = np.isfinite(across) & np.isfinite(up)
            for part in runs(known):
                points = [QPointF(a, b) for a, b in zip(across[part], up[part], strict=True)]
                if len(points) > 1:
                    painter.drawPolyline(QPolygonF(points))
                    paint_rings(
                        painter, points[:1] * (part.start > 0) + points[-1:] * (part.stop < len(known))
                    )
                else:  # a line of one point would be none
                    painter.setBrush(painter.pen().color())
                    painter.drawEllipse(points[0], DOT, DOT)
                    painter.setBrush(Qt.BrushStyle.NoBrush)
            last = np.flatnonzero(known)
            ends.append(QPointF(across[last[-1]], up[last[-1]]) if last.size else None)
        painter.restore()
        return ends

    def _pen(self, k: int) -> QPen:
        """Return the pen of curve k."""
        if self.panel.sides is None:
            return pen_of(k)
        return side_pen(self.panel.sides.get(list(self.panel.curves)[k], ""))

    def _values(self) -> Array:
        """Return the curves (n, n_x), followed by the lower and upper edges (n, n_x) of the bands if there
        are any.
        """
        curves = np.array(list(self.panel.curves.values()), dtype=float)
        deviations = self.panel.deviations
        if not deviations:
            return curves
        shape, unknown = (2, len(self.panel.x)), np.full(len(self.panel.x), np.nan)
        off = np.array([np.broadcast_to(deviations.get(name, unknown), shape) for name in self.panel.curves])
        return np.concatenate([curves, curves - off[:, 0], curves + off[:, 1]])

    def _paint_band(self, painter: QPainter, k: int, x: Array, low: Array, high: Array) -> None:
        """Fill the area between two edges (n_x,) in the colour of curve k; gaps stay where they are
        unknown.
        """
        colour = self._pen(k).color()
        colour.setAlpha(ALPHA)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        across, bottom = self._place(x, low)
        top = self._place(x, high)[1]
        for part in runs(np.isfinite(across) & np.isfinite(bottom) & np.isfinite(top)):
            painter.drawPolygon(outline(across[part], bottom[part], top[part]))
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_names_at_ends(self, painter: QPainter, ends: Sequence[QPointF | None]) -> None:
        """Write each name at the height where its curve ends; names that would overlap are moved apart."""
        size = NAME
        while size > NAME_LEAST and self._names_height(size) > self.box.height():
            size -= 0.5
        painter.setFont(font_of(size))
        metrics = QFontMetricsF(font_of(size))
        names = sorted(
            (Name(text, k, self.plot.bottom() if end is None else end.y(), end)
             for k, (text, end) in enumerate(zip(self.panel.curves, ends, strict=True))),
            key=lambda name: name.y,
        )  # fmt: skip
        heights = apart(
            [name.y for name in names], LEADING * metrics.height(), self.box.top(), self.box.bottom()
        )
        left = self.plot.right()
        for name, y in zip(names, heights, strict=True):
            pen = pen_of(name.number)
            if name.end is not None:
                painter.setPen(QPen(pen.color(), 0.8, pen.style()))
                painter.drawPolyline(
                    QPolygonF([name.end, QPointF(left + 3.0, name.end.y()), QPointF(left + LEADER, y)])
                )
            painter.setPen(pen.color())
            text = name.text if name.end is not None else f"{name.text} (none)"
            painter.drawText(QPointF(left + LEADER + 3.0, y + 0.5 * metrics.xHeight()), text)

    def _names_height(self, size: float) -> float:
        return LEADING * QFontMetricsF(font_of(size)).height() * len(self.panel.curves)

    def _paint_list(self, painter: QPainter) -> None:
        """Write the names in a list, each after a piece of its line."""
        size = NAME
        while size > NAME_LEAST and self._names_height(size) > self.box.height() - TOP:
            size -= 0.5
        painter.setFont(font_of(size))
        metrics = QFontMetricsF(font_of(size))
        x, y = self.plot.right() + 2.0 * GAP, self.plot.top() + 0.5 * metrics.height()
        for k, name in enumerate(self.panel.curves):
            painter.setPen(pen_of(k))
            painter.drawLine(QPointF(x, y), QPointF(x + SWATCH, y))
            painter.setPen(QColor(LIGHT.text))
            painter.drawText(QPointF(x + SWATCH + GAP, y + 0.5 * metrics.xHeight()), name)
            y += LEADING * metrics.height()


def pen_of(index: int) -> QPen:
    """Return the pen for a curve; where colours repeat, dashes distinguish the curves."""
    style = STYLES[index // len(LIGHT.curves) % len(STYLES)]
    return QPen(QColor(LIGHT.curve(index)), LINE, style, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.RoundJoin)


def side_pen(side: str) -> QPen:
    """Return the pen in the colour and dashes of the right or left leg; side "" : neither leg."""
    colour = QColor(getattr(LIGHT, side) if side else LIGHT.stick)
    pen = QPen(colour, LINE, STYLES[0], Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.RoundJoin)
    if side in OF_SIDES:
        pen.setDashPattern(OF_SIDES[side])
    return pen


def paint_rings(painter: QPainter, points: Sequence[QPointF]) -> None:
    """Draw rings where a curve ends at missing values, so that a gap is not mistaken for a dash."""
    pen = painter.pen()
    painter.setPen(QPen(pen.color(), 0.75 * LINE))
    painter.setBrush(QColor(LIGHT.panel))
    for point in points:
        painter.drawEllipse(point, RING, RING)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)


def has_gaps(panel: FigurePanel) -> bool:
    """Return whether a curve of a panel has values, but not everywhere."""
    known = [np.isfinite(y) for y in panel.curves.values()]
    return any(bool(some.any()) and not bool(some.all()) for some in known)


def runs(known: NDArray[np.bool_]) -> list[slice]:
    """Return the intervals of successive samples that are known, as slices."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[0::2], edges[1::2], strict=True)]


def apart(heights: Sequence[float], distance: float, top: float, bottom: float) -> list[float]:
    """Return the vertical positions of labels, moved as little as possible so that successive labels are at
    least `distance` apart, between top and bottom [px]. heights : wanted positions in ascending order

    Labels that are too close become a block around their mean position; blocks that touch become one.
    """
    low, high = top + 0.5 * distance, bottom - 0.5 * distance
    blocks: list[tuple[float, int]] = []  # mean height, how many
    for height in heights:
        mean, n = min(max(height, low), high), 1
        while blocks and blocks[-1][0] + 0.5 * distance * blocks[-1][1] > mean - 0.5 * distance * n:
            before, m = blocks.pop()
            mean, n = (m * before + n * mean) / (m + n), m + n
            half = 0.5 * distance * (n - 1)
            mean = min(max(mean, low + half), max(high - half, low + half))
        blocks.append((mean, n))
    return [mean + distance * (i - 0.5 * (n - 1)) for mean, n in blocks for i in range(n)]
