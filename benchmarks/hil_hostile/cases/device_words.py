"""Cases with devices whose messages are impossible: numbers, types, sessions, order, clocks, states."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from benchmarks.hil_hostile.case import HostileCase
from benchmarks.hil_hostile.device import Lie, Moment
from benchmarks.hil_hostile.scenarios import Time, device_lies
from benchmarks.hil_hostile.wire import Keys, Parts, packed

UNHEARD = ("answer", "older than", "silent", "no word", "malformed", "not understood")


def says(**changed: Any) -> Lie:
    """Send other values of some keys."""
    return lambda told, m: [{**told, **changed}]


def without(key: str) -> Lie:
    """Leave a key out."""
    return lambda told, m: [{k: v for k, v in told.items() if k != key}]


def raw(make: Any) -> Lie:
    """Send a whole message made from the honest one."""
    return lambda told, m: [make(told)]


def replays(told: Keys, m: Moment) -> list[Keys]:
    """Send the first message of the lie, byte for byte, again and again."""
    if m.n == 0:
        m.device.kept = dict(told)
    return [m.device.kept]


def answers_the_future(told: Keys, m: Moment) -> list[Keys]:
    """Answer an output that has not been sent yet."""
    return [{**told, "command": told["command"] + 500}]


def leaps_in_seq(told: Keys, m: Moment) -> list[Keys]:
    """Send message numbers that leap by a million at each message."""
    return [{**told, "seq": told["seq"] + 1_000_000 * (m.n + 1)}]


def falls_and_is_armed(told: Keys, m: Moment) -> list[Keys]:
    """Send two messages at a time: the first has fallen, the second is as if nothing had been."""
    seq, t = 2 * told["seq"], told["t"]
    fell = {"state": "falling", "fault": "too hot", "seq": seq, "t": t - 1000}
    return [{**told, **fell}, {**told, "seq": seq + 1}]


def nothing_finite(told: Keys) -> Parts:
    """Send an angle that is NaN."""
    return packed("device", {**told, "angle": [math.nan]})


def extension(told: Keys) -> Parts:
    """Send an angle of an extension type."""
    return packed("device", {**told, "angle": msgspec.msgpack.Ext(5, b"12345678")})


def deep(told: Keys) -> Parts:
    """Send an angle nested a thousand deep."""
    head = msgspec.msgpack.encode({"v": 1, "type": "device"})[1:]
    return [b"device", b"\x83" + head + b"\xa5angle" + b"\x91" * 1000 + b"\x00"]


UNREADABLE: dict[str, tuple[str, Lie]] = {
    "angle_is_no_number": ("sends an angle that is not a number", raw(nothing_finite)),
    "angle_infinite": ("sends an infinite angle", says(angle=[math.inf])),
    "torque_is_no_number": ("sends a torque that is not a number", says(torque=[math.nan])),
    "angle_as_text": ("sends its angle as text", says(angle=["0.1"])),
    "angle_as_number": ("sends its angle as a number instead of a list", says(angle=0.1)),
    "angle_extension": ("sends its angle as an extension type of msgpack", raw(extension)),
    "angle_deep": ("sends an angle in a thousand nested lists", raw(deep)),
    "no_angles": ("tells empty lists", says(angle=[], speed=[], torque=[], actuator=[])),
    "seq_as_float": (
        "numbers its messages with decimal numbers",
        lambda told, m: [{**told, "seq": float(told["seq"])}],
    ),
    "seq_negative": ("numbers its messages with negative numbers", says(seq=-5)),
    "clock_negative": ("has a negative time stamp", says(t=-5)),
    "state_unknown": ("sends a state that does not exist", says(state="ready")),
    "state_left_out": ("does not send its state", without("state")),
    "version_2": ("speaks version 2", says(v=2)),
    "type_wrong": ("marks its messages as outputs of the model", says(type="output")),
    "topic_wrong": ("sends under another topic", raw(lambda told: [b"output", packed("device", told)[1]])),
    "three_parts": ("sends three parts", raw(lambda told: [*packed("device", told), b"more"])),
    "rubbish": ("sends rubbish", raw(lambda told: [b"device", b"\xc1" * 200])),
    "session_of_others": ("answers in the session of another run", says(session="f" * 16)),
    "session_empty": ("answers in no session", says(session="")),
    "replays": ("sends one message again and again", replays),
    "answers_the_future": ("answers outputs that were never sent", answers_the_future),
}
IMPOSSIBLE: dict[str, tuple[str, Lie, Time, tuple[str, ...]]] = {
    "two_joints": (
        "has two joints",
        says(angle=[0.1, 0.1], speed=[0.0, 0.0], torque=[0.0, 0.0], actuator=[0.0, 0.0]),
        lambda d: d.tick,
        ("joints",),
    ),
    "angle_huge": (
        "measures an angle of 1e300 rad",
        says(angle=[1e300]),
        lambda d: d.tick,
        ("outside", "leaps"),
    ),
    "speed_huge": ("measures a speed of 50 rad/s", says(speed=[50.0]), lambda d: d.tick, ("deg/s",)),
    "torque_huge": ("applies 500 N m", says(torque=[500.0]), lambda d: d.tick, ("n m",)),
    "falls": (
        "reports a fault of its own",
        says(state="falling", fault="too hot"),
        lambda d: d.tick,
        ("too hot",),
    ),
    "stops": (
        "ends its session",
        says(state="stopped", fault="cable"),
        lambda d: d.tick,
        ("cable",),
    ),
    "fell_and_is_armed": (
        "reports that it is armed, together with the cause of a fault",
        says(fault="too hot"),
        lambda d: d.tick,
        ("too hot",),
    ),
    "takes_its_fall_back": (
        "reports a fault in one message, and in the next, which arrives with it, that it is armed",
        falls_and_is_armed,
        lambda d: d.tick,
        ("too hot",),
    ),
    "says_it_is_disarmed": (
        "reports that it is disarmed while it is commanded to be armed",
        says(state="disarmed"),
        lambda d: d.patience,
        ("commanded to arm",),
    ),
    "state_flickers": (
        "is armed in one message and disarmed in the next",
        lambda told, m: [{**told, "state": ("armed", "disarmed")[m.n % 2]}],
        lambda d: 1000.0,
        ("armed", "state"),
    ),
    "clock_stands": (
        "has a clock that stands still",
        says(t=7_000_000_000),
        lambda d: d.patience,
        ("clock", "stood still"),
    ),
}
CLOCKS: dict[str, tuple[str, Lie]] = {
    "clock_100_times_too_fast": (
        "has a clock that is a hundred times too fast",
        lambda told, m: [{**told, "t": told["t"] + round(99e9 * m.s)}],
    ),
    "clock_half_as_fast": (
        "has a clock that is half as fast",
        lambda told, m: [{**told, "t": told["t"] - round(0.5e9 * m.s)}],
    ),
    "clock_goes_back": (
        "has a clock that runs backwards",
        lambda told, m: [{**told, "t": told["t"] - round(2e9 * m.s)}],
    ),
    "clock_to_and_fro": (
        "has a clock that goes forwards and backwards by 20 ms",
        lambda told, m: [{**told, "t": told["t"] + 20_000_000 * (m.n % 2)}],
    ),
    "clock_leaps": (
        "has a clock that jumps by an hour now and then",
        lambda told, m: [{**told, "t": told["t"] + 3600 * 10**9 * (m.n // 50)}],
    ),
    "clock_huge": (
        "has a clock near the largest number of 64 bits",
        lambda told, m: [{**told, "t": 2**63 - 10**9 + m.n}],
    ),
}
RUNS = ("ankle", "free")
CASES = (
    *(
        HostileCase(
            f"device_{name}.ankle",
            "device",
            f"The device {what}.",
            device_lies("ankle", lie, lambda d: d.silence),
            UNHEARD,
        )
        for name, (what, lie) in UNREADABLE.items()
    ),
    *(
        HostileCase(
            f"device_{name}.{run}",
            "device",
            f"The device {what}.",
            device_lies(run, lie, declared, 1.5),
            words,
        )
        for name, (what, lie, declared, words) in IMPOSSIBLE.items()
        for run in RUNS
        if run == "ankle" or name not in ("two_joints", "torque_huge", "stops")
    ),
    *(
        HostileCase(
            f"device_{name}.free",
            "device",
            f"The device {what}.",
            device_lies("free", lie, lambda d: d.clock, 2.5),
            ("clock",),
        )
        for name, (what, lie) in CLOCKS.items()
    ),
    HostileCase(
        "device_seq_leaps.ankle",
        "device",
        "The sequence numbers of the device's messages jump.",
        device_lies("ankle", leaps_in_seq, lambda d: d.silence),
        (*UNHEARD, "lost", "out of order"),
    ),
)
