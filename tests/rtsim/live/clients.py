"""Every client of ours as a whole process on a real socket, and a model that says what a test has it say."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import zmq

from streams.clock import now_ns
from streams.exchange import OutputIntake
from tests.rtsim.live.output_table import Case, good, parts_of
from tests.rtsim.live.rig import DEVICE, until
from tests.rtsim.live.servo import Servo
from tests.rtsim.live.test_device_clients import EXAMPLES, TRAPS, Talk, flags

CLIENTS = ("rtsim device", "python", "c", "moteus")
LIMIT = 30.0
"""Of each client's own [N m]."""
HELD = 5.0
"""Torque of the outputs between those of a table [N m]."""
AGAIN_S = 5.0
"""How long an answer may take before it is taken for none [s]."""
BY_TIME = ("ends the client", "is refused", "is silent")
"""Verdicts that a pause of a busy machine has, too: only a wrong client has them again and again."""
KEEP = good("held", torque=[HELD])


@contextmanager
def client(name: str, folder: Path) -> Iterator[Talk]:
    """A client that was just started, with a model that talks to it."""
    servo = None
    if name == "moteus":
        if sys.platform == "win32":
            pytest.skip("the driver is for Linux and macOS")
        servo = Servo()
    made = Talk(started(name, folder, servo))
    try:
        yield made
    finally:
        made.close()
        if servo is not None:
            servo.close()


def started(name: str, folder: Path, servo: Servo | None) -> list[str]:
    """Return how a client of ours is started; the one in C is built first."""
    if name == "rtsim device":
        spec = folder / "device.toml"
        spec.write_text(DEVICE, encoding="utf-8")
        return [sys.executable, "-m", "rtsim.cli.main", "device", str(spec), "--model"]
    if name == "moteus":
        assert servo is not None
        driver = EXAMPLES / "drivers" / "moteus_driver.py"
        return [sys.executable, str(driver), "--port", servo.path, "--torque-max", f"{LIMIT:g}"]
    if name == "python":
        return [sys.executable, str(EXAMPLES / "device_client.py")]
    linked, built = flags(), str(folder / "device_client")
    if not linked:
        pytest.skip("there is no C compiler, or no libzmq or msgpack for it")
    source = str(EXAMPLES / "device_client.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", *TRAPS, source, "-o", built, *linked, "-lm"], check=True)
    return [built]


class Trial:
    """Messages of the table at a client that has a torque, one after the other."""

    def __init__(self, talk: Talk) -> None:
        self.talk, self.numbers = talk, count(1)

    def say(self, case: Case, armed: bool = True) -> int:
        """Send a message; its number."""
        seq = next(self.numbers)
        self.send(parts_of(case, seq, armed))
        return seq

    def send(self, parts: list[bytes]) -> None:
        """Send the parts of a message."""
        self.talk.port._socket.send_multipart([self.talk.port._identity, *parts], zmq.DONTWAIT)

    def answer(self, seq: int, within_s: float = AGAIN_S) -> Any:
        """Return the first message of the client by an output; None where none comes."""
        due = time.monotonic() + within_s
        while time.monotonic() < due:
            for message, _ in self.talk.heard:
                if message.command == seq:
                    return message
            self.hear()
        return None

    def hold(self) -> bool:
        """Have the client armed; whether it is at once."""
        self.talk.heard.clear()
        message = self.answer(self.say(KEEP))
        return message is not None and message.state == "armed" and message.torque == [HELD]

    def arm(self) -> None:
        """Disarm, and wait until no torque is measured any more."""

        def is_off() -> bool:
            message = self.answer(self.say(KEEP, armed=False))
            return message is not None and message.state == "disarmed" and message.torque == [0.0]

        until(is_off)

    def verdict(self, case: Case) -> str:
        """Return what the client does otherwise than the table says, again and again; "" = nothing."""
        found = ""
        for _ in range(5):
            (found,) = until(lambda: [said] if (said := self.judge(case)) is not None else [])
            if found not in BY_TIME:
                break
        return found

    def judge(self, case: Case) -> str | None:
        """Return what the client does otherwise than the table says; None where it lost its torque."""
        if not self.hold():
            self.arm()
            return None
        seq = self.say(case)
        if case.taken:
            return self.torque_by(seq, expected_of(case))
        time.sleep(0.004)  # so that it is not overtaken by the next one
        after = self.answer(self.say(KEEP))
        if after is None:
            return "ends the client"
        said = [
            message for message, _ in self.talk.heard
        ]  # some by outputs before the last two, on their way
        commands = [message.command for message in said]
        if commands != sorted(commands) or any(n == seq or n > seq + 1 for n in commands):
            return "is taken"
        since = [message for message in said if message.command >= seq - 1]
        return "" if all(abs(message.torque[0]) <= HELD for message in since) else "moves the joint"

    def torque_by(self, seq: int, expected: float) -> str | None:
        """Return what is wrong with the measured torque by an output; None where the client lost its torque.

        A motor that does not answer in time has its client say the last values again, with their old time,
        and an answer may be that of the tick before: more than three other measurements are wrong.
        """
        if self.answer(seq) is None:
            return "is refused"
        due = time.monotonic() + AGAIN_S
        while time.monotonic() < due:
            by = [message for message, _ in self.talk.heard if message.command == seq]
            armed = [message for message in by if message.state == "armed"]
            if any(message.torque == [expected] for message in armed):
                return ""
            if len({message.t for message in armed}) > 3:
                return f"has {armed[-1].torque} N m, not {expected}"
            if len(by) > len(armed):
                return None
            self.hear()
        return "is silent"

    def hear(self) -> None:
        """Take what the client says within 5 ms."""
        self.talk.port.poll(5)
        self.talk.listen()


def expected_of(case: Case) -> float:
    """Return the torque by a message of the table that must be taken [N m]."""
    output = OutputIntake().accept(parts_of(case, 7), now_ns())
    assert output is not None
    most = min(LIMIT, output.torque_max[0])
    return max(-most, min(most, output.torque[0]))
