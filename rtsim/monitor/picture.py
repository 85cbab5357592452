"""Curves over a common abscissa, saved as a PNG file in the colours of the monitor."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from rtsim.errors import ConfigError
from rtsim.monitor.app import check_folder, choose_platform, require_qt
from rtsim.monitor.theme import LIGHT

WIDTH, HEIGHT = 900, 560  # pixels
LINE = 2.0
STYLES = ("SolidLine", "DashLine", "DotLine", "DashDotLine")
DASHES = ("&mdash;&mdash;", "&ndash; &ndash;", "&middot;&middot;&middot;&middot;", "&ndash; &middot;")
"""When the colours repeat, the dashes tell the curves apart."""


def save_curves(
    path: Path,
    title: str,
    x_title: str,
    y_title: str,
    x: Sequence[float],
    curves: dict[str, Sequence[float]],
    option: str = "--plot",
) -> None:
    """Save named curves over x as a PNG; ConfigError without Qt, for a bad name or a missing folder."""
    check_folder(path, option)
    require_qt()
    choose_platform(off_screen_will_do=True)
    import pyqtgraph as pg
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

    app = pg.mkQApp()
    page = QWidget()
    page.setStyleSheet(f"background: {LIGHT.panel}; color: {LIGHT.text};")
    plot = pg.PlotWidget(background=LIGHT.panel)
    item = plot.getPlotItem()
    item.setTitle(title, color=LIGHT.text, size="12pt")
    item.setLabel("bottom", x_title, color=LIGHT.text)
    item.setLabel("left", y_title, color=LIGHT.text)
    for side in ("bottom", "left"):
        axis = item.getAxis(side)
        axis.enableAutoSIPrefix(False)
        axis.setPen(LIGHT.grid)
        axis.setTextPen(LIGHT.text)
    item.showGrid(x=True, y=True, alpha=0.2)
    for k, y in enumerate(curves.values()):
        style = getattr(Qt.PenStyle, STYLES[(k // len(LIGHT.curves)) % len(STYLES)])
        item.plot(list(x), list(y), pen=pg.mkPen(LIGHT.curve(k), width=LINE, style=style))
    row = QHBoxLayout(page)
    row.addWidget(plot, stretch=1)
    # beside the plot, where no curve can run through it
    row.addWidget(QLabel(legend(list(curves))), alignment=Qt.AlignmentFlag.AlignTop)
    page.resize(WIDTH, max(HEIGHT, 40 + 17 * len(curves)))
    page.grab()  # lays the page out; the axes find their width on the way
    app.processEvents()
    saved = page.grab().save(str(path))
    page.close()
    if not saved:
        raise ConfigError(f"could not write {str(path)!r}", where=option)


def legend(names: list[str]) -> str:
    """Names in the colours of their curves, with the dashes that tell equal colours apart."""
    rows = []
    for k, name in enumerate(names):
        dash = DASHES[(k // len(LIGHT.curves)) % len(DASHES)]
        rows.append(f'<b style="color:{LIGHT.curve(k)}">{dash}</b> {escape(name.replace("_", " "))}')
    return "<br>".join(rows)
