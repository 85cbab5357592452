"""Devices on real sockets whose sensors lie: each lie ends the torque, of a limb and of a person."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from streams.clock import now_ns
from streams.exchange import ModelLink
from streams.messages import Device
from tests.rtsim.live.hardware.test_wearable_run import RUN
from tests.rtsim.live.rig import Rig, free_address, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]
Said = deque[tuple[float, float, float]]
"""Times of our clock [s], and angle and speed that the model told then [rad, rad/s]; the newest last."""
Lie = Callable[[Device, Said], Device]


def off(degrees: float) -> Lie:
    """Return a lie: the angle is off."""
    return lambda m, said: replace(m, angle=[m.angle[0] + math.radians(degrees)])


def late(seconds: float) -> Lie:
    """Return a lie: angle and speed of so long ago [s]."""

    def lie(m: Device, said: Said) -> Device:
        then = next((one for one in reversed(said) if one[0] <= said[-1][0] - seconds), said[0])
        return replace(m, angle=[then[1]], speed=[then[2]])

    return lie


def drift() -> Lie:
    """Return a lie: the angle drifts by 25 degrees, two in a second."""
    begun: list[float] = []

    def lie(m: Device, said: Said) -> Device:
        begun.append(said[-1][0])
        return off(min(25.0, 2.0 * (said[-1][0] - begun[0])))(m, said)

    return lie


def frozen() -> Lie:
    """Return a lie: the angle as it is when the lie begins."""
    held: list[Device] = []

    def lie(m: Device, said: Said) -> Device:
        held.append(m)
        return replace(m, angle=held[0].angle, speed=[0.0])

    return lie


LIES: dict[str, Callable[[], Lie]] = {
    "10 degrees off": lambda: off(10.0),
    "6 degrees off": lambda: off(-6.0),
    "drifts": drift,
    "frozen": frozen,
    "mirrored": lambda: lambda m, said: replace(m, angle=[-m.angle[0]], speed=[-m.speed[0]]),
    "200 ms late": lambda: late(0.2),
    "80 ms late": lambda: late(0.08),
    "speed alone": lambda: lambda m, said: replace(m, speed=[-m.speed[0]]),
    "torque alone": lambda: lambda m, said: replace(m, torque=[m.torque[0] + 20.0]),
    "a clock a hundred times too fast": lambda: lambda m, said: replace(m, t=100 * m.t),
}
BY_CLOCK = "a clock a hundred times too fast"


class LyingDevice:
    """A device that follows the model and obeys, in a thread; `lie` changes what it says."""

    def __init__(self, address: str) -> None:
        self.lie: Lie = lambda m, said: m
        self._address, self._over = address, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> LyingDevice:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        said: Said = deque(maxlen=2000)
        output, seq, due = None, 0, time.monotonic()
        with ModelLink(self._address) as link:
            while not self._over.is_set():
                found = link.newest(2)
                if found is not None:
                    output = found[0]
                    said.append((1e-9 * now_ns(), output.angle[0], output.speed[0]))
                asked = found is not None and found[0].answer
                if output is not None and (asked or (not output.answer and time.monotonic() > due)):
                    due = time.monotonic() + 0.004
                    torque = output.torque if output.armed else [0.0]
                    honest = Device(
                        session=output.session, seq=seq, t=now_ns(), command=output.seq, angle=output.angle,
                        speed=output.speed, torque=torque, actuator=torque,
                        state="armed" if output.armed else "disarmed",
                    )  # fmt: skip
                    link.send(self.lie(honest, said))
                elif output is None and time.monotonic() > due:
                    due = time.monotonic() + 0.05
                    link.send(Device(session="", seq=seq, t=now_ns(), angle=[0.0], speed=[0.0], torque=[0.0],
                                     state="disarmed"))  # fmt: skip
                else:
                    continue
                seq += 1


@contextmanager
def limb(folder: Path, mode: str) -> Iterator[Rig]:
    """A simulated leg whose knee moves, with time enough for a busy machine."""
    with Rig(folder, mode) as rig:
        text = rig.config.read_text(encoding="utf-8").replace("valid_for_ms = 1000.0", "valid_for_ms = 400.0")
        text = text.replace("deadline_ms = 1000.0", "deadline_ms = 400.0")
        text = text.replace("tracking_ms = 500.0", "tracking_ms = 50.0")  # before the limb is moved far
        text = text.replace("delay_ms = 1000.0", "delay_ms = 50.0")
        rig.config.write_text(text, encoding="utf-8")
        rig.start_model()
        yield rig


@contextmanager
def person(folder: Path, mode: str) -> Iterator[Rig]:
    """The walker, whose markers come as a stream."""
    address = free_address()
    (folder / "walk.toml").write_text(RUN.replace("SOURCE", address), encoding="utf-8")
    with Rig(folder, mode) as rig:
        text = rig.config.read_text(encoding="utf-8").replace('"shank_foot"', '"lower_limb"')
        for was, now in (
            ('"ankle"', '"ankle_dorsiflexion"'), ("energy_max_J = 50.0", "energy_max_J = 500.0"),
            ("valid_for_ms = 1000.0", "valid_for_ms = 400.0"),
            ("deadline_ms = 1000.0", "deadline_ms = 400.0"),
            ("neutral_deg = 20.0", "neutral_deg = 60.0"), ("delay_ms = 1000.0", "delay_ms = 50.0"),
        ):  # fmt: skip
            text = text.replace(was, now)
        text += f'[markers]\nrun = "{folder / "walk.toml"}"\ndamping_N_m_s_rad = 5.0\nlost_ms = 800.0\n'
        rig.config.write_text(text, encoding="utf-8")
        rig.start("replay", "walker", "--duration", "120", "--address", address)
        rig.start_model()
        yield rig


def latched(rig: Rig, device: LyingDevice, lie: Lie) -> str:
    """What is told when a device that was armed begins to lie."""
    device.lie = lambda m, said: m
    rig.arm()
    time.sleep(1.0)
    rig.said.clear()
    device.lie = lie
    return rig.heard("-> fault")


WEARERS = {"lockstep": (limb, "lockstep"), "free": (limb, "free"), "worn": (person, "free")}


@pytest.mark.parametrize("wearer", WEARERS)
def test_no_lie_is_missed(wearer: str, tmp_path: Path) -> None:
    """Protects whoever wears the device: each lie latches, and arming is refused while it lasts."""
    make, mode = WEARERS[wearer]
    with make(tmp_path, mode) as rig, LyingDevice(rig.address) as device:
        for name, lie in LIES.items():
            if name == BY_CLOCK and mode == "lockstep":
                continue  # tested by its watch: tests/rtsim/device/test_clock_check.py
            words = "clock" if name == BY_CLOCK else "mechanics" if name == "torque alone" else "the device's"
            for _ in range(10):
                told = latched(rig, device, lie())
                if words in told or not ("is older than" in told or "has not answered" in told):
                    break  # else a busy machine paused for longer than a message is valid
            assert words in told, (name, told)
            until(lambda: not rig.outputs[-1].armed and rig.outputs[-1].torque == [0.0])
            time.sleep(0.5)
            done, answer = rig.ask("arm")
            assert not done, (name, answer)
        assert rig.ask("stop")[0]
