"""How commands end that are asked to: what they have done is kept, the exit code is that of the signal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
ANY = ("--results", LOCAL, "--control", LOCAL)
HOWS = ("SIGINT", "SIGTERM", "SIGHUP")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of another kind"),
]
ENDLESS = {
    "replay": (("replay", "walker", "--loop", "--address", LOCAL, "--wait", "0"), "playing walker"),
    "waiting replay": (("replay", "walker", "--address", LOCAL), "Nobody subscribes to tcp://127.0.0.1:"),
    "simulate --live": (
        ("simulate", "stick_slip", "--live", "--rate", "500", "--json", *ANY),
        "Ctrl-C ends it",
    ),
    "estimate": (
        ("estimate", "--markers", "tcp://127.0.0.1:1", "--subject", "walker", *ANY),
        "ready",
    ),
    "bench": (("bench", "latency", "--seconds", "60"), "latency: 100 Hz for 60 s"),
}
LONG = ("simulate", "stick_slip", "--duration", "2000", "--out", "a.csv")


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("replay", signal.SIGINT),
        ("waiting replay", signal.SIGTERM),
        ("simulate --live", signal.SIGINT),
        ("estimate", signal.SIGINT),
        ("estimate", signal.SIGTERM),
        ("bench", signal.SIGTERM),
    ],
)
def test_commands_end_with_the_code_of_the_signal(start, what, how):
    """Protects scripts: Ctrl-C is 130, a request to terminate 143, whatever the command; no traceback."""
    arguments, words = ENDLESS[what]
    process = start(*arguments)
    process.state("ready") if words == "ready" else process.said(words)
    process.popen.send_signal(how)
    done = process.wait()
    assert done.code == 128 + how
    assert "Traceback" not in done.err


@pytest.mark.parametrize("how", HOWS)
def test_a_long_simulation_keeps_what_is_done(start, tmp_path, how):
    """Protects long runs: however they are asked to end, the rows so far are told and written."""
    number = getattr(signal, how)
    process = start(*LONG, python=("-c", SAYING))
    process.said("running")
    process.popen.send_signal(number)
    done = process.wait()
    assert done.code == 128 + number
    assert "the results up to that time were written" in done.sentence
    assert "stopped" in done.out
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 1


SAYING = """if True:
    import sys
    from rtsim.simulation import run
    true = run.run
    def told(*arguments):
        if arguments[1]:
            print("running", file=sys.stderr, flush=True)
        return true(*arguments)
    run.run = told
    from rtsim.cli.main import main
    main()
"""
"""The command line, which says when a simulation has begun."""


def test_a_closed_terminal_keeps_what_is_done(tmp_path):
    """Protects long runs over a connection that breaks: the file is written, though nobody can be told."""
    import fcntl
    import termios

    master, slave = os.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [sys.executable, "-c", SAYING, *LONG],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        preexec_fn=own_terminal,
    )
    os.close(slave)
    try:
        said = b""
        while b"running" not in said:
            said += os.read(master, 4096)
        time.sleep(0.2)  # a progress bar is being drawn
        os.close(master)
        assert process.wait(GUARD_S) == 128 + signal.SIGHUP
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 1


def test_the_window_ends_with_the_code_of_the_signal(start, monkeypatch):
    """Protects scripts that open a window: the same codes as everywhere."""
    pytest.importorskip("PySide6")
    pytest.importorskip("pyqtgraph")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    for how in (signal.SIGINT, signal.SIGTERM):
        process = start("monitor", "tcp://127.0.0.1:1", python=("-c", OPENING))
        process.said("open")
        process.popen.send_signal(how)
        done = process.wait()
        assert done.code == 128 + how
        assert "Traceback" not in done.err


OPENING = """if True:
    import sys
    from rtsim.monitor import window
    true = window.MonitorWindow.show
    def told(self):
        true(self)
        print("open", file=sys.stderr, flush=True)
    window.MonitorWindow.show = told
    from rtsim.cli.main import main
    main()
"""
"""The command line, which says when the window is open."""


def test_nohup_is_respected(start):
    """Protects runs that were told to outlive their terminal."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    process = start(
        *ENDLESS["replay"][0], python=("-c", ignoring + "from rtsim.cli.main import main; main()")
    )
    process.said("playing walker")
    process.popen.send_signal(signal.SIGHUP)
    process.popen.send_signal(signal.SIGTERM)
    assert process.wait().code == 143


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("check",),
        ("replay", "walker", "--address", LOCAL, "--wait", "0", "--duration", "0.1", "--states"),
        ("simulate", "stick_slip", "--duration", "0.1", "--out", "a.csv"),
        ("live", "--duration", "0.3", "--results", LOCAL, "--control", LOCAL),
        ("live", "--duration", "0.3", "--json", "--results", LOCAL, "--control", LOCAL),
    ],
    ids=lambda arguments: " ".join(arguments[:4]),
)
def test_a_reader_that_leaves_ends_every_command_alike(tmp_path, arguments):
    """Protects `rtsim ... | head`: one exit code, no word about broken pipes, files written all the same."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rtsim.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(GUARD_S) == 141, said
    assert "ipe" not in said.replace("pipeline", "")
    assert "Traceback" not in said
    if "--out" in arguments:
        assert (tmp_path / "a.csv").exists()
