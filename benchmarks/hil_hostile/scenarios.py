"""Courses of cases: a device that lies under torque, a stream that lies, a model that sends something
else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from benchmarks.hil_hostile import device, stream
from benchmarks.hil_hostile.case import Act, Evidence, Sample
from benchmarks.hil_hostile.configs import BUSY_MS, Declared
from benchmarks.hil_hostile.judge import torque_after
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import Rig, until
from benchmarks.hil_hostile.victims import NOTHING_NM, VALID_MS, Victim, Victims, rows_of
from benchmarks.hil_hostile.wire import Keys, Parts
from streams.clock import now_ns

MOST_STRIDE_S = 3.0
LIE_S = 4.0
"""Longest time that a lie may go on before it counts as missed [s]: three strides."""
Time = Callable[[Declared], float]


def device_lies(
    run: str, lie: device.Lie, declared: Time, seconds: float = 1.0, of_angle: bool = False,
    check: Callable[[Rig, Evidence], tuple[str, ...]] | None = None,
) -> Act:  # fmt: skip
    """Return a case: the device is armed, then lies for this time, or until torque ends and a little longer.

    declared : time that torque may last after the lie has begun to count
    of_angle : it counts from the first angle that is farther off than a lie may be
    check : sentences on what else is not as it must be
    """

    def act(lab: RunningModels) -> Evidence:
        rig = lab.rig(run)
        since = now_ns()
        with rig.device() as liar:
            rig.arm()
            rig.check_on()
            began = liar.begin(lie, of_angle)
            rig.watch(seconds, 0.15)
            seen = rig.evidence(
                since, liar.lied_ns or began, declared(rig.declared), began_ns=began
            )  # a lie may be told before its angle is as wrong as a lie has to be to count
        return seen._replace(wrong=check(rig, seen) if check is not None else ())

    return act


def device_angle(run: str, lie: device.Lie, declared: Time) -> Act:
    """Return a case with a lie about the angle, which has to be detected."""
    return device_lies(run, lie, declared, LIE_S, of_angle=True)


def stream_lies(
    run: str, lie: stream.Lie, declared: Time, seconds: float = 1.5, pace: float = stream.RATE,
    walk_s: float = 0.5, by_torque: bool = False,
) -> Act:  # fmt: skip
    """Return a case: a person walks under torque, then the stream lies for this time, or until torque ends.

    by_torque : it may stay armed without torque, as a spline of which nobody knows the phase
    """

    def act(lab: RunningModels) -> Evidence:
        rig = lab.rig(run)
        assert rig.stream is not None
        since = now_ns()
        with rig.device():
            walk_with_torque(rig, walk_s)
            rig.check_on()
            began = rig.stream.begin(lie, pace)
            if by_torque:
                time.sleep(seconds)
            else:
                rig.watch(seconds, 0.3)
            return rig.evidence(since, rig.stream.lied_ns or began, declared(rig.declared))

    return act


def stream_goes_on(lie: stream.Lie, seconds: float = 1.0) -> Act:
    """Return a case: a person walks under torque beside something that does not have to end it."""

    def act(lab: RunningModels) -> Evidence:
        rig = lab.rig("worn")
        assert rig.stream is not None
        since = now_ns()
        with rig.device():
            walk_with_torque(rig, 0.3)
            rig.stream.begin(lie)
            time.sleep(seconds)
            return torque_goes_on(rig, since)

    return act


def walk_with_torque(rig: Rig, walk_s: float) -> None:
    """Arm as soon as the stream is tracked, and walk on."""
    rig.arm()
    assert rig.stream is not None
    if len(rig.arms) == 1:  # what was heard while the run began came late
        rig.stream.forget()
    time.sleep(walk_s)
    until(rig.stream.is_known, MOST_STRIDE_S)


def torque_goes_on(rig: Rig, since_ns: int, **more: object) -> Evidence:
    """Return the evidence of a case in which nothing has to end."""
    return rig.evidence(since_ns, 0, math.nan, **more)


def model_says(say: Callable[[Victim], Keys | Parts], seconds: float = 0.6) -> Act:
    """Return a case: all devices are under torque, then a model sends something else for this time, and
    torque must fall.
    """

    def act(lab: RunningModels) -> Evidence:
        def others(all_: Victims) -> int:
            began, due = now_ns(), time.monotonic() + seconds
            while time.monotonic() < due:
                for victim in all_.all:
                    victim.say(say(victim))
                all_.turn()
            return began

        return on_all(lab, others, ends=True)

    return act


def on_all(
    lab: RunningModels, act: Callable[[Victims], int | None], wrong: Callable[[Victim, int], str] | None =
    None, ends: bool = False, after_ms: Callable[[Victim], float] | None = None, only: str = "",
) -> Evidence:  # fmt: skip
    """Bring all devices under torque, then call `act`; return the evidence of the worst device.

    act : returns when it began [ns]; wrong : what of a device is otherwise than it must be
    ends : torque has to end, after_ms later (default: time to live and safe state); only : this device's
    """
    all_ = lab.victims
    all_.begin()
    since = now_ns()
    for victim in all_.all:
        victim.arms.clear()
    began = act(all_) or 0
    all_.listen(0.02)
    found: list[tuple[float, Evidence]] = []
    told: list[str] = []
    for victim in all_.all:
        if only not in ("", victim.name):
            continue
        told += [] if wrong is None else [text for text in [wrong(victim, began)] if text]
        declared = after_ms(victim) if after_ms is not None else VALID_MS + victim.fall_ms
        seen = Evidence(
            torque_of(victim, since), list(victim.said), [0, *victim.arms], began if ends else 0,
            declared_ms=declared, nothing=NOTHING_NM, hold_ms=BUSY_MS,
        )  # fmt: skip
        after, ended = torque_after(seen)
        if ends and not victim.said and after > declared:
            told.append(f"{victim.name} still applies {victim.torque[-1].torque:.3g} N m")
        found.append(((math.inf if not ended else after - declared) if ends else 0.0, seen))
    worst = max(found, key=lambda one: one[0])[1]
    if ends and not all(seen.said for _, seen in found):
        worst = worst._replace(said=[])  # one of them told nobody
    return worst._replace(wrong=tuple(told))


def torque_of(victim: Victim, since_ns: int) -> list[Sample]:
    """Return the applied torque, from the device's own log if it has one, as its messages may be lost."""
    return list(victim.torque) if victim.log is None else rows_of(victim.log, since_ns)
