"""A connection that is held for all commands, over real sockets."""

from __future__ import annotations

import threading
import time

import pytest

from streams.control.commands import ControlServer
from streams.control.held_connection import HeldControl
from streams.errors import StreamError
from streams.receiving import unfinished

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0


class Answers:
    """What came back, in its order."""

    def __init__(self) -> None:
        self.all: list[tuple[str, bool, str]] = []
        self._more = threading.Condition()

    def of(self, name: str):
        """Take the answer to a command."""

        def take(ok: bool, text: str) -> None:
            with self._more:
                self.all.append((name, ok, text))
                self._more.notify()

        return take

    def after(self, n: int) -> list[tuple[str, bool, str]]:
        """All of them, once there are so many."""
        with self._more:
            assert self._more.wait_for(lambda: len(self.all) >= n, GUARD_S)
        return self.all


def test_commands_are_answered_in_their_order_over_one_connection() -> None:
    """Protects answers from going to another command, and the endpoint from a connection for each."""
    answers = Answers()
    with (
        ControlServer(LOCAL, lambda c: (True, f"{c.name} {c.args['n']}"), ("set",)) as server,
        HeldControl(server.address, GUARD_S) as held,
    ):
        for n in range(20):
            held.ask("set", {"n": n}, answers.of(str(n)))
        assert answers.after(20) == [(str(n), True, f"set {n}") for n in range(20)]
        guard = server._bound.guard
        assert guard is None or len(guard._connections) == 1


def test_answers_over_hours_are_no_endless_message(monkeypatch) -> None:
    """Protects a window that stays open: many short answers together may be longer than one message."""
    monkeypatch.setattr(unfinished, "MOST_UNFINISHED", 2000)
    monkeypatch.setattr(unfinished, "BESIDE", 500)
    monkeypatch.setattr(unfinished, "SAVED_S", 0.0)
    answers = Answers()
    with (
        ControlServer(LOCAL, lambda c: (True, "x" * 100), ("set",)) as server,
        HeldControl(server.address, GUARD_S) as held,
    ):
        for n in range(100):
            held.ask("set", {"n": n}, answers.of("set"))
            assert answers.after(n + 1)[-1][1]


def test_a_lost_connection_is_made_anew_and_nothing_is_done_late(eventually) -> None:
    """Protects a run from an `arm` of long ago: what could not be sent in its time is never sent."""
    answers, done = Answers(), []

    def handle(command) -> tuple[bool, str]:
        done.append(command.name)
        return True, "done"

    server = ControlServer(LOCAL, handle, ("arm", "status"))
    with HeldControl(server.address, 0.4) as held:

        def heard() -> bool:  # asked again: a busy machine may take longer than the patience
            n = len(answers.all)  # before it is asked: the answer may come at once
            held.ask("status", {}, answers.of("status"))
            return answers.after(n + 1)[-1][1]

        eventually(heard)
        server.close()
        n_before = len(answers.all)
        held.ask("arm", {}, answers.of("arm"))
        assert not answers.after(n_before + 1)[-1][1]
        with ControlServer(server.address, handle, ("arm", "status")):
            time.sleep(0.5)
            eventually(heard)
    assert "arm" not in done


def test_an_answer_that_never_comes_is_told_and_the_next_is_its_own(eventually) -> None:
    """Protects from answers that belong to a command before: nothing is mixed up after one."""
    answers, free = Answers(), threading.Event()

    def handle(command) -> tuple[bool, str]:
        if command.name == "slow":
            free.wait(GUARD_S)
        return True, command.name

    with ControlServer(LOCAL, handle, ("slow", "quick")) as server, HeldControl(server.address, 0.3) as held:
        held.ask("slow", {}, answers.of("slow"))
        name, ok, text = answers.after(1)[0]
        assert (name, ok) == ("slow", False)
        assert "Nobody answered" in text
        free.set()

        def answered() -> bool:  # asked again: a busy machine may take longer than the patience
            n = len(answers.all)
            held.ask("quick", {}, answers.of("quick"))
            return answers.after(n + 1)[-1][1]

        eventually(answered)
        assert answers.all[-1] == ("quick", True, "quick")


def test_what_cannot_travel_is_told_at_once() -> None:
    """Protects the caller: a bad address and a bad argument are errors where they are given."""
    with pytest.raises(StreamError):
        HeldControl("nowhere", 1.0)
    with HeldControl("tcp://127.0.0.1:1", 1.0) as held, pytest.raises(StreamError):
        held.ask("set", {"x": object()}, lambda ok, text: None)
