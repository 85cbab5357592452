"""Conversations of several packets in one input: each behind its length, mutated one by one."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from random import Random

from benchmarks.fuzz.mutation.raw import mutated_bytes

LENGTH = struct.Struct("<I")
MOST_PACKETS = 64


def joined(packets: Iterable[bytes]) -> bytes:
    """Join packets to one input."""
    return b"".join(LENGTH.pack(len(packet)) + packet for packet in packets)


def parted(data: bytes) -> list[bytes]:
    """Return the packets of an input; a truncated last packet is shorter than its length field says."""
    found: list[bytes] = []
    at = 0
    while at + LENGTH.size <= len(data) and len(found) < MOST_PACKETS:
        (n,) = LENGTH.unpack_from(data, at)
        at += LENGTH.size
        found.append(data[at : at + n])
        at += n
    return found


def mutated_packets(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return a conversation with damaged, doubled, exchanged or missing packets."""
    packets = parted(data)
    if not packets or random.random() < 0.1:
        return mutated_bytes(data, others, random)
    at = random.randrange(len(packets))
    kind = random.randrange(6)
    if kind == 0:
        packets.insert(at, packets[random.randrange(len(packets))])
    elif kind == 1:
        del packets[at]
    elif kind == 2 and others:
        packets.insert(at, random.choice(parted(random.choice(others)) or [b""]))
    else:
        packets[at] = mutated_bytes(packets[at], packets, random)
    return joined(packets)
