"""Cases with devices that stall, vanish, flood, or come at the wrong time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.crowd import Crowd, Member, pouring, silent
from benchmarks.hil_hostile.device import FalseDevice, Lie, Moment
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import HELD_S, Rig, until
from benchmarks.hil_hostile.scenarios import Time, device_lies, torque_goes_on
from benchmarks.hil_hostile.wire import Keys, Parts, packed
from benchmarks.strangers.zmtp import PAUSE_S, dial, frame
from streams.clock import now_ns

UNHEARD = ("answer", "older than", "silent", "no word")
RUNS = ("ankle", "free", "worn")
FLOOD = 40


def silence(told: Keys, m: Moment) -> list[Keys]:
    """Send nothing."""
    return []


def silent_for(seconds: float) -> Lie:
    """Send nothing for this time, then be honest again."""
    return lambda told, m: [] if m.s < seconds else [told]


def floods(told: Keys, m: Moment) -> list[Keys]:
    """Send each message forty times, under numbers of their own: 20 000 a second."""
    return [{**told, "seq": told["seq"] * FLOOD + k, "t": told["t"] + 1000 * k} for k in range(FLOOD)]


def giant(told: Keys, m: Moment) -> list[Parts]:
    """Send one part of 3 MiB, then nothing usable."""
    return [[b"device", bytes(3 << 20)]] if m.n == 0 else []


def vanishes(run: str) -> Callable[[RunningModels], Evidence]:
    """Close the device's connection."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig(run), now_ns()
        device = rig.device()
        try:
            rig.arm()
            gone = now_ns()
        finally:
            device.close()
        rig.watch(1.5)
        return rig.evidence(since, gone, rig.declared.silence)

    return act


def comes_again_under_torque(lab: RunningModels) -> Evidence:
    """Let the device vanish, and at once another one that reports to be armed: no torque without arming."""
    rig, since = lab.rig("ankle"), now_ns()
    first = rig.device()
    try:
        rig.arm()
        gone = now_ns()
    finally:
        first.close()
    with FalseDevice(rig.port, 99) as other:
        other.begin(lambda told, m: [{**told, "state": "armed"}])
        rig.watch(1.0)
        time.sleep(HELD_S + 0.5)
        return rig.evidence(since, gone, rig.declared.silence)


def beside(run: str, member: Member, wrong: Callable[[Rig], str]) -> Callable[[RunningModels], Evidence]:
    """Let strangers act at the device's endpoint, beside an honest device under torque."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig(run), now_ns()
        with rig.device():
            rig.arm()
            with Crowd(rig.port, member):
                time.sleep(1.0)
            found = wrong(rig)
            return torque_goes_on(rig, since, wrong=(found,) if found else ())

    return act


def second_device(address: str, over: threading.Event) -> None:
    """Be another device that reports 50 N m and an angle of its own."""
    with FalseDevice(address, 5) as other:
        other.begin(lambda told, m: [{**told, "angle": [0.6], "torque": [50.0], "state": "armed"}])
        over.wait()


def still_armed(rig: Rig) -> str:
    """Return a complaint if strangers have ended the torque, else ""."""
    return "" if rig.listener.on else "strangers at the device's endpoint ended the torque"


def unmoved(rig: Rig) -> str:
    """Return a complaint if torque did not continue as that of the first device, else ""."""
    most = max(abs(sample.torque) for sample in rig.listener.torque[-200:])
    limit = rig.declared.spec.limits.torque_max_Nm
    return "the torque is beyond its limit" if most > limit + 1e-9 else ""


def drips(lab: RunningModels) -> Evidence:
    """Run a device whose honest messages arrive one byte every ten milliseconds; it must not be armed."""
    rig, since = lab.rig("ankle"), now_ns()
    time.sleep(HELD_S)
    topic, payload = packed(
        "device",
        {
            "session": "",
            "seq": 0,
            "t": now_ns(),
            "command": -1,
            "angle": [0.0],
            "speed": [0.0],
            "torque": [0.0],
            "state": "armed",
        },
    )
    body = frame(topic, more=True) + frame(payload)
    with dial(rig.port, b"DEALER") as peer:
        for k in range(len(body) - 1):
            try:
                peer.sendall(body[k : k + 1])
            except OSError:
                break
            time.sleep(PAUSE_S)
        done, _ = rig.ask("arm")
        time.sleep(0.3)
        wrong = ("the run was armed without a device",) if done and rig.listener.on else ()
    return rig.evidence(since, 0, math.nan, wrong=wrong)


def armed_without_device(lab: RunningModels) -> Evidence:
    """Send `arm` where no device answers, and where one has just left: it must be rejected with the
    reason.
    """
    rig, since = lab.rig("ankle"), now_ns()
    with rig.device() as first:
        until(lambda: first.n_heard > 50, 5.0)
    time.sleep(0.3)
    began = now_ns()
    done, answer = rig.ask("arm")
    time.sleep(0.3)
    wrong = ("the run was armed although the device is gone",) if done or rig.listener.on else ()
    seen = rig.evidence(since, began, rig.declared.tick, wrong=wrong)
    return seen._replace(said=[*seen.said, (now_ns(), answer)])


def another_protocol() -> bytes:
    """Return a request as a browser sends it."""
    return b"GET / HTTP/1.1\r\nHost: device\r\n\r\n"


TIMED: tuple[tuple[str, str, Lie, Time], ...] = (
    ("silent", "falls silent", silence, lambda d: d.silence),
    ("silent_for_300_ms", "is silent for 300 ms", silent_for(0.3), lambda d: d.silence),
    ("giant_part", "sends a message part of 3 MiB", giant, lambda d: d.silence),
)
CASES = (
    *(
        HostileCase(
            f"device_{name}.{run}",
            "device",
            f"The device {what}.",
            device_lies(run, lie, declared, 1.5),
            UNHEARD,
        )
        for name, what, lie, declared in TIMED
        for run in RUNS
    ),
    *(
        HostileCase(
            f"device_vanishes.{run}",
            "device",
            "The device vanishes while it applies torque.",
            vanishes(run),
            UNHEARD,
        )
        for run in RUNS
    ),
    HostileCase(
        "device_comes_again_under_torque.ankle",
        "device",
        "The device vanishes, and another one that calls itself armed comes at once.",
        comes_again_under_torque,
        UNHEARD,
    ),
    HostileCase(
        "device_floods.free",
        "device",
        "The device sends 20 000 messages a second, then falls silent.",
        device_lies(
            "free", lambda told, m: floods(told, m) if m.s < 1.0 else [], lambda d: 1000.0 + d.silence, 2.5
        ),
        UNHEARD,
    ),
    HostileCase(
        "device_second.ankle",
        "device",
        "A second device sends other values at the same time as the first.",
        beside("ankle", second_device, lambda rig: still_armed(rig) or unmoved(rig)),
        ("second device",),
    ),
    HostileCase(
        "device_strangers_flood.ankle",
        "device",
        "A stranger sends random bytes to the device's endpoint.",
        beside("ankle", pouring(b"DEALER", lambda: frame(b"device", more=True) + frame(bytes(200))), unmoved),
    ),
    HostileCase(
        "device_200_silent_connections.ankle",
        "device",
        "200 silent connections are open to the device's endpoint.",
        beside("ankle", silent(200), still_armed),
    ),
    HostileCase(
        "device_other_protocol.ankle",
        "device",
        "A web browser connects to the device's endpoint.",
        beside("ankle", pouring(b"REQ", another_protocol), still_armed),
    ),
    HostileCase(
        "device_drips.ankle",
        "device",
        "A message of the device arrives byte by byte and never ends.",
        drips,
    ),
    HostileCase(
        "device_armed_without.ankle",
        "device",
        "A person arms after the device has left.",
        armed_without_device,
        ("not armed",),
    ),
)
