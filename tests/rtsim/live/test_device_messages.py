"""Which outputs a device takes and which it refuses: one table, and every client of ours held against it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import zmq

from streams.clock import now_ns
from streams.exchange import OutputIntake
from tests.rtsim.live.output_table import TABLE, Case, good, parts_of
from tests.rtsim.live.rig import DEVICE, until
from tests.rtsim.live.servo import Servo
from tests.rtsim.live.test_device_clients import EXAMPLES, Talk, flags

CLIENTS = ("rtsim device", "python", "c", "moteus")
LIMIT = 30.0
"""Of each client's own [N m]."""
HELD = 5.0
"""Torque of the outputs between those of the table [N m]."""


def test_the_table_is_what_it_says() -> None:
    """Protects the table itself: many messages, each with a name of its own, some right and most wrong."""
    names = [case.name for case in TABLE]
    assert len(set(names)) == len(names) > 120
    assert sum(case.taken for case in TABLE) > 15


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_what_a_simulated_device_takes(case: Case) -> None:
    """Protects `rtsim device`, without a socket: what it refuses is what the protocol's page says."""
    intake = OutputIntake()
    assert intake.accept(parts_of(PLAIN, 6), now_ns()) is not None
    found = intake.accept(parts_of(case, 7), now_ns())
    assert (found is not None) == case.taken
    assert intake.accept(parts_of(PLAIN, 8), now_ns()) is not None


@pytest.fixture(params=CLIENTS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Talk]:
    """A whole client that was just started, and a model that says what a test has it say."""
    servo = None
    if request.param == "moteus":
        if sys.platform == "win32":
            pytest.skip("the driver is for Linux and macOS")
        servo = Servo()
    made = Talk(started(request.param, tmp_path, servo))
    yield made
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
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", source, "-o", built, *linked, "-lm"], check=True)
    return [built]


class Trial:
    """Messages of the table at a client that has a torque, one after the other."""

    def __init__(self, talk: Talk) -> None:
        self.talk, self.numbers = talk, count(1)

    def say(self, case: Case, armed: bool = True) -> int:
        """Send a message; its number."""
        seq, talk = next(self.numbers), self.talk
        talk.port._socket.send_multipart([talk.port._identity, *parts_of(case, seq, armed)], zmq.DONTWAIT)
        return seq

    def answer(self, seq: int, within_s: float = 5.0) -> Any:
        """Return the first message of the client by an output; None where none comes."""
        due = time.monotonic() + within_s
        while time.monotonic() < due:
            for message, _ in self.talk.heard:
                if message.command == seq:
                    return message
            self.talk.port.poll(5)
            self.talk.listen()
        return None

    def hold(self) -> bool:
        """Have the client armed; whether it is at once."""
        self.talk.heard.clear()
        message = self.answer(self.say(KEEP))
        return message is not None and message.state == "armed" and message.torque == [HELD]

    def arm(self) -> None:
        """Disarm, arm, and wait for the torque."""

        def is_off() -> bool:
            message = self.answer(self.say(KEEP, armed=False))
            return message is not None and message.state == "disarmed"

        until(is_off)

    def judge(self, case: Case) -> str | None:
        """Return what the client does otherwise than the table says; None where it lost its torque."""
        if not self.hold():
            self.arm()
            return None
        seq = self.say(case)
        if case.taken:
            message = self.answer(seq)
            if message is None:
                return "is refused"
            expected = expected_of(case)
            if message.state != "armed":
                return None
            return "" if message.torque == [expected] else f"has {message.torque} N m, not {expected}"
        time.sleep(0.004)  # so that it is not overtaken by the next one
        after = self.answer(self.say(KEEP))
        if after is None:
            return "ends the client"
        said = [message for message, _ in self.talk.heard]
        if any(message.command not in (seq - 1, seq + 1) for message in said):
            return "is taken"
        return "" if all(abs(message.torque[0]) <= HELD for message in said) else "moves the joint"


def expected_of(case: Case) -> float:
    """Return the torque by a message of the table that must be taken [N m]."""
    output = OutputIntake().accept(parts_of(case, 7), now_ns())
    assert output is not None
    most = min(LIMIT, output.torque_max[0])
    return max(-most, min(most, output.torque[0]))


PLAIN, KEEP = TABLE[0], good("held", torque=[HELD])


@pytest.mark.process
def test_every_client_takes_and_refuses_the_same(talk: Talk) -> None:
    """Protects whoever copies a client: over a real socket each message of the table is taken, or is not."""
    trial, wrong = Trial(talk), []
    for case in TABLE:
        found = until(lambda case=case: [said] if (said := trial.judge(case)) is not None else [])
        if found[0]:
            wrong.append(f"{case.name} {found[0]}")
    assert wrong == []
    assert talk.process.poll() is None


@pytest.mark.process
@pytest.mark.parametrize("size", [100_000, 3 << 20])
def test_a_giant_part_ends_no_client(talk: Talk, size: int) -> None:
    """Protects the connection: after a part that no output has, a client is there again within a second."""
    trial = Trial(talk)
    until(trial.hold if trial.hold() else lambda: trial.arm() or trial.hold())
    talk.port._socket.send_multipart([talk.port._identity, b"output", bytes(size)], zmq.DONTWAIT)
    t_sent = time.monotonic()

    def is_back() -> bool:
        talk.port._heard_ns = 0  # the place is free
        talk.heard.clear()
        return trial.answer(trial.say(KEEP, armed=False), 0.05) is not None

    until(is_back)
    assert time.monotonic() - t_sent < 1.0 + 0.5  # what a busy machine takes
    assert talk.process.poll() is None
