"""Mutations of bytes: changed, truncated, doubled, inserted, spliced; numbers at their extremes."""

from __future__ import annotations

import struct
from random import Random

WHOLE = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62)
REALS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e9, 1e38, 1e300, float("inf"), float("-inf"), float("nan"))
LONGEST_PIECE = 64


def mutated_bytes(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return bytes with one to four faults; others : inputs to splice with."""
    found = bytearray(data)
    for _ in range(random.randint(1, 4)):
        _damage(found, others, random)
    return bytes(found)


def _damage(data: bytearray, others: list[bytes], random: Random) -> None:
    """Damage data in place; half of the faults are in its head, which contains the counts."""
    reach = len(data) if random.random() < 0.5 else min(len(data), 1024)
    at = random.randrange(reach + 1)
    n = random.randint(1, LONGEST_PIECE)
    kind = random.randrange(9)
    if kind == 0:
        data[at : at + 1] = bytes((random.randrange(256),))
    elif kind == 1:
        data[at : at + 1] = bytes((data[at] ^ 1 << random.randrange(8),)) if at < len(data) else b"\0"
    elif kind == 2:
        number = number_bytes(random)
        data[at : at + len(number)] = number
    elif kind == 3:
        del data[at:]
    elif kind == 4:
        del data[at : at + n]
    elif kind == 5:
        data[at:at] = data[at : at + n] * random.choice((1, 1, 2, 30))
    elif kind == 6:
        data[at:at] = random.randbytes(n)
    elif kind == 7:
        other = random.choice(others) if others else b""
        start = random.randrange(len(other) + 1)
        data[at : at + n] = other[start : start + random.choice((n, len(other)))]
    else:
        place = random.randrange(len(data) + 1)
        piece = data[place : place + n]
        data[at : at + n] = piece


def number_bytes(random: Random) -> bytes:
    """Return a number at its extremes, of 1 to 8 bytes, in either byte order."""
    order = random.choice("<<>")
    if random.random() < 0.3:
        value, size = random.choice(REALS), random.choice("fd")
        if size == "f" and 3.4e38 < abs(value) < float("inf"):
            value = 3e38
        return struct.pack(order + size, value)
    n = random.choice((1, 2, 4, 4, 8))
    number = (random.choice(WHOLE) + random.choice((0, 0, 1, -1))) % (1 << 8 * n)
    return number.to_bytes(n, "little" if order == "<" else "big")
