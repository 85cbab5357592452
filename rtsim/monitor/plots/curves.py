"""Scrolling curves: a plot for each panel, with gaps, intervals shaded where data are degraded or missing,
and live values.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QPen

from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.band import DeviationBand
from rtsim.monitor.plots.drawn_points import OFF_PX
from rtsim.monitor.plots.event_marks import EventMarks
from rtsim.monitor.plots.plot_line import PlotLine
from rtsim.monitor.plots.plots import CURVE_WIDTH, PlotCard, Spans
from rtsim.monitor.plots.scaling import Range, held_range
from rtsim.monitor.theme import DASHES, Theme

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Value = TypeVar("Value", np.float64, np.bool_)

TIME_TITLE = "time before the newest frame (s)"
NO_VALUE = "–"
NOTHING = 0.1  # mm, N; less is a muscle that does not cross the joint, or a slack ligament
FEW_DIGITS = 1e5  # larger values are written with a power of ten
CROWD = 6  # curves; beyond, colours repeat and names fill the width
BANDS_MOST = 3  # of deviations at once; that of another curve is shown where it is pointed at


class CurvePanel(PlotCard):
    """One plot with its title, coloured names and newest values above it.

    hidden : indices of the curves that are not to be shown
    """

    def __init__(
        self, panel: PlotPanel, theme: Theme, time_titled: bool, hidden: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(panel.axis_title, TIME_TITLE if time_titled else "")
        self.panel, self.hidden = panel, hidden
        self.n_drawn = 0
        self._range: Range | None = None
        self._values: list[float] = [math.nan] * len(panel.names)
        self._drawn: tuple[Array, Array] = (np.empty(0), np.empty((len(panel.names), 0)))
        self._pointed: int | None = None
        self.marks = EventMarks()
        self.item.addItem(self.marks, ignoreBounds=True)
        self.curves = [PlotLine() for _ in panel.names]
        self.bands = [DeviationBand() for _ in panel.names] if panel.deviation is not None else []
        for band in self.bands:
            self.item.addItem(band, ignoreBounds=True)
        for curve in self.curves:
            self.item.addItem(curve, ignoreBounds=True)
        if len(self.bands) > BANDS_MOST:
            self.plot.scene().sigMouseMoved.connect(self._point_at)
        self._show_visible()
        self.set_theme(theme)

    @property
    def visible(self) -> list[int]:
        """Indices of the curves that are shown."""
        return [i for i in range(len(self.curves)) if i not in self.hidden]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.paint_axes(theme)
        self.marks.set_theme(theme)
        for i, curve in enumerate(self.curves):
            curve.setPen(self.pen(i, CURVE_WIDTH))
            # in segments wide lines are twice as fast, and dashes run together
            curve.setSegmentedLineMode("off" if self.dashed(i) else "on")
        for i, band in enumerate(self.bands):
            band.set_colour(self.colour(i))
        self._write_values()

    def colour(self, k: int) -> str:
        """Return the colour of the curve with this index: that of its side if the panel shows both sides."""
        sides = self.panel.drawn_sides
        return str(getattr(self.theme, sides[k])) if sides else super().colour(k)

    def dashed(self, k: int) -> bool:
        """Return whether the curve with this index is dashed: a left curve, or the second one with the same
        colour.
        """
        sides = self.panel.drawn_sides
        return sides[k] in DASHES if sides else super().dashed(k)

    def pen(self, k: int, width: float) -> QPen:
        """Return the pen for the curve with this index, of a width [px]."""
        style = Qt.PenStyle.DashLine if self.dashed(k) else Qt.PenStyle.SolidLine
        return pg.mkPen(self.colour(k), width=self.theme.scale * width, style=style)

    def set_duration(self, duration: float) -> None:
        """Set the length of the time axis [s]."""
        self.item.setXRange(-duration, 0.0, padding=0.0)

    @property
    def n_visible(self) -> int:
        """Return the number of curves that are actually drawn."""
        return len(self.visible)

    def fit(self, values: Array) -> None:
        """Set the range of the vertical axis for this panel's rows of the values (n_channel, n) of all
        panels.
        """
        rows = self._rows(values)[self.visible]
        new_range = held_range(self._range, rows, self.panel.extent_least, self.panel.from_zero)
        if new_range is not None and new_range != self._range:
            self._range = new_range
            self.item.setYRange(*new_range, padding=0.0)

    def mark_seen(self, tolerance: Array) -> None:
        """Write into `tolerance`, (n_channel,), how far each drawn curve may deviate without a visible change
        on the screen [display units]; `drawn_points` needs it."""
        box = self.item.getViewBox()
        low, high = box.viewRange()[1]
        off = OFF_PX * float(high - low) / max(1.0, box.height())
        self._rows(tolerance)[self.visible] = off
        if self.bands:
            self._deviations(tolerance)[self._banded()] = off

    def draw(
        self, time: Array, values: Array, bands: list[tuple[Spans, QColor]], kept: Mask | None = None
    ) -> None:
        """Draw this panel's rows of the values (n_channel, n) of all panels, at times (n,) before the newest
        sample [s, not above 0]; call `fit` first.

        bands : intervals of time to shade, and their colour
        kept : (n_channel, n) whether a sample has to be drawn, as from `drawn_points`; None = all
        """
        self.n_drawn += 1
        rows, deviations = self._rows(values), self._deviations(values)
        self._drawn = (time, rows)
        kept = np.ones(values.shape, dtype=np.bool_) if kept is None else kept
        needed, of_band = self._rows(kept), self._deviations(kept)
        for i in self.visible:
            self.curves[i].setData(time[needed[i]], rows[i, needed[i]])
        for i in self._banded():
            at = needed[i] | of_band[i]
            self.bands[i].set_data(time[at], rows[i, at], deviations[i, at])
        self.backdrop.set_bands(bands)

    def show_values(self, newest: Array) -> None:
        """Write this panel's entries of the newest values of all panels, (n_channel,), into the header."""
        self._values = self._rows(newest).tolist()
        self._write_values()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(None)

    def _point_at(self, place: QPointF) -> None:
        """Show the standard deviation band of the curve nearest to the mouse alone."""
        box = self.item.getViewBox()
        time, rows = self._drawn
        if not box.sceneBoundingRect().contains(place) or not len(time):
            self._point(None)
            return
        at = box.mapSceneToView(place)
        column = rows[:, min(int(np.searchsorted(time, at.x())), len(time) - 1)]
        away = {i: abs(float(column[i]) - at.y()) for i in self.visible if math.isfinite(column[i])}
        self._point(min(away, key=lambda i: away[i], default=None))

    def _point(self, i: int | None) -> None:
        if i != self._pointed:
            self._pointed = i
            self._show_visible()

    def _banded(self) -> list[int]:
        """Return the indices of the curves whose standard deviation bands are shown: the first few curves, or
        the one at the mouse; more bands would overlap.
        """
        if not self.bands:
            return []
        return self.visible[:BANDS_MOST] if self._pointed is None else [self._pointed]

    def _show_visible(self) -> None:
        visible, banded = self.visible, self._banded()
        for i, curve in enumerate(self.curves):
            curve.setVisible(i in visible)
        for i, band in enumerate(self.bands):
            band.setVisible(i in banded)

    def _rows(self, values: NDArray[Value]) -> NDArray[Value]:
        return values[self.panel.first : self.panel.first + len(self.curves)]

    def _deviations(self, values: NDArray[Value]) -> NDArray[Value]:
        """Return those rows of the values of all panels that are the standard deviations of this panel's
        curves; empty if there are none.
        """
        first = self.panel.deviation
        return values[:0] if first is None else values[first : first + len(self.curves)]

    def _write_values(self) -> None:
        self.write_header(
            self._title(), self._names(self.visible), [written(self._values[i]) for i in self.visible],
            self.visible,
        )  # fmt: skip

    def _title(self) -> str:
        return self.panel.title

    def _names(self, entries: list[int]) -> list[str]:
        return [self.panel.names[i] for i in entries]


class CrowdPanel(CurvePanel):
    """A panel of many curves, such as all muscles or ligaments; it shows only curves that have been
    different from zero.
    """

    def __init__(
        self, panel: PlotPanel, theme: Theme, time_titled: bool, hidden: frozenset[int] = frozenset()
    ) -> None:
        self.acting: list[int] = []
        super().__init__(panel, theme, time_titled, hidden)
        self.header.values_optional = True

    @property
    def visible(self) -> list[int]:
        """Indices of the curves that are shown."""
        return [i for i in self.acting if i not in self.hidden]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme; curves with a colour that is used again are dashed."""
        self.paint_axes(theme)
        self.marks.set_theme(theme)
        for k, i in enumerate(self.visible):
            self.curves[i].setPen(self.pen(k, CURVE_WIDTH))
            self.curves[i].setSegmentedLineMode("off" if self.dashed(k) else "on")  # or dashes run together
            if self.bands:
                self.bands[i].set_colour(theme.curve(k))
        self._write_values()

    def fit(self, values: Array) -> None:
        """Show, from now on, also those curves of this panel that differ from zero anywhere in the values
        (n_channel, n) of all panels; set the range of the vertical axis for the curves shown.
        """
        acting = np.flatnonzero((np.abs(self._rows(values)) > NOTHING).any(axis=1))
        new = sorted({*self.acting, *acting.tolist()})
        if new != self.acting:
            self.acting = new
            self._show_visible()
            self.set_theme(self.theme)
        super().fit(values)

    def _write_values(self) -> None:
        self.write_header(
            self.panel.title, self._names(self.visible), [written(self._values[i]) for i in self.visible]
        )


def written(value: float) -> str:
    """Return the value of a curve as text of a few characters, for the header of a plot."""
    if not math.isfinite(value):
        return NO_VALUE
    text = f"{value:z.1f}" if abs(value) < FEW_DIGITS else f"{value:.1e}"
    return text.replace("-", "−")
