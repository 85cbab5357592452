"""The monitor window: figure on the left, curves on the right, status below; a timer redraws them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QScrollArea, QSplitter, QVBoxLayout, QWidget

from rtsim.monitor.choice.chooser import PanelChooser
from rtsim.monitor.choice.panel_choice import CONTACT, FIGURE, PRESSURE
from rtsim.monitor.choice.settings_file import WindowSettings, write_settings
from rtsim.monitor.controls import NAME, FigureCard, ToolBar
from rtsim.monitor.device.command_link import CommandLink
from rtsim.monitor.device.commands import Commander
from rtsim.monitor.device.device import DevicePanel
from rtsim.monitor.feed import Change, Feed
from rtsim.monitor.feedback.feedback_window import FeedbackWindow
from rtsim.monitor.flow import scale_layouts
from rtsim.monitor.gait.strides import LOOK_BACK_S, Strides
from rtsim.monitor.past.time_bar import TimeBar
from rtsim.monitor.plots.curve_plots import COLUMN_LEAST, CurvePlots
from rtsim.monitor.plots.history import Quality, Window
from rtsim.monitor.pose.contact import ContactPlot
from rtsim.monitor.pose.heat import HeatImage
from rtsim.monitor.saving.recording import RecordingControl
from rtsim.monitor.saving.save_control import SaveControl
from rtsim.monitor.status import StatusStrip
from rtsim.monitor.status_words import title_of
from rtsim.monitor.theme import DARK, LIGHT, Theme, scale_of, style_sheet
from streams.access.security import Security

REDRAW_MS = 32  # at least 30 Hz, as a late turn is not made up for
N_TURN_PER_CURVE = 2  # curves move 15 times per second at most: still smooth, at half the cost
SECONDS_PER_TURN = 10.0  # s; of longer windows a pixel stands for more time, so they move less often
N_TURN_PER_TEXT = 6  # texts change five times per second, so that they can be read
N_CURVE_PER_TURN = 40  # many curves take long to draw, so they move less often, too
SIZE_LEAST = (720, 540)
COLUMN_GAP = 12  # px, between columns, and of their scroll bar
COMPACT_HEIGHT = 700  # px; in lower windows the strip below says less
MUSCLE_TASK = "muscles"  # which shows moment arms, too


class MonitorWindow(QMainWindow):
    """The monitor window, which draws the data of the feed; it draws nothing while hidden or minimised.

    Parameters
    ----------
    feed : the state of the result stream
    commander : object that sends commands to the estimator; None if its control address is not known
    settings : the user's choices from the last start
    kept : file of the settings; None = they are not stored
    security : keys with which the recorder connects to the results
    """

    def __init__(
        self,
        feed: Feed,
        commander: Commander | None = None,
        settings: WindowSettings | None = None,
        kept: Path | None = None,
        security: Security | None = None,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.settings, self._kept = settings or WindowSettings(), kept
        self.choice = self.settings.choice()
        self.setWindowTitle(NAME)
        self.setMinimumSize(*SIZE_LEAST)
        self.bar = ToolBar()
        self.figure_card = FigureCard()
        self.contact, self.curves, self.status = ContactPlot(), CurvePlots(), StatusStrip()
        self.heat, self.device = HeatImage(), DevicePanel()
        self.theme: Theme = LIGHT
        self._n_turn = self._n_event = 0
        self._changed = True
        self.strides, self.time_bar = Strides(), TimeBar()
        self.link = CommandLink(
            window=self, feed=feed, commander=commander, bar=self.bar, device=self.device, say=self.say
        )
        self.saving, self.feedback = SaveControl(self), FeedbackWindow(self.settings)
        self.recording = RecordingControl(feed.address, security, self.say)
        self.curves.choice = self.choice
        self.chooser = PanelChooser(self.choice, self)
        self._arrange()
        self._connect()
        self.set_theme(LIGHT)
        self._take_settings()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.turn)
        self._timer.start(REDRAW_MS)

    def _arrange(self) -> None:
        left = self.left = QSplitter(Qt.Orientation.Vertical)
        left.addWidget(self.figure_card)
        left.addWidget(self.contact)
        left.addWidget(self.heat)
        left.addWidget(self.device)
        left.setSizes([460, 200, 260, 380])
        middle = QSplitter(Qt.Orientation.Horizontal)
        middle.addWidget(left)
        self.plots = QScrollArea()  # for more plots than have room
        self.plots.setWidgetResizable(True)
        self.plots.viewport().setAutoFillBackground(False)
        self.plots.setWidget(self.curves)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.plots, 1)
        column.addWidget(self.time_bar)
        middle.addWidget(right)
        middle.setSizes([430, 830])
        for k, share in enumerate((1, 2)):
            middle.setStretchFactor(k, share)
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self.bar)
        column.addWidget(middle, 1)
        column.addWidget(self.status)
        self.setCentralWidget(page)

    def _connect(self) -> None:
        bar = self.bar
        bar.duration_chosen.connect(self._set_duration)
        bar.arms.toggled.connect(self._show_arms)
        bar.freeze.toggled.connect(self._freeze)
        bar.dark.toggled.connect(lambda on: self.set_theme(DARK if on else LIGHT))
        bar.panels.clicked.connect(self._open_chooser)
        self.chooser.changed.connect(self._choose)
        bar.clear.clicked.connect(self._clear)
        bar.save.clicked.connect(self.saving.ask_and_save)
        bar.strides.toggled.connect(self._show_strides)
        bar.feedback.clicked.connect(self.feedback.show)
        bar.mark.clicked.connect(self._mark)
        bar.record.clicked.connect(self._record)
        self.time_bar.moved.connect(self._look_at)
        for scroll_bar in (self.plots.verticalScrollBar(), self.plots.horizontalScrollBar()):
            scroll_bar.valueChanged.connect(self._uncover)

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme, at the scale that suits the size of the window."""
        self.theme = theme = replace(theme, scale=scale_of(self.width(), self.height()))
        self.setStyleSheet(style_sheet(theme))
        parts = (self.figure_card.figure, self.contact, self.heat, self.device, self.curves, self.status)
        for part in (*parts, self.feedback):
            part.set_theme(theme)
        scale_layouts(self, theme.scale)
        self._changed = True

    def turn(self) -> None:
        """Take new data, and draw them if the window is visible."""
        change, n_kept = self.feed.take()
        if change is Change.FIELDS:
            self._build()
        if change is not Change.NOTHING:
            switched = self.link.offer()
            self._show_title()
            self._restart()
            if change is Change.FIELDS or not switched:
                self.link.forget()  # last, as what it says is written by parts of the new session
        self._changed |= n_kept > 0 and not self.looks_back
        if self.feed.gait.n_found != self._n_event or (n_kept and self.strides.waits):
            self._n_event = self.feed.gait.n_found
            self.strides.take(self.feed.gait.kept, self.feed.history)
        self.feedback.follow(self.feed, n_kept)
        if not self.isVisible() or self.isMinimized():
            return
        self._n_turn += 1
        if self._changed:
            self._draw_figure()
            if self._n_turn % self._turns_per_curve() == 0:
                self._draw_curves()
        if self._n_turn % N_TURN_PER_TEXT == 0:
            self._write()
        self.link.send_wishes()

    @property
    def looks_back(self) -> bool:
        """Return whether a time before the newest frame is shown."""
        return not math.isnan(self.time_bar.at)

    def _turns_per_curve(self) -> int:
        """Return the number of timer events between two drawings of the curves."""
        long, many = self.curves.duration / SECONDS_PER_TURN, self.curves.n_curve / N_CURVE_PER_TURN
        return max(N_TURN_PER_CURVE, round(long), round(many))

    def redraw(self) -> None:
        """Update and draw everything at once."""
        self._draw_figure()
        self._draw_curves()
        self._write()

    def _build(self) -> None:
        if self.feed.layout:
            for part in (self.figure_card.figure, self.contact, self.heat, self.curves):
                part.set_layout(self.feed.layout)
            self.time_bar.follow()
            self.bar.strides.setVisible(self.feed.gait.can_tell)
            self.bar.strides.setChecked(self.bar.strides.isChecked() and self.feed.gait.can_tell)
            self.bar.arms.setVisible(bool(self.feed.layout.arms))
            self.chooser.set_layout(self.feed.layout)
            self.feedback.set_layout(self.feed.layout)
            self._show_pictures()

    def _show_title(self) -> None:
        """Show person, side and trial in the title bar and in the window."""
        title = title_of(self.feed.layout) if self.feed.layout else ""
        self.bar.show_title(title)
        self.setWindowTitle(f"{title} – {NAME}" if title else NAME)

    def _take_settings(self) -> None:
        """Restore the settings of the last start."""
        self.resize(*self.settings.size)
        self.bar.dark.setChecked(self.settings.dark)
        if self.settings.duration_s in self.bar.durations:
            self.bar.durations[self.settings.duration_s].click()
        self.bar.strides.setChecked(self.settings.strides)

    def _keep_settings(self) -> None:
        self.settings.take_choice(self.choice)
        self.settings.duration_s = round(self.curves.duration)
        self.settings.strides = self.bar.strides.isChecked()
        self.settings.dark = self.bar.dark.isChecked()
        self.settings.size = (self.width(), self.height())
        fault = write_settings(self._kept, self.settings)
        if fault:
            self.say(fault)

    def _open_chooser(self) -> None:
        self.chooser.show()
        self.chooser.raise_()

    def _choose(self) -> None:
        """Show the chosen panels, and store the choice."""
        if self.feed.layout:
            self.curves.set_layout(self.feed.layout)
            self.bar.arms.setChecked(self.choice.task == MUSCLE_TASK)
            self._show_pictures()
            self.redraw()
        self._keep_settings()

    def _show_pictures(self) -> None:
        layout, left_out = self.feed.layout, self.choice.pictures
        assert layout is not None
        self.figure_card.setVisible(FIGURE not in left_out)
        self.contact.setVisible(layout.contact is not None and CONTACT not in left_out)
        self.heat.setVisible(layout.picture is not None and PRESSURE not in left_out)
        parts = (self.figure_card, self.contact, self.heat)
        self.left.setVisible(layout.device is not None or any(not part.isHidden() for part in parts))

    def _draw_figure(self) -> None:
        if self.feed.layout:
            pose, _ = self._pose()
            self.figure_card.figure.set_frame(pose)
            self.heat.set_frame(pose)
            self._dim_figure()

    def _pose(self) -> tuple[Mapping[str, NDArray[np.float64]], Quality]:
        """Return the pose to show, live or from the past, and its quality."""
        if self.looks_back:
            return self.feed.poses.at(self.time_bar.at)
        return self.feed.pose, self.feed.pose_quality

    def shown_window(self) -> Window:
        """Return the samples of the curves to show, live or from the past."""
        if self.looks_back:
            return self.feed.archive.window(self.time_bar.at, self.curves.duration)
        return self.feed.history.window(self.curves.duration)

    def _dim_figure(self) -> None:
        """Draw the figure faintly if its pose is unreliable, or if the sender no longer sends frames."""
        silent = not (self.feed.connection().flows or self.feed.holds or self.looks_back)
        self.figure_card.figure.dim(silent or self._pose()[1] is Quality.MISSING)

    def _draw_curves(self) -> None:
        self._changed = False
        window, gait = self.shown_window(), self.feed.gait
        newest = float(window.time[-1]) if len(window.time) else 0.0
        self.curves.draw(window, self.feed.events_since(newest - self.curves.duration))
        self.contact.draw(window)
        if self.curves.over_stride:
            self.curves.draw_strides(self.strides, gait.since(newest - LOOK_BACK_S), self.feed.history)

    def _write(self) -> None:
        feed = self.feed
        self.status.show_state(feed, self.link.method, self.looks_back)
        self.time_bar.set_reach(*feed.archive.reach())
        self._dim_figure()
        self.recording.look()
        self.bar.record.setChecked(self.recording.running)
        if feed.layout is None:
            words = feed.connection().words
            self.curves.placeholder.setText(words[:1].upper() + words[1:])
        newest = self.shown_window().values[:, -1:] if self.looks_back else feed.history.latest(1).values
        if newest.shape[1]:
            self.curves.show_values(newest[:, 0])
        self.link.show()
        if feed.sentences.kept:
            self.status.show_sentences(feed.sentences.kept)

    def _set_duration(self, seconds: float) -> None:
        self.curves.set_duration(seconds)
        self._changed = True

    def _show_arms(self, on: bool) -> None:
        self.curves.show_arms(on)
        self._draw_curves()

    def _freeze(self, on: bool) -> None:
        """Freeze the shown time (on), or show new data again."""
        if on:
            self.time_bar.hold()
        elif self.looks_back:
            self.time_bar.follow()

    def _look_at(self, time: float) -> None:
        """Show the curves and the pose at another time, NaN = live data."""
        self.bar.freeze.setChecked(self.looks_back)
        self._changed = True
        self._draw_figure()
        self._draw_curves()

    def _show_strides(self, on: bool) -> None:
        """Draw the curves over the stride (on), or over time."""
        self.curves.over_stride = on
        if self.feed.layout:
            self.curves.set_layout(self.feed.layout)
        self._changed = True

    def _mark(self) -> None:
        event = self.feed.mark()
        at = self.feed.trial_time
        if not self.link.mark(at, event.label):
            self.say(
                f"Marked {event.label} at {at:.2f} s, in this window only, because the run accepts no marks."
            )
        self._changed = True

    def _record(self) -> None:
        if self.recording.running:
            self.recording.stop()
        else:
            self.recording.start()
        self._write()

    def _uncover(self) -> None:
        """Draw the plots that have just come into view."""
        self._changed = True

    def _clear(self) -> None:
        self.feed.clear()
        self._restart()
        self.time_bar.follow()
        self.redraw()

    def _restart(self) -> None:
        """Begin anew with what is computed over strides, or over the time of the biofeedback."""
        self.strides.clear(self.feed.begun, self.feed.delays)
        self.feedback.restart()

    def say(self, text: str) -> None:
        self.feed.sentences.say(text)
        self._write()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if scale_of(self.width(), self.height()) != self.theme.scale:
            self.set_theme(self.theme)
        self._fit_columns()
        self.status.set_compact(self.height() < self.theme.px(COMPACT_HEIGHT))
        self._changed = True

    def _fit_columns(self) -> None:
        """Use as many columns of plots as fit into the width."""
        n = max(1, min(3, self.plots.width() // self.theme.px(COLUMN_LEAST + COLUMN_GAP)))
        if n != self.curves.n_column_most:
            self.curves.n_column_most = n
            if self.feed.layout:
                self.curves.set_layout(self.feed.layout)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._timer.stop()
        self._keep_settings()
        self.recording.stop()
        self.feedback.close()
        self.link.close()
        event.accept()
