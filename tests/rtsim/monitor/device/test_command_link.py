"""Requests that wait for a command before them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from streams.control.commands import ControlServer
from streams.messages import Session

COMMANDS = ("status", "pause", "mark", "set")


@pytest.mark.parametrize(("subject", "sent"), [("Anna", ["pause", "mark", "set"]), ("Bob", ["pause"])])
def test_what_waits_is_not_sent_to_another_run(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: Callable[..., Session],
    subject: str,
    sent: list[str],
) -> None:
    """Protects the next person from marks and parameters that were meant for the one before."""
    asked: list[str] = []
    released = threading.Event()

    def handle(command: Any) -> tuple[bool, str]:
        asked.append(command.name)
        released.wait(120.0)
        return True, "Done."

    with ControlServer("tcp://127.0.0.1:0", handle, COMMANDS) as server:
        meta = {"subject": "Anna", "commands": list(COMMANDS)}
        sender.announce(session_of(meta=meta))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        stage.receive(sender, 3)
        link, feed = stage.window.link, stage.window.feed
        link.command("pause")
        stage.until(lambda: asked == ["pause"])
        stage.window.bar.mark.click()
        link.wish("stiffness_N_m_rad", 4.0)
        sender.announce(session_of(meta={**meta, "subject": subject}))
        stage.join(sender)
        released.set()
        stage.until(lambda: len(asked) >= len(sent) and not link.busy)
        stage.turn(12)
        stage.until(lambda: not link.busy)
        assert asked == sent
        said = any("not sent, as the results are now of another run: 2" in s for s in feed.sentences.kept)
        assert said == (subject == "Bob")
