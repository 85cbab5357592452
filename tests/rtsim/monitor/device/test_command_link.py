"""Requests that wait for a command before them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rtsim.device.arming import EMERGENCY
from streams.control.commands import ControlServer
from streams.messages import FieldSpec, Session

COMMANDS = ("status", "pause", "mark", "set")
NAMES = ("neutral_deg", "damping_N_m_s_rad", "stiffness_N_m_rad")
DEVICE = {"coordinate": "ankle", "rate_hz": 500.0, "ranges": {name: [0.0, 40.0] for name in NAMES}}


def device_fields(n_parameter: int) -> tuple[FieldSpec, ...]:
    """The fields of a run with a device of so many parameters; without any, of a run that has no device."""
    if not n_parameter:
        return (FieldSpec(name="marker_rms", shape=(1,), unit="m"),)
    return (
        FieldSpec(name="device_arming", shape=(1,), unit="1", labels=("ankle",)),
        FieldSpec(name="device_parameters", shape=(n_parameter,), unit="mixed", labels=NAMES[:n_parameter]),
    )


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ({"subject": "Bob"}, False),
        ({"subject": "Bob", "method": "zero"}, False),
        ({}, False),  # the run was started again
        ({"method": "zero"}, True),  # it goes on by another method
    ],
)
def test_what_waits_is_not_sent_to_another_run(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: Callable[..., Session],
    after: dict[str, str],
    kept: bool,
) -> None:
    """Protects the next person from marks and parameters that were meant for the one before."""
    asked: list[str] = []
    released = threading.Event()

    def handle(command: Any) -> tuple[bool, str]:
        asked.append(command.name)
        released.wait(20.0)
        return True, "Done."

    with ControlServer("tcp://127.0.0.1:0", handle, COMMANDS) as server:
        meta = {"subject": "Anna", "method": "minimised", "commands": list(COMMANDS)}
        sender.announce(session_of(meta=meta))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        stage.receive(sender, 3)
        link, feed = stage.window.link, stage.window.feed
        link.command("pause")
        stage.until(lambda: asked == ["pause"])
        stage.window.bar.mark.click()
        link.wish("stiffness_N_m_rad", 4.0)
        sender.announce(session_of(meta={**meta, **after}))
        stage.join(sender)
        released.set()
        sent = ["pause", "mark", "set"] if kept else ["pause"]
        stage.until(lambda: len(asked) >= len(sent) and not link.busy)
        stage.turn(12)
        stage.until(lambda: not link.busy)
        assert asked == sent
        said = any("not sent, because the results are of another run: 2" in s for s in feed.sentences.kept)
        assert said != kept


@pytest.mark.parametrize("n_parameter", [0, 1])
def test_another_run_without_a_device_takes_the_panel_and_its_keys_away(
    open_stage: Callable[..., Any], sender: Any, session_of: Callable[..., Session], n_parameter: int
) -> None:
    """Protects the window where a wish waits while the next person has no device, or one of fewer values."""
    released = threading.Event()

    def handle(command: Any) -> tuple[bool, str]:
        if command.name == "pause":
            released.wait(20.0)
        return True, "Done."

    with ControlServer("tcp://127.0.0.1:0", handle, (*COMMANDS, EMERGENCY)) as server:
        meta = {"subject": "Anna", "device": DEVICE, "commands": [*COMMANDS, EMERGENCY]}
        sender.announce(session_of(device_fields(3), meta=meta))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        link, panel = stage.window.link, stage.window.device
        assert link.stop_keys.on
        stage.until(lambda: not link.busy)
        link.command("pause")
        link.wish("stiffness_N_m_rad", 4.0)
        meta |= {"subject": "Bob"} if n_parameter else {"subject": "Bob", "commands": ["mark"]}
        sender.announce(session_of(device_fields(n_parameter), meta=meta))
        stage.join(sender)
        assert panel.isVisible() == link.stop_keys.on == (n_parameter > 0)
        assert len(panel.sliders) == n_parameter
        assert any("not sent" in text for text in stage.window.feed.sentences.kept)
        released.set()
        stage.until(lambda: not link.busy)
