"""Opening of the monitor window, its event loop until it is closed, and storage of its settings."""

from __future__ import annotations

import time
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QStandardPaths, QTimer
from PySide6.QtWidgets import QApplication

from rtsim.live.processes.signals import noting_requests
from rtsim.monitor.choice.settings_file import read_settings
from rtsim.monitor.controls import NAME
from rtsim.monitor.device.commands import Commander
from rtsim.monitor.feed import Feed
from rtsim.monitor.window import MonitorWindow
from streams.access.security import Security

SETTINGS = Path("rtsim", "monitor.json")
"""Settings file, below the folder in which programs of this user keep theirs."""


def make_application() -> QApplication:
    """Return the Qt application of this process, which looks the same on every system."""
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        application = QApplication([NAME])
    if application.applicationName() != NAME:
        application.setApplicationName(NAME)
        application.setStyle("Fusion")
    pg.setConfigOptions(antialias=True)
    return application


def open_window(
    feed: Feed,
    control: str | None,
    security: Security | None,
    screenshot: str | Path | None,
    duration_s: float | None,
) -> tuple[bool, dict[str, float]]:
    """Show the monitor window until it is closed, interrupted or `duration_s` is over.

    Return whether everything was saved, and statistics: redraws of figure and curves per second, % of a
    processor core, frames taken.

    control : address for commands to the sender, None = not known
    screenshot : PNG file that is saved at the end
    """
    application = make_application()
    commander = Commander(control, security) if control else None
    path = settings_path() if screenshot is None else None  # a picture shows what everybody would see
    settings, fault = read_settings(path)
    kept = None if fault else path  # what cannot be read is not written over
    window = MonitorWindow(feed, commander, settings, kept, security)
    if fault:
        feed.sentences.say(fault)
    if duration_s is not None:
        QTimer.singleShot(round(1000 * duration_s), window, application.quit)
    begun, worked = time.monotonic(), time.process_time()
    try:
        with noting_requests(lambda number: application.quit()):
            window.show()
            application.exec()
        lasted = time.monotonic() - begun
        account = {
            "seconds": lasted,
            "redraw_hz": window.figure_card.figure.n_painted / lasted,
            "curve_redraw_hz": max((panel.n_drawn for panel in window.curves.panels), default=0) / lasted,
            "cpu_percent": 100.0 * (time.process_time() - worked) / lasted,
            "n_curve": float(sum(len(panel.visible) for panel in window.curves.panels)),
            "n_frame": float(feed.meter.n_frame),
            "n_stride": float(sum(window.strides.n_stride.values())),
        }
        return screenshot is None or window.saving.save_as(screenshot), account
    finally:
        window.close()


def settings_path() -> Path | None:
    """Return the settings file of this user; None if there is no folder for it."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericConfigLocation)
    return Path(folder) / SETTINGS if folder else None
