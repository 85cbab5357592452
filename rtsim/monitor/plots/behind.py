"""Fills of a plot behind its curves."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF


class BehindCurves(pg.GraphicsObject):
    """Something as large as what is in view, drawn again wherever that changes; it sets no range itself."""

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else QRectF(box.viewRect())

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()
