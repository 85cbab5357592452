"""Events as marks over the time axis: foot strikes and foot offs in the colours of the sides, and events
marked by the user.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QPainter, QPen

from rtsim.files.gait.events import STRIKE, GaitEvent
from rtsim.monitor.plots.behind import BehindCurves
from rtsim.monitor.theme import LIGHT, Theme

OFF_SHARE = 0.5
"""Height of the mark of a foot off, as a part of the plot's; a strike takes all of it."""
OPACITY = 0.55


class EventMarks(BehindCurves):
    """Vertical lines at events: full height for a foot strike, half height and dashed for a foot off, dotted
    for an event marked by the user.
    """

    def __init__(self) -> None:
        super().__init__()
        self.theme: Theme = LIGHT
        self.events: list[GaitEvent] = []
        self._pens: dict[tuple[str, str], QPen] = {}
        self.setZValue(-60)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        self._pens = {}
        self.update()

    def set_events(self, events: Sequence[GaitEvent]) -> None:
        """Show events, whose times are on the horizontal axis of the plot."""
        new = list(events)
        if new != self.events:
            self.events = new
            self.update()

    def paint(self, painter: QPainter, *_: object) -> None:
        if not self.events:
            return
        view = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setOpacity(OPACITY)
        lines: dict[tuple[str, str], list[QLineF]] = {}
        for event in self.events:
            share = OFF_SHARE if event.kind and event.kind != STRIKE else 1.0
            top = view.top() + share * view.height()  # y points up in a plot
            line = QLineF(QPointF(event.time, view.top()), QPointF(event.time, top))
            lines.setdefault((event.kind, event.side), []).append(line)
        for (kind, side), alike in lines.items():
            painter.setPen(self._pen(kind, side))
            painter.drawLines(alike)

    def _pen(self, kind: str, side: str) -> QPen:
        """Return the pen for events of this kind and side; it is created once, as there are many events."""
        if (kind, side) not in self._pens:
            colours = {"right": self.theme.right, "left": self.theme.left}
            colour = colours.get(side, self.theme.text_dim) if kind else self.theme.accent
            styles = Qt.PenStyle
            style = styles.DashLine if kind else styles.DotLine
            self._pens[kind, side] = pg.mkPen(
                colour,
                width=self.theme.px(1 if kind else 2),
                style=styles.SolidLine if kind == STRIKE else style,
            )
        return self._pens[kind, side]
