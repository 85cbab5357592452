"""Scrolling curves: a plot for each panel, with gaps, shaded stretches and live values."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from rtsim.monitor.layout import ARM_COLUMN, PlotPanel, WindowLayout
from rtsim.monitor.plots.band import DeviationBand
from rtsim.monitor.plots.history import Quality, Window, spans, thin
from rtsim.monitor.plots.plots import CURVE_WIDTH, PlotCard, Spans
from rtsim.monitor.plots.scaling import Range, held_range
from rtsim.monitor.theme import LIGHT, Theme

Array = NDArray[np.float64]

TIME_TITLE = "time before the newest frame (s)"
NO_VALUE = "–"
NOTHING = 0.1  # mm, N; less is a muscle that does not cross the joint, or a slack ligament
FEW_DIGITS = 1e5  # larger values are written with a power of ten
COLUMN_LEAST = 175  # px, width of a column of plots
CROWD = 6  # curves; beyond, colours repeat and names fill the width
NOTHING_TO_DRAW = "This stream has no joint angles, displacements, ligaments or residuals to draw."


class CurvePanel(PlotCard):
    """One plot with its title, coloured names and newest values above it."""

    def __init__(self, panel: PlotPanel, theme: Theme, time_titled: bool) -> None:
        super().__init__(panel.axis_title, TIME_TITLE if time_titled else "")
        self.panel = panel
        self.n_drawn = 0
        self._range: Range | None = None
        self._values: list[float] = [math.nan] * len(panel.names)
        self.curves = [pg.PlotCurveItem(connect="finite") for _ in panel.names]
        self.bands = [DeviationBand() for _ in panel.names] if panel.deviation is not None else []
        for band in self.bands:
            self.item.addItem(band, ignoreBounds=True)
        for curve in self.curves:
            curve.setSegmentedLineMode("on")  # twice as fast for lines wider than one pixel
            self.item.addItem(curve, ignoreBounds=True)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Recolour."""
        self.paint_axes(theme)
        for i, curve in enumerate(self.curves):
            curve.setPen(pg.mkPen(theme.curve(i), width=theme.scale * CURVE_WIDTH))
        for i, band in enumerate(self.bands):
            band.set_colour(theme.curve(i))
        self._write_values()

    def set_duration(self, duration: float) -> None:
        """Length of the time axis [s]."""
        self.item.setXRange(-duration, 0.0, padding=0.0)

    @property
    def n_visible(self) -> int:
        """Curves that take time to draw."""
        return len(self.curves)

    def draw(self, time: Array, values: Array, bands: list[tuple[Spans, QColor]]) -> None:
        """Show (n,) times [s, not above 0] and the (n_channel, n) values of all panels."""
        self.n_drawn += 1
        own = self._own(values)
        for curve, row in zip(self.curves, own, strict=True):
            curve.setData(time, row)
        for band, row, deviation in zip(self.bands, own, self._deviations(values), strict=False):
            band.set_data(time, row, deviation)
        new_range = held_range(self._range, own, self.panel.extent_least, self.panel.from_zero)
        if new_range is not None and new_range != self._range:
            self._range = new_range
            self.item.setYRange(*new_range, padding=0.0)
        self.backdrop.set_bands(bands)

    def show_values(self, newest: Array) -> None:
        """Write the (n_channel,) newest values of all panels into the header."""
        self._values = self._own(newest).tolist()
        self._write_values()

    def _own(self, values: Array) -> Array:
        return values[self.panel.first : self.panel.first + len(self.curves)]

    def _deviations(self, values: Array) -> Array:
        """Rows for the bands; none where the curves have no deviations."""
        first = self.panel.deviation
        return values[:0] if first is None else values[first : first + len(self.curves)]

    def _write_values(self) -> None:
        self.write_header(self.panel.title, self.panel.names, [written(value) for value in self._values])


class CrowdPanel(CurvePanel):
    """Many curves, as of all muscles or ligaments: those alone that have been seen to differ from zero."""

    def __init__(self, panel: PlotPanel, theme: Theme, time_titled: bool) -> None:
        self.acting: list[int] = []
        super().__init__(panel, theme, time_titled)

    def set_theme(self, theme: Theme) -> None:
        """Recolour; where the colours begin again the lines are dashed."""
        self.paint_axes(theme)
        for k, i in enumerate(self.acting):
            style = Qt.PenStyle.DashLine if self.dashed(k) else Qt.PenStyle.SolidLine
            self.curves[i].setPen(pg.mkPen(theme.curve(k), width=theme.scale * CURVE_WIDTH, style=style))
            self.curves[i].setSegmentedLineMode("off" if self.dashed(k) else "on")  # or dashes run together
            if self.bands:
                self.bands[i].set_colour(theme.curve(k))
        self._write_values()

    def draw(self, time: Array, values: Array, bands: list[tuple[Spans, QColor]]) -> None:
        """Show (n,) times [s, not above 0] and the (n_channel, n) values of all panels."""
        acting = np.flatnonzero((np.abs(self._own(values)) > NOTHING).any(axis=1))
        new = sorted({*self.acting, *acting.tolist()})
        if new != self.acting:
            self.acting = new
            for i, curve in enumerate(self.curves):
                curve.setVisible(i in new)
            for i, band in enumerate(self.bands):
                band.setVisible(i in new)
            self.set_theme(self.theme)
        super().draw(time, values, bands)

    @property
    def n_visible(self) -> int:
        """Curves that take time to draw."""
        return len(self.acting)

    def _write_values(self) -> None:
        self.write_header(self.panel.title, [self.panel.names[i] for i in self.acting])


class CurvePlots(QWidget):
    """All panels of a layout, in columns of equal plots."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("curves")
        self.panels: list[CurvePanel] = []
        self.theme = LIGHT
        self.duration = 5.0
        self._period = 0.01
        self._columns: list[QWidget] = []
        self._arm_column: QWidget | None = None
        self.arms_shown = False
        self.n_curve = 0  # in sight when they were drawn last
        self.placeholder = QLabel()
        self.placeholder.setObjectName("placeholder")
        self.placeholder.setTextFormat(Qt.TextFormat.PlainText)
        self.placeholder.setWordWrap(True)
        self.placeholder.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self._row.addWidget(self.placeholder)

    def set_layout(self, layout: WindowLayout) -> None:
        """Replace the plots by those of a layout."""
        for column in self._columns:
            self._row.removeWidget(column)
            column.hide()
            column.deleteLater()
        self._columns, self.panels, self._arm_column = [], [], None
        self.n_curve = 0  # those before slow the new ones down no more
        self._period = 1.0 / layout.rate_assumed
        for index in sorted({panel.column for panel in layout.panels}):
            self._add_column([panel for panel in layout.panels if panel.column == index])
        if layout.arms:
            self._arm_column = self._add_column(list(layout.arms))
            self._arm_column.setVisible(self.arms_shown)
        self.placeholder.setVisible(not self.panels)
        self.placeholder.setText(NOTHING_TO_DRAW)

    def show_arms(self, on: bool) -> None:
        """Show or hide the column of moment arms."""
        self.arms_shown = on
        if self._arm_column is not None:
            self._arm_column.setVisible(on)

    def _add_column(self, panels: list[PlotPanel]) -> QWidget:
        column = QWidget()
        column.setMinimumWidth(self.theme.px(COLUMN_LEAST))
        rows = QVBoxLayout(column)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(6)
        for i, panel in enumerate(panels):
            kind = CrowdPanel if panel.column == ARM_COLUMN or len(panel.names) > CROWD else CurvePanel
            widget = kind(panel, self.theme, time_titled=i == len(panels) - 1)
            widget.set_duration(self.duration)
            rows.addWidget(widget, 1)
            self.panels.append(widget)
        self._columns.append(column)
        self._row.addWidget(column, 1)
        return column

    def set_theme(self, theme: Theme) -> None:
        """Recolour all plots."""
        self.theme = theme
        for column in self._columns:
            column.setMinimumWidth(theme.px(COLUMN_LEAST))
        for panel in self.panels:
            panel.set_theme(theme)

    def set_duration(self, duration: float) -> None:
        """Length of the time axes [s]."""
        self.duration = duration
        for panel in self.panels:
            panel.set_duration(duration)

    def draw(self, window: Window) -> None:
        """Show a window of the history."""
        newest = float(window.time[-1]) if len(window.time) else 0.0
        time, values = thin(window)
        shades = ((Quality.DEGRADED, self.theme.degraded_fill), (Quality.MISSING, self.theme.missing_fill))
        bands = [
            ([(a - newest, b - newest) for a, b in spans(window, quality, self._period)], QColor(colour))
            for quality, colour in shades
        ]
        seen = [panel for panel in self.panels if not panel.visibleRegion().isEmpty()]
        for panel in seen:  # neither hidden nor scrolled out of sight
            panel.draw(time - newest, values, bands)
        self.n_curve = sum(panel.n_visible for panel in seen)

    def show_values(self, newest: Array) -> None:
        """Write the newest values [display units] into the headers."""
        for panel in self.panels:
            panel.show_values(newest)


def written(value: float) -> str:
    """A value in a few characters."""
    if not math.isfinite(value):
        return NO_VALUE
    text = f"{value:z.1f}" if abs(value) < FEW_DIGITS else f"{value:.1e}"
    return text.replace("-", "−")
