"""Decodes blocks of Vicon's DataStream (CGStream): tracked objects and their positions, as arrays.

A block begins with a number that marks it as a list of objects, OBJECTS, and its size in bytes. Each object
in it begins with its kind and its size. All numbers are little-endian, lists begin with their count of
elements, and texts with their count of bytes. The fields are those in the source of Vicon's DataStream SDK
1.11 (ViconCGStream/*.h, MIT licence). Unknown objects are skipped by their size, and so are fields that newer
versions append to known objects.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import ByteReader, as_doubles, malformed

OBJECTS = 0x1A2B0001
OBJECT_ENUMS = 100001
REQUEST_FRAME = 100002
CONTENTS = 100004
STREAM_INFO = 1
SUBJECT_INFO = 2
DEVICE_INFO = 3
CHANNEL_INFO = 4
FRAME_INFO = 5
LABELLED_RECONS = 6
UNLABELLED_RECONS = 7
FORCE_FRAME = 10
MOMENT_FRAME = 11
PRESSURE_FRAME = 12
FORCE_PLATE_INFO = 20
TIMECODE = 23
LATENCY_INFO = 26
HARDWARE_FRAME_INFO = 36
APPLICATION_INFO = 37
DEVICE_INFO_EXTRA = 38
PING = 42
STATIC = frozenset(
    (
        STREAM_INFO, SUBJECT_INFO, DEVICE_INFO, DEVICE_INFO_EXTRA, CHANNEL_INFO, FORCE_PLATE_INFO,
        APPLICATION_INFO,
    )
)  # fmt: skip
"""Kinds of objects that are sent only when they change, and otherwise listed as unchanged."""
WANTED = STATIC | {
    FRAME_INFO, LABELLED_RECONS, UNLABELLED_RECONS, FORCE_FRAME, MOMENT_FRAME, PRESSURE_FRAME,
    LATENCY_INFO, HARDWARE_FRAME_INFO, PING,
}  # fmt: skip
"""Kinds that are asked for, where the server has them, besides CONTENTS."""

HEADER = struct.Struct("<II")
LARGEST_BLOCK = 1 << 22
"""Bytes of a block; a frame of a thousand markers has 120 thousand of them."""
TICKS_PER_S = 135_000_000
"""Periods are told in ticks of a clock of 135 MHz."""
SHORTEST_PERIOD, LONGEST_PERIOD = TICKS_PER_S // 100_000, 10 * TICKS_PER_S
"""Periods that are believed, of frames of cameras and devices [ticks]."""

LABELLED = np.dtype(
    [
        ("subject", "<u4"),
        ("marker", "<u4"),
        ("radius", "<f8"),
        ("position", "<f8", 3),
        ("covariance", "<f8", 9),
        ("trajectory", "<u4"),
    ]
)
UNLABELLED = np.dtype(
    [("radius", "<f8"), ("position", "<f8", 3), ("covariance", "<f8", 9), ("trajectory", "<u4")]
)
_NUMBERS = np.dtype("<u4")
_FLOATS = np.dtype("<f4")
_COUNT = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")
_I64 = struct.Struct("<q")


class ViconSubject(NamedTuple):
    """A person or thing that is tracked: number, name, and number -> name of its markers."""

    number: int
    name: str
    markers: dict[int, str]


class DeviceSamples(NamedTuple):
    """Samples of one channel of a device in one of the device's own frames : (n_component, n_sample), with
    the numbers of this frame, device and channel.
    """

    frame: int
    device: int
    channel: int
    samples: NDArray[np.float32]


class PlatePose(NamedTuple):
    """The pose of a force plate: number of its device, translation (3,) [mm] and rotation (3, 3) from its
    axes to the world's axes, and the bounds of its surface (2, 3) [mm].
    """

    device: int
    translation: NDArray[np.float64]
    rotation: NDArray[np.float64]
    bounds: NDArray[np.float64]


def objects(block: bytes) -> list[tuple[int, int, int]]:
    """Split a block into its objects; return for each its kind, and the offsets in the block at which its
    content begins and ends.

    Raises DecodeError if the sizes of the objects do not fit into the block.
    """
    if len(block) < HEADER.size:
        raise malformed(f"the data block has {len(block)} bytes, but its header alone needs {HEADER.size}")
    tag, n_byte = HEADER.unpack_from(block)
    at, end = HEADER.size, HEADER.size + n_byte
    if tag != OBJECTS or end > len(block):
        raise malformed(
            f"the data block has {len(block)} bytes, but begins with {tag:#x} and states a length of "
            f"{n_byte} bytes"
        )
    found = []
    unpack, size = HEADER.unpack_from, HEADER.size
    while at < end:
        if at + size > end:
            raise malformed(f"{end - at} bytes follow the last object")
        kind, n_byte = unpack(block, at)
        at += size
        if at + n_byte > end:
            raise malformed(f"an object of {n_byte} bytes is announced, but only {end - at} bytes are left")
        found.append((kind, at, at + n_byte))
        at += n_byte
    return found


def block(*parts: tuple[int, bytes]) -> bytes:
    """Build a block of objects, each given by kind and content."""
    content = b"".join(HEADER.pack(kind, len(body)) + body for kind, body in parts)
    return HEADER.pack(OBJECTS, len(content)) + content


def numbers(values: frozenset[int] | set[int]) -> bytes:
    """Encode a set of integers, such as kinds of requested data."""
    return struct.pack(f"<I{len(values)}I", len(values), *sorted(values))


def read_numbers(reader: ByteReader) -> frozenset[int]:
    """Read a set of integers."""
    return frozenset(reader.array(_NUMBERS, reader.count(4)).tolist())


def read_unchanged(reader: ByteReader) -> frozenset[int]:
    """Return the kinds of the data in a frame that are unchanged, and therefore not sent again."""
    reader.skip(8 * reader.count(8))  # how many objects of each kind there are, which the block shows itself
    return read_numbers(reader)


def read_period(reader: ByteReader) -> int:
    """Read the period of frames [ticks]; 0 for an impossible one."""
    ticks = int(_I64.unpack_from(reader.data, reader.skip(8))[0])
    return ticks if SHORTEST_PERIOD <= ticks <= LONGEST_PERIOD else 0


def read_subject(reader: ByteReader) -> ViconSubject:
    """Read a subject, without its segments."""
    number, name = reader.u32(), reader.counted()
    for _ in range(reader.count(36)):
        reader.skip(8 + 24)
        reader.counted()
    markers = {}
    for _ in range(reader.count(8)):
        marker = reader.u32()
        markers[marker] = reader.counted()
    return ViconSubject(number, name, markers)


def read_device(reader: ByteReader) -> tuple[int, int, str]:
    """Read a device: number, period of its frames [ticks], 0 for an impossible one, and name."""
    return reader.u32(), read_period(reader), reader.counted()


def read_device_start(reader: ByteReader) -> tuple[int, int]:
    """Read when frame 0 of a device began: number of the device, and time after frame 0 of the cameras
    [ticks].
    """
    return reader.u32(), reader.u64()


def read_channel(reader: ByteReader) -> tuple[int, int, tuple[str, ...]]:
    """Read a channel: device, number, names of its components."""
    device, channel = reader.u32(), reader.u32()
    reader.counted()
    return device, channel, tuple(reader.counted() for _ in range(reader.count(4)))


def read_plate(reader: ByteReader) -> PlatePose:
    """Read the pose of a force plate."""
    device = reader.u32()
    values = as_doubles(reader.array(_FLOATS, 18))
    if not np.isfinite(values).all():
        raise malformed("the position of a force plate is not a number")
    return PlatePose(device, values[:3], values[3:12].reshape(3, 3), values[12:].reshape(2, 3))


def read_samples(reader: ByteReader) -> DeviceSamples:
    """Read the samples of a channel of three components."""
    frame, device, channel = reader.u32(), reader.u32(), reader.u32()
    n = reader.count(4)
    samples = reader.array(_FLOATS, n)
    return DeviceSamples(frame, device, channel, samples[: n - n % 3].reshape(3, n // 3))


def read_latency_s(reader: ByteReader) -> float:
    """Read the sum of the delays that the server states [s]; 0 where it is not a possible time."""
    total = 0.0
    for _ in range(reader.count(12)):
        reader.skip(reader.u32())  # its name
        total += float(_DOUBLE.unpack_from(reader.data, reader.skip(8))[0])
    return total if 0.0 <= total <= 10.0 else 0.0


def read_recons(block: bytes, start: int, end: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the labelled or unlabelled markers in a part of a block as an array (n,) of the dtype `kind`, a
    view of the block; start, end : offsets of the part
    """
    if end - start < 4:
        raise malformed("the number of markers is missing in a list")
    n = _COUNT.unpack_from(block, start)[0]
    if n * kind.itemsize > end - start - 4:
        raise malformed(f"the block announces {n} markers, but has only {end - start} bytes for them")
    return np.frombuffer(block, kind, n, start + 4)
