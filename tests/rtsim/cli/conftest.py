"""The command line: in this process where nothing is started, else as the processes a user would start."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rtsim.cli.main import main
from rtsim.config.paths import find_config
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.processes.signals import REQUESTS
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0  # how long a test may wait before it counts as hung
ANY = ("--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0")


LAB = """
name = "mine"
source = "the synthetic walker"
[{side}]
asis = "RASI"
asis_opposite = "LASI"
psis = "RPSI"
psis_opposite = "LPSI"
greater_trochanter = "RGTR"
epicondyle_lateral = "RKNE"
epicondyle_medial = "RKNM"
fibula_head = "RFIB"
tibial_tuberosity = "RTTB"
malleolus_lateral = "RANK"
malleolus_medial = "RANM"
calcaneus = "RHEE"
metatarsal_1 = "RMT1"
metatarsal_5 = "RMT5"
[{side}.tracking]
pelvis = ["RASI", "LASI", "RPSI", "LPSI"]
thigh = ["RGTR", "RTH1", "RTH2", "RKNE", "RKNM"]
shank = ["RFIB", "RTTB", "RSH1", "RANK", "RANM"]
foot = ["RHEE", "RMT1", "RMT5"]
"""


class Done(NamedTuple):
    """A command that is over."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The last line of the errors, where the sentence for the user stands."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


class Process:
    """A running `rtsim` command."""

    def __init__(self, arguments: tuple[str, ...], folder: Path, python: tuple[str, ...]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        self.popen = subprocess.Popen(
            [sys.executable, *python, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=folder,
            process_group=0 if sys.platform != "win32" else None,
        )
        self._lines: list[str] = []
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.popen.stdout, self._lines), (self.popen.stderr, self._errors))
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream, lines: list[str]) -> None:
        with contextlib.suppress(ValueError):  # closed under way
            lines.extend(stream)

    def state(self, name: str) -> dict:
        """Wait until the command says that it is in this state."""
        due = time.monotonic() + GUARD_S
        while time.monotonic() < due:
            ended = self._ended()  # before it is read: what it said last is then there
            for line in list(self._lines):
                state = json.loads(line)
                if state.get("state") == name:
                    return state
            assert not ended, "".join(self._errors)
            time.sleep(0.01)
        raise AssertionError(f"never {name}")

    def said(self, words: str) -> str:
        """Wait until the command says these words to its user; returns all it has said so far."""
        due = time.monotonic() + GUARD_S
        ended = self._ended()
        while words not in (text := "".join(list(self._errors))):
            assert time.monotonic() < due, f"never {words!r}: {text}"
            assert not ended, text
            time.sleep(0.01)
            ended = self._ended()
        return text

    def _ended(self) -> bool:
        """Whether it is over, and all that it has said was read."""
        if self.popen.poll() is None:
            return False
        for reader in self._readers:
            reader.join(GUARD_S)
        return True

    def wait(self) -> Done:
        """Wait for the end."""
        code = self.popen.wait(GUARD_S)
        for reader in self._readers:
            reader.join(GUARD_S)
        return Done(code, "".join(self._lines), "".join(self._errors))

    def close(self) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(GUARD_S)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start a command as a process in a folder of the test; it is ended after the test."""
    with contextlib.ExitStack() as stack:

        def begin(*arguments: object, python: tuple[str, ...] = ("-m", "rtsim.cli.main")) -> Process:
            process = Process(tuple(map(str, arguments)), tmp_path, python)
            stack.callback(process.close)
            return process

        yield begin


@pytest.fixture
def rtsim(start: Callable[..., Process]) -> Callable[..., Done]:
    """Run a command as a process to its end."""
    return lambda *arguments: start(*arguments).wait()


@pytest.fixture
def here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Done]:
    """Run a command in this process, in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: object) -> Done:
        former = {number: signal.getsignal(number) for number in REQUESTS}
        code: object = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
        captured = capsys.readouterr()
        return Done(int(code or 0), captured.out, captured.err)  # type: ignore[call-overload]

    return run


@pytest.fixture
def port() -> int:
    """A port that nobody uses at the moment."""
    return free_port()


@pytest.fixture
def taken() -> Iterator[str]:
    """An address that somebody listens at."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield f"tcp://127.0.0.1:{holder.getsockname()[1]}"


@pytest.fixture
def any_ports() -> tuple[str, ...]:
    """Options that let the system choose the ports of results and control."""
    return ANY


@pytest.fixture(scope="session")
def trial() -> MarkerTrial:
    """Half a second of the walker at 100 Hz."""
    return walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 0.5)


@pytest.fixture
def own_lab(tmp_path: Path) -> str:
    """Name of a marker map, in the folder of the test, for the walker's markers."""
    right, left = (LAB.format(side=side).split("[", 1) for side in ("right", "left"))
    (tmp_path / "lab.toml").write_text(f"{right[0]}[{right[1]}\n[{left[1]}")
    return "lab.toml"


@pytest.fixture
def refused(here) -> Iterator[Callable[..., str]]:
    """Run a command in this process that must end in one sentence, and soon; returns that."""

    def run(*arguments: object) -> str:
        if hasattr(signal, "alarm"):
            signal.alarm(round(GUARD_S))  # a command that waits for ever ends the tests
        done = here(*arguments)
        assert done.code == 1
        assert done.out == ""
        assert "Traceback" not in done.err
        assert len(done.err) < 3000
        assert done.err.count("\n") <= 2  # `check` counts in a second line
        return done.err

    yield run
    if hasattr(signal, "alarm"):
        signal.alarm(0)
