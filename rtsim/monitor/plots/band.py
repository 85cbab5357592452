"""The standard deviation band behind a curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from rtsim.monitor.figures.outline import ALPHA, outline
from rtsim.monitor.plots.behind import BehindCurves

Array = NDArray[np.float64]


class DeviationBand(BehindCurves):
    """Band of one standard deviation around a curve, with gaps where it is unknown."""

    def __init__(self) -> None:
        super().__init__()
        self.polygons: list[QPolygonF] = []
        self.colour = QColor()
        self.setZValue(-50)

    def set_colour(self, colour: str) -> None:
        """Draw the standard deviation band in the colour of its curve."""
        self.colour = QColor(colour)
        self.colour.setAlpha(ALPHA)
        self.update()

    def set_data(self, time: Array, value: Array, deviation: Array) -> None:
        """Show the band value -+ deviation over time, all (n,)."""
        known = np.isfinite(value) & np.isfinite(deviation)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
        self.polygons = [
            outline(time[a:b], value[a:b] - deviation[a:b], value[a:b] + deviation[a:b])
            for a, b in zip(edges[0::2], edges[1::2], strict=True)
        ]
        self.update()

    def paint(self, painter: QPainter, *_: object) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)  # faint edges, at a part of the time
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.colour)
        for polygon in self.polygons:
            painter.drawPolygon(polygon)
