"""Bands about curves of a figure: how far they reach, and what the key says of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyqtgraph")

from PySide6.QtCore import QRectF

from rtsim.files.tables.panels import DEVIATION, RANGE, FigurePanel
from rtsim.monitor.figures.chart import Chart
from rtsim.monitor.figures.key import key_of
from rtsim.monitor.figures.paper import ready_to_draw

X = np.linspace(0.0, 1.0, 5)
ZERO = np.zeros(5)
UNEVEN = np.array([np.full(5, 2.0), np.full(5, 7.0)])


def panel(**changes: object) -> FigurePanel:
    """A flat curve with a band that reaches 2 below and 7 above it."""
    flat = FigurePanel("run", "mm", "cycle [%]", X, {"flat": ZERO}, deviations={"flat": UNEVEN})
    return flat._replace(**changes)


def y_range(one: FigurePanel) -> tuple[float, float]:
    """The ordinate of a chart of the panel."""
    ready_to_draw()
    return Chart(one, QRectF(0.0, 0.0, 400.0, 300.0), names=60.0, titled=True).y_range


def test_the_ordinate_holds_a_whole_band() -> None:
    """Protects bands of two reaches: below and above the curve, the axis as far as both where it is asked."""
    low, high = y_range(panel(whole_band=True))
    assert -4.0 < low <= -2.0
    assert 7.0 <= high < 10.0
    assert y_range(panel())[1] < 1.0
    assert y_range(panel(deviations={"flat": np.full(5, 3.0)}, whole_band=True))[1] >= 3.0


def test_the_key_says_what_a_band_is() -> None:
    """Protects readers: a range of runs is not taken for a standard deviation."""
    ready_to_draw()
    assert key_of([panel()]) == [DEVIATION]
    assert key_of([panel(band=RANGE)]) == [RANGE]
    assert key_of([panel(deviations=None, band=RANGE)]) == []
