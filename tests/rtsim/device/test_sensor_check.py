"""What a device measures against what the model told it: each lie by its name, no word against the honest."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.config.runs.device_schema import Sensors
from rtsim.config.runs.hil_schema import MarkersSpec
from rtsim.device.lag_fit import ALIKE_S, LEAST_DEG, MEMORY_S, LagFit
from rtsim.device.sensor_check import SensorCheck
from rtsim.device.told_angles import ToldAngles
from streams.messages import Device
from tests.rtsim.device.lying import (
    LIMITED,
    ORTHOSIS,
    RATE_HZ,
    Forge,
    Honest,
    frozen,
    late,
    swaying,
    turned,
    walking,
)

ANGLES: dict[str, tuple[str, Forge]] = {
    "6 degrees off": ("off", turned(lambda a, t: a + 6.0)),
    "6 degrees off, downwards": ("off", turned(lambda a, t: a - 6.0)),
    "10 degrees off": ("off", turned(lambda a, t: a + 10.0)),
    "drifts by 25 degrees in 25 s": ("off", turned(lambda a, t: a + min(25.0, t))),
    "a slow ramp to 6 degrees": ("off", turned(lambda a, t: a + min(6.0, 0.2 * t))),
    "8 degrees and back, 80 ms each": ("off", turned(lambda a, t: a + (8.0 if int(t / 0.08) % 2 else -8.0))),
    "12 degrees for 60 ms in a second": ("off", turned(lambda a, t: a + (12.0 if t % 1.0 < 0.06 else 0.0))),
    "12 degrees in every other stride": ("off", turned(lambda a, t: a + (12.0 if t % 2.2 < 1.1 else 0.0))),
    "a sine of 8 degrees": ("off", turned(lambda a, t: a + 8.0 * math.sin(40.0 * t))),
    "frozen": ("does not move", frozen()),
    "frozen, with noise": ("does not move", turned(lambda a, t: 3.0 + 0.3 * math.sin(1e4 * t))),
    "mirrored": ("mirrored", turned(lambda a, t: -a)),
    "mirrored about its mean": ("mirrored", turned(lambda a, t: 6.0 - a)),
    "a third of the angle": ("times as much", turned(lambda a, t: 3.0 + (a - 3.0) / 3.0)),
    "twice the angle": ("times as much", turned(lambda a, t: 3.0 + 2.0 * (a - 3.0))),
    "60 ms late": ("behind", late(walking, 0.06)),
    "100 ms late": ("behind", late(walking, 0.1)),
    "200 ms late": ("", late(walking, 0.2)),
    "600 ms late": ("", late(walking, 0.6)),
    "a turn more": ("+1 turns", turned(lambda a, t: a + 360.0)),
    "in degrees": ("", turned(lambda a, t: math.degrees(a))),
    "steps of 15 degrees": ("", turned(lambda a, t: 15.0 * round(a / 15.0))),
}  # fmt: skip


@pytest.mark.parametrize("name", ANGLES)
def test_an_angle_that_is_not_the_joints_ends_the_torque(name: str) -> None:
    """Protects whoever wears it from torque by a sensor that lies: each kind is a fault, in its words."""
    words, lie = ANGLES[name]
    course = Honest(angle_deg=(-360.0, 360.0), speed_max_deg_s=1e6).armed()
    course.port.forge = lie
    assert course.until_fault(28.0) < math.inf
    assert course.port.outputs[-1].torque == [0.0]
    course.go(3.0)
    assert any(words in reason for reason in course.reasons)


SMALL: dict[str, tuple[str, Forge]] = {
    "frozen": ("does not move", frozen()),
    "mirrored": ("mirrored", turned(lambda a, t: -a)),
    "60 ms late": ("behind", late(swaying, 0.06)),
    "200 ms late": ("behind", late(swaying, 0.2)),
    "6 degrees off": ("off", turned(lambda a, t: a + 6.0)),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_little_motion_tells_it_too(name: str) -> None:
    """Protects who stands: a lie that is less off than a motion of 1.5 degrees is found by its form."""
    words, lie = SMALL[name]
    course = Honest(swaying).armed()
    course.port.forge = lie
    assert course.until_fault(10.0) < math.inf
    course.go(5.0)
    assert any(words in reason for reason in course.reasons)


@pytest.mark.parametrize(
    "name", ["6 degrees off", "frozen", "mirrored", "200 ms late", "drifts by 25 degrees in 25 s"]
)
def test_arming_is_refused_while_a_lie_goes_on(name: str) -> None:
    """Protects from `arm` after a latched fault: the lie that goes on is a state, not an event."""
    course = Honest().armed()
    course.port.forge = ANGLES[name][1]
    assert course.until_fault(28.0) < math.inf
    course.go(0.3)
    course.reasons.clear()
    n = course.n
    course.go(5.0)
    assert len(course.reasons) == course.n - n
    course.port.forge = lambda message: message
    course.go(6.0)
    assert course.exchange.refusal == ""  # and is over with it


def test_a_leap_that_stays_is_refused_at_once() -> None:
    """Protects from arming in the tick after a leap, which is told once: the angle is off for good."""
    course = Honest(speed_max_deg_s=300.0).armed()
    course.port.forge = turned(lambda a, t: a + 20.0)
    assert course.until_fault(1.0) < math.inf
    assert "leaps" in course.exchange.arming.reason
    for _ in range(100):
        course.tick()
        assert course.exchange.refusal


def test_an_angle_that_is_right_only_without_torque() -> None:
    """Protects from a lie that begins with arming, and goes with it."""
    course = Honest()
    lie = turned(lambda a, t: a + 6.0)
    course.port.forge = lambda m: lie(m) if m.state == "armed" else m
    course.go(5.0)
    assert course.reasons == ["no device has answered yet"]
    for _ in range(3):
        course.exchange.arming.arm("asked")
        assert course.until_fault(1.0) < 0.3
        course.go(3.0)


SPEEDS: dict[str, tuple[str, Forge]] = {
    "nothing": ("speed", lambda m: replace(m, speed=[0.0])),
    "mirrored": ("speed", lambda m: replace(m, speed=[-m.speed[0]])),
    "in degrees": ("speed", lambda m: replace(m, speed=[math.degrees(m.speed[0])])),
    "20 deg/s more": ("speed", lambda m: replace(m, speed=[m.speed[0] + math.radians(20.0)])),
    "a third": ("speed", lambda m: replace(m, speed=[m.speed[0] / 3.0])),
}


@pytest.mark.parametrize("motion", [walking, swaying])
@pytest.mark.parametrize("name", SPEEDS)
def test_a_speed_that_the_angle_denies(name: str, motion) -> None:
    """Protects damping: two sensors of one message that contradict each other are a fault."""
    course = Honest(motion, speed_max_deg_s=1e6).armed()
    words, course.port.forge = SPEEDS[name]
    assert course.until_fault(4.0) < math.inf
    assert words in course.exchange.arming.reason
    assert not re.search(r"\de-\d", course.exchange.arming.reason)  # what is zero but for rounding is zero


HONEST = {
    "walking": Honest(),
    "swaying": Honest(swaying),
    "noisy": Honest(device=replace(ORTHOSIS, sensors=Sensors(0.25, 20.0, 0.5, 0.03, 3))),
    "at rest": Honest(lambda t: (0.2, 0.0)),
    "in steps of a degree": Honest(),
    "30 ms late": Honest(),
    "2 degrees off": Honest(),
    "turned by 12 degrees, as declared": Honest(
        device=replace(ORTHOSIS, mechanics=replace(ORTHOSIS.mechanics, misalignment_deg=12.0))
    ),
}
SLIGHT = {
    "in steps of a degree": turned(lambda a, t: float(round(a))),
    "30 ms late": late(walking, 0.03),
    "2 degrees off": turned(lambda a, t: a + 2.0),
}


@pytest.mark.parametrize("name", HONEST)
def test_nothing_is_said_of_the_honest(name: str) -> None:
    """Protects from alarms for nothing: noise, steps, drop-outs, a delay and an offset within the limits."""
    course = HONEST[name]
    course.port.forge = SLIGHT.get(name, course.port.forge)
    course.armed(40.0)
    assert course.reasons == ["no device has answered yet"]


def test_a_drive_that_nothing_turns_is_not_compared_where_the_config_says_so() -> None:
    """Protects work on a bench: `watch_sensors` is false, and nothing is said of an angle that stands."""
    course = Honest(watch_sensors=False)
    course.port.forge = frozen()
    course.armed(5.0)
    with pytest.raises(ValueError, match="watch_sensors"):
        replace(course.spec, markers=MarkersSpec(damping_N_m_s_rad=1.0))


@pytest.mark.parametrize("lies", [False, True])
def test_frames_that_come_in_bursts_leave_the_speed_alone(lies: bool) -> None:
    """Protects a person's run on a busy machine: a device turns with frames that come five at a time."""
    check, said = SensorCheck(LIMITED, 0.01), []
    for seq in range(1000):
        angle, speed = walking(0.01 * seq)
        check.told.note(seq, 0.01 * seq, angle, speed, True)
        told = [0.3 * speed if lies else speed]
        message = Device(
            session="", seq=seq, t=0, command=seq, angle=[angle], speed=told, torque=[0.0], state="armed"
        )
        check.look(message, seq, 0.01, 0.048 if seq % 5 == 0 else 5e-4)
        said.append(check.wrong(True))
    assert any(said) == lies


def test_what_nobody_knows_is_not_compared() -> None:
    """Protects from a reference of before the markers were lost: it says nothing of where the joint is."""
    check = SensorCheck(LIMITED, 0.01)
    message = Device(session="", seq=0, t=0, command=0, angle=[0.5], speed=[0.0], torque=[0.0], state="armed")
    for known, said in ((False, False), (True, True)):
        check.told.note(0, 0.0, 0.1, 0.0, known)
        check.look(message, 0, 0.01)
        assert bool(check.wrong(False)) == said
    check.look(replace(message, command=-1), 0, 0.01)
    check.look(replace(message, command=3), 0, 0.01)


def test_a_device_of_other_joints_is_not_said_to_speak_in_degrees() -> None:
    """Protects whoever looks for the fault: the hint belongs to an angle, not to a number of joints."""
    check = SensorCheck(LIMITED, 0.01)
    check.told.note(0, 0.0, 0.5, 0.0, True)
    said = math.degrees(0.5)
    one = Device(session="", seq=0, t=0, command=0, angle=[said], speed=[0.0], torque=[0.0], state="armed")
    assert "degrees" in check.hint(one)
    assert check.hint(replace(one, angle=[said, said])) == check.hint(replace(one, angle=[])) == ""


@pytest.mark.parametrize("late_s", [0.045, 0.06, 0.1])
def test_a_delay_that_is_refused_is_more_than_what_is_said_to_be_allowed(late_s: float) -> None:
    """Protects whoever reads the reason: it does not contradict itself."""
    course = Honest().armed()
    course.port.forge = late(walking, late_s)
    course.go(10.0)
    told = [
        re.search(r"is (\d+) ms behind the joint's; allowed: ([\d.]+) ms", words) for words in course.reasons
    ]
    found = [(float(match[1]), float(match[2])) for match in told if match]
    assert found
    assert all(is_ms > most_ms - 0.5 for is_ms, most_ms in found)  # the first is told in whole milliseconds


def test_what_was_told_is_found_by_its_number() -> None:
    """Protects the reference: of outputs overwritten, never sent or without an angle there is none."""
    told = ToldAngles(100.0)
    for seq in range(300):
        told.note(seq, 0.01 * seq, 0.1 * seq, 1.0, seq != 250)
    assert told.angle(299) == pytest.approx(29.9)
    for gone in (-1, 5, 250, 300):
        assert math.isnan(told.angle(gone))
    assert told.between_s(280, 290) == pytest.approx(0.1)
    assert math.isnan(told.between_s(5, 290))
    assert told.beyond(30.0, 290, 299) == pytest.approx(0.1)
    assert told.beyond(29.5, 290, 299) == 0.0
    assert told.beyond(28.5, 290, 299) == pytest.approx(-0.5)


@pytest.mark.parametrize("delay", [0.0, 0.04, 0.1])
@pytest.mark.parametrize("gain", [1.0, -1.0, 0.3])
def test_the_fit_is_that_of_weighted_least_squares(gain: float, delay: float) -> None:
    """Protects the numbers: the sums that forget are weighted least squares as NumPy has them."""
    w, passed, n = 7.0, 0.002, 1500
    t = passed * np.arange(n)
    r, s = 0.2 * np.sin(w * t), 0.2 * w * np.cos(w * t)
    m = 0.05 + gain * 0.2 * np.sin(w * (t - delay)) + 1e-3 * np.random.default_rng(1).standard_normal(n)
    fit = LagFit()
    for k in range(n):
        fit.add(float(m[k]), float(r[k]), float(s[k]), passed)
    fit.solve()
    weights = passed * np.exp(-(t[-1] - t) / MEMORY_S)
    columns, root = np.stack([np.ones(n), r, -s], axis=1), np.sqrt(weights)[:, None]
    _, g, q = np.linalg.lstsq(root * columns, root[:, 0] * m, rcond=None)[0]

    def mean(x: np.ndarray) -> float:
        return float(weights @ x / weights.sum())

    moments = np.array([[mean(a * b) - mean(a) * mean(b) for a in (r, s)] for b in (r, s)])
    turn = math.sqrt(moments[1, 1] / moments[0, 0])
    assert fit.gain == pytest.approx(math.hypot(g, turn * q), rel=1e-9)
    assert fit.delay_s == pytest.approx(math.atan2(turn * q, g) / turn, rel=1e-9)
    error = np.linalg.inv(moments) * math.radians(LEAST_DEG) ** 2 * ALIKE_S / weights.sum()
    assert fit.gain_error == pytest.approx(math.sqrt(error[0, 0]), rel=1e-9)
    assert fit.delay_error_s == pytest.approx(math.sqrt(error[1, 1]), rel=1e-9)
    assert fit.gain == pytest.approx(abs(gain), abs=0.05)
    if gain > 0.0:
        assert fit.delay_s == pytest.approx(delay, abs=3e-3)
    else:
        assert abs(fit.phase) > 0.6 * math.pi


def test_a_fit_without_motion_tells_nothing() -> None:
    """Protects from numbers out of noise: at rest gain and delay are unknown, the offset is known."""
    fit = LagFit()
    for k in range(round(2.0 * RATE_HZ)):
        assert math.isnan(fit.offset) or k > 0
        fit.add(0.3, 0.1, 0.0, 1.0 / RATE_HZ)
    fit.solve()
    assert (fit.gain, fit.delay_s, fit.gain_error) == (1.0, 0.0, math.inf)
    assert fit.offset == pytest.approx(0.2)
