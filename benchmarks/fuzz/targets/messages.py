"""Targets for messages of our own protocol: decoded, answered, exchanged with a device."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from benchmarks.fuzz.judge import sentence_fault
from benchmarks.fuzz.seeds import walking
from benchmarks.fuzz.target import FuzzTarget, require
from streams.codec import FieldLayout, decode, encode
from streams.control.emergency_stop import answer_to
from streams.control.held_connection import read_answer
from streams.exchange import ExchangeIntake, OutputIntake
from streams.messages import (
    AnyMessage,
    Command,
    Device,
    End,
    Markers,
    Output,
    Result,
    Session,
    Telemetry,
    force_session,
    marker_session,
)

ID = "0123456789abcdef"
NOW_NS = 1 << 40
LARGEST_COUNT = (1 << 63) - 1


def messages() -> list[AnyMessage]:
    """Return one message of each kind, and some descriptors."""
    trial = walking()
    session = msgspec.structs.replace(
        marker_session(trial.names, rate=100.0, t_start=5, meta={"note": ["a", {"b": 1.5}]}), session=ID
    )
    data = FieldLayout(session).pack({"positions": trial.positions[0]})
    corners = [[[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, 0.0, 0.6], [0.0, 0.0, 0.6]]] * 2
    forces = force_session(("left", "right"), 10, rate=100.0, sample_rate=1000.0, t_start=1, corners=corners)
    return [
        session,
        msgspec.structs.replace(forces, session=ID),
        Markers(session=ID, seq=1, t_capture=2, time=0.01, data=data),
        Result(session=ID, seq=1, t_capture=2, time=0.01, data=data, t_received=1, t_solved=2, t_published=3,
               status=1, iterations=3, residual=0.1),
        Telemetry(session=ID, t=1, counters={"lost": 1}, gauges={"ok": 1.0}, text=["A sentence."]),
        Command(name="arm", args={"joint": "ankle", "torque_max": 3.0}),
        Output(session=ID, seq=4, t_sent=NOW_NS - 1, valid_for_ms=20.0, armed=True, time=0.1, tick_ms=1.0,
               torque=[1.0], torque_max=[5.0], angle=[0.1], speed=[0.0]),
        Device(session=ID, seq=4, t=9, command=3, angle=[0.1], speed=[0.0], torque=[1.0], actuator=[1.0],
               torque_max=[5.0], state="armed"),
        End(session=ID, seq=9, reason="over"),
    ]  # fmt: skip


def payloads() -> list[bytes]:
    """Return the payloads of those messages."""
    return [encode(message)[1] for message in messages()]


def topic_of(payload: bytes) -> bytes:
    """Return the topic that a payload itself states, as an attacker would write it."""
    try:
        kind = msgspec.msgpack.decode(payload).get("type", "markers")
        return str(kind).encode("utf-8", "replace")
    except (msgspec.MsgspecError, AttributeError, ValueError, RecursionError):
        return b"markers"


def feed_codec(payload: bytes) -> None:
    """Check that decoded messages are encoded to bytes that decode to the same message, and that numbers are
    possible ones.
    """
    message = decode([topic_of(payload), payload])
    parts = encode(message)
    require(encode(decode(parts)) == parts, "a message that is decoded and encoded becomes another one")
    for name in ("seq", "t_capture", "t", "t_start", "t_sent"):
        number = getattr(message, name, 0)
        require(0 <= number <= LARGEST_COUNT, f"{name} is {number}")
    if isinstance(message, Session):
        check_session(message)
    elif isinstance(message, (Output, Device)):
        numbers = [*message.torque, *message.angle, *message.speed, *message.torque_max]
        require(all(map(math.isfinite, numbers)), "a device's number is not finite")
        require(all(x >= 0.0 for x in message.torque_max), "a largest torque below zero")
    elif hasattr(message, "time"):
        require(math.isfinite(message.time), f"time is {message.time}")


def check_session(session: Session) -> None:
    """Check that a frame of a descriptor can be laid out, packed and read back."""
    require(0.0 <= session.rate < math.inf, f"the rate is {session.rate}")
    layout = FieldLayout(session)
    values = layout.views(np.arange(layout.n_value, dtype=float))
    data = layout.pack(values)
    out = layout.views(np.zeros(layout.n_value))
    require(layout.unpack_into(data, out) is None, "a packed frame does not fit its descriptor")
    require(all((out[name] == values[name]).all() for name in values), "a frame's numbers have changed")


def feed_answer(payload: bytes) -> None:
    """Check that the answer to any command is a proper message."""
    done, sentence = read_answer([topic_of(payload), payload], "tcp://127.0.0.1:5562")
    require(isinstance(done, bool), "a command is neither executed nor refused")
    require(not sentence_fault(sentence), f"an answer is {sentence_fault(sentence)}")


def feed_exchange(payload: bytes) -> None:
    """Check that messages of a device or a model are used, or counted and reported, and never raise an
    error.
    """
    for intake in (OutputIntake(), ExchangeIntake(Device)):
        check_intake(intake, [topic_of(payload), payload])


def check_intake(intake: ExchangeIntake[Any], parts: list[bytes]) -> None:
    """Check that of two identical messages the second one is never used."""
    first = intake.accept(parts, NOW_NS)
    second = intake.accept(parts, NOW_NS + 1)
    require(second is None, "the same message was used twice")
    counted = sum(n for name, n in intake.counters.items() if name != "lost")
    require(counted == 2, f"{counted} of 2 messages are counted")
    require(first is None or intake.counters["received"] == 1, "a message is used and not counted")
    intake.events.flush(NOW_NS + (1 << 40))
    for sentence in intake.events.sentences:
        require(not sentence_fault(sentence), f"an event is {sentence_fault(sentence)}")


def feed_stop(datagram: bytes) -> None:
    """Check that the answer to an emergency stop is never longer than the stop, nor answered itself."""
    answer = answer_to(datagram)
    require(len(answer) <= len(datagram), "an answer is longer than its stop")
    require(answer_to(answer) == b"", "an answer is answered")


TARGETS = (
    FuzzTarget("codec", feed_codec, payloads, form="msgpack", megabytes=64.0),
    FuzzTarget("answers", feed_answer, payloads, form="msgpack", megabytes=64.0, weight=0.5),
    FuzzTarget("exchange", feed_exchange, payloads, form="msgpack", megabytes=64.0),
    FuzzTarget("stops", feed_stop, lambda: [b"rtsim stop 0123456789abcdef", b"rtsim stopped "], weight=0.2),
)
