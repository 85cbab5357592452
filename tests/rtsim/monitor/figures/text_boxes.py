"""Where a painter writes: rectangles of the texts of a page, to find those that are cut or overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter

SLACK = 0.75  # px: letters that touch by less do not look so
NOWHERE = QRectF()


class TextBox(NamedTuple):
    """A text with the rectangle of its letters on the page, and whether its own room cuts it."""

    text: str
    box: QRectF
    is_cut: bool


class MeasuredPainter(QPainter):
    """A painter that keeps where it writes."""

    def __init__(self, image: QImage) -> None:
        super().__init__(image)
        self.boxes: list[TextBox] = []

    def drawText(self, *arguments: object) -> None:
        """Draw, and keep the rectangle; of the two forms that figures use."""
        super().drawText(*arguments)
        metrics, text = QFontMetricsF(self.font()), str(arguments[-1])
        letters = metrics.tightBoundingRect(text)
        place = arguments[0]
        if isinstance(place, QPointF):
            box, room = letters.translated(place), None
        else:
            assert isinstance(place, QRectF)
            flags = Qt.AlignmentFlag(int(arguments[1]))  # type: ignore[call-overload]
            whole = metrics.boundingRect(place, int(flags), text)
            box = QRectF(
                whole.left(), whole.top() + 0.2 * whole.height(), whole.width(), 0.6 * whole.height()
            )
            room = place
        is_cut = room is not None and (box.width() > room.width() + SLACK)
        self.boxes.append(TextBox(text, self.transform().mapRect(box), is_cut))


def boxes_of(draw: Callable[[QPainter], None], width: float, height: float) -> list[TextBox]:
    """All texts of a page of a size [px]."""
    image = QImage(round(width), round(height), QImage.Format.Format_RGB32)
    painter = MeasuredPainter(image)
    draw(painter)
    painter.end()
    return [one for one in painter.boxes if one.text.strip()]


def faults_of(boxes: list[TextBox], width: float, height: float) -> list[str]:
    """Sentences on texts that are cut by their room or the page, and on pairs that overlap."""
    page = QRectF(0.0, 0.0, width, height)
    found = [f"{one.text!r} is cut" for one in boxes if one.is_cut or not page.contains(one.box)]
    inner = [one.box.adjusted(SLACK, SLACK, -SLACK, -SLACK) for one in boxes]
    for k, one in enumerate(boxes):
        for n in range(k + 1, len(boxes)):
            if inner[k].intersects(inner[n]):
                found.append(f"{one.text!r} and {boxes[n].text!r} overlap")
    return found
