"""The example clients, in Python and in C, keep to the protocol: time to live, latch, limits, rubbish."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq
from msgspec.structs import replace

from streams.clock import now_ns
from streams.codec import encode
from streams.exchange import DevicePort
from streams.messages import Device, Output
from tests.rtsim.live.rig import ROOT, Rig, free_address, until

pytestmark = pytest.mark.process
EXAMPLES = ROOT / "examples"
RUN, OTHER = "0123456789abcdef", "fedcba9876543210"
VALID_MS, RAMP_S = 100.0, 0.05
TRAPS = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""What C does not define ends the client at once, so that every message is tried for it, too."""


def flags() -> list[str]:
    """Return how the libraries of the C client are linked; none where they, or a compiler, are missing."""
    if not (shutil.which("cc") and shutil.which("pkg-config")):
        return []
    asked = ["pkg-config", "--cflags", "--libs", "libzmq", "msgpack"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


@pytest.fixture(params=["python", "c"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """How the client is started; the one in C is built first."""
    if request.param == "python":
        return [sys.executable, str(EXAMPLES / "device_client.py")]
    linked = flags()
    if not linked:
        pytest.skip("there is no C compiler, or no libzmq or msgpack for it")
    built = str(tmp_path / "device_client")
    source = str(EXAMPLES / "device_client.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", *TRAPS, source, "-o", built, *linked, "-lm"], check=True)
    return [built]


@pytest.mark.parametrize("name", ["device_client.py", "device_client.c"])
def test_a_client_is_short(name: str) -> None:
    """Protects who writes a device: its rules stand on one page, in either language."""
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= 60


class Talk:
    """A model that says what a test has it say, and what the client answered."""

    def __init__(self, command: list[str]) -> None:
        address = free_address()
        self.port = DevicePort(address)
        self.process = subprocess.Popen([*command, address])
        self.heard: list[tuple[Device, int]] = []
        self.seq, self.session = 0, RUN
        until(lambda: self.port.poll(20) and self.listen())

    def close(self) -> None:
        """End the client."""
        self.process.kill()
        self.process.wait()
        self.port.close()

    def listen(self) -> bool:
        """Take what came."""
        found = self.port.receive()
        self.heard += self.port.taken
        return found

    @property
    def last(self) -> Device:
        """What it said last."""
        self.listen()
        return self.heard[-1][0]

    def output(self, **changed) -> Output:
        """Return an output that arms with 5 N m."""
        plain = Output(
            session=self.session, seq=self.seq, t_sent=now_ns(), valid_for_ms=VALID_MS, armed=True, time=0.0,
            tick_ms=10.0, torque=[5.0], torque_max=[20.0], angle=[0.1], speed=[0.0],
        )  # fmt: skip
        return replace(plain, **changed)

    def say(self, n: int, parts: list[bytes] | None = None, **changed) -> None:
        """Send outputs, or the same bytes, a hundredth of a second apart."""
        for _ in range(n):
            if parts is None:
                self.port.send(self.output(**changed))
            else:
                self.port._socket.send_multipart([self.port._identity, *parts], zmq.DONTWAIT)
            self.seq += 1
            time.sleep(0.01)
            self.listen()

    def say_until(self, state: str, **changed) -> None:
        """Send outputs until the client is in a state."""
        until(lambda: self.say(2, **changed) or self.last.state == state)

    def disarm(self) -> None:
        """Send outputs until the client was disarmed by one of them: it takes the newest alone, and may be
        disarmed because it has taken none.
        """
        first = self.seq

        def is_disarmed() -> bool:
            self.say(2, armed=False)
            last = self.last
            return last.state == "disarmed" and last.session == self.session and last.command >= first

        until(is_disarmed)

    def say_for(self, applied: float, **changed) -> None:
        """Send outputs until it applies a torque; anew where a busy machine costs it all torque meanwhile."""

        def applies() -> bool:
            self.say(2, **changed)
            if self.last.state in ("falling", "stopped"):
                self.arm()
            return self.last.torque == [applied]

        until(applies)

    def arm(self) -> None:
        """Disarm, arm, and wait for the torque; anew where a busy machine costs it the torque meanwhile."""
        self.disarm()

        def has_torque() -> bool:
            self.say(2)
            if self.last.state in ("falling", "stopped"):
                self.disarm()
            return self.last.torque == [5.0]

        until(has_torque)


@pytest.fixture
def talk(command: list[str]) -> Iterator[Talk]:
    """A client that was just started."""
    made = Talk(command)
    yield made
    made.close()


def test_torque_ends_with_its_time_and_stays_away(talk: Talk) -> None:
    """Protects whoever copies a client: the ramp after the time to live, then nothing until armed again."""
    talk.say(20)
    assert talk.last.torque == [0.0]  # not disarmed before
    talk.arm()
    talk.say(1)
    t_last = now_ns()
    off = ("falling", "stopped")
    until(
        lambda: talk.last.state == "stopped" and sum(m.state in off for m, t in talk.heard if t > t_last) > 5
    )
    falling = [(m, t) for m, t in talk.heard if t > t_last and m.state in off]
    before = [m for m, t in talk.heard if t > t_last and m.state == "armed"]
    assert all(m.t - t_last < 1e6 * VALID_MS for m in before)
    torques = [m.torque[0] for m, _ in falling]
    assert torques == sorted(torques, reverse=True)
    assert torques[-1] == 0.0
    assert falling[-1][0].fault
    talk.say(30)
    assert (talk.last.state, talk.last.torque) == ("stopped", [0.0])
    talk.arm()


def test_a_client_keeps_to_limits_and_to_the_newest(talk: Talk) -> None:
    """Protects the joint: the smaller limit holds; old numbers and other runs are no commands."""
    talk.arm()
    talk.say_for(20.0, torque=[50.0])
    talk.say_for(-30.0, torque=[-50.0], torque_max=[90.0])
    talk.arm()
    talk.say(20, seq=1)
    until(lambda: talk.last.state == "stopped")

    def ends_by_session() -> bool:  # on a busy machine its time may be over before the other run speaks
        talk.arm()
        talk.session, talk.seq = OTHER if talk.session == RUN else RUN, 0
        talk.say_until("stopped")
        return "session" in talk.last.fault

    until(ends_by_session)
    assert (talk.last.state, talk.last.torque) == ("stopped", [0.0])


@pytest.mark.parametrize("bad", ["rubbish", "nan", "version", "parts", "old", "future"])
def test_rubbish_keeps_no_torque_up(talk: Talk, bad: str) -> None:
    """Protects clients from a model gone wrong: they live on, and what is no command lets torque fall."""
    talk.arm()
    topic, payload = encode(talk.output(seq=10**6))
    five, nan = b"\xcb\x40\x14" + bytes(6), b"\xcb\x7f\xf8" + bytes(6)
    assert five in payload
    parts = {
        "rubbish": [topic, b"\xc1" * 500],
        "nan": [topic, payload.replace(five, nan)],
        "version": [topic, payload.replace(b"\xa1v\x01", b"\xa1v\x02")],
        "parts": [topic, payload, payload],
        "old": encode(talk.output(seq=10**6, t_sent=now_ns() - 10**10)),
        "future": encode(talk.output(seq=10**6, t_sent=now_ns() + 10**12)),  # it would never be too old
    }[bad]
    until(lambda: talk.say(5, parts) or talk.last.state == "stopped")
    assert talk.process.poll() is None
    if bad != "old":  # which was the newest, by its number
        talk.arm()


def test_a_client_in_lockstep_with_a_model(command: list[str], tmp_path: Path) -> None:
    """Protects the pair: `rtsim hil` arms a client, drives it, and ends it with zero."""
    with Rig(tmp_path) as rig:
        model = rig.start_model()
        client = subprocess.Popen([*command, rig.address])
        try:
            rig.arm()
            assert rig.ask("stop")[0]
            assert model.wait(120.0) == 0
            rig.heard("armed -> disarmed")
            until(lambda: rig.devices and rig.devices[-1].torque[0] > 1.0)
        finally:
            client.kill()
            client.wait()
