"""The strip at the bottom: connection, rate, latency, losses and the state of the newest frame, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from rtsim.monitor.connection import Connection
from rtsim.monitor.elided import Elided
from rtsim.monitor.feed import Feed
from rtsim.monitor.flow import Flow
from rtsim.monitor.history import Quality
from rtsim.monitor.layout import Layout
from rtsim.monitor.meter import Latency, Meter, quality_of, status_words
from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import tip

NO_VALUE = "–"
VALUE_PIXELS, CAPTION_PIXELS = 13, 10
WORDS_LEAST = 230  # px, width of the words beside the figures; with less they stand above them
COUNT_MOST = 100_000_000  # larger counts and rates are written with a power of ten
N_COUNTER = 12  # counters of each side in a tool tip
RATE_SHORTFALL = 0.9  # a measured rate below this share of the nominal one is coloured
MOODS = {Quality.GOOD: "good", Quality.DEGRADED: "warning", Quality.MISSING: "bad"}
DETAILS = ("model", "subject", "side", "source", "markers", "forces")


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
        self._text = text
        self.setToolTip(text.explanation)
        self.caption, self.value = QLabel(text.caption), Elided(NO_VALUE)
        self.caption.setObjectName("caption")
        self.value.setObjectName("value")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self.caption)
        column.addWidget(self.value)

    def set_theme(self, theme: Theme) -> None:
        """Make room for the widest value."""
        widths = []
        for text, size, bold in (
            (self._text.widest, VALUE_PIXELS, True),
            (self._text.caption, CAPTION_PIXELS, False),
        ):
            font = QFont(self.font())
            font.setPixelSize(theme.px(size))
            font.setBold(bold)
            widths.append(QFontMetrics(font).horizontalAdvance(text))
        self.setFixedWidth(max(widths) + theme.px(4))

    def show_text(self, text: str, colour: str = "") -> None:
        """Write the value, in a colour of its own when it deserves one."""
        if text != self.value.text():
            self.value.setText(text)
            self.setToolTip(
                tip([self._text.explanation, text] if self.value.cut() else [self._text.explanation])
            )
        style = f"color: {colour};" if colour else ""
        if style != self.value.styleSheet():
            self.value.setStyleSheet(style)


class StatusStrip(QFrame):
    """Refreshed a few times per second: slow enough to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.theme = LIGHT
        self._dot, self.connection = QLabel("●"), Elided()
        self.connection.setObjectName("value")
        self.details, self.message, self.note = Elided(), Elided(), Elided()
        self.message.setObjectName("message")
        self.details.setObjectName("message")
        self.note.setObjectName("note")
        self.note.hide()  # until something is left out
        self.chips = {key: Chip(text) for key, text in CHIPS.items()}
        self._connection_shown = Connection("", "text_dim")
        state = QHBoxLayout()
        state.setSpacing(5)
        state.addWidget(self._dot)
        state.addWidget(self.connection, 1)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addLayout(state)
        words.addWidget(self.details)
        figures = QWidget()
        self._flow = Flow(figures, across=18, down=3)
        for chip in self.chips.values():
            self._flow.addWidget(chip)
        self._upper = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._upper.setSpacing(6)
        self._upper.addLayout(words, 1)
        self._upper.addWidget(figures)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 7, 12, 7)
        column.setSpacing(4)
        column.addLayout(self._upper)
        column.addWidget(self.note)
        column.addWidget(self.message)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """The figures beside the words where there is room for both, else below them."""
        wide = self.width() >= self._flow.sizeHint().width() + self.theme.px(WORDS_LEAST)
        directions = QBoxLayout.Direction
        self._upper.setDirection(directions.LeftToRight if wide else directions.TopToBottom)

    def set_theme(self, theme: Theme) -> None:
        """Recolour."""
        self.theme = theme
        for chip in self.chips.values():
            chip.set_theme(theme)
        self._arrange()
        self.show_connection(self._connection_shown)

    def show_connection(self, connection: Connection) -> None:
        """Write the state of the stream."""
        self._connection_shown = connection
        self._dot.setStyleSheet(f"color: {getattr(self.theme, connection.mood)};")
        self.connection.setText(connection.words)
        self.connection.setToolTip(tip([connection.words]))

    def show_sentences(self, sentences: Sequence[str]) -> None:
        """Write the last of some plain sentences; all of them stand in the tool tip."""
        self.message.setText(sentences[-1])
        self.message.setToolTip(tip(list(sentences)))

    def show_notes(self, notes: Sequence[str]) -> None:
        """Say what the window leaves out; nothing where it shows everything."""
        self.note.setText("Left out: " + "; ".join(notes) + "." if notes else "")
        self.note.setToolTip(tip(list(notes)))
        self.note.setVisible(bool(notes))

    def show_state(self, feed: Feed, method: str) -> None:
        """Write the words and figures; those of a silent sender are not shown as if they were new."""
        connection = feed.connection()
        frozen = Connection(f"{connection.words}, display frozen", connection.mood)
        self.show_connection(frozen if feed.frozen else connection)
        if feed.layout:
            self._show_layout(feed.layout, method)
            self._show_rate(feed.meter.rate() if connection.flows else math.nan, feed.layout.rate)
        self._show_counts(feed)
        self._show_newest(feed.meter, connection.flows, feed.holds)
        self.show_notes(feed.notes())

    def _show_layout(self, layout: Layout, method: str) -> None:
        parts = [method, *(layout.meta.get(key, "") for key in DETAILS), f"session {layout.session_id[:8]}"]
        self.details.setText(" · ".join(part for part in parts if part))
        self.details.setToolTip(tip([f"{key}: {value}" for key, value in sorted(layout.meta.items())]))

    def _show_rate(self, rate: float, nominal: float) -> None:
        announced = f"{nominal:.3g}" if nominal < 1.0 else f"{nominal:.0f}"
        announced = announced if math.isfinite(nominal) else "irregular"
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
        self.chips["lost"].setToolTip(tip(lines))

    def _show_newest(self, meter: Meter, receiving: bool, holds: bool) -> None:
        if not receiving or not meter.n_frame:
            self.chips["iterations"].show_text(NO_VALUE)
            self.chips["status"].show_text("paused" if holds else NO_VALUE)
            return
        quality = quality_of(meter.status)
        late = quality is Quality.GOOD and meter.status
        self.chips["iterations"].show_text(_count(meter.iterations))
        colour = self.theme.warning if late else getattr(self.theme, MOODS[quality])
        self.chips["status"].show_text(status_words(meter.status), colour)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return NO_VALUE
    return f"{value:.1f}" if value < COUNT_MOST else f"{value:.1e}"


def _count(value: int) -> str:
    if value >= COUNT_MOST:
        return f"{value:.1e}"
    return f"{value:,}".replace(",", "\u2009")


def _latency(latency: Latency) -> str:
    if not math.isfinite(latency.p50):
        return NO_VALUE
    return f"{latency.p50:.1f} / {latency.p99:.1f} ms"


def _lines(counters: Mapping[str, int]) -> list[str]:
    """What was counted at all, a line each."""
    counted = sorted((name, n) for name, n in counters.items() if n)
    lines = [f"{name.replace('_', ' ')}: {_count(n)}" for name, n in counted[:N_COUNTER]]
    return [*lines, f"and {len(counted) - N_COUNTER} more"] if len(counted) > N_COUNTER else lines
