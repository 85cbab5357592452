"""The biofeedback window: the chosen result in large digits, a target, sound, and full screen on a second
display.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from rtsim.monitor.choice.settings_file import WindowSettings
from rtsim.monitor.feed import Feed
from rtsim.monitor.feedback.gauge import FeedbackGauge
from rtsim.monitor.feedback.target import LARGEST, TargetBand
from rtsim.monitor.layout import WindowLayout
from rtsim.monitor.plots.history import Quality
from rtsim.monitor.theme import Theme, style_sheet

NO_TARGET = "The lowest value of a target must be below its highest value."


class FedBackValue(NamedTuple):
    """A curve that can be chosen for biofeedback: its index among the values of a frame, and its name."""

    key: str
    name: str
    unit: str
    channel: int


class FeedbackWindow(QWidget):
    """The biofeedback window, which shows one of the values that the monitor receives, with a target band.

    beep : function that makes a sound
    """

    def __init__(self, settings: WindowSettings, beep: Callable[[], None] = QApplication.beep) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.settings, self._beep = settings, beep
        self.setWindowTitle("Biofeedback")
        self.setObjectName("page")
        self.gauge = FeedbackGauge()
        self.values: list[FedBackValue] = []
        self.chosen = QComboBox()
        self.low, self.high = _bound(), _bound()
        self.sound = QCheckBox("Sound outside the target")
        self.sound.setChecked(settings.feedback_sound)
        self.full = QPushButton("Full screen (F)")
        self.full.clicked.connect(self.toggle_full_screen)
        self.share = QLabel()
        self.controls = QWidget()
        row = QHBoxLayout(self.controls)
        row.setContentsMargins(8, 4, 8, 4)
        for part in (self.chosen, QLabel("Target"), self.low, QLabel("to"), self.high, self.sound, self.full):
            row.addWidget(part, 1 if part is self.chosen else 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.gauge, 1)
        column.addWidget(self.share, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.controls)
        self.chosen.currentIndexChanged.connect(self._choose)
        for bound in (self.low, self.high):
            bound.valueChanged.connect(self._set_target)
        self.sound.toggled.connect(self._keep)
        QShortcut(QKeySequence("F"), self, self.toggle_full_screen)
        if settings.feedback_band is not None:
            blockers = [QSignalBlocker(self.low), QSignalBlocker(self.high)]
            self.low.setValue(settings.feedback_band[0])
            self.high.setValue(settings.feedback_band[1])
            del blockers
        self._set_target()

    def set_layout(self, layout: WindowLayout) -> None:
        """Offer the curves of a stream for biofeedback; the chosen one stays chosen if the stream has it."""
        self.values = [
            FedBackValue(f"{panel.key}/{name}", f"{panel.title}: {name}", panel.unit, panel.first + k)
            for panel in layout.panels
            for k, name in enumerate(panel.names)
        ]
        blocker = QSignalBlocker(self.chosen)
        self.chosen.clear()
        self.chosen.addItems([f"{value.name} ({value.unit})" for value in self.values])
        keys = [value.key for value in self.values]
        wanted = self.settings.feedback_curve
        self.chosen.setCurrentIndex(keys.index(wanted) if wanted in keys else 0)
        del blocker
        self._choose()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.setStyleSheet(style_sheet(theme))
        self.gauge.theme = theme
        self.gauge.update()

    def follow(self, feed: Feed, n_kept: int) -> None:
        """Show the newest value of a feed that has taken `n_kept` frames; no value if the stream is silent,
        or if the newest frame is unusable.
        """
        newest = feed.history.latest(1)
        if not feed.connection().heard:
            self.gauge.show_value(math.nan)
        elif n_kept and len(newest.time):
            usable = newest.quality[0] < Quality.UNUSABLE
            self.take(float(newest.time[0]), np.where(usable, newest.values[:, 0], math.nan))

    def restart(self) -> None:
        """Begin anew with the time in the target, because the session is another one or was cleared."""
        self.gauge.show_value(math.nan)
        if self.gauge.target is not None:
            self.gauge.target.restart()
            self.share.setText("")

    def take(self, time: float, newest: NDArray[np.float64]) -> None:
        """Show the chosen one of the newest values (n_channel,) of all curves, received at a time [s]."""
        index = self.chosen.currentIndex()
        if not self.isVisible() or not 0 <= index < len(self.values):
            return
        value = float(newest[self.values[index].channel])
        self.gauge.show_value(value)
        target = self.gauge.target
        if target is not None and target.take(time, value) and self.sound.isChecked():
            self._beep()
        if target is not None and not math.isnan(target.share):
            self.share.setText(f"{100.0 * target.share:.0f} % of {target.seconds_known:.0f} s in the target")

    def toggle_full_screen(self) -> None:
        """Switch full screen on or off, on another display than the monitor's if there is one."""
        if self.isFullScreen():
            self.showNormal()
        else:
            here, screens = QGuiApplication.primaryScreen(), QGuiApplication.screens()
            other = next((screen for screen in screens if screen is not here), here)
            self.setGeometry(other.availableGeometry())
            self.showFullScreen()
        self.controls.setVisible(not self.isFullScreen())

    def _choose(self) -> None:
        index = self.chosen.currentIndex()
        if 0 <= index < len(self.values):
            value = self.values[index]
            self.gauge.name, self.gauge.unit = value.name, value.unit
            self.settings.feedback_curve = value.key
        self.gauge.show_value(math.nan)
        self._set_target()

    def _set_target(self) -> None:
        low, high = self.low.value(), self.high.value()
        self.gauge.target = TargetBand(low, high) if low < high else None
        self.share.setText("" if low < high else NO_TARGET)
        self._keep()
        self.gauge.update()

    def _keep(self) -> None:
        target = self.gauge.target
        self.settings.feedback_band = (target.low, target.high) if target else None
        self.settings.feedback_sound = self.sound.isChecked()


def _bound() -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(-LARGEST, LARGEST)
    box.setDecimals(1)
    return box
