"""The strip at the bottom: connection, rate, latency, losses and the state of the newest frame, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout

from rtsim.monitor.connection import Connection
from rtsim.monitor.feed import Feed
from rtsim.monitor.history import Quality
from rtsim.monitor.layout import Layout
from rtsim.monitor.meter import Latency, Meter, quality_of, status_words
from rtsim.monitor.theme import LIGHT, Theme

NO_VALUE = "–"
WIDTH_OF_BOLD = 1.1  # the values are set in bold
RATE_SHORTFALL = 0.9  # a measured rate below this share of the nominal one is coloured
MOODS = {Quality.GOOD: "good", Quality.DEGRADED: "warning", Quality.MISSING: "bad"}
DETAILS = ("model", "subject", "source")


class ChipText(NamedTuple):
    """Caption, explanation, and the widest value to make room for."""

    caption: str
    explanation: str
    widest: str


P50_P99 = "median and 99th percentile over the last thousand frames."
CHIPS = {
    "rate": ChipText("Rate / nominal", "Frames per second published, and announced.", "9999.9 / 9999 Hz"),
    "inside": ChipText(
        "Receive → publish p50 / p99", f"Time of a frame in the estimator: {P50_P99}", "99.9 / 999.9 ms"
    ),
    "whole": ChipText(
        "End to end p50 / p99",
        f"From the capture to the arrival here: {P50_P99} Unknown when the source runs on another clock.",
        "99.9 / 999.9 ms",
    ),
    "frames": ChipText("Frames", "Result frames seen by this window.", "99 999 999"),
    "lost": ChipText("Lost", "Result frames that never arrived here.", "9 999"),
    "late": ChipText("Late", "Frames that the estimator finished after their deadline.", "9 999"),
    "skipped": ChipText("Skipped", "Result frames that this window was too slow to take.", "9 999"),
    "iterations": ChipText("Iterations", "Iterations of the newest frame.", "99"),
    "status": ChipText("Newest frame", "Status of the newest frame.", "not converged"),
}


class Chip(QFrame):
    """A figure with a small caption above it."""

    def __init__(self, text: ChipText) -> None:
        super().__init__()
        self.setToolTip(text.explanation)
        self.caption, self.value = QLabel(text.caption), QLabel(NO_VALUE)
        self.value.setMinimumWidth(round(WIDTH_OF_BOLD * self.fontMetrics().horizontalAdvance(text.widest)))
        self.caption.setObjectName("caption")
        self.value.setObjectName("value")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self.caption)
        column.addWidget(self.value)

    def show_text(self, text: str, colour: str = "") -> None:
        """Write the value, in a colour of its own when it deserves one."""
        if text != self.value.text():
            self.value.setText(text)
        style = f"color: {colour};" if colour else ""
        if style != self.value.styleSheet():
            self.value.setStyleSheet(style)


class StatusStrip(QFrame):
    """Refreshed a few times per second: slow enough to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.theme = LIGHT
        self.connection = QLabel()
        self.details, self.message = QLabel(), QLabel()
        self.message.setObjectName("message")
        self.details.setObjectName("message")
        for label in (self.details, self.message):
            label.setTextFormat(Qt.TextFormat.PlainText)  # others wrote it
        for label in (self.connection, self.details, self.message):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.chips = {key: Chip(text) for key, text in CHIPS.items()}
        self._connection_shown = Connection("", "text_dim")
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(self.connection)
        words.addWidget(self.details)
        upper = QHBoxLayout()
        upper.setSpacing(18)
        upper.addLayout(words, 1)
        for chip in self.chips.values():
            upper.addWidget(chip)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 7, 12, 7)
        column.setSpacing(4)
        column.addLayout(upper)
        column.addWidget(self.message)

    def set_theme(self, theme: Theme) -> None:
        """Recolour."""
        self.theme = theme
        self.show_connection(self._connection_shown)

    def show_connection(self, connection: Connection) -> None:
        """Write the state of the stream."""
        self._connection_shown = connection
        colour = getattr(self.theme, connection.mood)
        self.connection.setText(
            f"<span style='color:{colour}'>●</span>&nbsp;<b>{escape(connection.words)}</b>"
        )

    def show_events(self, events: Sequence[str]) -> None:
        """Write the last of some plain sentences; all of them stand in the tool tip."""
        self.message.setText(events[-1])
        self.message.setToolTip("\n".join(events))

    def show_state(self, feed: Feed, method: str) -> None:
        """Write the words and figures; those of a silent sender are not shown as if they were new."""
        connection = feed.connection()
        receiving = connection.mood == "good"
        paused = Connection(f"{connection.words}, display paused", connection.mood)
        self.show_connection(paused if feed.paused else connection)
        if feed.layout:
            self._show_layout(feed.layout, method)
            self._show_rate(feed.meter.rate() if receiving else math.nan, feed.layout.rate)
        self._show_counts(feed)
        self._show_newest(feed.meter, receiving)

    def _show_layout(self, layout: Layout, method: str) -> None:
        parts = [method, *(layout.meta.get(key, "") for key in DETAILS), f"session {layout.session_id[:8]}"]
        self.details.setText(" · ".join(part for part in parts if part))
        self.details.setToolTip("\n".join(f"{key}: {value}" for key, value in sorted(layout.meta.items())))

    def _show_rate(self, rate: float, nominal: float) -> None:
        announced = f"{nominal:.0f}" if math.isfinite(nominal) else "irregular"
        short = rate < RATE_SHORTFALL * nominal
        self.chips["rate"].show_text(f"{_number(rate)} / {announced} Hz", self.theme.warning if short else "")

    def _show_counts(self, feed: Feed) -> None:
        meter, counters = feed.meter, feed.counters()
        warning, bad = self.theme.warning, self.theme.bad
        lost, skipped = counters["lost"], counters["skipped"]
        self.chips["inside"].show_text(_latency(meter.latency_inside()))
        self.chips["whole"].show_text(_latency(meter.latency_whole()))
        self.chips["frames"].show_text(_count(meter.n_frame))
        self.chips["lost"].show_text(_count(lost), bad if lost else "")
        self.chips["late"].show_text(_count(meter.n_late), warning if meter.n_late else "")
        self.chips["skipped"].show_text(_count(skipped), warning if skipped else "")
        lines = [CHIPS["lost"].explanation, "", "This window:", *_lines(counters)]
        if feed.telemetry:
            lines += ["", "The estimator:", *_lines(feed.telemetry.counters)]
        self.chips["lost"].setToolTip("\n".join(lines))

    def _show_newest(self, meter: Meter, receiving: bool) -> None:
        if not receiving or not meter.n_frame:
            self.chips["iterations"].show_text(NO_VALUE)
            self.chips["status"].show_text(NO_VALUE)
            return
        quality = quality_of(meter.status)
        late = quality is Quality.GOOD and meter.status
        self.chips["iterations"].show_text(str(meter.iterations))
        colour = self.theme.warning if late else getattr(self.theme, MOODS[quality])
        self.chips["status"].show_text(status_words(meter.status), colour)


def _number(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else NO_VALUE


def _count(value: int) -> str:
    return f"{value:,}".replace(",", "\u2009")


def _latency(latency: Latency) -> str:
    if not math.isfinite(latency.p50):
        return NO_VALUE
    return f"{latency.p50:.1f} / {latency.p99:.1f} ms"


def _lines(counters: Mapping[str, int]) -> list[str]:
    """What was counted at all, a line each."""
    return [f"{name.replace('_', ' ')}: {_count(n)}" for name, n in sorted(counters.items()) if n]
