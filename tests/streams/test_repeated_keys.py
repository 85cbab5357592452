"""Maps in which a key comes twice: of two readers one takes the first, the other the last."""

from __future__ import annotations

import msgspec
import pytest

from streams.codec import decode, encode
from streams.errors import DecodeError
from streams.messages import Command, Device, Output

pack = msgspec.msgpack.encode


def pairs(*entries: tuple[str, bytes]) -> bytes:
    """A map of these entries, the values encoded already."""
    return bytes([0x80 + len(entries)]) + b"".join(pack(key) + value for key, value in entries)


def command(args: bytes, *more: tuple[str, bytes]) -> list[bytes]:
    """A command with these encoded arguments."""
    head = ("v", pack(1)), ("type", pack("command")), ("name", pack("set")), ("args", args)
    return [b"command", pairs(*head, *more)]


ONE, TWO = pairs(("torque", pack(1.0))), pairs(("torque", pack(1.0)), ("torque", pack(9.0)))


@pytest.mark.parametrize(
    "parts",
    [
        command(ONE, ("name", pack("arm"))),
        command(ONE, ("args", ONE)),
        command(TWO),
        command(pairs(("deep", TWO))),
        command(pairs(("list", b"\x92" + ONE + TWO))),
        command(pairs(("list", b"\xdc\x00\x01" + b"\xde\x00\x02" + TWO[1:]))),
        command(pairs(("list", b"\xdd\x00\x00\x00\x01" + b"\xdf\x00\x00\x00\x02" + TWO[1:]))),
    ],
)
def test_a_command_with_a_key_twice_is_none(parts):
    """Protects whoever wears a device: nobody guesses which of two values was meant."""
    with pytest.raises(DecodeError, match="a key occurs twice"):
        decode(parts)


def test_a_command_whose_keys_come_once_in_each_map_is_one():
    """Protects good commands: the same key in another map is no repetition."""
    args = pairs(("torque", pack(1.0)), ("deep", pairs(("torque", pack(2.0)), ("list", b"\x92" + ONE + ONE))))
    message = decode(command(args))
    assert isinstance(message, Command)
    assert message.args == {
        "torque": 1.0, "deep": {"torque": 2.0, "list": [{"torque": 1.0}, {"torque": 1.0}]}
    }  # fmt: skip


LISTS = {"torque": [1.0], "angle": [0.0], "speed": [0.0], "torque_max": [2.0]}


@pytest.mark.parametrize(
    "message",
    [
        Device(session="0" * 16, seq=0, t=0, state="disarmed", **LISTS),
        Output(
            session="0" * 16, seq=0, t_sent=0, valid_for_ms=1.0, armed=False, time=0.0, tick_ms=1.0, **LISTS
        ),
    ],
)
def test_torque_that_is_stated_twice_is_none(message):
    """Protects what follows a measurement or an output: such a message is malformed."""
    topic, payload = encode(message)
    assert decode([topic, payload]) == message
    entries = msgspec.msgpack.decode(payload)
    head = b"\xde" + (len(entries) + 1).to_bytes(2, "big")
    body = b"".join(pack(name) + pack(value) for name, value in entries.items())
    with pytest.raises(DecodeError, match="a key occurs twice"):
        decode([topic, head + body + pack("torque") + pack([9.0])])
