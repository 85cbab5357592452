"""A terminal that is closed where no file can be opened any more."""

from __future__ import annotations

import os
import signal

import pytest

from rtsim.live.processes import signals


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no such signal")
def test_a_closed_terminal_is_a_request_without_descriptors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects work under way: in its signal handler the failure to open a file would end it as an error."""

    def exhausted(*_: object) -> int:
        raise OSError(24, "Too many open files")

    asked: list[int] = []
    with signals.noting_requests(asked.append):
        monkeypatch.setattr(os, "open", exhausted)
        signals._answer(signal.SIGHUP, None)
        monkeypatch.undo()
    assert asked == [signal.SIGHUP]
