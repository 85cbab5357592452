"""All plots of a stream in the monitor window, in columns, over time or over the stride."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from rtsim.files.gait.events import GaitEvent
from rtsim.files.tables.legs import SIDES
from rtsim.monitor.choice.panel_choice import PanelChoice
from rtsim.monitor.flow import scale_layouts
from rtsim.monitor.gait.strides import Strides
from rtsim.monitor.layout import ARM_COLUMN, WindowLayout
from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.curves import CROWD, CrowdPanel, CurvePanel
from rtsim.monitor.plots.drawn_points import drawn_points
from rtsim.monitor.plots.history import History, Quality, Window, spans, thin
from rtsim.monitor.plots.stride_panel import StridePanel
from rtsim.monitor.theme import LIGHT, Theme

Array = NDArray[np.float64]
COLUMN_LEAST = 175  # px, width of a column of plots
NOTHING_TO_DRAW = "This stream has no joint angles, displacements, ligaments or residuals to draw."
NOTHING_CHOSEN = "No panel of this stream is chosen. Press P, or the button Panels, to choose some."


class CurvePlots(QWidget):
    """All panels of curves of a result stream, in columns of plots of equal size."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("curves")
        self.panels: list[CurvePanel] = []
        self.theme = LIGHT
        self.choice = PanelChoice()
        self.duration = 5.0
        self._period = 0.01
        self._columns: list[QWidget] = []
        self._arm_column: QWidget | None = None
        self.arms_shown = False
        self.n_curve = 0  # in sight when they were drawn last
        self.over_stride = False
        self.n_column_most = 3  # that fit
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
        """Replace the plots by those for the panels of another stream."""
        for column in self._columns:
            self._row.removeWidget(column)
            column.hide()
            column.deleteLater()
        self._columns, self.panels, self._arm_column = [], [], None
        self.n_curve = 0  # those before slow the new ones down no more
        self._period = 1.0 / layout.rate_assumed
        chosen = self.choice.chosen(layout.panels, self.n_column_most)
        for index in sorted({panel.column for panel in chosen}):
            self._add_column([panel for panel in chosen if panel.column == index])
        if layout.arms:
            self._arm_column = self._add_column(list(layout.arms))
            self._arm_column.setVisible(self.arms_shown)
        self.placeholder.setVisible(not self.panels)
        self.placeholder.setText(NOTHING_CHOSEN if layout.panels else NOTHING_TO_DRAW)
        scale_layouts(self, self.theme.scale)

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
            kind: type[CurvePanel] = (
                CrowdPanel if panel.column == ARM_COLUMN or len(panel.names) > CROWD else CurvePanel
            )
            hidden = {k for k in range(len(panel.names)) if not self.choice.shows_curve(panel, k)}
            if self.over_stride and kind is CurvePanel:
                kind = StridePanel
            widget = kind(panel, self.theme, i == len(panels) - 1, frozenset(hidden))
            widget.set_duration(self.duration)
            rows.addWidget(widget, 1)
            self.panels.append(widget)
        self._columns.append(column)
        self._row.addWidget(column, 1)
        return column

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme to all plots."""
        self.theme = theme
        for column in self._columns:
            column.setMinimumWidth(theme.px(COLUMN_LEAST))
        for panel in self.panels:
            panel.set_theme(theme)

    def set_duration(self, duration: float) -> None:
        """Set the length of the time axes [s]."""
        self.duration = duration
        for panel in self.panels:
            panel.set_duration(duration)

    def draw(self, window: Window, events: Sequence[GaitEvent] = ()) -> None:
        """Show a time window of the samples of all curves, and the gait events and marked events in it."""
        newest = float(window.time[-1]) if len(window.time) else 0.0
        oldest = newest - self.duration
        marks = [e._replace(time=e.time - newest) for e in events if oldest <= e.time <= newest]
        time, values = thin(window)
        first = window.first if len(time) == len(window.time) else 0
        shades = (
            (Quality.DEGRADED, self.theme.degraded_fill),
            (Quality.UNUSABLE, self.theme.missing_fill),
            (Quality.MISSING, self.theme.missing_fill),
        )
        bands = [
            ([(a - newest, b - newest) for a, b in spans(window, quality, self._period)], QColor(colour))
            for quality, colour in shades
        ]
        seen = self._seen()
        over_time = [panel for panel in seen if not isinstance(panel, StridePanel)]
        tolerance = np.full(len(values), np.nan)
        for panel in over_time:
            panel.fit(values)
            panel.mark_seen(tolerance)
        kept = np.ones(values.shape, dtype=np.bool_)
        rows = np.flatnonzero(np.isfinite(tolerance))  # of all panels at once, or it takes as long as drawing
        kept[rows] = drawn_points(time, values[rows], tolerance[rows], first)
        for panel in over_time:
            panel.draw(time - newest, values, bands, kept)
            panel.marks.set_events(marks)
        self.n_curve = sum(panel.n_visible for panel in seen)

    def draw_strides(self, strides: Strides, events: Sequence[GaitEvent], history: History) -> None:
        """Draw the last strides and the one in progress, in panels whose horizontal axis is the stride."""
        panels = [panel for panel in self._seen() if isinstance(panel, StridePanel)]
        now = {side: strides.current(side, events, history) for side in SIDES} if panels else {}
        for panel in panels:
            panel.draw_strides(strides, now)

    def _seen(self) -> list[CurvePanel]:
        """Return the panels that are visible: neither hidden nor scrolled out of view."""
        return [panel for panel in self.panels if not panel.visibleRegion().isEmpty()]

    def show_values(self, newest: Array) -> None:
        """Write the newest values of all curves [display units] into the headers of the plots."""
        for panel in self.panels:
            panel.show_values(newest)
