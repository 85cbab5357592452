"""The bar below the curves for looking back in time: a slider over the last ten minutes."""

from __future__ import annotations

import math

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSlider, QWidget

STEP_S = 0.1
"""Step of the slider, and of the arrow keys [s]."""
PAGE_S = 5.0
WIDEST = "−10:00.0"


class TimeBar(QWidget):
    """The bar below the curves by which the user looks back in time; the signal `moved` is emitted with the
    time to show [s of the curves], NaN for live data.
    """

    moved = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self.at = math.nan
        self._reach = (math.nan, math.nan)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setToolTip(
            "Look back in time while the stream goes on (left and right arrow, page keys, End for now)"
        )
        self.slider.setPageStep(round(PAGE_S / STEP_S))
        self.slider.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.slider.setRange(0, 0)
        self.slider.valueChanged.connect(self._move)
        self.text = QLabel("now")
        self.text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.live = QPushButton("Now")
        self.live.setToolTip("Return to the newest frame (End)")
        self.live.clicked.connect(self.follow)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.slider, 1)
        row.addWidget(self.text)
        row.addWidget(self.live)
        for key, step in (("Left", -1), ("Right", 1)):
            QShortcut(QKeySequence(key), self, lambda by=step: self.step(by * STEP_S))
        for key, step in (("PgUp", -1), ("PgDown", 1)):
            QShortcut(QKeySequence(key), self, lambda by=step: self.step(by * PAGE_S))
        QShortcut(QKeySequence("End"), self, self.follow)
        self.live.setEnabled(False)

    def showEvent(self, event: object) -> None:
        self.text.setMinimumWidth(self.fontMetrics().horizontalAdvance(WIDEST))

    def set_reach(self, oldest: float, newest: float) -> None:
        """Set the range of times that can be shown [s]; a shown time before it is moved to its start."""
        self._reach = (oldest, newest)
        blocker = QSignalBlocker(self.slider)
        n = 0 if math.isnan(newest) else round((newest - oldest) / STEP_S)
        self.slider.setMaximum(n)
        if math.isnan(self.at):
            self.slider.setValue(n)
        else:
            self.at = max(self.at, oldest)
            self.slider.setValue(round((self.at - oldest) / STEP_S))
        del blocker
        self._write()

    def hold(self) -> None:
        """Freeze the display of curves and figure at the newest time, while new data go on arriving."""
        if math.isnan(self.at):
            self.look_at(self._reach[1])

    def follow(self) -> None:
        """Show the newest data, and keep showing new data as they arrive."""
        self.look_at(math.nan)

    def step(self, by: float) -> None:
        """Move the shown time by a number of seconds, backwards if it is negative."""
        oldest, newest = self._reach
        if math.isnan(newest):
            return
        at = (newest if math.isnan(self.at) else self.at) + by
        self.look_at(math.nan if at >= newest else max(at, oldest))

    def look_at(self, time: float) -> None:
        """Show curves and figure at a time [s], NaN for live data."""
        self.at = time
        self.set_reach(*self._reach)
        self.moved.emit(time)

    def _move(self, place: int) -> None:
        oldest = self._reach[0]
        self.at = math.nan if place >= self.slider.maximum() else oldest + place * STEP_S
        self._write()
        self.moved.emit(self.at)

    def _write(self) -> None:
        self.live.setEnabled(not math.isnan(self.at))
        self.text.setText("now" if math.isnan(self.at) else ago(self._reach[1] - self.at))


def ago(seconds: float) -> str:
    """Return a duration before the newest frame as text, in minutes and seconds."""
    minutes, rest = divmod(max(0.0, seconds), 60.0)
    return f"−{int(minutes)}:{rest:04.1f}"
