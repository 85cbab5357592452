"""The window: figure on the left, curves on the right, status below, and a timer that redraws them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QIODevice, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QFileDialog,
    QMainWindow,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from rtsim.device.arming import EMERGENCY
from rtsim.errors import ConfigError
from rtsim.files.output import write_bytes
from rtsim.monitor.choice.chooser import PanelChooser
from rtsim.monitor.choice.panel_choice import CONTACT, FIGURE, PRESSURE
from rtsim.monitor.choice.settings_file import WindowSettings, write_settings
from rtsim.monitor.controls import METHODS, FigureCard, ToolBar
from rtsim.monitor.device.commands import Commander
from rtsim.monitor.device.device import DevicePanel
from rtsim.monitor.feed import Change, Feed
from rtsim.monitor.plots.curves import CurvePlots
from rtsim.monitor.plots.history import Quality
from rtsim.monitor.pose.contact import ContactPlot
from rtsim.monitor.pose.heat import HeatImage
from rtsim.monitor.status import StatusStrip
from rtsim.monitor.theme import DARK, LIGHT, Theme, scale_of, style_sheet
from rtsim.monitor.words import SENTENCE_MOST, printable

REDRAW_MS = 33  # 30 Hz
N_TURN_PER_CURVE = 2  # curves move 15 times per second at most: still smooth, at half the cost
SECONDS_PER_TURN = 10.0  # s; of longer windows a pixel stands for more time, so they move less often
N_TURN_PER_TEXT = 6  # texts change five times per second, so that they can be read
N_CURVE_PER_TURN = 40  # many curves take long to draw, so they move less often, too
SIZE_LEAST = (720, 540)
NAME = "rtsim monitor"
MUSCLE_TASK = "muscles"  # which shows moment arms, too
ESTIMATOR_COMMANDS = ("set_method",)  # where the sender does not say what it takes


class MonitorWindow(QMainWindow):
    """Draws what the feed holds; nothing while it is hidden or minimised.

    Parameters
    ----------
    feed : the state of the result stream
    commander : sends commands to the estimator, None when its control address is not known
    settings : what was chosen the last time; kept : the file in which they are kept, None for nowhere
    """

    def __init__(
        self,
        feed: Feed,
        commander: Commander | None = None,
        settings: WindowSettings | None = None,
        kept: Path | None = None,
    ) -> None:
        super().__init__()
        self.feed, self.commander = feed, commander
        self.settings, self._kept = settings or WindowSettings(), kept
        self.choice = self.settings.choice()
        self.setWindowTitle(NAME)
        self.setMinimumSize(*SIZE_LEAST)
        self.bar = ToolBar()
        self.figure_card = FigureCard()
        self.contact, self.curves, self.status = ContactPlot(), CurvePlots(), StatusStrip()
        self.heat, self.device = HeatImage(), DevicePanel()
        self.theme: Theme = LIGHT
        self._n_turn = 0
        self._method = self._asked = ""
        self._changed = True
        self._wishes: dict[str, float] = {}  # parameters that were moved while a command was under way
        self._stop_keys: list[QShortcut] = []
        self._learns = False  # the reason of a state that was there before this window
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
        middle.addWidget(self.plots)
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
        bar.save.clicked.connect(self._ask_and_save)
        bar.method_chosen.connect(self._set_method)
        bar.commanded.connect(self._command)
        self.device.commanded.connect(self._command)
        self.device.wished.connect(self._wish)
        self.device.emergency.connect(self._stop)
        for key in ("Space", "Esc"):
            shortcut = QShortcut(QKeySequence(key), self, self._stop)
            shortcut.setContext(Qt.ShortcutContext.ApplicationShortcut)
            shortcut.setAutoRepeat(False)
            shortcut.setEnabled(False)  # until there is a device
            self._stop_keys.append(shortcut)
        for scroll_bar in (self.plots.verticalScrollBar(), self.plots.horizontalScrollBar()):
            scroll_bar.valueChanged.connect(self._uncover)
        if self.commander:
            self.commander.answered.connect(self._show_answer)

    def set_theme(self, theme: Theme) -> None:
        """Recolour everything, at the scale that suits the window."""
        self.theme = theme = replace(theme, scale=scale_of(self.width(), self.height()))
        self.setStyleSheet(style_sheet(theme))
        self.figure_card.figure.set_theme(theme)
        self.contact.set_theme(theme)
        self.heat.set_theme(theme)
        self.device.set_theme(theme)
        self.curves.set_theme(theme)
        self.status.set_theme(theme)
        self._changed = True

    def turn(self) -> None:
        """Take what has come; draw it if anybody can see it."""
        change, n_kept = self.feed.take()
        if change is Change.FIELDS:
            self._build()
        if change is not Change.NOTHING and self.feed.layout:
            self._method = self.feed.layout.meta.get("method", "")
            self._offer_commands()
        self._changed |= n_kept > 0
        if not self.isVisible() or self.isMinimized():
            return
        self._n_turn += 1
        if self._changed:
            self._draw_figure()
            if self._n_turn % self._turns_per_curve() == 0:
                self._draw_curves()
        if self._n_turn % N_TURN_PER_TEXT == 0:
            self._write()
        self._send_wishes()

    def _turns_per_curve(self) -> int:
        """In every how many turns the curves are drawn."""
        long, many = self.curves.duration / SECONDS_PER_TURN, self.curves.n_curve / N_CURVE_PER_TURN
        return max(N_TURN_PER_CURVE, round(long), round(many))

    def redraw(self) -> None:
        """Bring everything up to date at once."""
        self._draw_figure()
        self._draw_curves()
        self._write()

    def save_png(self, path: str | Path) -> bool:
        """Save a picture of the window as it is now; whether that worked."""
        self.redraw()
        drawn = QBuffer()
        drawn.open(QIODevice.OpenModeFlag.WriteOnly)
        try:
            self.grab().save(drawn, "PNG")
            write_bytes(Path(path), bytes(drawn.data().data()))
        except ConfigError as fault:
            self._say(f"Could not write a picture: {fault}.")
            return False
        self._say(f"Saved {path}.")
        return True

    def _build(self) -> None:
        if self.feed.layout:
            for part in (self.figure_card.figure, self.contact, self.heat, self.curves):
                part.set_layout(self.feed.layout)
            self.bar.arms.setVisible(bool(self.feed.layout.arms))
            self.chooser.set_layout(self.feed.layout)
            self._show_pictures()

    def _take_settings(self) -> None:
        """Begin as the window was left the last time."""
        self.resize(*self.settings.size)
        self.bar.dark.setChecked(self.settings.dark)
        if self.settings.duration_s in self.bar.durations:
            self.bar.durations[self.settings.duration_s].click()

    def _keep_settings(self) -> None:
        self.settings.take_choice(self.choice)
        self.settings.duration_s = round(self.curves.duration)
        self.settings.dark = self.bar.dark.isChecked()
        self.settings.size = (self.width(), self.height())
        fault = write_settings(self._kept, self.settings)
        if fault:
            self._say(fault)

    def _open_chooser(self) -> None:
        self.chooser.show()
        self.chooser.raise_()

    def _choose(self) -> None:
        """Show what was chosen, and keep it."""
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

    def _offer_commands(self) -> None:
        """Buttons for what the other side takes, where its control address is known."""
        layout = self.feed.layout
        if layout:
            self.device.set_layout(layout.device, self.commander is not None)
        if layout and self.commander:
            commands = ESTIMATOR_COMMANDS if layout.commands is None else layout.commands
            self.bar.offer_methods(METHODS if layout.methods is None else layout.methods)
            self.bar.offer(commands)
            if layout.device:
                self._learns = self.commander.send("status", {})
            for key in self._stop_keys:
                key.setEnabled(EMERGENCY in commands)

    def _draw_figure(self) -> None:
        if self.feed.layout:
            self.figure_card.figure.set_frame(self.feed.pose)
            self.heat.set_frame(self.feed.pose)
            self._dim_figure()

    def _dim_figure(self) -> None:
        """A pose that is bad, or was the last before the sender fell silent, is drawn faintly."""
        silent = not (self.feed.connection().flows or self.feed.holds or self.feed.frozen)
        self.figure_card.figure.dim(silent or self.feed.pose_quality is Quality.MISSING)

    def _draw_curves(self) -> None:
        self._changed = False
        window = self.feed.history.window(self.curves.duration)
        self.curves.draw(window)
        self.contact.draw(window)

    def _write(self) -> None:
        feed = self.feed
        self.status.show_state(feed, self._method)
        self._dim_figure()
        if feed.layout is None:
            words = feed.connection().words
            self.curves.placeholder.setText(words[:1].upper() + words[1:])
        newest = feed.history.latest(1).values
        if newest.shape[1]:
            self.curves.show_values(newest[:, 0])
        self._write_device()
        if feed.sentences.kept:
            self.status.show_sentences(feed.sentences.kept)
        if self.commander:
            self.bar.show_method(self._method, self.commander.busy)
            self.bar.show_holding(feed.holds, self.commander.busy)

    def _write_device(self) -> None:
        feed, busy = self.feed, self.commander is not None and self.commander.busy
        said = feed.telemetry if feed.layout and feed.told_of_this_session else None
        self.device.show_state(feed.device, feed.connection().heard, feed.reason, said, busy)

    def _set_duration(self, seconds: float) -> None:
        self.curves.set_duration(seconds)
        self._changed = True

    def _show_arms(self, on: bool) -> None:
        self.curves.show_arms(on)
        self._draw_curves()

    def _freeze(self, on: bool) -> None:
        self.feed.frozen = on

    def _uncover(self) -> None:
        """Plots that were out of sight are drawn again."""
        self._changed = True

    def _clear(self) -> None:
        self.feed.clear()
        self.redraw()

    def _set_method(self, method: str) -> None:
        if self.commander and self.commander.send("set_method", {"method": method}):
            self._asked = method
            self._say(f"Asked the estimator for the method {method!r}.")
        self._write()

    def _command(self, name: str, args: dict[str, Any] | None = None) -> None:
        if self.commander and self.commander.send(name, args or {}):
            self._asked = ""
        self._write()

    def _stop(self) -> None:
        """The emergency stop: before anything else, and whatever else is under way."""
        self._wishes.clear()
        if self.commander:
            self.commander.stop(EMERGENCY)
            self._say("Emergency stop.")

    def _wish(self, name: str, value: float) -> None:
        self._wishes[name] = value
        self._send_wishes()

    def _send_wishes(self) -> None:
        """Set what was moved; sliders that moved meanwhile go with the next."""
        if self._wishes and self.commander and self.commander.send("set", self._wishes):
            self._asked, self._wishes = "", {}

    def _show_answer(self, ok: bool, text: str) -> None:
        self._method = self._asked if ok and self._asked else self._method
        if self._learns and ok and not self.feed.reason:
            self.feed.reason = printable(text, SENTENCE_MOST)
        self._learns = False
        self._say(text if ok else f"Not done: {text}")

    def _say(self, text: str) -> None:
        self.feed.sentences.say(text)
        self._write()

    def _ask_and_save(self) -> None:
        name = time.strftime("rtsim-monitor-%Y%m%d-%H%M%S.png")
        if self.device.device is not None:  # no dialogue between a hand and the emergency stop
            self.save_png(name)
            return
        path, _ = QFileDialog.getSaveFileName(self, "Save a picture of the window", name, "PNG (*.png)")
        if path:
            self.save_png(path)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if scale_of(self.width(), self.height()) != self.theme.scale:
            self.set_theme(self.theme)
        self._changed = True

    def closeEvent(self, event: QCloseEvent) -> None:
        self._timer.stop()
        self._keep_settings()
        if self.commander:
            self.commander.close()
        event.accept()
