"""Cases with actuators that do not apply the command, and with impossible speeds and leaps."""

from __future__ import annotations

import math
import time

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.device import Lie, Moment
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import until
from benchmarks.hil_hostile.scenarios import device_lies
from benchmarks.hil_hostile.wire import Keys
from streams.clock import now_ns

ACTUATOR = ("actuator", "torque", "drives")


def applies(own: float, passive: float = 0.0, share: float = 1.0) -> Lie:
    """Apply a fraction of the command, and in addition torque of its own and of passive parts [N m]."""

    def lie(told: Keys, m: Moment) -> list[Keys]:
        actuator = share * told["actuator"][0] + own
        return [{**told, "actuator": [actuator], "torque": [actuator + passive]}]

    return lie


def mostly_beyond(told: Keys, m: Moment) -> list[Keys]:
    """Apply 20 N m beyond what is commanded, but in one message out of fifty tell the commanded torque."""
    actuator = told["actuator"][0] - (0.0 if m.n % 50 == 49 else 20.0)
    return [{**told, "actuator": [actuator], "torque": [actuator]}]


def sticks(told: Keys, m: Moment) -> list[Keys]:
    """Keep the actuator where it was, with 12 N m in the other direction."""
    stuck = -math.copysign(12.0, told["actuator"][0] or 1.0)
    return [{**told, "actuator": [stuck], "torque": [stuck]}]


def tells_what_it_should(told: Keys, m: Moment) -> list[Keys]:
    """Report the commanded torque for the actuator, while the whole device applies 25 N m more."""
    return [{**told, "torque": [told["actuator"][0] - 25.0]}]


def drives(told: Keys, m: Moment) -> list[Keys]:
    """Push along the motion with 7 N m, just within the limits of the actuator's check."""
    pushed = math.copysign(7.0, told["speed"][0] or 1.0)
    actuator = told["actuator"][0] + pushed
    return [{**told, "actuator": [actuator], "torque": [actuator]}]


def leaps_and_returns(told: Keys, m: Moment) -> list[Keys]:
    """Report an angle 30 degrees off in one message out of twenty."""
    return [{**told, "angle": [told["angle"][0] + math.radians(30.0) * (m.n % 20 == 0)]}]


def wrong_speed(told: Keys, m: Moment) -> list[Keys]:
    """Report a speed of 8 rad/s while the joint rotates at another speed."""
    return [{**told, "speed": [told["speed"][0] + 8.0]}]


def armed_while_stopped(lab: RunningModels) -> Evidence:
    """After an emergency stop let the device report to be armed, and push: nobody may be able to arm
    meanwhile.
    """
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device() as liar:
        rig.arm()
        liar.begin(lambda told, m: [{**told, "state": "armed", "actuator": [12.0], "torque": [12.0]}])
        stop = now_ns()
        rig.ask("emergency_stop")
        until(lambda: not rig.listener.on, 1.0)
        time.sleep(0.5)
        done, answer = rig.ask("arm")
        time.sleep(0.2)
        wrong = (
            ("the run was armed although the stopped device applies torque",)
            if done or rig.listener.on
            else ()
        )
        seen = rig.evidence(since, stop, rig.declared.tick, wrong=wrong)
    return seen._replace(said=[*seen.said, (now_ns(), answer)])


def pushes_unarmed(lab: RunningModels) -> Evidence:
    """Let the device apply 10 N m although nobody has armed: it must be reported, and arming rejected."""
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device() as liar:
        until(lambda: liar.n_heard > 50, 5.0)
        began = liar.begin(applies(10.0))
        time.sleep(1.0)
        done, answer = rig.ask("arm")
        time.sleep(0.3)
        wrong = ("the run was armed while the device applies torque",) if done or rig.listener.on else ()
        seen = rig.evidence(since, began, rig.declared.tick, wrong=wrong)
    return seen._replace(said=[*seen.said, (now_ns(), answer)])


def leaps_and_is_armed(lab: RunningModels) -> Evidence:
    """Let the angle leap by 20 degrees and stay there; a person arms again, and the angle is still wrong."""
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device() as liar:
        rig.arm()
        began = liar.begin(lambda told, m: [{**told, "angle": [told["angle"][0] + math.radians(20.0)]}])
        rig.watch(1.0)
        again = now_ns()
        if rig.ask("arm")[0]:
            rig.arms.append(again)
        time.sleep(0.1)
        rig.watch(2.0)
        fault = again if rig.arms[-1] == again else began
        return rig.evidence(since, fault, rig.declared.lie)


CASES = (
    *(
        HostileCase(
            f"device_{name}.{run}",
            "device",
            f"The device's actuator {what}.",
            device_lies(run, lie, lambda d: d.tracking, 1.5),
            ACTUATOR,
        )
        for name, what, lie in (
            ("torque_20_beyond", "applies 20 N m more than is commanded", applies(-20.0)),
            (
                "torque_mostly_beyond",
                "applies 20 N m more, and now and then reports the commanded torque",
                mostly_beyond,
            ),
            ("torque_mirrored", "applies the commanded torque and 12 N m in the other direction", sticks),
        )
        for run in ("ankle", "free", "worn")
    ),
    HostileCase(
        "device_torque_beside_its_actuator.ankle",
        "device",
        "The device applies 25 N m that its actuator does not report.",
        device_lies("ankle", tells_what_it_should, lambda d: d.tracking, 1.5),
        ACTUATOR,
    ),
    HostileCase(
        "device_torque_beside_its_actuator.worn",
        "device",
        "The device of a person applies 25 N m that its actuator does not report.",
        device_lies("worn", tells_what_it_should, lambda d: d.tracking, 1.5),
        ACTUATOR,
    ),
    HostileCase(
        "device_drives_the_limb.free",
        "device",
        "The device drives the limb with 7 N m along its motion.",
        device_lies("free", drives, lambda d: 1500.0, 4.0),
        ("drives", "actuator"),
    ),
    HostileCase(
        "device_leaps_and_returns.ankle",
        "device",
        "The angle jumps by 30 degrees and back.",
        device_lies("ankle", leaps_and_returns, lambda d: d.tick),
        ("leaps",),
    ),
    HostileCase(
        "device_leaps_and_returns.free",
        "device",
        "The angle jumps by 30 degrees and back, in a free run.",
        device_lies("free", leaps_and_returns, lambda d: d.silence),
        ("leaps", "angle"),
    ),
    HostileCase(
        "device_speed_lies.ankle",
        "device",
        "The speed is 8 rad/s higher than the rate of the angle.",
        device_lies("ankle", wrong_speed, lambda d: d.lie, 2.0),
        ("speed", "deg/s"),
    ),
    HostileCase(
        "device_armed_while_stopped.ankle",
        "device",
        "After an emergency stop the device reports that it is armed, and applies torque.",
        armed_while_stopped,
        ("commanded to disarm", "actuator"),
    ),
    HostileCase(
        "device_pushes_unarmed.ankle",
        "device",
        "The device applies torque although nobody has armed.",
        pushes_unarmed,
        ACTUATOR,
    ),
    HostileCase(
        "device_leaps_and_is_armed.ankle",
        "device",
        "The angle jumps by 20 degrees and stays there; a person arms again.",
        leaps_and_is_armed,
        ("angle",),
        lie=True,
    ),
)
