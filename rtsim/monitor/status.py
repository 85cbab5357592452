"""The strip at the bottom of the monitor window: connection, rate, latency, losses and the state of the
newest frame, as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from rtsim.monitor.connection import ConnectionState
from rtsim.monitor.elided import Elided
from rtsim.monitor.feed import Feed
from rtsim.monitor.flow import Flow
from rtsim.monitor.layout import WindowLayout
from rtsim.monitor.status_words import CHIPS, NO_VALUE, ChipText, counter_lines, details_of, figures_of
from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import tip

VALUE_PIXELS, CAPTION_PIXELS = 13, 10
SELDOM_READ = ("inside", "late", "skipped", "iterations")
WORDS_LEAST = 230  # px, width of the words beside the figures; with less they stand above them


class Chip(QFrame):
    """A value of the status strip with a small caption above it."""

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
        """Apply the colours and sizes of a theme; the width fits the widest value."""
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
        """Show the value as text, in a colour #rrggbb; "" = the usual colour of the theme."""
        if text != self.value.text():
            self.value.setText(text)
            self.setToolTip(
                tip([self._text.explanation, text] if self.value.cut() else [self._text.explanation])
            )
        style = f"color: {colour};" if colour else ""
        if style != self.value.styleSheet():
            self.value.setStyleSheet(style)


class StatusStrip(QFrame):
    """The strip of status values, refreshed only a few times per second so that it can be read."""

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
        self._connection_shown = ConnectionState("", "text_dim")
        self._compact = False
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
        """Arrange the numbers beside the text if there is room for both, else below it."""
        wide = self.width() >= self._flow.sizeHint().width() + self.theme.px(WORDS_LEAST)
        directions = QBoxLayout.Direction
        self._upper.setDirection(directions.LeftToRight if wide else directions.TopToBottom)

    def set_compact(self, on: bool) -> None:
        """In a window of small height (on), hide those values that are seldom read, such as counts of late
        frames, unless they are unusual.
        """
        self._compact = on
        self._leave_out()

    def _leave_out(self) -> None:
        for key in SELDOM_READ:
            chip = self.chips[key]
            chip.setVisible(not self._compact or bool(chip.value.styleSheet()))
        self._arrange()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        for chip in self.chips.values():
            chip.set_theme(theme)
        self._arrange()
        self.show_connection(self._connection_shown)

    def show_connection(self, connection: ConnectionState) -> None:
        """Show whether frames of the result stream arrive."""
        self._connection_shown = connection
        self._dot.setStyleSheet(f"color: {getattr(self.theme, connection.mood)};")
        self.connection.setText(connection.words)
        self.connection.setToolTip(tip([connection.words]))

    def show_sentences(self, sentences: Sequence[str]) -> None:
        """Show the newest of the messages to the user; the tool tip contains all of them."""
        self.message.setText(sentences[-1])
        self.message.setToolTip(tip(list(sentences)))

    def show_notes(self, notes: Sequence[str]) -> None:
        """Show notes on what the window leaves out; nothing if it shows everything."""
        self.note.setText("Left out: " + "; ".join(notes) + "." if notes else "")
        self.note.setToolTip(tip(list(notes)))
        self.note.setVisible(bool(notes))

    def show_state(self, feed: Feed, method: str, looks_back: bool = False) -> None:
        """Show texts and numbers on the stream; while the sender is silent they are shown as outdated.

        method : solution method in use
        looks_back : whether the window shows a time before the newest frame
        """
        connection = feed.connection()
        frozen = ConnectionState(f"{connection.words}, display frozen", connection.mood)
        self.show_connection(frozen if looks_back else connection)
        if feed.layout:
            self._show_layout(feed.layout, method)
        for key, said in figures_of(feed).items():
            self.chips[key].show_text(said.text, getattr(self.theme, said.mood) if said.mood else "")
        if self._compact:
            self._leave_out()
        self._explain_losses(feed)
        self.show_notes(feed.notes())

    def _show_layout(self, layout: WindowLayout, method: str) -> None:
        self.details.setText(details_of(layout, method))
        self.details.setToolTip(tip([f"{key}: {value}" for key, value in sorted(layout.meta.items())]))

    def _explain_losses(self, feed: Feed) -> None:
        lines = [CHIPS["lost"].explanation, "", "This window:", *counter_lines(feed.counters())]
        if feed.telemetry:
            lines += ["", "The estimator:", *counter_lines(feed.telemetry.counters)]
        self.chips["lost"].setToolTip(tip(lines))
