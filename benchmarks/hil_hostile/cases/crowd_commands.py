"""Cases with commands of strangers and at the wrong time: who arms, who owns a ramp, which numbers are
rejected.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.crowd import Crowd, flooding, pouring, silent
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import until
from benchmarks.hil_hostile.scenarios import torque_goes_on
from benchmarks.hil_hostile.stranger import asked_by_another
from benchmarks.strangers.zmtp import frame
from streams.clock import now_ns

STIFFNESS, DAMPING = "stiffness_N_m_rad", "damping_N_m_s_rad"
ARM_AT_S = 1.5
"""Model time at which it arms by itself [s]."""


def arms_as_another(lab: RunningModels) -> Evidence:
    """Let another user of the machine arm: it must be rejected, without torque."""
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device() as device:
        until(lambda: device.n_heard > 50, 5.0)
        ((done, answer),) = asked_by_another(rig.control, "arm")
        time.sleep(0.5)
        wrong = ("another user of the machine could arm the device",) if done or rig.listener.on else ()
        seen = rig.evidence(since, 0, math.nan, wrong=wrong)
    return seen._replace(said=[*seen.said, (now_ns(), answer)])


def meddles_as_another(*names: str) -> Callable[[RunningModels], Evidence]:
    """Let another user give commands under torque: they must be rejected, and nothing may change."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig("ankle"), now_ns()
        with rig.device():
            rig.arm()
            answers = asked_by_another(rig.control, *names)
            time.sleep(0.3)
            wrong = [
                f"the command {name} of another user was executed"
                for name, (done, _) in zip(names, answers, strict=True)
                if done
            ]
            wrong += (
                [] if rig.listener.on else ["another user ended the torque by another command than a stop"]
            )
            seen = torque_goes_on(rig, since, wrong=tuple(wrong))
        return seen._replace(said=[*seen.said, *((now_ns(), text) for _, text in answers)])

    return act


def stops_as_another(lab: RunningModels) -> Evidence:
    """Let another user request a stop: it must take effect, as it is open to all."""
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device():
        rig.arm()
        began = now_ns()
        ((done, answer),) = asked_by_another(rig.control, "emergency_stop")
        until(lambda: not rig.listener.on, 1.0)
        time.sleep(0.1)
        wrong = (
            () if done and not rig.listener.on else (f"the stop of another user was not executed: {answer}",)
        )
        return rig.evidence(since, began, 10_000.0, wrong=wrong)  # a program starts meanwhile


def before_it_arms(name: str) -> Callable[[RunningModels], Evidence]:
    """Give a command before a run arms automatically: the run must not arm any more."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.fresh("ankle", "--arm", f"{ARM_AT_S:g}"), now_ns()
        try:
            with rig.device() as device:
                until(lambda: device.n_heard > 100, 5.0)
                asked = now_ns()
                rig.ask(name)
                time.sleep(ARM_AT_S + 0.8)
                return rig.evidence(since, asked, rig.declared.tick)
        finally:
            rig.close()

    return act


def foreign_set(lab: RunningModels) -> Evidence:
    """Set a parameter while another one changes along a slow ramp: the slow one must stay slow."""
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device():
        rig.arm()
        rig.ask("set", **{STIFFNESS: 2.0, "over_s": 0})
        time.sleep(0.4)
        slow = now_ns()
        rig.ask("set", **{STIFFNESS: 40.0, "over_s": 3})
        time.sleep(0.3)
        rig.ask("set", **{DAMPING: 0.1, "over_s": 0})
        time.sleep(0.3)
        rig.ask("undo", over_s=0)
        time.sleep(0.4)
        values = [one[STIFFNESS] for t, one in rig.listener.parameters if t >= slow and STIFFNESS in one]
        steps = [abs(b - a) for a, b in pairwise(values)]
        most, allowed = max(steps, default=0.0), 38.0 / 3.0 / 100.0 * 5.0
        wrong = [] if values else ["the run published no parameters"]
        wrong += (
            [f"the stiffness jumped during a slow change by {most:.3g} N m/rad within a frame"]
            if most > allowed
            else []
        )
        rig.ask("switch", name="start", over_s=0)
        return torque_goes_on(rig, since, wrong=tuple(wrong))


def nonsense(**args: Any) -> Callable[[RunningModels], Evidence]:
    """Set impossible parameters: they must be rejected, nothing may change, and torque must stay within its
    limit.
    """

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig("ankle"), now_ns()
        with rig.device():
            rig.arm()
            before = rig.listener.parameters[-1][1]
            done, answer = rig.ask("set", **args)
            time.sleep(0.4)
            after = rig.listener.parameters[-1][1]
            wrong = ("it was taken",) if done or after != before else ()
            seen = torque_goes_on(rig, since, wrong=wrong)
        return seen._replace(said=[*seen.said, (now_ns(), answer)])

    return act


def beside(*members: Any) -> Callable[[RunningModels], Evidence]:
    """Let a crowd act at the control endpoint under torque: the run must continue, and the person must be
    able to disarm.
    """

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig("ankle"), now_ns()
        with rig.device():
            rig.arm()
            n = len(rig.listener.torque)
            with Crowd(rig.control, members[0]):
                time.sleep(0.6)
                wrong = [] if rig.listener.on else ["the crowd of clients ended the torque"]
                wrong += [] if len(rig.listener.torque) > n + 100 else ["the run did not advance"]
                asked = now_ns()
                for _ in range(5):
                    if rig.ask("disarm", 1.0)[0]:
                        break
                off = until(lambda: not rig.listener.on, 0.5)
                wrong += [] if off else ["the person could not disarm"]
            return rig.evidence(since, asked, 1000.0, wrong=tuple(wrong))

    return act


def giant_command() -> bytes:
    """Return a command of 100 kB."""
    return frame(b"", more=True) + frame(b"command", more=True) + frame(bytes(100_000))


def stop_beside_arms(lab: RunningModels) -> Evidence:
    """Send a stop within a flood of `arm` by the person's own program: torque must be off in the tick of the
    stop.
    """
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device():
        rig.arm()
        flood_ns = now_ns()
        with Crowd(rig.control, flooding("arm")):
            began = now_ns()
            rig.ask("emergency_stop")
            until(lambda: any(t >= began and "emergency" in text for t, text in list(rig.listener.said)), 1.0)
        rig.arms += range(flood_ns, now_ns(), 1_000_000)  # every tick of the flood is armed by the person
        rig.ask("emergency_stop")
        time.sleep(0.2)
        return rig.evidence(since, 0, math.nan, stop_ns=began)


REFUSED = ("refused", "allowed", "not ", "no ", "may", "only", "role")
CASES = (
    HostileCase(
        "command_arm_of_another_user.ankle",
        "crowd",
        "Another user of the machine arms.",
        arms_as_another,
        REFUSED,
    ),
    HostileCase(
        "command_set_of_another_user.ankle",
        "crowd",
        "Another user of the machine changes a parameter.",
        meddles_as_another(f"set:{STIFFNESS}=0"),
        REFUSED,
    ),
    HostileCase(
        "command_disarm_and_arm_of_another_user.ankle",
        "crowd",
        "Another user disarms, pauses and arms.",
        meddles_as_another("pause", "reset", "arm", "stop"),
        REFUSED,
    ),
    HostileCase(
        "command_stop_of_another_user.ankle",
        "crowd",
        "Another user asks for an emergency stop.",
        stops_as_another,
        ("emergency",),
    ),
    HostileCase(
        "command_disarm_before_it_arms.ankle",
        "crowd",
        "A person disarms before the run arms by itself.",
        before_it_arms("disarm"),
    ),
    HostileCase(
        "command_stop_before_it_arms.ankle",
        "crowd",
        "A stop before the run arms by itself.",
        before_it_arms("emergency_stop"),
    ),
    HostileCase(
        "command_reset_before_it_arms.ankle",
        "crowd",
        "A reset before the run arms by itself.",
        before_it_arms("reset"),
    ),
    HostileCase(
        "command_set_beside_a_slow_ramp.ankle",
        "crowd",
        "Another parameter is set while one changes slowly.",
        foreign_set,
    ),
    *(
        HostileCase(
            f"command_set_{name}.ankle", "crowd", f"A parameter is set to {what}.", nonsense(**args), REFUSED
        )
        for name, what, args in (
            ("no_number", "a value that is not a number", {STIFFNESS: math.nan}),
            ("infinite", "an infinite value", {STIFFNESS: math.inf}),
            ("beyond_its_range", "a value above its range", {STIFFNESS: 1000.0}),
            ("negative", "a value below its range", {STIFFNESS: -1.0}),
            ("text", "a text", {STIFFNESS: "much"}),
            ("list", "a list", {STIFFNESS: [1.0, 2.0]}),
            (
                "over_a_negative_time",
                "a value that is to be reached in a negative time",
                {STIFFNESS: 10.0, "over_s": -1.0},
            ),
            (
                "over_no_time",
                "a value that is to be reached in a time that is not a number",
                {STIFFNESS: 10.0, "over_s": math.nan},
            ),
            ("limit", "a limit, which is no parameter", {"torque_max_Nm": 1e9}),
        )
    ),
    HostileCase(
        "command_flood_of_unknown.ankle",
        "crowd",
        "A flood of commands that do not exist.",
        beside(flooding("arm_now", "x" * 64)),
    ),
    HostileCase(
        "command_giants.ankle", "crowd", "Commands of 100 kB.", beside(pouring(b"DEALER", giant_command))
    ),
    HostileCase(
        "command_200_silent.ankle",
        "crowd",
        "A person disarms while 200 connections are open and silent.",
        beside(silent(200)),
    ),
    HostileCase(
        "command_stop_beside_arms.ankle",
        "crowd",
        "A stop during a flood of `arm` commands.",
        stop_beside_arms,
        ("emergency",),
    ),
)
