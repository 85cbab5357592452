"""Saving of the monitor window as a picture (PNG, SVG), or of the curves and events in view as a
table (csv).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QBuffer, QIODevice, QRect
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from rtsim.errors import ConfigError
from rtsim.files.gait.events import GaitEvent
from rtsim.files.output import cell_of, write_bytes, write_text
from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.history import Window

FORMATS = {
    ".png": "Image (*.png)",
    ".svg": "Vector graphics (*.svg)",
    ".csv": "Table of the curves (*.csv)",
}
TITLE = "rtsim monitor"


def write_picture(widget: QWidget, path: Path) -> None:
    """Save a widget as it is displayed, as PNG or SVG by the suffix; ConfigError if that fails."""
    drawn = QBuffer()
    drawn.open(QIODevice.OpenModeFlag.WriteOnly)
    if path.suffix.lower() == ".svg":
        generator = QSvgGenerator()
        generator.setOutputDevice(drawn)
        generator.setSize(widget.size())
        generator.setViewBox(QRect(0, 0, widget.width(), widget.height()))
        generator.setTitle(TITLE)
        widget.render(generator)
    else:
        widget.grab().save(drawn, "PNG")
    write_bytes(path, bytes(drawn.data().data()))


def write_table(
    path: Path,
    panels: Sequence[tuple[PlotPanel, Sequence[int]]],
    window: Window,
    events: Sequence[GaitEvent],
    in_trial: Callable[[float], float],
) -> None:
    """Save the curves in view in display units as csv, with the name of each event in the row of the next
    frame.

    panels : panels with the indices of their visible curves
    in_trial : function that returns the time in the trial at a time of the curves [s]
    """
    columns = [(panel, k) for panel, entries in panels for k in entries]
    if not columns or not len(window.time):
        raise ConfigError("no curves are shown", where=str(path), remedy="wait for data, or choose panels")
    names = [f"{panel.title}: {panel.names[k]} [{panel.unit}]" for panel, k in columns]
    rows = window.values[[panel.first + k for panel, k in columns]]
    told: dict[int, list[str]] = {}
    for event in events:
        if window.time[0] <= event.time <= window.time[-1]:
            at = min(int(np.searchsorted(window.time, event.time)), len(window.time) - 1)
            told.setdefault(at, []).append(f"{event.side} {event.label}".strip())
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["time [s]", *map(cell_of, names), "events"])
    for i, time in enumerate(window.time.tolist()):
        values = ["" if value != value else repr(value) for value in rows[:, i].tolist()]
        table.writerow([repr(in_trial(time)), *values, cell_of("; ".join(told.get(i, [])))])
    write_text(path, text.getvalue())
