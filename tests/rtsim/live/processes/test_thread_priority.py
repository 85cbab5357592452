"""A loop kept on one processor, where the system permits it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.cli.runs.hil_run import HilOptions, said_first
from rtsim.cli.terminal.emergency import EmergencySignal
from rtsim.errors import ConfigError
from rtsim.live.processes import thread_priority
from rtsim.live.processes.thread_priority import (
    LITTLE_SHARE,
    MOST_SHARE,
    NICENESS,
    PrioritySharing,
    below_others,
    may_have_priority,
    pinned,
    processors,
    with_priority,
)  # fmt: skip


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
    ways = HilOptions(
        True, None, True, None, None, True, 1, monitor=False, as_json=False, signal=signal, keys=None
    )
    refused = said_first(ways, urgent=False, is_pinned=False, has_key=False)
    assert ["rtprio" in words for words in refused] == [True, False]
    assert "processor 1" in refused[1]
    assert said_first(ways, urgent=True, is_pinned=True, has_key=False) == []
    assert "emergency stop" in said_first(ways, urgent=True, is_pinned=True, has_key=True)[0]


@pytest.mark.skipif(not hasattr(os, "setpriority"), reason="this system has no niceness")
def test_what_shows_results_runs_behind_what_computes_them() -> None:
    """Protects the loop beside a window: the thread, and those it starts, step back, and not twice."""
    code = (
        "import os, threading\n"
        "from rtsim.live.processes.thread_priority import below_others\n"
        "values = []\n"
        "look = lambda: values.append(os.getpriority(os.PRIO_PROCESS, 0))\n"
        "look()\n"
        "with below_others() as granted, below_others():\n"
        "    look(); thread = threading.Thread(target=look); thread.start(); thread.join()\n"
        "print(granted, *values)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    granted, former, *shown = done.stdout.split()
    assert granted == "True"
    assert [int(value) for value in shown] == 2 * [max(int(former), NICENESS)]


def test_a_system_without_niceness_shows_results_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects windows on Windows: what the system cannot do is no failure."""
    monkeypatch.delattr(thread_priority.os, "setpriority", raising=False)
    with below_others() as granted:
        assert not granted


@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        (["monitor"], "rtsim.monitor.app.run"),
        (["serve", "--page", "127.0.0.1:0"], "rtsim.bridges.page.serve_page"),
        (["bridge", "foxglove"], "rtsim.bridges.foxglove_server.serve_foxglove"),
    ],
)
def test_windows_and_pages_step_back(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], shows: str
) -> None:
    """Protects the loop beside a window or a page: each of them draws at the lower priority."""
    given: list[int] = []
    before: list[list[int]] = []

    def shown(*_: object) -> int:
        before.append(list(given))
        return 0

    monkeypatch.setattr(thread_priority.os, "getpriority", lambda which, who: 0, raising=False)
    monkeypatch.setattr(
        thread_priority.os, "setpriority", lambda which, who, value: given.append(value), raising=False
    )
    monkeypatch.setattr(shows, shown)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert before == [[NICENESS]]
    assert given == [NICENESS, 0]


@pytest.mark.skipif(not may_have_priority(), reason="the system grants no priority here")
def test_priority_is_shared_under_load_and_comes_back() -> None:
    """Protects other programs from an estimator that never rests: its threads are lowered, then raised."""
    over = threading.Event()
    with with_priority():
        helper = threading.Thread(target=over.wait)
        helper.start()
        try:
            beside = helper.native_id
            assert beside is not None
            sharing = PrioritySharing()
            assert sharing.judge(MOST_SHARE) == []
            assert os.sched_getscheduler(0) == os.SCHED_FIFO
            (sentence,) = sharing.judge(MOST_SHARE + 0.1)
            assert "90 % of a processor" in sentence
            assert {threading.get_native_id(), beside} <= set(sharing.lowered)
            assert os.sched_getscheduler(0) == os.sched_getscheduler(beside) == os.SCHED_OTHER
            assert sharing.judge(MOST_SHARE + 0.1) == sharing.judge(LITTLE_SHARE + 0.1) == []
            assert os.sched_getscheduler(0) == os.SCHED_OTHER  # neither much nor little: as it was
            assert sharing.judge(LITTLE_SHARE - 0.1) == []
            assert os.sched_getscheduler(0) == os.sched_getscheduler(beside) == os.SCHED_FIFO
            assert sharing.lowered == []
        finally:
            over.set()
            helper.join()


@pytest.mark.skipif(not may_have_priority(), reason="the system grants no priority here")
def test_threads_that_end_and_refusals_end_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a run under load: a thread may end as priority is lowered, and raising may be refused."""
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    gone, mine = ended.native_id, threading.get_native_id()
    assert gone is not None
    monkeypatch.setattr(thread_priority, "threads", lambda: [gone, mine])
    with with_priority():
        sharing = PrioritySharing()
        assert len(sharing.judge(1.0)) == 1
        assert sharing.lowered == [mine]
        with monkeypatch.context() as patched:

            def refused(thread: int, policy: int, param: os.sched_param) -> None:
                raise PermissionError

            patched.setattr(thread_priority.os, "sched_setscheduler", refused)
            assert sharing.judge(0.0) == []
        assert sharing.lowered == [mine]  # as before, and told so
        assert sharing.judge(0.0) == sharing.lowered == []


def test_a_short_time_says_nothing_of_a_share() -> None:
    """Protects the priority from two telemetries in a row, between which the processor was busy."""
    sharing = PrioritySharing()
    assert sharing.look() == []
    assert sharing.lowered == []
