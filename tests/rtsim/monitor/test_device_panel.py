"""The panel of a run with a device: what it shows, what it sends, and that the emergency stop comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rtsim.device.arming import EMERGENCY
from rtsim.monitor.layout import layout_of
from streams.control.commands import ControlServer
from streams.messages import FieldSpec, Session, Status, Telemetry

SessionOf = Callable[..., Session]
NAMES = ("neutral_deg", "stiffness_N_m_rad", "damping_N_m_s_rad")
FIELDS = (
    FieldSpec(name="device_arming", shape=(1,), unit="1", labels=("ankle",)),
    FieldSpec(name="device_parameters", shape=(3,), unit="mixed", labels=NAMES),
)
COMMANDS = (
    "status",
    "arm",
    "disarm",
    EMERGENCY,
    "pause",
    "resume",
    "step",
    "reset",
    "set",
    "undo",
    "save",
    "switch",
)
RANGES = {"stiffness_N_m_rad": [0.0, 40.0], "neutral_deg": [-10, 10]}
DEVICE = {"coordinate": "ankle", "rate_hz": 500.0, "ranges": RANGES}
DISARMED, ARMED = 0.0, 2.0


class Model:
    """The other side: keeps what it was told, and answers late where it is held up."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.released = threading.Event()
        self.released.set()
        self.n_stop = 0
        self.server = ControlServer("tcp://127.0.0.1:0", self.handle, COMMANDS, stop=self.stop)

    def stop(self) -> None:
        """An emergency stop by datagram."""
        self.n_stop += 1

    def handle(self, command: Any) -> tuple[bool, str]:
        """Answer a command, the emergency stop at once."""
        if command.name == "status":
            return True, "device armed (the torque ramp is over), 7 frames published."
        self.asked.append((command.name, dict(command.args)))
        if command.name != EMERGENCY:
            self.released.wait(120.0)
        return True, "The command takes effect with the next tick."

    @property
    def names(self) -> list[str]:
        """Of the commands so far."""
        return [name for name, _ in self.asked]


@pytest.fixture
def model() -> Iterator[Model]:
    """Nothing was asked yet."""
    made = Model()
    yield made
    made.released.set()
    made.server.close()


@pytest.fixture
def run(open_stage: Callable[..., Any], sender: Any, session_of: SessionOf, model: Model) -> Any:
    """A window on a run with a device."""
    sender.announce(session_of(FIELDS, meta={"device": DEVICE, "commands": list(COMMANDS)}))
    stage = open_stage(sender.address, model.server.address)
    stage.join(sender)
    receive(stage, sender)
    stage.until(lambda: not stage.window.link.commander.busy)
    return stage


def receive(stage: Any, sender: Any, arming: float = ARMED, stiffness: float = 30.0) -> None:
    """Send some frames with a state and a stiffness, and let the window write them."""
    parameters = np.array([0.0, stiffness, 0.1])
    stage.receive(sender, 3, device_arming=np.array([arming]), device_parameters=parameters)
    stage.turn(12)


def test_state_reason_and_budget_are_shown(run: Any, sender: Any) -> None:
    """Protects whoever looks: armed or not and why, what acts, and how the ticks keep their time."""
    panel = run.window.device
    assert panel.isVisible()
    assert panel.state.text() == "ARMED"
    assert "the torque ramp is over" in panel.why.text()  # before this window was opened
    assert list(panel.sliders) == ["stiffness_N_m_rad", "neutral_deg"]
    assert panel.sliders["stiffness_N_m_rad"].value() == 150
    said = "Device: armed -> fault: the device has not answered for 4 ticks."
    gauges = {"round_trip_us.p50": 310.4, "slack_us.max": 1990.0}
    told = Telemetry(
        session=sender.session.session, t=0, gauges=gauges,
        counters={"ticks": 1001, "in_time": 995, "missed": 7, "faults": 1}, text=["Hello.", said, "More."],
    )  # fmt: skip
    sender.publisher.send(told)
    run.until(lambda: bool(run.window.feed.reason))
    receive(run, sender, 3.0, 10.0)
    assert panel.state.text() == "FAULT"
    assert "has not answered" in panel.why.text()
    assert panel.sliders["stiffness_N_m_rad"].value() == 50
    assert panel.times["round_trip_us.p50"].text() == "310"
    assert panel.times["round_trip_us.max"].text() == "–"
    assert "99.50 %" in panel.counts.text()
    assert "missed 7" in panel.counts.text()
    assert panel.counts.text().startswith("faults ")  # the end is cut in a narrow window


def test_a_frozen_display_still_tells_the_state(run: Any, sender: Any) -> None:
    """Protects from an old word: who froze the curves still sees that the device was armed."""
    receive(run, sender, DISARMED)
    run.window.bar.freeze.click()
    receive(run, sender, ARMED)
    assert run.window.device.state.text() == "ARMED"


def test_a_paused_run_is_not_silent(run: Any, sender: Any) -> None:
    """Protects the state of arming in a pause, in which frames come and are stale."""
    session = sender.session.session
    sender.publisher.send(
        Telemetry(session=session, t=0, gauges={"paused": 1.0}, text=["The limb is paused."])
    )
    run.until(lambda: run.window.feed.holds)
    parameters = np.array([0.0, 30.0, 0.1])
    run.receive(
        sender, 3, int(Status.STALE), device_arming=np.array([DISARMED]), device_parameters=parameters
    )
    run.turn(12)
    assert run.window.device.state.text() == "DISARMED"


@pytest.mark.parametrize("key", ["Key_Space", "Key_Escape"])
def test_the_emergency_stop_waits_for_nothing(run: Any, model: Model, key: str) -> None:
    """Protects whoever wears it: sent while another command is under way, and again after that one."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    model.released.clear()
    run.window.device.arm.click()
    run.until(lambda: model.names == ["arm"])
    QTest.keyClick(run.window, getattr(Qt.Key, key))
    model.released.set()
    run.until(lambda: model.names == ["arm", EMERGENCY, EMERGENCY])
    run.until(lambda: not run.window.link.commander.busy)
    assert not run.window.bar.freeze.isChecked()
    run.window.device.stop.click()
    run.until(lambda: len(model.names) == 4)


def test_the_emergency_stop_comes_by_datagram_where_commands_are_stuck(run: Any, model: Model) -> None:
    """Protects whoever wears it: the key stops while the control endpoint answers nobody."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    model.released.clear()
    run.window.device.arm.click()
    run.until(lambda: model.names == ["arm"])
    QTest.keyClick(run.window, Qt.Key.Key_Space)
    run.until(lambda: model.n_stop > 0)
    assert model.names == ["arm"]
    run.until(lambda: any("received at udp://" in text for text in run.window.feed.sentences.kept))
    model.released.set()
    run.until(lambda: not run.window.link.commander.busy)


def test_the_window_holds_one_connection(run: Any, model: Model) -> None:
    """Protects the window from a crowd: it is there already, and needs no place for each command."""
    guard = model.server._bound.guard
    if guard is None:
        pytest.skip("only Linux tells of connections")
    for _ in range(5):
        run.window.device.disarm.click()
        run.until(lambda: not run.window.link.commander.busy)
        assert len(guard._connections) == 1


def test_no_key_arms(run: Any) -> None:
    """Protects from a hand on the keyboard: nothing of the panel takes the focus."""
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QPushButton

    panel = run.window.device
    for widget in (*panel.findChildren(QPushButton), *panel.sliders.values()):
        assert widget.focusPolicy() is Qt.FocusPolicy.NoFocus


def test_sliders_snapshots_and_undo_send_commands(run: Any, sender: Any, model: Model) -> None:
    """Protects tuning by hand: a value is sent when let go; what was moved meanwhile follows."""
    panel = run.window.device
    slider = panel.sliders["stiffness_N_m_rad"]
    slider.setSliderDown(True)
    slider.setValue(20)
    receive(run, sender)
    assert slider.value() == 20  # a hand holds it
    assert model.asked == []
    model.released.clear()
    slider.setSliderDown(False)
    run.until(lambda: model.asked == [("set", {"stiffness_N_m_rad": 4.0})])
    panel.sliders["neutral_deg"].setValue(0)
    model.released.set()
    run.until(lambda: model.asked[1:] == [("set", {"neutral_deg": -10.0})])
    presses = {
        panel.save["A"]: ("save", {"name": "A"}),
        panel.switch["B"]: ("switch", {"name": "B"}),
        panel.start: ("switch", {"name": "start"}),
        panel.undo: ("undo", {}),
        run.window.bar.step: ("step", {}),
        run.window.bar.reset: ("reset", {}),
    }
    for button, sent in presses.items():
        run.until(lambda: not run.window.link.commander.busy)
        run.turn(6)
        button.click()
        run.until(lambda sent=sent: model.asked[-1] == sent)


def test_without_a_control_address_it_only_shows(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects from a button that could not stop anything."""
    sender.announce(session_of(FIELDS, meta={"device": DEVICE, "commands": list(COMMANDS)}))
    stage = open_stage(sender.address)
    stage.join(sender)
    receive(stage, sender)
    panel = stage.window.device
    assert panel.state.text() == "ARMED"
    assert not panel.stop.isVisible()
    assert not panel.sliders["stiffness_N_m_rad"].isEnabled()


def test_without_a_device_there_is_no_panel(stage: Any, sender: Any) -> None:
    """Protects the window of a person without a device: space freezes, as ever."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    stage.receive(sender, 3)
    stage.turn(12)
    assert not stage.window.device.isVisible()
    QTest.keyClick(stage.window, Qt.Key.Key_Space)
    stage.until(stage.window.bar.freeze.isChecked)


@pytest.mark.parametrize(
    "device",
    [
        None, 7, [], {}, {"ranges": 3}, {"ranges": {"stiffness_N_m_rad": [1.0, 0.0]}, "rate_hz": 0.0},
        {"ranges": {"x" * 5000: [0.0, 1.0]}}, {"ranges": {"neutral_deg": [float("nan"), float("inf")]}},
        {"ranges": {"neutral_deg": ["a", None]}, "rate_hz": "fast"}, {"ranges": {"neutral_deg": [0, 1e99]}},
        {"ranges": {f"p{k}": [0.0, 1.0] for k in range(500)}, "coordinate": "<h1>" * 100},
    ],
)  # fmt: skip
def test_nonsense_of_a_sender_is_left_out(session_of: SessionOf, device: Any) -> None:
    """Protects the window from descriptors of strangers: what cannot be is no slider, and that is said."""
    layout = layout_of(session_of(FIELDS, meta={"device": device} if device is not None else {"x": 1}))
    if not isinstance(device, dict):
        assert layout.device is None
        return
    assert layout.device.parameters == ()
    ranges = device.get("ranges")
    if isinstance(ranges, dict):
        assert f"0 of {len(ranges)} parameters of the device shown" in layout.notes


def test_fields_of_other_shapes_are_no_device(session_of: SessionOf) -> None:
    """Protects the window from fields under the names of a device that are none."""
    fields = (FieldSpec(name="device_arming", shape=(0,), unit="1"), FIELDS[1])
    assert layout_of(session_of(fields, meta={"device": DEVICE})).device is None
    assert layout_of(session_of(FIELDS[:1], meta={"device": DEVICE})).device is None
