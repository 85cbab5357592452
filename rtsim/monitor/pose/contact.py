"""Positions of the contact points of the knee on the tibial plateau: their paths, seen from above."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from rtsim.monitor.layout import ContactTraces, WindowLayout
from rtsim.monitor.plots.history import Window, thin
from rtsim.monitor.plots.plots import CURVE_WIDTH, PlotCard
from rtsim.monitor.plots.scaling import Range, held_range
from rtsim.monitor.theme import Theme

EXTENT_LEAST = 15.0  # mm; the shortest side of the plot
DOT_PIXELS = 9


class ContactPlot(PlotCard):
    """A plot of the anterior over the lateral position of each contact point of the knee; hidden if the
    stream has none.
    """

    def __init__(self) -> None:
        super().__init__("", "")
        self.item.setAspectLocked(True)
        self._contact: ContactTraces | None = None
        self._ranges: list[Range | None] = [None, None]
        self.traces: list[pg.PlotCurveItem] = []
        self.dots: list[pg.ScatterPlotItem] = []
        self.hide()

    def set_layout(self, layout: WindowLayout) -> None:
        """Show the contact points of a layout; without any, the plot is hidden."""
        for old in (*self.traces, *self.dots):
            self.item.removeItem(old)
        self._contact = layout.contact
        self.setVisible(layout.contact is not None)
        self._ranges = [None, None]
        self.traces = [pg.PlotCurveItem(connect="finite") for _ in self._names()]
        self.dots = [pg.ScatterPlotItem(size=DOT_PIXELS) for _ in self._names()]
        for new in (*self.traces, *self.dots):
            self.item.addItem(new, ignoreBounds=True)
        if layout.contact is not None:
            self.title_axes(f"anterior ({layout.contact.unit})", f"lateral ({layout.contact.unit})")
        self.set_theme(self.theme)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.paint_axes(theme)
        for i, (trace, dot) in enumerate(zip(self.traces, self.dots, strict=True)):
            trace.setPen(pg.mkPen(theme.curve(i), width=theme.scale * CURVE_WIDTH))
            dot.setSize(theme.px(DOT_PIXELS))
            dot.setBrush(pg.mkBrush(theme.curve(i)))
            dot.setPen(pg.mkPen(theme.panel, width=1.5))
        self.write_header("Contact on the tibial plateau", self._names())

    def draw(self, window: Window) -> None:
        """Draw the paths in a time window of the history, and a dot at the newest position of each contact
        point.
        """
        if self._contact is None:
            return
        first = self._contact.first
        _, values = thin(window)
        stop = first + 2 * len(self._contact.names)
        anterior, lateral = values[first:stop:2], values[first + 1 : stop : 2]
        newest = window.values[first:stop, -1:]
        for i, (trace, dot) in enumerate(zip(self.traces, self.dots, strict=True)):
            trace.setData(lateral[i], anterior[i])
            x, y = newest[2 * i + 1], newest[2 * i]
            known = np.isfinite(x) & np.isfinite(y)
            dot.setData(x[known], y[known])
        self._hold_ranges(lateral, anterior)

    def _names(self) -> tuple[str, ...]:
        return self._contact.names if self._contact else ()

    def _hold_ranges(self, lateral: NDArray[np.float64], anterior: NDArray[np.float64]) -> None:
        pairs = zip(self._ranges, (lateral, anterior), strict=True)
        ranges = [held_range(held, values, EXTENT_LEAST) for held, values in pairs]
        if ranges != self._ranges and ranges[0] is not None and ranges[1] is not None:
            self._ranges = ranges
            self.item.setRange(xRange=ranges[0], yRange=ranges[1], padding=0.0)
