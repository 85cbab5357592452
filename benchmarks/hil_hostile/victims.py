"""The devices under attack by a hostile model: `rtsim device` and the example clients, each a process."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from benchmarks.hil_hostile.case import Sample
from benchmarks.hil_hostile.configs import device_config, safe_state_ms
from benchmarks.hil_hostile.rig import READY_S, NotArmedError
from benchmarks.hil_hostile.wire import (
    Keys,
    Parts,
    drained,
    first_output,
    new_session,
    offered,
    packed,
    unpacked,
)
from rtsim.bench.figures import say
from rtsim.live.processes.children import Child
from streams.clock import now_ns

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLIENT_RAMP_MS, CLIENT_TICK_MS = 50.0, 2.0
"""Ramp and tick of the example clients, as they state them [ms]."""
TURN_S = 0.01
"""Time between two outputs [s]."""
ARM_S, COMES_BACK_S = 6.0, 5.0
VALID_MS = 60.0
"""Validity of the outputs [ms]."""
NOTHING_NM = 0.05
N_COLUMN = 10
"""Number of columns of a device's log."""
OFF = ("disarmed", "stopped")


class DeviceProcess(NamedTuple):
    """A device as a process, and how to end it."""

    pid: int
    child: Child | None
    popen: subprocess.Popen[bytes] | None

    def close(self) -> None:
        """End the process."""
        if self.child is not None:
            self.child.close()
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()


def rows_of(log: Path, since_ns: int) -> list[Sample]:
    """Return the torque that the actuator applied, from the log of `rtsim device`, from a time on [ns]."""
    found = []
    with log.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) == N_COLUMN and row[0].isdigit() and int(row[0]) >= since_ns:
                found.append(Sample(int(row[0]), row[6] == "armed", float(row[8])))
    return found


Start = Callable[[str], DeviceProcess]


class Victim:
    """A device under attack, and the model that it is connected to.

    Attributes
    ----------
    name : `device`, `python` or `c`; torque : that acts, by the device's messages and their clock
    arms : when an armed output followed one of the same run that was not
    said : the reasons that it gives for a fall, and when; state : the newest
    start : makes the process, by the model's address; log : log of the device, where it keeps one
    session, seq : of the outputs; fall_ms : duration of its safe state, with two ticks
    """

    def __init__(self, name: str, start: Start, fall_ms: float, rng: Any, log: Path | None = None) -> None:
        self.name, self.fall_ms, self.log, self._rng = name, fall_ms, log, rng
        self.torque: list[Sample] = []
        self.said: list[tuple[int, str]] = []
        self.arms: list[int] = []
        self._was: tuple[str, bool] = ("", True)
        self.state, self.session, self.seq = "", new_session(rng), 0
        self._start = start
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._identity = b""
        self.bind("tcp://127.0.0.1:*")
        self.process = start(self.address)

    def restart(self) -> None:
        """Start another process in place of one that does not come back."""
        self.process.close()
        self.process = self._start(self.address)

    def bind(self, address: str) -> None:
        """Bind the model's socket."""
        self.socket = self._context.socket(zmq.ROUTER)
        self.socket.linger = 0
        for _ in range(100):
            try:
                self.socket.bind(address)
                break
            except zmq.ZMQError:
                time.sleep(0.02)
        self.address = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def vanish(self) -> None:
        """Close the socket without notice."""
        self.socket.close(0)

    def close(self) -> None:
        """End the device and the model."""
        self.process.close()
        self.socket.close(0)
        self._context.term()

    def listen(self) -> None:
        """Receive the messages of the device."""
        if self.socket.closed:
            return
        for identity, *parts in drained(self.socket):
            message = unpacked(parts)
            if message.get("type") != "device":
                continue
            self._identity, before, self.state = identity, self.state, message["state"]
            acting = message.get("actuator") or message["torque"]
            self.torque.append(Sample(message["t"], self.state == "armed", acting[0]))
            if self.state in ("falling", "stopped") and before not in ("falling", "stopped"):
                self.said.append((now_ns(), message.get("fault", "")))

    def say(self, one: Keys | Parts) -> None:
        """Send an output, or any message."""
        if isinstance(one, dict) and isinstance(one.get("armed"), bool):
            if one["armed"] and self._was == (one["session"], False):
                self.arms.append(now_ns())
            self._was = one["session"], one["armed"]
        parts = packed("output", one) if isinstance(one, dict) else one
        if not self.socket.closed:
            offered(self.socket, [self._identity, *parts])

    def output(self, **changed: Any) -> Keys:
        """Return the next output: 5 N m, valid for 60 ms."""
        made = first_output(self.session, self.seq, **changed)
        self.seq += 1
        return made

    def renew(self) -> None:
        """Begin another run of the model."""
        self.session, self.seq = new_session(self._rng), 0


class Victims:
    """All devices under attack; each receives an output a hundred times a second."""

    def __init__(self, folder: Path, rng: Any) -> None:
        config, log = device_config(folder), folder / "victim.csv"
        client_ms = CLIENT_RAMP_MS + 2.0 * CLIENT_TICK_MS
        device = partial(started_device, config, log)
        self.all = [Victim("device", device, safe_state_ms(config), rng, log)]
        commands = {"python": [sys.executable, str(EXAMPLES / "device_client.py")], "c": built_client(folder)}
        self.all += [
            Victim(name, partial(started_client, command), client_ms, rng)
            for name, command in commands.items()
            if command
        ]

    def close(self) -> None:
        """End all devices."""
        for victim in self.all:
            victim.close()

    def begin(self) -> None:
        """Begin another run of the model for all devices, with nothing remembered; armed with 5 N m.

        Who does not come so far is started anew; NotArmedError where that is of no use.
        """
        late = self._begin()
        for victim in late:
            victim.restart()
        if late and (late := self._begin()):
            raise NotArmedError(f"not armed within {ARM_S:g} s: {', '.join(v.name for v in late)}")

    def _begin(self) -> list[Victim]:
        """Begin the run; return the devices that did not start."""
        for victim in self.all:
            if victim.socket.closed:
                victim.bind(victim.address)
            victim.renew()
        since, due = now_ns(), time.monotonic() + ARM_S
        while late := [victim for victim in self.all if not self.has_torque(victim, since)]:
            if time.monotonic() > due:
                return late
            for victim in self.all:
                if victim.state in ("falling", "stopped") or victim.seq < 20:
                    victim.say(victim.output(armed=False))
                else:
                    victim.say(victim.output())
            self.turn()
        for victim in self.all:
            victim.torque.clear()
            victim.said.clear()
        self.go_on(0.1)
        return []

    def has_torque(self, victim: Victim, since_ns: int) -> bool:
        """Return whether 5 N m act."""
        newest = victim.torque[-1] if victim.torque else None
        return newest is not None and newest.t_ns > since_ns and newest.on and abs(newest.torque - 5.0) < 0.1

    def turn(self) -> None:
        """Wait for the time of the next output while receiving messages."""
        due = time.monotonic() + TURN_S
        while (left := due - time.monotonic()) > 0.0:
            time.sleep(min(left, 0.002))
            for victim in self.all:
                victim.listen()

    def go_on(self, seconds: float, **changed: Any) -> None:
        """Send honest outputs, or changed ones, for this time."""
        due = time.monotonic() + seconds
        while time.monotonic() < due:
            for victim in self.all:
                victim.say(victim.output(**changed))
            self.turn()

    def listen(self, seconds: float) -> None:
        """Send nothing for this time."""
        due = time.monotonic() + seconds
        while time.monotonic() < due:
            self.turn()


def started_device(config: Path, log: Path, address: str) -> DeviceProcess:
    """Start `rtsim device` at a model's address."""
    child = Child("device", ["device", str(config), "--model", address, "--log", str(log)])
    child.wait_ready(READY_S)
    return DeviceProcess(child.pid, child, None)


def started_client(command: list[str], address: str) -> DeviceProcess:
    """Start an example client at a model's address."""
    popen = subprocess.Popen([*command, address])
    return DeviceProcess(popen.pid, None, popen)


def built_client(folder: Path) -> list[str]:
    """Compile the client in C and return its command line; empty if that is impossible."""
    if not (shutil.which("cc") and shutil.which("pkg-config")):
        return []
    built = str(folder / "device_client")
    with suppress(subprocess.CalledProcessError, FileNotFoundError):
        asked = ["pkg-config", "--cflags", "--libs", "libzmq", "msgpack"]
        linked = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        source = str(EXAMPLES / "device_client.c")
        command = ["cc", "-O2", source, "-o", built, *linked, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        return [built]
    say("hil --hostile: the client in C is left out, because it could not be compiled")
    return []
