"""The panel of the monitor window for a run with a device: emergency stop, arming, parameters on sliders, and
how long the parts of a tick (one exchange with the device) take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from rtsim.device.arming import ARM_STATES
from rtsim.monitor.device.device_layout import PARAMETERS, DeviceLayout, Parameter
from rtsim.monitor.elided import Elided
from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import printable, tip
from streams.messages import Telemetry

STEPS = 200
"""Places of a slider."""
NO_VALUE = "–"
WIDEST = "-00.00"
LEAST_FOR_TIMES = 300  # px
N_ROW_LEAST, ROW_HEIGHT = 3, 23  # sliders that are always in view, and the height of each [px]
MOODS = {"disarmed": "text", "ramping": "warning", "armed": "good", "fault": "bad"}
TIMES = {
    "round_trip_us": ("Round trip", "Time from a command to the device's answer."),
    "compute_us": (
        "Compute",
        "Time from the arrival of the device's message to the next command, without network time.",
    ),
    "turn_us": ("Tick", "Computing time of one time step of the run (tick)."),
    "slack_us": ("Slack", "Part of the tick that was left after all computations: more is better."),
}
COLUMNS = {"p50": "p50", "p99": "p99", "p99_9": "p99.9", "max": "max"}
SNAPSHOTS = ("A", "B")


class Slider(QSlider):
    """A slider for one parameter of a device; it shows the value in effect, and requests a new value when the
    handle is released.
    """

    wished = Signal(str, float)

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.parameter = parameter
        self.setRange(0, STEPS)
        self.setPageStep(STEPS // 20)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setToolTip(f"{parameter.name}: {parameter.low:g} to {parameter.high:g}")
        self._shown = False  # whether a value moved it, not a hand
        self.valueChanged.connect(self._moved)
        self.sliderReleased.connect(self._wish)

    @property
    def wish(self) -> float:
        """Emit the value at the slider's position, as a request to change the parameter."""
        low, high = self.parameter.low, self.parameter.high
        return low + (high - low) * self.value() / STEPS

    def show_value(self, value: float) -> None:
        """Move the slider to a value, unless the user is dragging the handle."""
        low, high = self.parameter.low, self.parameter.high
        if not self.isSliderDown() and math.isfinite(value):
            self._shown = True
            self.setValue(round(STEPS * min(max((value - low) / (high - low), 0.0), 1.0)))
            self._shown = False

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # who scrolls does not mean to turn a parameter

    def _moved(self) -> None:
        if not self._shown and not self.isSliderDown():
            self._wish()

    def _wish(self) -> None:
        self.wished.emit(self.parameter.name, self.wish)


class DevicePanel(QFrame):
    """The panel of a run with a device: state, arming, parameters. It is hidden if the stream has no device,
    and takes no keyboard focus, so that no key arms the device by accident.

    emergency : signal emitted when the emergency stop is pressed
    commanded : signal emitted with a command and its arguments
    wished : signal emitted with the name of a parameter and the value that the user requests
    """

    emergency = Signal()
    commanded = Signal(str, dict)
    wished = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.theme: Theme = LIGHT
        self.device: DeviceLayout | None = None
        self.stop = self._button(
            "Emergency stop  (space or Esc)",
            "The device gets no torque from the next time step on, until it is armed again",
        )
        self.stop.setObjectName("emergency")
        self.stop.clicked.connect(self.emergency.emit)
        self.state, self.why = QLabel(NO_VALUE), Elided()
        self.state.setObjectName("value")
        self.why.setObjectName("message")
        self.arm = self._commanding("Arm", "arm", "Arm the device: its torque rises from zero by a ramp")
        self.disarm = self._commanding(
            "Disarm", "disarm", "The device gets no torque from the next time step on"
        )
        self.undo = self._commanding("Undo", "undo", "Undo the last change of a parameter")
        self.start = self._commanding(
            "To start", "switch", "Go back to the parameters of the config", name="start"
        )
        self.save, self.switch = {}, {}
        for name in SNAPSHOTS:
            keeps, goes = f"Keep the parameters as {name}", f"Set the parameters saved as {name}"
            self.save[name] = self._commanding(f"Keep {name}", "save", keeps, name=name)
            self.switch[name] = self._commanding(f"To {name}", "switch", goes, name=name)
        self.sliders: dict[str, Slider] = {}
        self._values: dict[str, QLabel] = {}
        self.times: dict[str, QLabel] = {}
        self.counts = Elided()
        self._arrange()
        self.hide()

    def set_layout(self, device: DeviceLayout | None, can_command: bool) -> None:
        """Show the device of a stream, None = it has none; can_command : whether commands can be sent, else
        the panel is for display only.
        """
        self.device = device
        self.setVisible(device is not None)
        for part in (self.stop, self.buttons, self.snapshots):
            part.setVisible(can_command)
        grid = self._parameters
        while (item := grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.sliders, self._values = {}, {}
        for row, parameter in enumerate(device.parameters if device else ()):
            slider, value = Slider(parameter), QLabel(NO_VALUE)
            slider.setEnabled(can_command)
            slider.wished.connect(self.wished.emit)
            name = QLabel(printable(parameter.name))
            name.setTextFormat(Qt.TextFormat.PlainText)
            bounds = [QLabel(f"{bound:g}") for bound in (parameter.low, parameter.high)]
            for label in bounds:
                label.setObjectName("caption")
            value.setMinimumWidth(self.fontMetrics().horizontalAdvance(WIDEST))
            for column, widget in enumerate((name, bounds[0], slider, bounds[1], value)):
                grid.addWidget(widget, row, column)
            self.sliders[parameter.name], self._values[parameter.name] = slider, value
        self._keep_sliders_in_view()
        tick = f" (tick {device.tick_ms:g} ms)" if device and math.isfinite(device.tick_ms) else ""
        self._unit.setText(f"µs{tick}")

    def _keep_sliders_in_view(self) -> None:
        """Reserve space for a few sliders of parameters; if there are more, the area scrolls."""
        n_row = min(len(self.sliders), N_ROW_LEAST)
        self.area.setMinimumHeight(max(1, n_row * self.theme.px(ROW_HEIGHT)))

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme; buttons never become smaller."""
        self.theme = theme
        self.stop.setMinimumHeight(theme.px(32))
        for row in (self.buttons, self.snapshots):
            row.setMinimumHeight(theme.px(25))
        self._keep_sliders_in_view()

    def show_state(
        self,
        values: Mapping[str, NDArray[np.float64]],
        heard: bool,
        reason: str,
        telemetry: Telemetry | None,
        busy: bool,
    ) -> None:
        """Show the state of the device; while the sender is silent, the state is shown as unknown.

        values : newest values of the fields that report the parameters and whether the device is armed
        heard : whether frames arrive
        reason : why the device was last armed or disarmed
        telemetry : the sender's last message about itself, with durations of the parts of a tick
        busy : whether a command is being sent; the emergency stop is enabled even then
        """
        if self.device is None:
            return
        code = values["device_arming"][0] if heard else math.nan
        state = ARM_STATES[int(code)] if code in range(len(ARM_STATES)) else ""
        self.state.setText(state.upper() or "NOT KNOWN")
        self.state.setStyleSheet(f"color: {getattr(self.theme, MOODS.get(state, 'bad'))};")
        self.why.setText(reason if heard else "the run sends no data: the state of the device is unknown")
        self.why.setToolTip(tip([self.why.text()]))
        for name, slider in self.sliders.items():
            value = float(values[PARAMETERS][slider.parameter.entry])
            slider.show_value(value)
            self._values[name].setText(f"{value:.4g}" if math.isfinite(value) else NO_VALUE)
        others = (self.arm, self.disarm, self.undo, self.start, *self.save.values(), *self.switch.values())
        for button in others:
            button.setEnabled(not busy)
        self._show_times(telemetry)

    def sizeHint(self) -> QSize:
        return QSize(300, 360)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the table of durations in a small window, so that all buttons remain visible."""
        super().resizeEvent(event)
        self.table.setVisible(event.size().height() > self.theme.px(LEAST_FOR_TIMES))

    def _show_times(self, telemetry: Telemetry | None) -> None:
        gauges = telemetry.gauges if telemetry else {}
        counters = telemetry.counters if telemetry else {}
        for key, label in self.times.items():
            label.setText(f"{gauges[key]:.0f}" if math.isfinite(gauges.get(key, math.nan)) else NO_VALUE)
        ticks, in_time = counters.get("ticks", 0), counters.get("in_time", 0)
        share = f"{100.0 * in_time / (ticks - 1):.2f} %" if ticks > 1 else NO_VALUE
        # in a narrow window the end is cut, so that faults come first
        n_fault, n_missed = counters.get("faults", 0), counters.get("missed", 0)
        self.counts.setText(
            f"faults {n_fault} · commands in time {share} · missed {n_missed} · ticks {ticks}"
        )
        self.counts.setToolTip(tip([self.counts.text()]))

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 6)
        column.setSpacing(5)
        column.addWidget(self.stop)
        state = QHBoxLayout()
        state.addWidget(self.state)
        state.addWidget(self.why, 1)
        column.addLayout(state)
        self.buttons = _row(self.arm, self.disarm)
        column.addWidget(self.buttons)
        inside = QWidget()
        inside.setObjectName("curves")  # transparent
        self._parameters = QGridLayout(inside)
        self._parameters.setContentsMargins(0, 0, 4, 0)
        self._parameters.setHorizontalSpacing(6)
        self._parameters.setColumnStretch(2, 1)
        area = self.area = QScrollArea()
        area.setWidgetResizable(True)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(inside)
        area.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        column.addWidget(area, 1)
        kept = [button for name in SNAPSHOTS for button in (self.save[name], self.switch[name])]
        self.snapshots = _row(self.undo, self.start, *kept)
        column.addWidget(self.snapshots)
        self.table = QWidget()
        self.table.setLayout(self._table())
        column.addWidget(self.table)
        column.addWidget(self.counts)

    def _table(self) -> QGridLayout:
        """Build the table of durations, with one line for each part of a tick (one exchange with the
        device).
        """
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(0)
        self._unit = _caption("µs")
        grid.addWidget(self._unit, 0, 0)
        right = Qt.AlignmentFlag.AlignRight
        for k, words in enumerate(COLUMNS.values(), 1):
            grid.addWidget(_caption(words), 0, k, right)
        for row, (part, (words, explanation)) in enumerate(TIMES.items(), 1):
            name = QLabel(words)
            name.setToolTip(explanation)
            grid.addWidget(name, row, 0)
            for k, percentile in enumerate(COLUMNS, 1):
                label = self.times[f"{part}.{percentile}"] = QLabel(NO_VALUE)
                grid.addWidget(label, row, k, right)
        grid.setColumnStretch(0, 1)
        return grid

    def _commanding(self, text: str, command: str, explanation: str, **args: Any) -> QPushButton:
        button = self._button(text, explanation)
        button.clicked.connect(lambda: self.commanded.emit(command, args))
        return button

    def _button(self, text: str, explanation: str) -> QPushButton:
        button = QPushButton(text)
        button.setToolTip(explanation)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return button


def _row(*widgets: QWidget) -> QWidget:
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(4)
    for widget in widgets:
        layout.addWidget(widget)
    return row


def _caption(text: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName("caption")
    return label
