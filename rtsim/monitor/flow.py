"""A layout that places widgets side by side and continues on the next line if necessary."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QLayout, QLayoutItem, QWidget

UNSCALED = "unscaled"
"""Property of a layout: its margins and spacing at scale 1 [px]."""


def scale_layouts(widget: QWidget, scale: float) -> None:
    """Scale margins and spacings of all layouts in a widget like its text; scale 1 = the original sizes."""
    for layout in widget.findChildren(QLayout):
        if not isinstance(layout, (QBoxLayout, QGridLayout, Flow)):
            continue
        sizes = layout.property(UNSCALED)
        if sizes is None:
            room = layout.contentsMargins()
            across, down = _apart(layout)
            sizes = [room.left(), room.top(), room.right(), room.bottom(), across, down]
            layout.setProperty(UNSCALED, sizes)
        left, top, right, bottom, across, down = (round(scale * x) if x > 0 else x for x in sizes)
        layout.setContentsMargins(left, top, right, bottom)
        if isinstance(layout, Flow):
            layout.apart = (across, down)
            layout.invalidate()
        elif isinstance(layout, QGridLayout):
            layout.setHorizontalSpacing(across)
            layout.setVerticalSpacing(down)
        elif across >= 0:
            layout.setSpacing(across)


def _apart(layout: QBoxLayout | QGridLayout | Flow) -> tuple[int, int]:
    """Return the horizontal and vertical spacing of the items of a layout [px]; below 0 = as the style
    defines.
    """
    if isinstance(layout, Flow):
        return layout.apart
    if isinstance(layout, QGridLayout):
        return layout.horizontalSpacing(), layout.verticalSpacing()
    return layout.spacing(), 0


class Flow(QLayout):
    """A layout that places widgets from left to right and continues on the next line.

    across, down : distances between neighbours in a line, and between lines [px], stored as `apart`
    """

    def __init__(self, parent: QWidget, across: int, down: int) -> None:
        super().__init__(parent)
        self.apart = (across, down)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        """Return the size with everything on one line."""
        sizes = [item.sizeHint() for item in self._shown()]
        gaps = self.apart[0] * max(0, len(sizes) - 1)
        return QSize(
            gaps + sum(size.width() for size in sizes), max((size.height() for size in sizes), default=0)
        )

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._shown()]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _arrange(self, rect: QRect, move: bool) -> int:
        """Arrange the items in a rectangle and move them if `move` is set; return the height needed [px]."""
        y = rect.y()
        for line in self._lines(rect.width()):
            x, tallest = rect.x(), max(item.sizeHint().height() for item in line)
            for item in line:
                size = item.sizeHint()
                if move:
                    item.setGeometry(QRect(QPoint(x, y + (tallest - size.height()) // 2), size))
                x += size.width() + self.apart[0]
            y += tallest + self.apart[1]
        return max(0, y - self.apart[1] - rect.y())

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        """Return the items of each line."""
        lines: list[list[QLayoutItem]] = []
        x = 0
        for item in self._shown():
            taken = item.sizeHint().width()
            if not lines or x + taken > width:
                lines.append([])
                x = 0
            lines[-1].append(item)
            x += taken + self.apart[0]
        return lines
