"""A laboratory in which everything runs: player, estimator, monitor, a model with its device, and three
recorders.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.kills.commands import LOOK_S, CommandError, Commands, RunningCommand
from benchmarks.kills.judge import KillVerdict, judged
from benchmarks.kills.witness import Witness
from streams.clock import now_ns

ROLES = ("recorder", "player", "estimator", "monitor", "hil", "device")
STREAMS = {"markers": "player", "results": "estimator", "hil": "hil"}
"""Recorded streams -> the process that publishes each."""
SOME_BYTES = 4000
"""A recorder whose file has grown by so many bytes hears its stream."""
HEARD_S = 120.0
LATER_S = 2.0
"""A recorder on a busy machine may be behind by so much [s]."""


class _Recording(NamedTuple):
    """A running recorder: its command, its file, and the time since when it receives everything [ns]."""

    command: RunningCommand
    path: Path
    since_ns: int


class Lab:
    """All processes, each of which may be killed.

    Attributes
    ----------
    addresses : addresses of the streams; recordings : recordings of each stream
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = ("markers", "results", "hil", "control", "hil_control", "port")
        self.ports = {name: f"tcp://127.0.0.1:{free_port()}" for name in names}
        self.addresses = {name: self.ports[name] for name in STREAMS}
        self.commands = Commands(folder)
        self.witness = Witness(self.addresses)
        self.recordings: dict[str, _Recording] = {}
        self._n_file = 0
        self._running: dict[str, RunningCommand] = {}

    def begin(self) -> None:
        """Start everything."""
        for role in ROLES[1:]:
            self.start(role)
        for stream in STREAMS:
            self.record(stream)

    def close(self) -> None:
        """End everything."""
        self.commands.close()
        self.witness.close()

    def start(self, role: str) -> None:
        """Start a process, and wait until it works."""
        ports = self.ports
        words: Mapping[str, tuple[object, ...]] = {
            "player": ("replay", "walker", "--loop", "--rate", 50, "--address", ports["markers"],
                       "--wait", 5, "--states"),
            "estimator": ("estimate", "--source", "walker", "--markers", ports["markers"], "--results",
                          ports["results"], "--control", ports["control"]),
            "monitor": ("monitor", ports["results"], "--control", ports["control"]),
            "hil": ("hil", "ankle", "--device", "none", "--json", "--results-address",
                    ports["hil"], "--control-address", ports["hil_control"], "--port-address",
                    ports["port"]),
            "device": ("device", "ankle_orthosis", "--model", ports["port"]),
        }  # fmt: skip
        self._running[role] = self.commands.start(*words[role])
        if role != "monitor":
            self._running[role].until('"ready"')

    def record(self, stream: str) -> None:
        """Start a recorder of a stream, into a new file."""
        self._n_file += 1
        path = self.folder / f"{stream}.{self._n_file}.mcap"
        command = self.commands.start("record", self.addresses[stream], path)
        self.recordings[stream] = _Recording(command, path, 0)
        self.listen(stream)

    def listen(self, stream: str) -> None:
        """Wait until the recorder of a stream receives it."""
        command, path, _ = self.recordings[stream]
        size = size_of(path)
        waited(lambda: size_of(path) > size + SOME_BYTES, command, stream)
        self.recordings[stream] = _Recording(command, path, now_ns())

    def kill(self, role: str, stream: str) -> tuple[dict[str, KillVerdict], dict[str, int]]:
        """Kill one process, a recorder by its stream; return the verdicts on all recordings, and their sizes
        [bytes].
        """
        victim = self.recordings[stream].command if role == "recorder" else self._running[role]
        if not victim.runs:
            words = victim.error.read_text(errors="replace")[-500:]
            raise CommandError(f"the {role} ended without being killed: {words}")
        t_ns = now_ns()
        victim.kill()
        looked_at = [stream] if role == "recorder" else [*STREAMS]
        found, sizes = {}, {}
        for name in looked_at:
            _, path, since_ns = self.recordings[name]
            until_ns = t_ns if role == "recorder" else now_ns()
            heard = [one for one in [*self.witness.heard[name]] if one[0] >= since_ns]
            sizes[name] = size_of(path)
            found[name] = judged(path, heard, until_ns)
            if role != "recorder" and found[name].n_lost:
                # this recorder goes on: what it had not received yet is in the file a moment later
                time.sleep(LATER_S)
                found[name] = judged(path, heard, until_ns)._replace(lost_ms=found[name].lost_ms)
        return found, sizes

    def restart(self, role: str, stream: str) -> None:
        """Restart the killed process, and wait until it works."""
        if role == "recorder":
            self.recordings[stream].path.unlink()
            self.record(stream)
            return
        self.start(role)
        self.witness.forget(before_ns=min(one.since_ns for one in self.recordings.values()))
        fed = {
            "player": ("markers", "results"),
            "estimator": ("results",),
            "hil": ("hil",),
            "device": ("hil",),
        }
        for name in fed.get(role, ()):
            self.listen(name)


def free_port() -> int:
    """Return a port that nobody uses at the moment."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def size_of(path: Path) -> int:
    """Size of a file, 0 where there is none [bytes]."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def waited(asked: Callable[[], bool], command: RunningCommand, what: str) -> None:
    """Wait for something that a command does."""
    due = time.monotonic() + HEARD_S
    while not asked():
        if not command.runs or time.monotonic() > due:
            raise CommandError(
                f"the recorder of {what} receives nothing: {json.dumps(command.error.read_text()[-500:])}"
            )
        time.sleep(LOOK_S)
