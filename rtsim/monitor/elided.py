"""A label of plain text that ends in an ellipsis if there is no space for all of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy


class Elided(QLabel):
    """A label that shows as much of its text as its width allows, and an ellipsis in place of the rest;
    `text()` returns the full text.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)  # others wrote it
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.fontMetrics().height())

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def cut(self) -> bool:
        """Return whether a part of the text is not shown."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self.width()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextSingleLine)
        painter.drawText(self.rect(), flags, shown)
        painter.end()
