"""Outputs that a device must take, and messages that it must refuse: the table of docs/protocol.md."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgpack

from streams.clock import now_ns
from streams.exchange import LARGEST_OUTPUT
from tests.rtsim.live.test_device_clients import RUN

LONG = 1000.0
"""Time to live [ms]."""
TRIED = 9.0
"""Torque of the table [N m]."""
pack = msgpack.packb


class Case(NamedTuple):
    """A message: an output that is right in all but this.

    changed : bytes that stand for the value of a key, or what makes it; None = the key is left out
    build : makes the parts of the payload otherwise
    """

    name: str
    taken: bool
    changed: dict[str, Any] = {}  # noqa: RUF012
    build: Callable[[bytes], Sequence[bytes]] = lambda payload: (b"output", payload)


def good(name: str, build: Any = None, **changed: Any) -> Case:
    """Return a message that must be taken."""
    return _case(name, True, build, changed)


def bad(name: str, build: Any = None, **changed: Any) -> Case:
    """Return a message that must be refused."""
    return _case(name, False, build, changed)


def _case(name: str, taken: bool, build: Any, changed: dict[str, Any]) -> Case:
    raw = {
        key: value if isinstance(value, bytes) or value is None or callable(value) else pack(value)
        for key, value in changed.items()
    }
    return Case(name, taken, raw) if build is None else Case(name, taken, raw, build)


def longer(*entries: tuple[bytes, bytes]) -> Callable[[bytes], Sequence[bytes]]:
    """Return what adds entries, as their bytes, to the map."""

    def build(payload: bytes) -> Sequence[bytes]:
        assert payload[0] & 0xF0 == 0x80
        head = b"\xde" + struct.pack(">H", (payload[0] & 0x0F) + len(entries))
        return b"output", head + payload[1:] + b"".join(key + value for key, value in entries)

    return build


def entry(key: str, value: Any) -> tuple[bytes, bytes]:
    """Return an entry of a map as bytes."""
    return pack(key), pack(value)


def of(topic: bytes, *parts: bytes | None) -> Callable[[bytes], Sequence[bytes]]:
    """Return what makes a message of these parts; None stands for the payload."""
    return lambda payload: (topic, *(payload if part is None else part for part in parts))


def float32(x: float) -> bytes:
    """Return a float of four bytes."""
    return b"\xca" + struct.pack(">f", x)


def uint64(n: int) -> bytes:
    """Return a whole number of eight bytes without a sign."""
    return b"\xcf" + struct.pack(">Q", n)


NAN, INF, TRUE, NIL = pack(float("nan")), pack(float("inf")), b"\xc3", b"\xc0"
EXT, TIMESTAMP = b"\xd4\x05\x00", b"\xd6\xff\x00\x00\x00\x01"
FUTURE = 3_600_000_000_000
DEEP, ENDLESS = b"\x91" * 7 + b"\x90", b"\x91" * 3000 + b"\x90"
TABLE = (
    good("plain"),
    good("without answer", answer=None),
    good("a key that nobody knows", longer(entry("colour", "red"))),
    good("nil, which is not used, where nobody knows the key", longer((pack("x"), NIL))),
    good("an extension where nobody knows the key", longer((pack("x"), EXT))),
    good("a list in a list where nobody knows the key", longer((pack("x"), DEEP))),
    good("a map of numbers where nobody knows the key", longer((pack("x"), b"\x81\x01\x02"))),
    good("bytes where nobody knows the key", longer((pack("x"), b"\xc4\x02\xff\xfe"))),
    good(
        "a map with a head of four bytes", lambda p: (b"output", b"\xdf\0\0\0" + bytes([p[0] & 15]) + p[1:])
    ),
    good(
        "the largest that there may be",
        lambda p: longer(
            (pack("x"), b"\xc5" + struct.pack(">H", n := LARGEST_OUTPUT - len(p) - 7) + bytes(n))
        )(p),
    ),
    good("a float of four bytes", torque=b"\x91" + float32(TRIED), valid_for_ms=float32(900.0)),
    good(
        "whole numbers in the place of floats",
        torque=[9],
        torque_max=[20],
        valid_for_ms=900,
        time=2,
        angle=[0],
    ),
    good("whole numbers below zero", torque=[-9], speed=[-1], angle=[-2], time=-3),
    good("a torque of eight bytes without a sign", torque=b"\x91" + uint64(9)),
    good("a list with a head of three bytes", torque=b"\xdc\x00\x01" + pack(TRIED)),
    good("the longest time", valid_for_ms=1000.0, tick_ms=1000.0),
    good("a model that began before zero", time=-5.0),
    good("no torque at the most", torque_max=[0.0]),
    good("minus zero at the most", torque_max=[-0.0]),
    good("a torque beyond its own limit, which is cut", torque=[1e6], torque_max=[9.0]),
    good("the greatest limit, which the device's own is below", torque_max=[1.7e308]),
    good("answer said false", answer=False),
    bad("version 2", v=2),
    bad("version 0", v=0),
    bad("version -1", v=-1),
    bad("version 1.0", v=1.0),
    bad("version true", v=True),
    bad("version in words", v="1"),
    bad("no version", v=None),
    bad("a version of eight bytes", v=uint64(2**64 - 1)),
    bad("another type", type="device"),
    bad("a type in capitals", type="Output"),
    bad("no type", type=None),
    bad("a type in bytes", type=b"\xc4\x06output"),
    bad("a type with an end of line", type="output\n"),
    bad("a type that is nil", type=NIL),
    bad("a session of 15 digits", session=RUN[:15]),
    bad("a session of 17 digits", session=RUN + "0"),
    bad("a session in capitals", session=RUN.upper()),
    bad("a session of other letters", session="g" * 16),
    bad("no session", session=None),
    bad("an empty session", session=""),
    bad("a session number", session=7),
    bad("a session in bytes", session=b"\xc4\x10" + RUN.encode()),
    bad("a session with an end of line", session=RUN + "\n"),
    bad("its last digit none", session=RUN[:15] + "\n"),
    bad("a session of foreign digits", session="\u0661" * 8),
    bad("a session with a zero byte", session=RUN[:15] + "\0"),
    bad("a number below zero", seq=-1),
    bad("a number that is a float", seq=7.0),
    bad("a number that is a float of four bytes", seq=float32(7.0)),
    bad("a number in words", seq="7"),
    bad("a number beyond 2^63", seq=uint64(2**63)),
    bad("the greatest number of eight bytes", seq=uint64(2**64 - 1)),
    bad("a number that is true", seq=True),
    bad("no number", seq=None),
    bad("a number that is nil", seq=NIL),
    bad("a number that leaps to the last", seq=2**63 - 1),
    bad("a number that leaps by a million", seq=10**6 + 7),
    bad("sent in the future", t_sent=lambda: now_ns() + FUTURE),
    bad("sent below zero", t_sent=-1),
    bad("sent at a float", t_sent=lambda: float(now_ns())),
    bad("sent beyond 2^63", t_sent=uint64(2**63 + 5)),
    bad("not sent", t_sent=None),
    bad("sent true", t_sent=True),
    bad("valid for nothing", valid_for_ms=0.0),
    bad("valid for nothing, whole", valid_for_ms=0),
    bad("valid for less", valid_for_ms=-20.0),
    bad("valid for less, whole", valid_for_ms=-20),
    bad("valid for more than a second", valid_for_ms=1000.5),
    bad("valid for ever", valid_for_ms=INF),
    bad("valid for ever, nearly", valid_for_ms=1e308),
    bad("valid for a year, whole", valid_for_ms=31_536_000_000),
    bad("valid for no number", valid_for_ms=NAN),
    bad("valid for true", valid_for_ms=True),
    bad("valid for words", valid_for_ms="20"),
    bad("valid for a list", valid_for_ms=[20.0]),
    bad("no time to live", valid_for_ms=None),
    bad("a time to live that is nil", valid_for_ms=NIL),
    bad("armed 2", armed=2),
    bad("armed 1", armed=1),
    bad("armed 1.0", armed=1.0),
    bad("armed in words", armed="true"),
    bad("armed nil", armed=NIL),
    bad("not said whether armed", armed=None),
    bad("armed in a list", armed=[True]),
    bad("armed -1", armed=-1),
    bad("answer 1", answer=1),
    bad("answer nil", answer=NIL),
    bad("answer in words", answer="yes"),
    bad("a time that is none", time=NAN),
    bad("an infinite time", time=INF),
    bad("no time", time=None),
    bad("a time that is true", time=True),
    bad("a tick of nothing", tick_ms=0.0),
    bad("a tick below zero", tick_ms=-2.0),
    bad("no tick", tick_ms=None),
    bad("a tick of more than a second", tick_ms=1001),
    bad("a tick that is none", tick_ms=NAN),
    bad("no torque", torque=None),
    bad("torque of no joint", torque=[]),
    bad("torque of two joints", torque=[9.0, 9.0]),
    bad("torque that is none", torque=b"\x91" + NAN),
    bad("infinite torque", torque=b"\x91" + INF),
    bad("infinite torque of four bytes", torque=b"\x91" + float32(float("-inf"))),
    bad("torque without a list", torque=TRIED),
    bad("torque in a list in a list", torque=[[TRIED]]),
    bad("torque that is true", torque=[True]),
    bad("torque that is nil", torque=[None]),
    bad("torque in words", torque=["9"]),
    bad("torque in bytes", torque=b"\xc4\x08" + struct.pack("<d", TRIED)),
    bad("torque in a map", torque={"0": TRIED}),
    bad("torque as an extension", torque=EXT),
    bad("torque as a stamp", torque=b"\x91" + TIMESTAMP),
    bad("a limit below zero", torque_max=[-1000.0]),
    bad("a limit below zero, whole", torque_max=[-1000]),
    bad("a limit just below zero", torque_max=[-1e-300]),
    bad("a limit that is none", torque_max=b"\x91" + NAN),
    bad("no end to the limit", torque_max=b"\x91" + INF),
    bad("no limit", torque_max=None),
    bad("a limit of no joint", torque_max=[]),
    bad("limits of two joints", torque_max=[20.0, 20.0]),
    bad("a limit that is true", torque_max=[True]),
    bad("a limit without a list", torque_max=20.0),
    bad("angles of two joints", angle=[0.0, 0.0]),
    bad("no angle", angle=None),
    bad("an empty angle", angle=[]),
    bad("an angle that is none", angle=b"\x91" + NAN),
    bad("a speed without end", speed=b"\x91" + INF),
    bad("no speed", speed=None),
    bad("a speed in words", speed="0"),
    bad(
        "all lists of two joints",
        torque=[9.0, 9.0],
        torque_max=[20.0, 20.0],
        angle=[0.0, 0.0],
        speed=[0.0, 0.0],
    ),
    bad("a byte after the map", lambda p: (b"output", p + b"\0")),
    bad("a second map after the map", lambda p: (b"output", p + p)),
    bad("the map cut off", lambda p: (b"output", p[:-1])),
    bad("half of the map", lambda p: (b"output", p[: len(p) // 2])),
    bad("an empty payload", of(b"output", b"")),
    bad("nil for a map", of(b"output", NIL)),
    bad("an empty map", of(b"output", b"\x80")),
    bad("rubbish", of(b"output", b"\xc1" * 200)),
    bad(
        "a list of pairs for a map",
        lambda p: (b"output", pack([[k, v] for k, v in msgpack.unpackb(p).items()])),
    ),
    bad("a list of keys and values", lambda p: (b"output", b"\xdc\x00\x1c" + p[1:])),
    bad("a limit twice, the second wider", longer(entry("torque_max", [1000.0]))),
    bad("a limit twice, the second below zero", longer(entry("torque_max", [-1000.0]))),
    bad("armed twice", longer(entry("armed", True))),
    bad("a key that nobody knows twice", longer(entry("x", 1), entry("x", 1))),
    bad("a key that is a number", longer((b"\x07", b"\x07"))),
    bad("a key that is nil", longer((NIL, b"\x07"))),
    bad("a key in bytes", longer((b"\xc4\x01x", b"\x07"))),
    bad("lists in lists without end", longer((pack("x"), ENDLESS))),
    bad("one part", of(b"output")),
    bad("one part, the payload", lambda p: (p,)),
    bad("three parts", of(b"output", None, b"")),
    bad("three parts, two of them payloads", of(b"output", None, None)),
    bad("an empty part before", of(b"", b"output", None)),
    bad("an empty topic", of(b"", None)),
    bad("a topic in capitals", of(b"Output", None)),
    bad("a topic that goes on", of(b"outputs", None)),
    bad("a topic that ends early", of(b"outpu", None)),
    bad("a topic with a zero byte", of(b"output\0", None)),
    bad("the topic of another type", of(b"device", None)),
    bad("four parts", of(b"output", *[b"x"] * 3)),
    bad("two empty parts", of(b"", b"")),
    bad("larger than an output may be", longer((pack("x"), b"\xc5\x10\x00" + bytes(LARGEST_OUTPUT)))),
    bad("larger by far", longer((pack("x"), b"\xc5\xe0\x00" + bytes(0xE000)))),
)


def parts_of(case: Case, seq: int, armed: bool = True) -> list[bytes]:
    """Return a message of the table as it goes over the wire now."""
    values: dict[str, Any] = {
        "v": 1, "type": "output", "session": RUN, "seq": seq, "t_sent": now_ns(), "valid_for_ms": LONG,
        "armed": armed, "answer": True, "time": 0.5, "tick_ms": 10.0, "torque": [TRIED],
        "torque_max": [20.0], "angle": [0.1], "speed": [0.0],
    }  # fmt: skip
    raw = {key: pack(value) for key, value in values.items()}
    for key, value in case.changed.items():
        if value is None:
            del raw[key]
        else:
            raw[key] = value if isinstance(value, bytes) else pack(value())
    payload = bytes([0x80 | len(raw)]) + b"".join(pack(key) + value for key, value in raw.items())
    return [bytes(part) for part in case.build(payload)]
