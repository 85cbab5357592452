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
        window, path, left_out = self.window, Path(path), ""
        window.redraw()
        try:
            if path.suffix.lower() == ".csv":
                panels = [(panel.panel, panel.visible) for panel in window.curves.panels]
                feed, shown = window.feed, window.shown_window()
                events = feed.events_since(float(shown.time[0])) if len(shown.time) else []
                begin = feed.begin_of(float(shown.time[-1])) if len(shown.time) else -math.inf
                if n := write_table(path, panels, shown, events, begin):
                    left_out = f" {n} frames in view are of the session before, and not in the table."
            else:
                write_picture(window, path)
        except ConfigError as fault:
            window.say(f"Could not save: {fault}.")
            return False
        window.say(f"Saved {path}.{left_out}")
        return True

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
