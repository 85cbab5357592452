"""The text above a plot: its title, the names of its curves beside their colours, and their newest values.

It is drawn as plain text, name by name, in as many lines as fit. Names that do not fit are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import tip

TEXT_PIXELS = 11
SWATCH, AFTER_SWATCH, BETWEEN = 16.0, 4.0, 11.0  # px
SHORTEST = 0.6  # part of a name that is worth showing where others are left out anyway
LEADING = 1.3  # height of a line over the height of the text
WIDEST_VALUE = "\u2212000.0"


class Entry(NamedTuple):
    """An entry of the text above a plot: a curve's name, its colour, whether its line is dashed, and its
    newest value if known.
    """

    name: str
    colour: str
    dashed: bool = False
    value: str = ""


class HeaderEntry(NamedTuple):
    """The position of a curve's entry in the header [px], and as much of the curve's name as fits."""

    entry: Entry
    name: str
    x: float
    line: int


class Header(QWidget):
    """A title and entries that wrap, in at most `lines_most` lines.

    values_optional : whether the values are left out where names would not fit beside them
    """

    def __init__(self) -> None:
        super().__init__()
        self.theme: Theme = LIGHT
        self.lines_most = 3
        self.values_optional = False
        self._bare = False
        self._title, self._entries = "", tuple[Entry, ...]()
        self._placed: list[HeaderEntry] = []
        self._left_out = ""
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setSizePolicy(policy)
        self.set_theme(LIGHT)

    def set_theme(self, theme: Theme) -> None:
        """Take colours and text size of a theme."""
        self.theme = theme
        self._font = QFont(self.font())
        self._font.setPixelSize(theme.px(TEXT_PIXELS))
        self._bold = QFont(self._font)
        self._bold.setBold(True)
        self._metrics, self._bold_metrics = QFontMetricsF(self._font), QFontMetricsF(self._bold)
        self._arrange()

    def write(self, title: str, entries: Sequence[Entry]) -> None:
        """Show the title of a plot, and the names, colours and values of its curves."""
        new = tuple(entries)
        if (title, new) == (self._title, self._entries):
            return
        same = title == self._title and [e[:3] for e in new] == [e[:3] for e in self._entries]
        self._title, self._entries = title, new
        if same:  # the values alone: everything stays where it is
            self._placed = [
                placed._replace(entry=entry) for placed, entry in zip(self._placed, new, strict=False)
            ]
            self.update()
            return
        self._arrange()

    def set_lines_most(self, n: int) -> None:
        """Set the largest number of lines of text above a plot."""
        if n != self.lines_most:
            self.lines_most = n
            self._arrange()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of all curves, including those that do not fit."""
        return self._entries

    def text(self) -> str:
        """Return the text above the plot as it is shown."""
        words = [
            self._title,
            *(f"{p.name} {'' if self._bare else p.entry.value}".strip() for p in self._placed),
            self._left_out,
        ]
        return " ".join(word for word in words if word)

    def sizeHint(self) -> QSize:
        return QSize(1, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def _arrange(self) -> None:
        """Place the entries of all curves line by line; the entries that do not fit are counted at the end of
        the last line.
        """
        width, entries = float(self.width()), self._entries
        self._bare = False
        n = self._place(width, 0.0)
        if n < len(entries) and self.values_optional:
            self._bare = True
            n = self._place(width, 0.0)
        self._left_out = ""
        if n < len(entries):
            room = self._metrics.horizontalAdvance(f"+{len(entries)} more") + self.theme.px(BETWEEN)
            n = self._place(width, room)
            self._left_out = f"+{len(entries) - n} more"
        n_line = 1 + max((placed.line for placed in self._placed), default=0)
        self.setFixedHeight(round(n_line * LEADING * self._metrics.height()))
        cut = n < len(entries) or any(p.name != p.entry.name for p in self._placed)
        self.setToolTip(tip([self._title, *(entry.name for entry in entries)]) if cut else "")
        self.update()

    def _place(self, width: float, kept_free: float) -> int:
        """Place entries of curves in lines of a width [px], with `kept_free` px at the end of the last line;
        return how many could be placed.
        """
        self._placed = []
        gap = self.theme.px(BETWEEN)
        title = self._bold_metrics.horizontalAdvance(self._title)
        x, line = min(title, width) + gap, 0
        ends = [width] * (self.lines_most - 1) + [width - kept_free]
        for entry in self._entries:
            taken = self.theme.px(SWATCH) + self.theme.px(AFTER_SWATCH) + self._value_width(entry)
            name = entry.name
            if x + taken + self._metrics.horizontalAdvance(name) > ends[line] and x > 0.0:
                if line == self.lines_most - 1:
                    break
                x, line = 0.0, line + 1
            room = max(ends[line] - x - taken, 1.0)
            if line and kept_free and room < SHORTEST * self._metrics.horizontalAdvance(name):
                break
            name = self._metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
            self._placed.append(HeaderEntry(entry, name, x, line))
            x += taken + self._metrics.horizontalAdvance(name) + gap
        return len(self._placed)

    def _value_width(self, entry: Entry) -> float:
        if not entry.value or self._bare:
            return 0.0
        widest = max(map(self._metrics.horizontalAdvance, (entry.value, WIDEST_VALUE)))
        return widest + self._metrics.horizontalAdvance(" ")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = LEADING * self._metrics.height()
        base = 0.5 * (height - self._metrics.height()) + self._metrics.ascent()
        painter.setFont(self._bold)
        painter.setPen(QColor(self.theme.text))
        title = self._bold_metrics.elidedText(self._title, Qt.TextElideMode.ElideRight, max(self.width(), 1))
        painter.drawText(QPointF(0.0, base), title)
        painter.setFont(self._font)
        for placed in self._placed:
            self._paint_entry(painter, placed, placed.line * height, base)
        if self._left_out:
            x = self.width() - self._metrics.horizontalAdvance(self._left_out)
            painter.setPen(QColor(self.theme.text_dim))
            line = min(self.lines_most - 1, round(self.height() / height) - 1)
            painter.drawText(QPointF(x, line * height + base), self._left_out)
        painter.end()

    def _paint_entry(self, painter: QPainter, placed: HeaderEntry, top: float, base: float) -> None:
        entry, theme = placed.entry, self.theme
        x, middle = placed.x, top + base - 0.5 * self._metrics.xHeight()
        swatch = theme.px(SWATCH)
        style = Qt.PenStyle.DashLine if entry.dashed else Qt.PenStyle.SolidLine
        pen = QPen(QColor(entry.colour), theme.px(2), style, Qt.PenCapStyle.FlatCap)
        if entry.dashed:
            pen.setDashPattern([2.5, 1.5])
        painter.setPen(pen)
        painter.drawLine(QPointF(x, middle), QPointF(x + swatch, middle))
        x += swatch + theme.px(AFTER_SWATCH)
        painter.setPen(QColor(theme.text_dim))
        painter.drawText(QPointF(x, top + base), placed.name)
        if entry.value and not self._bare:
            x += self._metrics.horizontalAdvance(placed.name) + self._value_width(entry)
            painter.setPen(QColor(theme.text))
            x -= self._metrics.horizontalAdvance(entry.value)
            painter.drawText(QPointF(x, top + base), entry.value)
