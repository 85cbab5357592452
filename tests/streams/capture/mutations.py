"""Damaged packets: bytes changed, cut out, doubled and put in, from a seed; what a decoder does with them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np

from streams.errors import DecodeError

LARGE = (0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(packet: bytes, random: np.random.Generator) -> bytes:
    """A packet with one to four faults; some are numbers of four bytes that would be counts."""
    data = bytearray(packet)
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(0, max(1, len(data))))
        kind = int(random.integers(0, 6))
        if kind == 0:
            data[at : at + 1] = bytes((int(random.integers(0, 256)),))
        elif kind == 1:
            number = LARGE[int(random.integers(0, len(LARGE)))]
            data[at : at + 4] = number.to_bytes(4, "little")
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at : at + int(random.integers(1, 64))]
        elif kind == 4:
            data[at:at] = data[at : at + int(random.integers(1, 64))]
        else:
            data[at:at] = random.bytes(int(random.integers(1, 16)))
    return bytes(data)


def survived(decode: Callable[[bytes], object], packets: Sequence[bytes], n: int, seed: int = 0) -> int:
    """Decode n damaged packets; how many were refused by DecodeError. Anything else that is raised is raised,
    and memory that grows beyond a megabyte fails.
    """
    random = np.random.default_rng(seed)
    n_refused = 0
    tracemalloc.start()
    try:
        for k in range(n):
            packet = mutated(packets[k % len(packets)], random)
            try:
                decode(packet)
            except DecodeError:
                n_refused += 1
            if k == n // 2:
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1e6, "memory grew"
    assert peak - before < 1e7, "a packet made memory grow for a moment"
    return n_refused
