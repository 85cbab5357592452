"""The buttons of the monitor window: the bar at its top, and the figure with buttons for its views."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from rtsim.device.arming import EMERGENCY
from rtsim.monitor.flow import Flow
from rtsim.monitor.pose.figure import StickFigureView
from rtsim.monitor.pose.projection import VIEWS
from rtsim.monitor.words import printable, tip

Choice = TypeVar("Choice")

METHODS = ("zero", "minimised", "prescribed")  # where the sender does not say which it has
NAME = "rtsim monitor"
TITLE_MOST = 34  # characters beside the buttons; the title of the window has all
DURATIONS = (2, 5, 10, 30, 60)  # s
DURATION_FIRST = 5  # s


class ToolBar(QWidget):
    """Buttons of the monitor window, in groups that wrap to another line if the window is narrow.

    The window connects them with their actions.
    """

    duration_chosen = Signal(float)
    method_chosen = Signal(str)
    commanded = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.name = QLabel(NAME)
        self.name.setObjectName("name")
        self.name.setTextFormat(Qt.TextFormat.PlainText)  # others wrote it
        flow = Flow(self, across=16, down=5)
        flow.addWidget(self.name)
        self.methods: dict[str, QPushButton] = {}
        self._holds = False  # the other side, as far as it said so
        self.hold = _button("Pause", "Pause the simulation, and resume it (H)", "H")
        self.hold.clicked.connect(lambda: self.commanded.emit("resume" if self._holds else "pause"))
        self.step = _button("Step", "Advance the paused simulation by one time step (N)", "N")
        self.step.clicked.connect(_calling(self.commanded.emit, "step"))
        self.reset = _button("Reset", "Disarm the device, and set the simulated limb back to its start", "")
        self.reset.clicked.connect(_calling(self.commanded.emit, "reset"))
        self.restart = _button("Restart", "Set the simulation back to its start (R)", "R")
        self.restart.clicked.connect(_calling(self.commanded.emit, "restart"))
        self.durations: dict[int, QPushButton] = {}
        for seconds in DURATIONS:
            button = _button(f"{seconds} s", f"Curves of the last {seconds} s", "", True)
            button.clicked.connect(_calling(self.duration_chosen.emit, float(seconds)))
            self.durations[seconds] = button
        self.durations[DURATION_FIRST].setChecked(True)
        self._exclusive = _exclusive(self, self.durations.values())
        self.panels = _button("Panels", "Choose panels and curves, by task or one by one (P)", "P")
        self.arms = _button("Muscles", "Moment arms of the muscles about each joint (M)", "M", True)
        self.arms.hide()  # until a stream has some
        self.freeze = _button(
            "Freeze", "Freeze the display while data are still received (space)", "Space", True
        )
        self.clear = _button("Clear", "Clear the curves and set the counters to zero (C)", "C")
        self.strides = _button(
            "Strides", "Curves over the stride, with mean and standard deviation (G)", "G", True
        )
        self.strides.hide()  # until a stream shows steps
        self.feedback = _button("Biofeedback", "One value in large digits, with a target range (B)", "B")
        self.mark = _button("Mark", "Mark an event at the newest frame (E)", "E")
        self.record = _button("Record", "Record the results to a file, and stop (Ctrl+R)", "Ctrl+R", True)
        self.save = _button("Save", "Save what is shown: PNG, SVG, or csv of the curves (Ctrl+S)", "Ctrl+S")
        self.dark = _button("Dark", "Dark colours (D)", "D", True)
        self.method_group = _group("Method", ())
        self.offer_methods(METHODS)
        self.simulation_group = _group("Simulation", (self.hold, self.step, self.restart, self.reset))
        self.offer(())
        duration_group = _group("Show last", self.durations.values())
        view_group = _group("", (self.panels, self.strides, self.arms, self.freeze, self.clear, self.dark))
        keep_group = _group("", (self.mark, self.record, self.save, self.feedback))
        for group in (self.method_group, self.simulation_group, duration_group, view_group, keep_group):
            flow.addWidget(group)

    def show_title(self, title: str) -> None:
        """Show person, side and trial, as far as there is room."""
        self.name.setText(printable(title, TITLE_MOST) if title else NAME)
        self.name.setToolTip(tip([title] if title else []))

    def offer(self, commands: Collection[str]) -> None:
        """Show the buttons of the commands that the sender accepts."""
        self.method_group.setVisible("set_method" in commands and len(self.methods) > 1)
        self.simulation_group.setVisible("pause" in commands)
        for name in ("step", "restart", "reset"):
            getattr(self, name).setVisible(name in commands)
        # space stops a device, and no key of it does anything else
        self.freeze.setShortcut(QKeySequence("" if EMERGENCY in commands else "Space"))

    def offer_methods(self, methods: Sequence[str]) -> None:
        """Show a button for each solution method to which the running estimation can switch."""
        if list(methods) == list(self.methods):
            return
        row = self.method_group.layout()
        assert row is not None
        for button in self.methods.values():
            row.removeWidget(button)
            button.deleteLater()
        self.methods = {
            method: _button(_shown(method), f"Switch the estimator to the method {method!r}", "", True)
            for method in methods
        }
        for method, button in self.methods.items():
            button.clicked.connect(_calling(self.method_chosen.emit, method))
            row.addWidget(button)

    def show_method(self, current: str, busy: bool) -> None:
        """Highlight the solution method in use, which may differ from the last requested one; busy : whether
        a command is being sent, which disables the buttons.
        """
        for method, button in self.methods.items():
            button.setChecked(method == current)
            button.setEnabled(not busy)

    def show_holding(self, holds: bool, busy: bool) -> None:
        """Label the button that pauses a simulation, or resumes it if it is paused (`holds`); disable the
        buttons of the simulation while a command is being sent (`busy`).
        """
        self._holds = holds
        self.hold.setText("Resume" if holds else "Pause")
        for button in (self.hold, self.step, self.restart, self.reset):
            button.setEnabled(not busy)


class FigureCard(QFrame):
    """The stick figure with buttons for its views."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.figure = StickFigureView()
        self.figure.turned.connect(self._release_views)
        row = QHBoxLayout()
        row.setSpacing(4)
        self.views: dict[str, QPushButton] = {}
        for i, name in enumerate(VIEWS):
            button = _button(name, f"{name} view ({i + 1})", str(i + 1), True)
            button.clicked.connect(_calling(self.figure.look, name))
            self.views[name] = button
            row.addWidget(button)
        self.views["3-D"].setChecked(True)
        self._group = _exclusive(self, self.views.values())
        row.addStretch(1)
        self.frames = _button("Frames", "Axes of the segment frames: x red, y green, z blue (F)", "F", True)
        self.frames.toggled.connect(self._show_frames)
        row.addWidget(self.frames)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 4)
        column.addLayout(row)
        column.addWidget(self.figure, 1)

    def _release_views(self) -> None:
        """Release the buttons of the named directions of view after the stick figure was rotated by hand."""
        self._group.setExclusive(False)
        for button in self.views.values():
            button.setChecked(False)
        self._group.setExclusive(True)

    def _show_frames(self, on: bool) -> None:
        self.figure.frames_shown = on
        self.figure.update()


def _button(text: str, explanation: str, shortcut: str, checkable: bool = False) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(explanation)
    button.setCheckable(checkable)
    if shortcut:
        button.setShortcut(QKeySequence(shortcut))
    return button


def _shown(name: str) -> str:
    """Escape a name from another program for the text of a button, where an ampersand would mark a shortcut
    key.
    """
    return printable(name.capitalize()).replace("&", "&&")


def _group(title: str, buttons: Iterable[QPushButton]) -> QWidget:
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(4)
    if title:
        row.addWidget(QLabel(title))
    for button in buttons:
        row.addWidget(button)
    return group


def _exclusive(parent: QWidget, buttons: Iterable[QPushButton]) -> QButtonGroup:
    group = QButtonGroup(parent)
    for button in buttons:
        group.addButton(button)
    return group


def _calling(act: Callable[[Choice], object], choice: Choice) -> Callable[[], object]:
    """Return a slot that calls `act` with `choice`, whatever arguments the button passes."""
    return lambda: act(choice)
