"""Cases with models whose outputs are impossible: numbers, types, sessions, order, stamps; and limits that
must hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.hil_hostile.case import Act, HostileCase
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.scenarios import model_says, on_all
from benchmarks.hil_hostile.victims import Victim, Victims
from benchmarks.hil_hostile.wire import Keys, Parts, packed
from streams.clock import now_ns

OLD = ("old", "session", "older", "stopped")
OWN_LIMIT_NM = 30.0
"""Torque limit of the simulated device and of the example clients [N m]."""
HOUR_NS = 3600 * 10**9


def changed(**keys: Any) -> Callable[[Victim], Keys | Parts]:
    """Return outputs with other values of some keys."""
    return lambda v: v.output(**keys)


def without(key: str) -> Callable[[Victim], Keys | Parts]:
    """Return outputs without a key."""
    return lambda v: {k: value for k, value in v.output().items() if k != key}


def made(make: Callable[[Keys], Parts]) -> Callable[[Victim], Keys | Parts]:
    """Return whole messages made from outputs."""
    return lambda v: make(v.output())


def same_number(v: Victim) -> Keys:
    """Repeat the newest number again and again, with a valid stamp."""
    return {**v.output(), "seq": 5}


def of_another_run(v: Victim) -> Keys:
    """Return an armed output of another session."""
    return v.output(session="abcdef0123456789")


ENDS: dict[str, tuple[str, Callable[[Victim], Keys | Parts]]] = {
    "torque_max_negative": ("a torque_max of -1000 N m", changed(torque_max=[-1000.0])),
    "torque_max_a_little_negative": ("a torque_max of -0.001 N m", changed(torque_max=[-0.001])),
    "torque_max_no_number": ("a torque_max that is not a number", changed(torque_max=[math.nan])),
    "torque_max_infinite": ("an infinite torque_max", changed(torque_max=[math.inf])),
    "torque_max_as_text": ("a torque_max as text", changed(torque_max=["20"])),
    "torque_max_missing": ("no torque_max", without("torque_max")),
    "torque_no_number": ("a torque that is not a number", changed(torque=[math.nan])),
    "torque_infinite": ("an infinite torque", changed(torque=[math.inf])),
    "torque_true": ("a torque that is true or false", changed(torque=[True])),
    "torque_huge_number": ("a torque of 10^400 as a whole number", made(lambda o: huge_number(o))),
    "lists_empty": ("empty lists", changed(torque=[], torque_max=[], angle=[], speed=[])),
    "lists_of_two_lengths": ("lists of two lengths", changed(torque=[5.0, 5.0])),
    "lists_of_17": (
        "lists of 17 joints",
        changed(torque=[5.0] * 17, torque_max=[20.0] * 17, angle=[0.0] * 17, speed=[0.0] * 17),
    ),
    "valid_for_1e9_ms": ("a time to live of 1e9 ms", changed(valid_for_ms=1e9)),
    "valid_for_1001_ms": ("a time to live of 1001 ms", changed(valid_for_ms=1001.0)),
    "valid_for_zero": ("a time to live of zero", changed(valid_for_ms=0.0)),
    "valid_for_negative": ("a negative time to live", changed(valid_for_ms=-60.0)),
    "valid_for_no_number": ("a time to live that is not a number", changed(valid_for_ms=math.nan)),
    "armed_2": ("armed = 2", changed(armed=2)),
    "armed_1": ("armed = 1", changed(armed=1)),
    "armed_as_text": ("armed as text", changed(armed="true")),
    "armed_missing": ("no armed", without("armed")),
    "type_wrong": ("another type", changed(type="device")),
    "type_missing": ("no type", made(lambda o: [b"output", msgspec.msgpack.encode({"v": 1, **o})])),
    "topic_wrong": ("another topic", made(lambda o: [b"outputs", packed("output", o)[1]])),
    "version_2": ("version 2", changed(v=2)),
    "version_as_text": ("the version as text", changed(v="1")),
    "version_true": ("a version that is true or false", changed(v=True)),
    "session_short": ("a session of four digits", changed(session="abcd")),
    "session_of_others": ("the session of another run, armed", of_another_run),
    "session_no_digits": ("a session without digits", changed(session="g" * 16)),
    "seq_negative": ("a negative sequence number", changed(seq=-1)),
    "seq_as_float": (
        "a sequence number that is a decimal number",
        lambda v: {**v.output(), "seq": float(v.seq)},
    ),
    "seq_again": ("the same sequence number again and again", same_number),
    "seq_back": ("sequence numbers that go back", lambda v: {**v.output(), "seq": max(0, 60 - v.seq)}),
    "sent_in_the_future": ("a time stamp an hour ahead", lambda v: v.output(t_sent=now_ns() + HOUR_NS)),
    "sent_long_ago": ("a time stamp two seconds old", lambda v: v.output(t_sent=now_ns() - 2 * 10**9)),
    "stamp_as_float": ("a time stamp that is a decimal number", lambda v: v.output(t_sent=float(now_ns()))),
    "stamp_negative": ("a negative time stamp", changed(t_sent=-1)),
    "nil": ("nil instead of the torque", changed(torque=None)),
    "extension": ("an extension type as torque", changed(torque=[msgspec.msgpack.Ext(1, b"12345678")])),
    "rubbish": ("rubbish", made(lambda o: [b"output", b"\xc1" * 500])),
    "one_part": ("one part", made(lambda o: [b"output"])),
    "three_parts": ("three parts", made(lambda o: [*packed("output", o), b"more"])),
    "no_map": ("a list instead of the map", made(lambda o: [b"output", b"\x93\x01\x02\x03"])),
}


def huge_number(output: Keys) -> Parts:
    """Return a torque that no float can represent: the largest integer, in a list of its own type."""
    text = packed("output", {**output, "torque": [2**64 - 1]})
    return [text[0], text[1].replace(b"\xcf" + b"\xff" * 8, b"\xc1" + b"\xff" * 8)]


def within(limit_Nm: float, **keys: Any) -> Act:
    """Check that torque stays within a limit, whatever the outputs say; it may continue."""

    def act(lab: RunningModels) -> Any:
        return on_all(lab, lambda all_: all_.go_on(0.6, **keys), lambda v, since: limited(v, limit_Nm))

    return act


def limited(victim: Victim, limit_Nm: float) -> str:
    """Return a complaint if a device applies more than a limit, else ""."""
    most = max((abs(sample.torque) for sample in victim.torque), default=0.0)
    return (
        f"{victim.name} applies {most:.4g} N m where {limit_Nm:g} are allowed"
        if most > limit_Nm + 0.1
        else ""
    )


def lowered(lab: RunningModels) -> Any:
    """Lower torque_max from 20 to 1 N m under torque: after 100 ms the torque must be within it."""

    def act(all_: Victims) -> None:
        all_.go_on(0.1, torque_max=[1.0])
        for victim in all_.all:
            victim.torque.clear()
        all_.go_on(0.4, torque_max=[1.0])

    return on_all(lab, act, lambda v, since: limited(v, 1.0))


def not_armed(lab: RunningModels) -> Any:
    """Send outputs with armed = false and 5 N m: no torque."""

    def act(all_: Victims) -> None:
        all_.go_on(0.1, armed=False)
        for victim in all_.all:
            victim.torque.clear()
        all_.go_on(0.3, armed=False)

    return on_all(lab, act, lambda v, since: limited(v, 0.0))


CASES = (
    *(
        HostileCase(f"model_{name}", "model", f"The model sends {what}.", model_says(say), OLD)
        for name, (what, say) in ENDS.items()
    ),
    HostileCase(
        "model_torque_1e6",
        "model",
        "The model commands 1e6 N m with a torque_max of 1e9.",
        within(OWN_LIMIT_NM, torque=[1e6], torque_max=[1e9]),
    ),
    HostileCase(
        "model_torque_beyond_its_limit",
        "model",
        "The model commands 50 N m, more than its own torque_max of 20.",
        within(20.0, torque=[50.0]),
    ),
    HostileCase("model_torque_max_zero", "model", "The model allows no torque and commands 5 N m.", lowered),
    HostileCase("model_disarmed_with_torque", "model", "The model commands 5 N m and disarmed.", not_armed),
    HostileCase(
        "model_unknown_keys",
        "model",
        "The model sends unknown keys, which are ignored.",
        within(OWN_LIMIT_NM, torque_min=[-1e9], boost=True),
    ),
    HostileCase(
        "model_angle_1e300",
        "model",
        "The model's joint is at 1e300 rad.",
        within(OWN_LIMIT_NM, angle=[1e300]),
    ),
    HostileCase(
        "model_tick_ms_1e9",
        "model",
        "The model states a time step of 1e9 ms and asks for answers.",
        within(OWN_LIMIT_NM, tick_ms=1e9, answer=True),
    ),
    HostileCase(
        "model_tick_ms_negative",
        "model",
        "The model states a time step of -10 ms and asks for answers.",
        within(OWN_LIMIT_NM, tick_ms=-10.0, answer=True),
    ),
    HostileCase(
        "model_tick_ms_zero",
        "model",
        "The model states a time step of zero and asks for answers.",
        within(OWN_LIMIT_NM, tick_ms=0.0, answer=True),
    ),
)
