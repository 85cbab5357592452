"""The driver of a moteus controller, against a simulated one at a pseudo-terminal: no hardware has run it."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from streams.clock import now_ns
from tests.rtsim.live.rig import ROOT, Rig, until
from tests.rtsim.live.servo import Servo
from tests.rtsim.live.test_device_clients import OTHER, RUN, VALID_MS, Talk

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="the driver is for Linux and macOS"),
]
FOLDER = ROOT / "examples" / "drivers"


def loaded(name: str) -> ModuleType:
    """Return a module of the driver, which is no package of this project."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def started(servo: Servo, *options: str) -> list[str]:
    """Return how the driver of a servo is started."""
    return [sys.executable, str(FOLDER / "moteus_driver.py"), "--port", servo.path, *options]


def falls_for(talk: Talk, words: str, cause: Callable[[], object]) -> None:
    """Have the driver fall for a reason; anew where a busy machine has it find another one first."""

    def fell() -> bool:
        talk.arm()
        cause()
        until(lambda: talk.last.state == "stopped")
        return words in talk.last.fault

    until(fell)


@pytest.fixture
def servo() -> Iterator[Servo]:
    """A controller that is stopped."""
    made = Servo()
    yield made
    made.close()


@pytest.fixture
def talk(servo: Servo) -> Iterator[Talk]:
    """A driver that was just started, and a model that says what a test has it say."""
    made = Talk(started(servo, "--torque-max", "8"))
    yield made
    made.close()


def test_frames_are_those_of_the_reference() -> None:
    """Protects the motor: bytes as documented, and as the maker's own package (moteus 1.1.1) makes them."""
    wire = loaded("moteus_wire")
    assert (
        wire.write("b", 0, 10) + wire.write("h", 0x20, 0x60, 0x120, -176)
    ).hex() == "01000a07206000200150ff"
    assert (wire.read("h", 0, 4) + wire.read("b", 13, 3)).hex() == "140400130d"
    made = wire.torque_frame(1.5, 4.0, 0.02).hex()
    assert made == (
        "01000a0c06200000c07f000000000000c03f0000000000000000000080400d270ad7a33c0d2b0000000011001f01130d"
    )
    assert wire.STOP.hex() == "01000011001f01130d"
    assert wire.line_of(1, wire.STOP) == b"can send 8001 01000011001f01130d505050 BF\n"
    found = wire.reply_of(1, b"rcv 100 2404000a005000000170ff230d181400")
    assert found == {0: 10, 1: 80, 2: 256, 3: -144, 13: 24, 14: 20, 15: 0}


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "odd",
    [
        (NAN, 4.0, 0.02), (INF, 4.0, 0.02), (1.5, NAN, 0.02), (1.5, INF, 0.02), (1.5, -4.0, 0.02),
        (1.5, 0.0, 0.02), (1.5, 1e300, 0.02), (1.5, 4.0, NAN), (1.5, 4.0, INF), (1.5, 4.0, -0.02),
        (1.5, 4.0, 0.0),
    ],
)  # fmt: skip
def test_no_number_that_is_none_reaches_the_controller(odd: tuple[float, float, float]) -> None:
    """Protects the motor: to a controller NaN means "without end"; such a torque, limit or time is a stop."""
    wire = loaded("moteus_wire")
    assert wire.torque_frame(*odd) == wire.STOP


def test_a_frame_stays_within_its_own_limit_and_time() -> None:
    """Protects the motor from its driver: a torque beyond the limit is cut, and so is a time without end."""
    wire = loaded("moteus_wire")
    assert wire.torque_frame(50.0, 4.0, 0.02) == wire.torque_frame(4.0, 4.0, 0.02)
    assert wire.torque_frame(-50.0, 4.0, 0.02) == wire.torque_frame(-4.0, 4.0, 0.02)
    assert wire.torque_frame(1.5, 4.0, 1e9) == wire.torque_frame(1.5, 4.0, wire.LONGEST_S)


@pytest.mark.parametrize("limit", [NAN, INF, 0.0, -5.0, True, "5"])
def test_a_guard_without_a_limit_is_none(limit: object) -> None:
    """Protects whoever writes a driver: a limit that would be none, or turn torque round, is refused."""
    with pytest.raises(ValueError, match="allowed: more than 0"):
        loaded("device_side").Guard(limit)


def test_a_guard_is_safe_at_any_output_and_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from outputs that nobody looked at, and from a clock that leaps: torque falls, never turns."""
    side = loaded("device_side")
    guard, time_ns = side.Guard(30.0), [1_000_000_000]
    monkeypatch.setattr(side, "now", lambda: time_ns[0])
    plain = {"session": RUN, "t_sent": time_ns[0], "valid_for_ms": 20.0, "torque": [5.0], "torque_max": [9.0]}
    for seq, armed in enumerate((False, True)):
        guard.take(plain | {"seq": seq, "armed": armed})
    assert guard.tick() == 5.0
    for torque, most in ((50.0, -1000.0), (5.0, NAN), (NAN, 9.0), (INF, 9.0), (-5.0, -INF)):
        guard.output = plain | {"seq": 1, "armed": True, "torque": [torque], "torque_max": [most]}
        assert guard.tick() == 0.0
    guard.output = plain | {"seq": 1, "armed": True}
    assert guard.tick() == 5.0
    time_ns[0] -= 500_000_000
    assert guard.left_s() <= 0.024
    guard.look()
    assert guard.state == "falling"
    time_ns[0] -= 500_000_000
    assert guard.tick() == 0.0
    assert guard.state == "stopped"


@pytest.mark.parametrize("looks", [0, 1])
def test_a_guard_that_was_stopped_finds_its_ramp_over(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Protects the joint from a stalled driver: the ramp began when the command was too old."""
    side = loaded("device_side")
    time_ns = [1_000_000_000]
    monkeypatch.setattr(side, "now", lambda: time_ns[0])
    for later_ms, left in ((20, 5.0), (25, 4.5), (45, 2.5), (500, 0.0)):
        guard, time_ns[0] = side.Guard(30.0), 1_000_000_000
        plain = {
            "session": RUN,
            "t_sent": time_ns[0],
            "valid_for_ms": 20.0,
            "torque": [5.0],
            "torque_max": [9.0],
        }
        for seq, armed in enumerate((False, True)):
            guard.take(plain | {"seq": seq, "armed": armed})
        guard.tick()
        time_ns[0] += later_ms * 1_000_000  # stopped here, or between the look and the tick
        for _ in range(looks):
            guard.look()
        assert guard.tick() == pytest.approx(left)


@pytest.mark.parametrize(
    ("sign", "position", "angle_deg"), [(1, 0.1, 0.0), (-1, 0.1, 0.0), (1, 0.15, 18.0), (-1, 0.15, -18.0)]
)
def test_the_zero_is_a_place_of_the_shaft(
    sign: int, position: float, angle_deg: float, servo: Servo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the wearer from an angle off by twice the zero: where the shaft is at --zero the joint is at
    zero, whichever way it turns; beyond it the joint's angle goes by --sign."""
    monkeypatch.syspath_prepend(str(FOLDER))  # its modules import each other
    driver, guard = loaded("moteus_driver"), loaded("device_side").Guard(5.0)
    motor = driver.Moteus(servo.path, servo.number, float(sign), 36.0)
    servo.position, servo.velocity = position, 0.5
    until(lambda: motor.tick(guard) == "" and motor.n_missed == 0)
    assert math.degrees(motor.angle) == pytest.approx(angle_deg, abs=1e-4)
    assert motor.speed == pytest.approx(sign * math.pi)


def unwatched(rig: Rig) -> None:
    """Have the model not compare the motor's angle with the limb's: nothing turns the motor with the limb."""
    text = rig.config.read_text(encoding="utf-8").replace("[limits]", "[limits]\nwatch_sensors = false")
    rig.config.write_text(text, encoding="utf-8")


def test_a_driver_that_is_too_weak_is_not_armed(servo: Servo, tmp_path: Path) -> None:
    """Protects from limits that nobody keeps: the model may command 20 N m, the device applies 5."""
    with Rig(tmp_path) as rig:
        unwatched(rig)
        rig.start_model()
        driver = subprocess.Popen([*started(servo, "--torque-max", "5"), rig.address])
        try:
            until(lambda: "can apply 5 N m at most" in rig.ask("arm")[1])
            assert not rig.ask("arm")[0]
            assert not any(output.armed for output in rig.outputs)
        finally:
            driver.kill()
            driver.wait()


@pytest.mark.parametrize("limit", ["nan", "inf", "-5", "0", "1e300"])
def test_a_limit_that_is_none_is_refused(limit: str, servo: Servo) -> None:
    """Protects the motor from a slip at the command line."""
    done = subprocess.run(
        started(servo, f"--torque-max={limit}"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--torque-max" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        b"", b"OK", b"ERR 3", b"rcv", b"rcv 100", b"rcv zz 21000a", b"rcv 100 2", b"rcv 100 zz",
        b"rcv 200 21000a", b"rcv 100 2c", b"rcv 100 2c04", b"rcv 100 2c040000", b"rcv 100 24ffffffffff7f00",
        b"rcv 100 300001", b"rcv 100 \xff\xfe", b"rcv 100 2f0100",
    ],
)  # fmt: skip
def test_lines_that_are_no_reply_are_none(line: bytes) -> None:
    """Protects the driver from a noisy line: what is no whole reply of its controller says nothing."""
    assert loaded("moteus_wire").reply_of(1, line) is None


def test_torque_reaches_the_motor_within_limits_and_for_a_time(talk: Talk, servo: Servo) -> None:
    """Protects the chain: armed by disarm and arm alone, the smaller limit, angle and torque told back."""
    servo.position, servo.velocity = 0.02, 0.5
    talk.say(20)
    assert servo.mode == 0  # not disarmed before
    talk.arm()
    until(lambda: (servo.mode, servo.torque) == (10, 5.0) or talk.arm())
    assert talk.last.angle == pytest.approx([0.02 * 2.0 * math.pi])
    assert talk.last.speed == pytest.approx([math.pi])
    assert 0.0 < servo.timeouts[-1] <= 1e-3 * VALID_MS + 0.004  # two ticks more than the command
    until(lambda: talk.say(5, torque=[50.0]) or talk.last.torque == [8.0] or talk.arm())
    assert servo.most == 8.0
    talk.say_until("disarmed", armed=False)
    until(lambda: servo.mode == 0)


def test_torque_falls_with_its_time_and_stays_away(talk: Talk, servo: Servo) -> None:
    """Protects whoever wears it: after the time to live a ramp, then stop, until disarmed and armed again."""

    def forget() -> None:
        del talk.heard[:-1]

    falls_for(talk, "too old", forget)
    torques = [m.torque[0] for m, _ in talk.heard if m.state == "falling"]
    assert torques == sorted(torques, reverse=True)
    until(lambda: servo.mode == 0)
    talk.say(20)
    assert servo.mode == 0
    talk.arm()
    until(lambda: talk.say(5, t_sent=now_ns() + 10**12) or talk.last.state == "stopped")  # never too old


def test_another_session_has_no_torque(talk: Talk) -> None:
    """Protects from a model that takes over: its first armed output ends the torque of the one before."""

    def begin() -> None:
        talk.session, talk.seq = (OTHER if talk.session == RUN else RUN), 0
        talk.say(1)

    falls_for(talk, "session", begin)
    until(lambda: talk.last.torque == [0.0])  # as the motor measures it, in its reply to the stop
    assert talk.last.state == "stopped"


def test_a_driver_that_is_killed_leaves_no_torque(talk: Talk, servo: Servo) -> None:
    """Protects from a dead driver: the controller's own watchdog has the time of the last command."""
    talk.arm()
    talk.process.kill()
    talk.process.wait()
    until(lambda: servo.mode in (0, 11))  # 11: by its time; 0: a busy machine had the driver stop it before
    assert servo.torque == 0.0


def test_a_driver_that_is_ended_stops_the_motor(talk: Talk, servo: Servo) -> None:
    """Protects the end: on a request to terminate the motor is stopped, not left to its watchdog."""
    talk.arm()
    talk.process.terminate()
    assert talk.process.wait(120.0) == 0
    until(lambda: servo.mode == 0)


@pytest.mark.parametrize("wrong", ["fault", "deaf", "unplugged"])
def test_what_is_wrong_with_the_motor_is_told(talk: Talk, servo: Servo, wrong: str) -> None:
    """Protects the model: it hears what happened, and torque stays away until a person arms again."""
    if wrong == "fault":
        falls_for(talk, "over temperature", lambda: servo.fail(38))
        talk.arm()
    elif wrong == "deaf":

        def is_told() -> bool:  # on a busy machine the time of the output may be over before
            servo.deaf = False
            talk.arm()
            servo.deaf = True
            talk.say_until("stopped")
            talk.say(10, armed=False)
            assert talk.last.state == "stopped"  # as long as it is
            return "has not answered" in talk.last.fault

        until(is_told)
        servo.deaf = False
        talk.arm()
    else:
        talk.arm()
        servo.close()
        until(lambda: talk.say(1) or talk.process.poll() is not None)
        assert talk.process.returncode == 1
        assert talk.last.state in ("falling", "stopped")


def test_noise_on_the_line_is_survived(talk: Talk, servo: Servo) -> None:
    """Protects the driver from errors and bytes of others between the replies."""
    servo.noise = b"ERR bus\nrcv 0300 21000a\n\xff\xfe\x00\nrcv 0100 2c\n" + b"x" * 300 + b"\n"
    # a busy machine may cost it its torque now and then
    until(lambda: talk.arm() or talk.say(20) or talk.last.state == "armed")
    assert talk.process.poll() is None


def test_a_port_that_is_none_is_said(tmp_path: Path) -> None:
    """Protects the first start: a sentence, and no traceback."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file"):
        done = subprocess.run(
            [sys.executable, str(FOLDER / "moteus_driver.py"), "--port", str(path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "no serial port" in done.stderr
        assert "Traceback" not in done.stderr


def ran_through(servo: Servo, folder: Path) -> bool:
    """Run the pair, armed and stopped; False where the driver had to wait for its motor and ended the torque.

    That fault stays for the whole run, and a busy machine may cause it.
    """

    def at_fault() -> bool:
        return any("-> fault" in text for text in list(rig.said))

    def armed() -> bool:
        # refused while armed; needed again where the driver ended the torque before the ramp
        rig.ask("arm")
        return servo.torque > 1.0

    with Rig(folder) as rig:
        unwatched(rig)
        model = rig.start_model()
        driver = subprocess.Popen([*started(servo, "--torque-max", "20"), rig.address])
        try:
            until(lambda: armed() or at_fault())
            assert rig.ask("stop")[0]
            if model.wait(120.0):
                until(at_fault)
                assert "has not answered" in " ".join(rig.said)
                return False
            until(lambda: servo.mode == 0)
            time.sleep(0.1)
            assert servo.torque == 0.0
        finally:
            driver.kill()
            driver.wait()
    return True


def test_the_driver_in_lockstep_with_a_model(servo: Servo, tmp_path: Path) -> None:
    """Protects the pair: `rtsim hil` arms the driver, its torque reaches the motor, the end says stop."""
    until(lambda: ran_through(servo, tmp_path))
    assert servo.timeouts
