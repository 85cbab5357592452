"""Messages of a server, damaged at random by a seed: wrong bytes, impossible counts."""

from __future__ import annotations

import numpy as np

COUNTS = (0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
LOST_ONE_IN = 1000
"""One message in so many is damaged where it states a length, after which the next message cannot be
found."""


def damaged(message: bytes, random: np.random.Generator, n_head: int) -> bytes:
    """Return a message of the same length with one to four faults.

    n_head : number of bytes at its front by which the next message is found [1]
    """
    data = bytearray(message)
    first = 0 if random.integers(0, LOST_ONE_IN) == 0 else n_head
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(first, max(first + 1, len(data))))
        if random.integers(0, 2):
            data[at : at + 1] = bytes([int(random.integers(0, 256))])
        else:
            count = COUNTS[int(random.integers(0, len(COUNTS)))].to_bytes(4, "little")
            data[at : at + 4] = count[: len(data) - at]
    return bytes(data)
