"""A plot over the stride: the last strides, their mean with one standard deviation, and the current stride
on top.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycle_curves import PERCENT
from rtsim.monitor.gait.strides import StrideCurves, Strides
from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.band import DeviationBand
from rtsim.monitor.plots.curves import BANDS_MOST, CurvePanel
from rtsim.monitor.plots.plot_line import PlotLine
from rtsim.monitor.plots.plots import CURVE_WIDTH
from rtsim.monitor.plots.scaling import held_range
from rtsim.monitor.theme import Theme

Array = NDArray[np.float64]
STRIDE_TITLE = "stride, from foot strike to foot strike (%)"
FAINT, MEAN_WIDTH = 70, 1.1
"""Opacity of single strides, of 255; width of the mean [px]."""
NO_STRIDE = "no full stride yet"


class StridePanel(CurvePanel):
    """Curves of a side over the strides of that side; curves without a side over the right strides, or over
    the left ones if there are no others.
    """

    def __init__(self, panel: PlotPanel, theme: Theme, titled: bool, hidden: frozenset[int]) -> None:
        self.past = [PlotLine() for _ in panel.names]
        self.means = [PlotLine() for _ in panel.names]
        self.n_stride = 0
        super().__init__(panel, theme, titled, hidden)
        self.title_axes(panel.axis_title, STRIDE_TITLE if titled else "")
        if not self.bands:
            self.bands = [DeviationBand() for _ in panel.names]
            for band in self.bands:
                self.item.addItem(band, ignoreBounds=True)
            if len(self.bands) > BANDS_MOST:
                self.plot.scene().sigMouseMoved.connect(self._point_at)
        for item in (*self.past, *self.means):
            self.item.addItem(item, ignoreBounds=True)
            item.setZValue(-10)
        self.item.setXRange(0.0, 100.0, padding=0.0)
        self._show_visible()
        self.set_theme(theme)

    def set_duration(self, duration: float) -> None:
        """Ignore the length of the time axes, as this panel is over the stride."""

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        super().set_theme(theme)
        for i, (past, mean) in enumerate(zip(self.past, self.means, strict=True)):
            faint = QColor(self.colour(i))
            faint.setAlpha(FAINT)
            past.setPen(pg.mkPen(faint, width=1))
            mean.setPen(self.pen(i, MEAN_WIDTH))
            self.curves[i].setPen(self.pen(i, 1.6 * CURVE_WIDTH))

    def draw_strides(self, strides: Strides, now: Mapping[str, tuple[Array, Array]]) -> None:
        """Show the stored strides, and of each side the stride in progress, as `Strides.current` gives it."""
        self.n_drawn += 1
        of_side = {side: strides.of(side) for side in SIDES}
        usual = next((side for side in SIDES if of_side[side] is not None), SIDES[0])
        heights = []
        for i in self.visible:
            side = self.panel.sides[i] or usual
            row, curves = self.panel.first + i, of_side[side]
            percent, values = (part[row] for part in now[side])
            inside = (percent >= 0.0) & (percent <= 100.0)
            self.curves[i].setData(percent[inside], values[inside])
            heights.append(values[inside])
            heights.append(self._draw_past(i, row, curves))
        self._drawn = (PERCENT, self._mean_rows(of_side, usual))
        new_range = held_range(
            self._range, np.concatenate([np.ravel(h) for h in heights] or [np.empty(0)]),
            self.panel.extent_least, self.panel.from_zero,
        )  # fmt: skip
        if new_range is not None and new_range != self._range:
            self._range = new_range
            self.item.setYRange(*new_range, padding=0.0)
        shown = self.panel.sides[self.visible[0]] or usual if self.visible else usual
        self.n_stride = strides.n_stride[shown]
        self._write_values()

    def _draw_past(self, i: int, row: int, curves: StrideCurves | None) -> Array:
        """Draw single strides, mean and standard deviation band of one curve; return the values in view.

        i : index of the curve in this panel; row : its channel among those of all panels
        curves : the strides of the curve's side; None = there are none yet
        """
        if curves is None:
            for item in (self.past[i], self.means[i]):
                item.setData([], [])
            self.bands[i].set_data(np.empty(0), np.empty(0), np.empty(0))
            return np.empty(0)
        single = curves.values[:, row]
        apart = np.column_stack([single, np.full(len(single), np.nan)]).ravel()
        self.past[i].setData(np.tile(np.append(PERCENT, np.nan), len(single)), apart)
        self.means[i].setData(PERCENT, curves.mean[row])
        if i in self._banded():
            self.bands[i].set_data(PERCENT, curves.mean[row], curves.deviation[row])
        return single

    def _mean_rows(self, of_side: dict[str, StrideCurves | None], usual: str) -> Array:
        rows = np.full((len(self.curves), len(PERCENT)), np.nan)
        for i in self.visible:
            curves = of_side[self.panel.sides[i] or usual]
            if curves is not None:
                rows[i] = curves.mean[self.panel.first + i]
        return rows

    def _show_visible(self) -> None:
        super()._show_visible()
        for i, (past, mean) in enumerate(zip(self.past, self.means, strict=True)):
            past.setVisible(i in self.visible)
            mean.setVisible(i in self.visible)

    def _title(self) -> str:
        n = self.n_stride
        return f"{self.panel.title} · " + (f"{n} stride{'s' if n > 1 else ''}" if n else NO_STRIDE)
