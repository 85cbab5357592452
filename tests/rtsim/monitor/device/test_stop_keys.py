"""The keys of the emergency stop, in every window and whatever has the focus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rtsim.device.arming import EMERGENCY
from streams.control.commands import ControlServer
from streams.messages import FieldSpec, Session

KEYS = ("Key_Space", "Key_Escape")
DEVICE = (
    FieldSpec(name="device_arming", shape=(1,), unit="1", labels=("ankle",)),
    FieldSpec(name="device_parameters", shape=(1,), unit="mixed", labels=("stiffness_N_m_rad",)),
)
COMMANDS = ("status", EMERGENCY)


@pytest.fixture
def server() -> Iterator[ControlServer]:
    """A run that accepts every command."""
    with ControlServer("tcp://127.0.0.1:0", lambda command: (True, "Done."), COMMANDS) as server:
        yield server


@pytest.fixture
def run(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: Callable[..., Session],
    all_fields: tuple[FieldSpec, ...],
    server: ControlServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """All windows on a run with a device and curves; `stops` of it has a name for each stop that is sent."""
    meta = {"device": {"ranges": {"stiffness_N_m_rad": [0.0, 40.0]}}, "commands": list(COMMANDS)}
    sender.announce(session_of((*all_fields, *DEVICE), meta=meta))
    stage = open_stage(sender.address, server.address)
    stage.join(sender)
    stage.receive(sender, 3, device_arming=np.array([2.0]), device_parameters=np.array([30.0]))
    stage.stops = []
    monkeypatch.setattr(stage.window.link.commander, "stop", stage.stops.append)
    for window in windows_of(stage):
        window.show()
    stage.turn()
    return stage


def windows_of(stage: Any) -> list[Any]:
    """The monitor window and those that it opens."""
    return [stage.window, stage.window.feedback, stage.window.chooser]


def focusable(window: Any) -> list[Any]:
    """What takes the focus in a window, and the window itself."""
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QWidget

    found = [part for part in window.findChildren(QWidget) if part.focusPolicy() != Qt.FocusPolicy.NoFocus]
    return [window, *(part for part in found if part.isVisible() and part.isEnabled())]


@pytest.mark.parametrize("key", KEYS)
def test_they_stop_whatever_has_the_focus(run: Any, key: str) -> None:
    """Protects the wearer while the cursor is in a field of numbers, a list or on a button of any window."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    n_key = 0
    for window in windows_of(run):
        window.activateWindow()
        run.application.processEvents()
        for part in focusable(window):
            part.setFocus()
            run.application.processEvents()
            QTest.keyClick(part, getattr(Qt.Key, key))
            QTest.keyClick(part.window().windowHandle(), getattr(Qt.Key, key))  # as a keyboard does
            n_key += 2
            assert run.stops == [EMERGENCY] * n_key, part
    assert n_key > 20
    assert all(window.isVisible() for window in windows_of(run))


@pytest.mark.parametrize("key", KEYS)
def test_they_stop_after_a_bound_of_the_target_is_typed(run: Any, key: str) -> None:
    """Protects the wearer whose target was just set: the cursor stays in the field."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    bound = run.window.feedback.low
    run.window.feedback.activateWindow()
    bound.setFocus()
    bound.selectAll()
    QTest.keyClicks(bound, "5")
    QTest.keyClick(bound, getattr(Qt.Key, key))
    assert run.stops == [EMERGENCY]
    assert bound.value() == 5.0


@pytest.mark.parametrize("key", KEYS)
def test_they_stop_while_a_list_or_a_menu_is_open(run: Any, key: str) -> None:
    """Protects the wearer while something stands before the windows that takes keys to close."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    feedback = run.window.feedback
    feedback.chosen.showPopup()
    run.application.processEvents()
    QTest.keyClick(feedback.chosen.view(), getattr(Qt.Key, key))
    assert run.stops == [EMERGENCY]
    feedback.chosen.hidePopup()
    menu = feedback.low.lineEdit().createStandardContextMenu()
    menu.popup(feedback.mapToGlobal(feedback.rect().center()))
    run.application.processEvents()
    QTest.keyClick(menu, getattr(Qt.Key, key))
    assert run.stops == [EMERGENCY] * 2
    menu.close()


@pytest.mark.parametrize("key", KEYS)
def test_they_stop_with_other_keys_held(run: Any, key: str) -> None:
    """Protects the wearer from a hand that lies on Shift or Ctrl when the key is pressed."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    held = Qt.KeyboardModifier
    for n, modifier in enumerate(
        (held.ShiftModifier, held.ControlModifier, held.AltModifier, held.MetaModifier)
    ):
        QTest.keyClick(run.window, getattr(Qt.Key, key), modifier)
        assert run.stops == [EMERGENCY] * (n + 1)


def test_a_key_that_is_held_stops_once(run: Any) -> None:
    """Protects the connection from a hundred commands of one press."""
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QKeyEvent

    for repeats in (False, True, True):
        kind, key = QEvent.Type.KeyPress, Qt.Key.Key_Space
        event = QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, " ", repeats)
        run.application.sendEvent(run.window, event)
    assert run.stops == [EMERGENCY]


def test_without_a_device_the_keys_are_those_of_the_windows(
    run: Any, sender: Any, session_of: Callable[..., Session]
) -> None:
    """Protects ordinary runs after one with a device: space freezes, and stops nothing."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    sender.announce(session_of())
    run.join(sender)
    run.receive(sender, 3)
    run.window.activateWindow()
    run.turn(12)
    QTest.keyClick(run.window, Qt.Key.Key_Space)
    run.until(run.window.bar.freeze.isChecked)
    assert run.stops == []
