"""A curve that is redrawn many times a second, in a plot whose ranges are set elsewhere."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QRectF


class PlotLine(pg.PlotCurveItem):
    """A curve with gaps where values are missing. It reports the visible part of the plot as its bounds, as
    computing the bounds of its samples would take half as long as the drawing itself.
    """

    def __init__(self) -> None:
        super().__init__(connect="finite")

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else QRectF(box.viewRect())

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()
