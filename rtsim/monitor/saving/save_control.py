"""Saving of what the monitor window shows: by a dialogue or, in a run with a device, at once without one."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from rtsim.errors import ConfigError
from rtsim.monitor.saving.export import FORMATS, write_picture, write_table

if TYPE_CHECKING:
    from rtsim.monitor.window import MonitorWindow


class SaveControl:
    """Saves pictures and tables of one window."""

    def __init__(self, window: MonitorWindow) -> None:
        self.window = window

    def save_as(self, path: str | Path) -> bool:
        """Save what the monitor window shows, as PNG, SVG or csv by the suffix; return whether that
        worked.
        """
        window, path, note = self.window, Path(path), ""
        window.redraw()
        try:
            if path.suffix.lower() == ".csv":
                note = self._save_table(path)
            else:
                write_picture(window, path)
        except ConfigError as fault:
            window.say(f"Could not save: {fault}.")
            return False
        window.say(f"Saved {path}.{note}")
        return True

    def _save_table(self, path: Path) -> str:
        """Save the curves in view as csv; return what there is to say of its rows. ConfigError if that
        fails.
        """
        window, feed, n_frame = self.window, self.window.feed, 1
        panels = [(panel.panel, panel.visible) for panel in window.curves.panels]
        shown = window.shown_window()
        if window.looks_back:
            shown, n_frame = feed.samples_before(window.time_bar.at, window.curves.duration)
        events = feed.events_since(float(shown.time[0])) if len(shown.time) else []
        begin = feed.begin_of(float(shown.time[-1])) if len(shown.time) else -math.inf
        n_left_out = write_table(path, panels, shown, events, begin)
        rows, note = "frames" if n_frame == 1 else "rows", ""
        if n_frame > 1:
            note = (
                f" Its rows are the lowest and highest values of every {n_frame} frames, not single frames."
            )
        if n_left_out:
            note += f" {n_left_out} {rows} in view are of the session before, and not in the table."
        return note

    def ask_and_save(self) -> None:
        """Save what the monitor window shows: ask for file and format (PNG, SVG or csv) in a dialogue.

        In a run with a device no dialogue is opened, as it might cover the button for the emergency stop: a
        PNG picture of the window is saved at once into the current folder, with date and time in its name.
        """
        name = time.strftime("rtsim-monitor-%Y%m%d-%H%M%S")
        if self.window.device.device is not None:
            self.save_as(f"{name}.png")
            return
        filters = ";;".join(FORMATS.values())
        path, chosen = QFileDialog.getSaveFileName(self.window, "Save what is shown", name, filters)
        if path:
            suffix = next(suffix for suffix, words in FORMATS.items() if words == chosen or not chosen)
            self.save_as(path if Path(path).suffix.lower() in FORMATS else f"{path}{suffix}")
