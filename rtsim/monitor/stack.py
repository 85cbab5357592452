"""Panels of curves above each other, saved as a PNG file in the colours of the monitor."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError
from rtsim.monitor.app import check_folder, choose_platform, require_qt
from rtsim.monitor.picture import LINE, STYLES, legend
from rtsim.monitor.theme import LIGHT

if TYPE_CHECKING:
    import pyqtgraph as pg

    from rtsim.simulation.panels import Panel

WIDTH = 1000  # pixels
LEAST_HEIGHT, NAME_HEIGHT, TITLE_HEIGHT = 125, 17, 34  # of a panel: at the least, and by its legend
AXIS_WIDTH = 64  # the same for all panels, so that their abscissae stand above each other
AXIS_HEIGHT = 40


def save_panels(path: Path, title: str, panels: Sequence[Panel], option: str = "--plot") -> None:
    """Save panels as a PNG; ConfigError without Qt, for a bad name or a missing folder."""
    check_folder(path, option)
    require_qt()
    choose_platform(off_screen_will_do=True)
    import pyqtgraph as pg
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

    app = pg.mkQApp()
    page = QWidget()
    page.setStyleSheet(f"background: {LIGHT.panel}; color: {LIGHT.text};")
    grid = QGridLayout(page)
    grid.setVerticalSpacing(8)
    head = QLabel(f"<b>{escape(title)}</b>")
    grid.addWidget(head, 0, 0, 1, 2, alignment=Qt.AlignmentFlag.AlignHCenter)
    titled = [panel.enlarged or k == last_common(panels) for k, panel in enumerate(panels)]
    first = None
    for k, panel in enumerate(panels):
        plot = draw(panel, titled[k])
        if not panel.enlarged:
            first = first or plot
            if plot is not first:
                plot.setXLink(first)
        plot.setFixedHeight(height_of(panel) + (AXIS_HEIGHT if titled[k] else 0))
        grid.addWidget(plot, k + 1, 0)
        said = QLabel(f"<b>{escape(panel.title)} [{panel.unit}]</b><br>{legend(list(panel.curves))}")
        grid.addWidget(said, k + 1, 1, alignment=Qt.AlignmentFlag.AlignTop)
    grid.setColumnStretch(0, 1)
    grid.setRowStretch(len(panels) + 1, 1)
    page.resize(WIDTH, page.sizeHint().height())
    page.grab()  # lays the page out; the axes find their width on the way
    app.processEvents()
    saved = page.grab().save(str(path))
    page.close()
    if not saved:
        raise ConfigError(f"could not write {str(path)!r}", where=option)


def last_common(panels: Sequence[Panel]) -> int:
    """The lowest of the panels that share their abscissa."""
    return max((k for k, panel in enumerate(panels) if not panel.enlarged), default=-1)


def height_of(panel: Panel) -> int:
    """Room for the plot and for the names beside it [pixels]."""
    return max(LEAST_HEIGHT, TITLE_HEIGHT + NAME_HEIGHT * len(panel.curves))


def draw(panel: Panel, titled: bool) -> pg.PlotWidget:
    """One panel; without a title below, the numbers of the abscissa stand in the lowest one alone."""
    import pyqtgraph as pg
    from PySide6.QtCore import Qt

    plot = pg.PlotWidget(background=LIGHT.panel)
    item = plot.getPlotItem()
    item.setLabel("left", panel.unit, color=LIGHT.text)
    if titled:
        item.setLabel("bottom", panel.x_title, color=LIGHT.text)
    for side in ("bottom", "left"):
        axis = item.getAxis(side)
        axis.enableAutoSIPrefix(False)
        axis.setPen(LIGHT.grid)
        axis.setTextPen(LIGHT.text)
    item.getAxis("bottom").setStyle(showValues=titled)
    item.getAxis("left").setWidth(AXIS_WIDTH)
    item.showGrid(x=True, y=True, alpha=0.2)
    for k, y in enumerate(panel.curves.values()):
        style = getattr(Qt.PenStyle, STYLES[(k // len(LIGHT.curves)) % len(STYLES)])
        pen = pg.mkPen(LIGHT.curve(k), width=LINE, style=style)
        item.plot(panel.x, y, pen=pen, antialias=True, connect="finite")
    return plot
