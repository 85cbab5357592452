"""Saving of the monitor window as a picture (PNG, SVG), or of the curves and events in view as a
table (csv).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QBuffer, QIODevice, QRect
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from rtsim.errors import ConfigError
from rtsim.files.gait.events import GaitEvent
from rtsim.files.output import cell_of, write_bytes, write_text
from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.history import Quality, Window

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
    begin: float,
) -> int:
    """Save the curves in view in display units as csv, with a row for each frame: its time in the trial, the
    values, the quality of the frame, and the names of the events since the frame before.

    panels : panels with the indices of their visible curves
    begin : time after which the session of the newest sample in view began; frames before it are left out
    Return how many frames were left out. Raises ConfigError if nothing is shown or the file cannot be
    written.
    """
    columns = [(panel, k) for panel, entries in panels for k in entries]
    frames = np.isfinite(window.in_trial)
    kept = np.flatnonzero(frames & (window.time > begin))
    if not columns or not len(kept):
        raise ConfigError("no curves are shown", where=str(path), remedy="wait for data, or choose panels")
    names = [f"{panel.title}: {panel.names[k]} [{panel.unit}]" for panel, k in columns]
    rows = window.values[[panel.first + k for panel, k in columns]][:, kept]
    times = window.time[kept]
    told: dict[int, list[str]] = {}
    for event in events:
        if event.time > begin and window.time[0] <= event.time <= times[-1]:
            at = int(np.searchsorted(times, event.time))
            told.setdefault(at, []).append(f"{event.side} {event.label}".strip())
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["time [s]", *map(cell_of, names), "quality", "events"])
    for i, k in enumerate(kept.tolist()):
        values = ["" if value != value else repr(value) for value in rows[:, i].tolist()]
        words = [Quality(int(window.quality[k])).name.lower(), cell_of("; ".join(told.get(i, [])))]
        table.writerow([repr(float(window.in_trial[k])), *values, *words])
    write_text(path, text.getvalue())
    return int(np.count_nonzero(frames)) - len(kept)
