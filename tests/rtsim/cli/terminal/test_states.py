"""A child process that waits for the request of its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
GUARD_S = 120.0
WAITING = """if True:
    import signal, sys
    from rtsim.cli.terminal.states import end_with_parent, request_of_parent
    from rtsim.live.processes.signals import Interrupted, answer_requests, exit_code
    if sys.argv[1] == "ignored":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        answer_requests()
        end_with_parent()
        if sys.argv[1] == "flag":  # the watching thread gets it, as on Windows
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        print("waits", flush=True)
        print(request_of_parent().decode(), flush=True)
    except Interrupted:
        sys.exit(exit_code() or 130)
"""


def waiting(kind: str) -> subprocess.Popen[str]:
    """A process that is about to wait for its request."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    return process


def end_of(process: subprocess.Popen[str], words: str = "") -> tuple[int, str]:
    """Its exit code, and what it says, once its parent has written these words and closed its end."""
    try:
        said, _ = process.communicate(words, timeout=GUARD_S)
    finally:
        process.kill()
    return process.returncode, said


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("usual", 128 + signal.SIGTERM),
        pytest.param(
            "flag", 128 + signal.SIGTERM,
            marks=pytest.mark.skipif(sys.platform == "win32", reason="is the usual there"),
        ),
        ("ignored", 130),
    ],
)  # fmt: skip
def test_a_child_whose_parent_is_gone_before_it_asks_ends(kind: str, code: int) -> None:
    """Protects from processes that stay for ever, also where a signal does not interrupt the wait."""
    assert end_of(waiting(kind)) == (code, "")


@pytest.mark.process
def test_a_child_has_the_request_of_a_parent_that_is_gone_at_once() -> None:
    """Protects requests: the end of the parent comes after what it asked, not instead of it."""
    assert end_of(waiting("ignored"), "a request\n") == (0, "a request\n")
