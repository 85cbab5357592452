"""Reads little-endian fields of an untrusted packet, within its bounds."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.errors import DecodeError

LONGEST_NAME = 256
"""Largest number of bytes of a name of a marker, subject or channel, as in NatNet."""

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")


def malformed(text: str) -> DecodeError:
    """Return the error for a packet whose fields contradict its length."""
    return DecodeError("malformed", text)


class ByteReader:
    """A position in a packet that advances with every field that is read.

    Parameters
    ----------
    data : the packet
    start, end : the part of it that is read; by default to the end of the packet

    Every method raises DecodeError if the field would go beyond `end`. Each count in the packet is compared
    with the remaining bytes before memory is allocated for it.
    """

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = start
        self.end = len(data) if end is None else end
        if not 0 <= self.at <= self.end <= len(data):
            raise malformed(
                f"a part is said to lie at bytes {start} to {end} of a packet of {len(data)} bytes"
            )

    @property
    def left(self) -> int:
        """Number of remaining bytes."""
        return self.end - self.at

    def skip(self, n_byte: int) -> int:
        """Advance by this many bytes; return the offset at which they begin."""
        start = self.at
        if n_byte < 0 or n_byte > self.end - start:
            raise malformed(f"{n_byte} bytes should follow, but only {self.end - start} are left")
        self.at = start + n_byte
        return start

    def u8(self) -> int:
        """Read one byte."""
        return self.data[self.skip(1)]

    def u16(self) -> int:
        """Read an unsigned number of two bytes."""
        return int(_U16.unpack_from(self.data, self.skip(2))[0])

    def u32(self) -> int:
        """Read an unsigned number of four bytes."""
        return int(_U32.unpack_from(self.data, self.skip(4))[0])

    def i32(self) -> int:
        """Read a signed number of four bytes."""
        return int(_I32.unpack_from(self.data, self.skip(4))[0])

    def u64(self) -> int:
        """Read an unsigned number of eight bytes."""
        return int(_U64.unpack_from(self.data, self.skip(8))[0])

    def count(self, n_byte: int) -> int:
        """Read the number of items of a list that follows. DecodeError if so many items, of at least `n_byte`
        bytes each, do not fit into the rest of the packet.
        """
        n = self.u32()
        if n * n_byte > self.left:
            raise malformed(
                f"{n} items of at least {n_byte} bytes are announced, and the packet has {self.left} bytes "
                "left"
            )
        return n

    def array(self, kind: np.dtype[Any], n: int) -> NDArray[Any]:
        """Read n values of a type, as a view of the packet, which must be copied to be kept."""
        return np.frombuffer(self.data, kind, n, self.skip(n * kind.itemsize))

    def terminated(self) -> str:
        """Read a name that ends with a byte of zero."""
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise malformed("a name in the packet has no zero byte at its end")
        text = as_text(self.data[self.at : stop])
        self.at = stop + 1
        return text

    def counted(self) -> str:
        """Read a name that follows its number of bytes."""
        n = self.count(1)
        start = self.skip(n)
        return as_text(self.data[start : start + n])


@np.errstate(invalid="ignore")  # a NaN that signals, as only a stranger sends it
def as_doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers of a packet as a copy in double precision."""
    return values.astype(np.float64)


def as_text(raw: bytes) -> str:
    """Decode a name: UTF-8, or Latin 1 where it is not valid UTF-8, as older programs write it."""
    if len(raw) > LONGEST_NAME:
        raise malformed(f"a name has {len(raw)} bytes; at most {LONGEST_NAME} are allowed")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
