"""A loop kept on one processor, where the system permits it."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from rtsim.cli.commands.hil import HilOptions, said_first
from rtsim.cli.main import cli
from rtsim.cli.terminal.emergency import EmergencySignal
from rtsim.errors import ConfigError
from rtsim.live.processes import thread_priority
from rtsim.live.processes.thread_priority import pinned, processors


@pytest.mark.skipif(not processors(), reason="this system has no such choice")
def test_a_thread_is_pinned_and_let_go() -> None:
    """Protects other work: the thread alone is kept there, and only as long as the run lasts."""
    former = os.sched_getaffinity(0)
    with pinned(processors()[0]) as granted:
        assert granted
        assert os.sched_getaffinity(0) == {processors()[0]}
    assert os.sched_getaffinity(0) == former
    with pinned(None) as granted:
        assert not granted
        assert os.sched_getaffinity(0) == former


def test_what_is_not_permitted_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects runs on systems that say no: the caller is told, and goes on."""

    def refused(pid: int, mask: set[int]) -> None:
        raise PermissionError

    monkeypatch.setattr(thread_priority.os, "sched_setaffinity", refused, raising=False)
    monkeypatch.setattr(thread_priority.os, "sched_getaffinity", lambda pid: {0}, raising=False)
    with pinned(0) as granted:
        assert not granted


def test_a_processor_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a run that silently is not pinned: what is allowed is said before anything slow."""
    monkeypatch.setattr(thread_priority, "processors", lambda: (0, 1))
    with pytest.raises(ConfigError, match="no processor 7") as refused:
        cli.main(["hil", "ankle", "--cpu", "7"], standalone_mode=False)
    assert "0, 1" in str(refused.value)
    assert CliRunner().invoke(cli, ["hil", "ankle", "--cpu", "-1"]).exit_code == 2


def test_what_was_not_granted_is_said() -> None:
    """Protects who relies on priority or a processor: one plain sentence each, none where all was granted."""
    signal = EmergencySignal()
    signal.close()
    ways = HilOptions(True, None, None, None, True, 1, monitor=False, as_json=False, signal=signal, keys=None)
    refused = said_first(ways, urgent=False, is_pinned=False, has_key=False)
    assert ["rtprio" in words for words in refused] == [True, False]
    assert "processor 1" in refused[1]
    assert said_first(ways, urgent=True, is_pinned=True, has_key=False) == []
    assert "emergency stop" in said_first(ways, urgent=True, is_pinned=True, has_key=True)[0]
