"""A model and a device as processes on real sockets, and what a listener hears of them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from streams.codec import decode
from streams.control.commands import request
from streams.errors import DecodeError
from streams.messages import Device, Output, Result, Telemetry
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0
"""How long a test may wait before it counts as hung [s]."""
VALID_MS, RAMP_MS, RATE = 1000.0, 100.0, 100.0  # valid for longer than a busy machine pauses
DEVICE = f"""
name = "rig"
source = "made up"
joint = "ankle"
tick_hz = {RATE}
speed_max_deg_s = 3000.0
[actuator]
torque_max_Nm = 30.0
rate_max_Nm_s = 10000.0
[safe_state]
kind = "ramp"
ramp_ms = {RAMP_MS}
"""
CONFIG = """
name = "rig"
source = "made up"
model = "shank_foot"
coordinate = "ankle"
device = "DEVICE"
[exchange]
mode = "MODE"
rate_hz = 100.0
frame_hz = 50.0
paced = true
deadline_ms = 1000.0
valid_for_ms = 1000.0
missed_most = 3
[controller]
neutral_deg = 20.0
stiffness_N_m_rad = 12.0
ranges = { stiffness_N_m_rad = [0.0, 25.0] }
change_s = 0.2
[limits]
torque_max_Nm = 20.0
rate_max_Nm_s = 1000.0
power_max_W = 500.0
angle_deg = [-80.0, 80.0]
speed_max_deg_s = 3000.0
measured_max_Nm = 60.0
energy_max_J = 50.0
tracking_Nm = 10.0
tracking_ms = 500.0
delay_ms = 1000.0
ramp_s = 0.1
[ports]
results = "tcp://127.0.0.1:0"
control = "tcp://127.0.0.1:0"
device = "ADDRESS"
"""

FIVE, NAN = b"\xcb\x40\x14" + bytes(6), b"\xcb\x7f\xf8" + bytes(6)
"""As msgpack has 5.0, and no number."""


def until(asked: Callable[[], Any]) -> Any:
    """Return what is asked for as soon as it is there."""
    due = time.monotonic() + GUARD_S
    while not (found := asked()):
        assert time.monotonic() < due, "it never came"
        time.sleep(0.01)
    return found


def free_address() -> str:
    """Return an address that nobody holds."""
    return f"tcp://127.0.0.1:{free_port()}"


class Row(NamedTuple):
    """A tick of the device, of its own log."""

    t_ns: int
    kind: str
    command: int
    age_ms: float
    valid_for_ms: float
    commanded_armed: bool
    state: str
    commanded: float
    actuator: float


def rows_of(log: Path) -> list[Row]:
    """Return the whole rows of a device's log."""
    found = []
    with log.open(encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file))[1:]:
            if len(row) == 10:
                numbers = int(row[0]), row[1], int(row[2]), float(row[3]), float(row[4]), row[5] == "1"
                found.append(Row(*numbers, row[6], float(row[7]), float(row[8])))
    return found


def obeys(rows: list[Row]) -> int:
    """Check the law of the log, tick by tick of the device's own clock; how often it fell.

    No tick by a command that is too old has it armed; from the fall on torque shrinks with every tick, as the
    ramp says, to nothing, and stays there until it was disarmed.
    """
    n_fall, since, at = 0, 0, 0.0
    for before, row in pairwise(rows):
        assert row.state != "armed" or row.age_ms <= row.valid_for_ms + 1.0, row
        if row.state in ("falling", "stopped") and before.state not in ("falling", "stopped"):
            n_fall, since, at = n_fall + 1, 0, abs(before.actuator)
        if row.state in ("falling", "stopped"):
            since += 1
            share = max(0.0, 1.0 - since * 1e3 / RATE / RAMP_MS)
            assert abs(row.actuator) <= share * at + 1e-9, (row, since, at)
        if row.state == "armed":
            assert before.state in ("armed", "disarmed"), (before, row)
        if row.state == "disarmed" and before.state != "disarmed":
            assert not row.commanded_armed
    return n_fall


class Rig:
    """Starts and ends the processes of a test, and listens.

    Attributes
    ----------
    outputs, devices, results : messages heard, oldest first; said : sentences of telemetry
    """

    def __init__(self, folder: Path, mode: str = "lockstep") -> None:
        self.folder, self.address = folder, free_address()
        self.spec, self.config = folder / "device.toml", folder / "config.toml"
        self.spec.write_text(DEVICE, encoding="utf-8")
        text = CONFIG.replace("MODE", mode).replace("DEVICE", str(self.spec)).replace("ADDRESS", self.address)
        self.config.write_text(text, encoding="utf-8")
        self.outputs: list[Output] = []
        self.devices: list[Device] = []
        self.results: list[Result] = []
        self.said: list[str] = []
        self.telemetry: list[Telemetry] = []
        self.control = self.results_address = ""
        self._processes: list[subprocess.Popen] = []
        self._over = threading.Event()
        self._listeners: list[threading.Thread] = []

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
        for listener in self._listeners:
            listener.join()

    def start(self, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.Popen:
        """Start a command; prefix : of another program that starts it"""
        process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "rtsim.cli.main", *arguments],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self._processes.append(process)
        return process

    def start_model(self, *options: str) -> subprocess.Popen:
        """Start the model and listen to it."""
        process = self.start("hil", str(self.config), "--device", "none", "--json", *options)
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        self.control, self.results_address = told["control"], told["results"]
        listener = threading.Thread(target=self._listen, args=(told["results"],))
        listener.start()
        self._listeners.append(listener)
        return process

    def start_device(
        self, name: str = "first", prefix: Sequence[str] = (), options: Sequence[str] = ()
    ) -> tuple[subprocess.Popen, Path]:
        """Start the simulated device; its process and its log."""
        log = self.folder / f"{name}.csv"
        asked = ["device", str(self.spec), "--model", self.address, "--log", str(log), *options]
        return self.start(*asked, prefix=prefix), log

    def ask(self, command: str, **args) -> tuple[bool, str]:
        """Send a command."""
        return request(self.control, command, args, timeout_s=GUARD_S)

    def arm(self) -> None:
        """Arm as soon as nothing speaks against it, anew where it falls in the ramp, as on a busy machine;
        return at the end of the ramp.
        """

        asked = False

        def armed() -> bool:
            nonlocal asked
            said = list(self.said)
            if any("-> fault" in text or "Device: not armed" in text for text in said):
                self.said.clear()
                asked = False
            elif any("ramping -> armed" in text for text in said):
                return self.outputs[-1].torque[0] > 1.0
            asked = asked or self.ask("arm")[0]
            return False

        self.said.clear()
        until(armed)

    def heard(self, words: str) -> str:
        """Wait for a sentence with these words."""
        return until(lambda: next((text for text in list(self.said) if words in text), ""))

    def _listen(self, address: str) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as listener:
            listener.linger, listener.rcvtimeo, listener.rcvhwm = 0, 50, 0
            listener.connect(address)
            listener.subscribe(b"")
            while not self._over.is_set():
                with suppress(zmq.Again, DecodeError):
                    self._keep(decode(listener.recv_multipart()))

    def _keep(self, message: object) -> None:
        if isinstance(message, Output):
            self.outputs.append(message)
        elif isinstance(message, Device):
            self.devices.append(message)
        elif isinstance(message, Result):
            self.results.append(message)
        elif isinstance(message, Telemetry):
            self.telemetry.append(message)
            self.said += message.text
