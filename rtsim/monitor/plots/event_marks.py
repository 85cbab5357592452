"""Events as marks over the time axis: foot strikes and foot offs in the colours of the sides, and those that
somebody marked."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QPainter

from rtsim.files.gait.events import STRIKE, GaitEvent
from rtsim.monitor.plots.behind import BehindCurves
from rtsim.monitor.theme import LIGHT, Theme

OFF_SHARE = 0.5
"""Of the height of the plot, that the mark of a foot off takes; a strike takes all of it."""
OPACITY = 0.55


class EventMarks(BehindCurves):
    """Vertical lines: a strike whole, an off half and dashed, what somebody marked dotted."""

    def __init__(self) -> None:
        super().__init__()
        self.theme: Theme = LIGHT
        self.events: list[GaitEvent] = []
        self.setZValue(-60)

    def set_theme(self, theme: Theme) -> None:
        """Recolour the marks."""
        self.theme = theme
        self.update()

    def set_events(self, events: Sequence[GaitEvent]) -> None:
        """Show events at times of the axis."""
        new = list(events)
        if new != self.events:
            self.events = new
            self.update()

    def paint(self, painter: QPainter, *_: object) -> None:
        view = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setOpacity(OPACITY)
        colours = {"right": self.theme.right, "left": self.theme.left}
        for event in self.events:
            marked = not event.kind
            colour = self.theme.accent if marked else colours.get(event.side, self.theme.text_dim)
            styles = Qt.PenStyle
            style = (
                styles.DotLine if marked else styles.SolidLine if event.kind == STRIKE else styles.DashLine
            )
            share = 1.0 if marked or event.kind == STRIKE else OFF_SHARE
            painter.setPen(pg.mkPen(colour, width=2 if marked else 1, style=style))
            top = view.top() + share * view.height()  # y points up in a plot
            painter.drawLine(QLineF(QPointF(event.time, view.top()), QPointF(event.time, top)))
