"""Filled areas of a plot behind its curves."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF


class BehindCurves(pg.GraphicsObject):
    """A graphics item that fills the visible part of a plot, is redrawn when that part changes, and has no
    effect on the axis ranges.
    """

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else QRectF(box.viewRect())

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()
