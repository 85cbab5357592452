"""The emergency stop in the terminal: space and Esc, at once, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rtsim.cli.terminal.emergency import EmergencySignal

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals"),
]
AT_TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""
CODE = """
import threading
from rtsim.cli.terminal.emergency import emergency_key
pressed = threading.Event()
with emergency_key(pressed.set) as has_key:
    print("ready" if has_key else "no key", flush=True)
    while has_key and not pressed.wait(60.0):
        pass
    print("pressed" if pressed.is_set() else "not pressed", flush=True)
print("over", flush=True)
"""


@contextmanager
def at_terminal(code: str) -> Iterator[tuple[subprocess.Popen, int, int, list]]:
    """A process at a terminal of its own: the process, the typist's end, the process's end, and what the
    terminal was like before the process had it."""
    import termios

    typist, terminal = os.openpty()
    former = termios.tcgetattr(terminal)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=terminal,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process, typist, terminal, former
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        os.close(typist)
        os.close(terminal)


@pytest.mark.parametrize("key", [b" ", b"\x1b", b"\x1b[A"])
def test_a_key_stops_at_once(key: bytes) -> None:
    """Protects whoever wears it: no Enter is needed, and the terminal is then as it was before."""
    import termios

    with at_terminal(AT_TERMINAL + CODE) as (process, typist, terminal, former):
        assert process.stdout.readline() == "ready\n"
        assert termios.tcgetattr(terminal) != former
        os.write(typist, b"xq7" + key)
        assert process.stdout.readline() == "pressed\n"
        assert process.stdout.readline() == "over\n"
        assert termios.tcgetattr(terminal) == former


def test_without_a_terminal_there_is_no_key() -> None:
    """Protects runs from pipes and services: nothing is read, and nothing is changed."""
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, input="  ", capture_output=True, text=True, check=True)
    assert done.stdout == "no key\nnot pressed\nover\n"


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="the system has no such signal")
def test_a_stop_after_the_end_does_not_kill() -> None:
    """Protects the summary and the exit code of a run: a signal that comes while the process ends is none."""
    code = """
import os, signal
from rtsim.cli.terminal.emergency import EmergencySignal
EmergencySignal().close()
os.kill(os.getpid(), signal.SIGUSR2)
print("over")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "over\n")


def test_a_handler_of_before_is_there_again() -> None:
    """Protects programs that use the signal themselves, after a run within them."""
    number = getattr(signal, "SIGUSR2", None)
    if number is None:
        pytest.skip("the system has no such signal")
    heard: list[int] = []
    before = signal.signal(number, lambda n, frame: heard.append(n))
    try:
        EmergencySignal().close()
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)
    assert heard == [number]
