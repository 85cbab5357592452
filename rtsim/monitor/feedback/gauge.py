"""The large display of the biofeedback: a number that can be read from five metres, and a scale with the
target.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from rtsim.monitor.feedback.target import TargetBand
from rtsim.monitor.plots.curves import NO_VALUE, written
from rtsim.monitor.theme import LIGHT, Theme

NUMBER_SHARE, NAME_SHARE = 0.62, 0.11
"""Parts of the height: the number with its room, and the name above it."""
AROUND = 1.0
"""The scale reaches beyond the target by so many of its widths."""
WIDEST = "−000.0 °"


class FeedbackGauge(QWidget):
    """A display with name above, number in the middle, and below a scale with target and pointer; green
    inside the target, red outside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.theme: Theme = LIGHT
        self.name = self.unit = ""
        self.value = math.nan
        self.target: TargetBand | None = None
        self.number_rect = QRectF()
        self.setMinimumSize(220, 160)

    def sizeHint(self) -> QSize:
        return QSize(720, 480)

    def show_value(self, value: float) -> None:
        """Show the newest value [display unit]; NaN = unknown."""
        if value != self.value and not (math.isnan(value) and math.isnan(self.value)):
            self.value = value
            self.update()

    @property
    def colour(self) -> str:
        """Return the colour of the number: green or red if there is a target and the value is known."""
        if self.target is None or not math.isfinite(self.value):
            return self.theme.text
        return self.theme.good if self.target.holds(self.value) else self.theme.bad

    @property
    def text(self) -> str:
        """The value as text."""
        return written(self.value) if math.isfinite(self.value) else NO_VALUE

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(self.theme.panel))
        width, height = float(self.width()), float(self.height())
        self._paint_text(
            painter, QRectF(0, 0.02 * height, width, NAME_SHARE * height), f"{self.name} ({self.unit})",
            f"{self.name} ({self.unit})", self.theme.text_dim,
        )  # fmt: skip
        middle = QRectF(0, NAME_SHARE * height, width, NUMBER_SHARE * height)
        self.number_rect = self._paint_text(painter, middle, self.text, WIDEST, self.colour)
        if self.target is not None:
            self._paint_scale(painter, QRectF(0.08 * width, 0.8 * height, 0.84 * width, 0.08 * height))
        painter.end()

    def _paint_text(self, painter: QPainter, room: QRectF, text: str, widest: str, colour: str) -> QRectF:
        """Draw text as large as the widest possible text allows; return the rectangle that it fills."""
        font = QFont(self.font())
        font.setBold(True)
        font.setPixelSize(max(6, int(0.85 * room.height())))
        measured = QFontMetricsF(font).horizontalAdvance(max(text, widest, key=len))
        if measured > 0.94 * room.width():
            font.setPixelSize(max(6, int(font.pixelSize() * 0.94 * room.width() / measured)))
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), text)
        return QFontMetricsF(font).boundingRect(room, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_scale(self, painter: QPainter, room: QRectF) -> None:
        target = self.target
        assert target is not None
        reach = AROUND * (target.high - target.low)
        low, high = target.low - reach, target.high + reach

        def place(value: float) -> float:
            return room.left() + room.width() * min(max((value - low) / (high - low), 0.0), 1.0)

        painter.setPen(QPen(QColor(self.theme.border), 1))
        painter.setBrush(QColor(self.theme.window))
        painter.drawRect(room)
        band = QColor(self.theme.good)
        band.setAlpha(110)
        inside = QRectF(place(target.low), room.top(), place(target.high) - place(target.low), room.height())
        painter.fillRect(inside, band)
        for bound in (target.low, target.high):
            below = QRectF(
                place(bound) - 0.2 * room.width(), room.bottom(), 0.4 * room.width(), room.height()
            )
            self._paint_text(painter, below, f"{bound:g}", "−0000", self.theme.text)
        if math.isfinite(self.value):
            painter.setPen(QPen(QColor(self.theme.text), max(3.0, 0.012 * room.width())))
            x, beyond = place(self.value), 0.25 * room.height()
            painter.drawLine(QPointF(x, room.top() - beyond), QPointF(x, room.bottom() + beyond))
