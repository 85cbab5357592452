"""How cases go: a device that lies under torque, a stream that does, a model that says other things."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rtsim.bench.hil_hostile import device, stream
from rtsim.bench.hil_hostile.case import Act, Evidence
from rtsim.bench.hil_hostile.configs import Declared
from rtsim.bench.hil_hostile.lab import Lab
from rtsim.bench.hil_hostile.rig import Rig
from streams.clock import now_ns

LIE_S = 4.0
"""How long a lie goes on at the most before it is missed: three strides."""
Time = Callable[[Declared], float]


def device_lies(
    run: str, lie: device.Lie, declared: Time, seconds: float = 1.0, of_angle: bool = False,
    check: Callable[[Rig, Evidence], tuple[str, ...]] | None = None,
) -> Act:  # fmt: skip
    """Armed, then the device lies for so long, or until torque ends and a little longer.

    declared : how long torque may last after the lie has begun to count
    of_angle : it counts from the first angle that is farther off than a lie may be
    check : what else is otherwise than it must be
    """

    def act(lab: Lab) -> Evidence:
        rig = lab.rig(run)
        since = now_ns()
        with rig.device() as liar:
            rig.arm()
            began = liar.begin(lie, of_angle)
            rig.watch(seconds, 0.15)
            seen = rig.evidence(since, liar.lied_ns or began, declared(rig.declared))
        return seen._replace(wrong=check(rig, seen) if check is not None else ())

    return act


def device_angle(run: str, lie: device.Lie) -> Act:
    """A lie about the angle, which has to be found."""
    return device_lies(run, lie, lambda d: d.lie, LIE_S, of_angle=True)


def stream_lies(
    run: str, lie: stream.Lie, declared: Time, seconds: float = 1.5, pace: float = stream.RATE,
    walk_s: float = 0.5,
) -> Act:  # fmt: skip
    """A person walks under torque, then the stream lies for so long, or until torque ends."""

    def act(lab: Lab) -> Evidence:
        rig = lab.rig(run)
        assert rig.stream is not None
        since = now_ns()
        with rig.device():
            walk_with_torque(rig, walk_s)
            began = rig.stream.begin(lie, pace)
            rig.watch(seconds, 0.3)
            seen = rig.evidence(since, rig.stream.lied_ns or began, declared(rig.declared))
        return seen

    return act


def walk_with_torque(rig: Rig, walk_s: float) -> None:
    """Arm as soon as the stream is followed, and walk on."""
    rig.arm()
    time.sleep(walk_s)


def torque_goes_on(rig: Rig, since_ns: int, **more: object) -> Evidence:
    """Evidence of a case in which nothing has to end."""
    return rig.evidence(since_ns, 0, math.nan, **more)
