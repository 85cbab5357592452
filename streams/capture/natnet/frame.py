"""A frame of OptiTrack's NatNet, versions 3.0 to 4.2: bytes to arrays.

The order of the parts: frame number; marker sets; other markers; rigid bodies; skeletons; assets (4.1);
labelled markers; force plates; devices; stamps. From version 4.1 on the number of bytes of a part follows
its count (NaturalPoint's NatNet SDK 4.1, PythonSample/NatNetClient.py).
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import ByteReader, malformed
from streams.capture.natnet.messages import FRAME, HEADER, Version, opened

LABELLED = np.dtype(
    [
        ("number", "<i4"),
        ("position", "<f4", 3),
        ("size", "<f4"),
        ("params", "<u2"),
        ("residual", "<f4"),
    ]
)
"""A labelled marker; also a marker of an asset."""
OCCLUDED = 1
"""Bit of a labelled marker's `params`: occluded; the position is computed from a model."""
UNLABELLED = 16
"""Bit of a labelled marker's `params`: visible, but part of no marker set."""
RECORDING = 1
MODELS_CHANGED = 2
"""Bit of a frame's `params`: the list of what is tracked has changed."""

_BODY = 38
"""Bytes of a rigid body: number, place, quaternion, error, params."""
_SMALLEST_SET = 5
_SMALLEST_SKELETON = 8
_SMALLEST_PLATE = 8
_STAMPS_3 = struct.Struct("<IIdQQQH")
_STAMPS_4 = struct.Struct("<IIdQQQIIH")
_ONE = struct.Struct("<I")
_TWO = struct.Struct("<II")
_FLOATS = np.dtype("<f4")
_NO_ASSETS: dict[int, NDArray[Any]] = {}


class NatNetPlateSamples(NamedTuple):
    """Samples of a force plate since the previous frame: its number, and the samples of each channel."""

    number: int
    channels: tuple[NDArray[np.float32], ...]


class NatNetFrame(NamedTuple):
    """One frame of markers and force plates of NatNet. All arrays are views of the packet.

    number : frame number; some servers repeat it or keep it constant
    sets : name of each marker set as sent -> (n, 3) positions [m]
    labelled : (n,) labelled markers, of the dtype LABELLED; assets : number of the asset -> (n,) of its
        markers
    plates : samples of force plates
    timecode, subframe : SMPTE time code as packed by the server; 0 = none
    time : since the server began [s]
    exposed, received, sent : stamps of the middle of the exposure, of the data's arrival in the server's
        computer, and of the sending of the packet [ticks]
    params : bits RECORDING, MODELS_CHANGED
    """

    number: int
    sets: dict[bytes, NDArray[np.float32]]
    labelled: NDArray[Any]
    assets: dict[int, NDArray[Any]]
    plates: tuple[NatNetPlateSamples, ...]
    timecode: int
    subframe: int
    time: float
    exposed: int
    received: int
    sent: int
    params: int


def decode_frame(packet: bytes, version: Version) -> NatNetFrame:
    """Read a frame from a server of that version (3.0 or later).

    Raises DecodeError for any other packet, and for one whose fields contradict its length.
    """
    kind, end = opened(packet)
    if kind != FRAME:
        raise malformed(f"the server sent a message of kind {kind} instead of a frame")
    if version < (3, 0):
        raise malformed(
            f"the frame is of NatNet {version[0]}.{version[1]}; only 3.0 and later can be read, which Motive "
            "2 and later send"
        )
    sized = version >= (4, 1)
    reader = ByteReader(packet, HEADER.size, end)
    number = reader.u32()
    sets = _sets(reader, sized)
    _skip_rows(reader, sized, 12)  # other markers, which are among the labelled ones, too
    _skip_rows(reader, sized, _BODY)
    _skip_skeletons(reader, sized)
    assets = _assets(reader) if sized else _NO_ASSETS
    n, _ = _begun(reader, sized, LABELLED.itemsize)
    labelled = reader.array(LABELLED, n)
    plates = _plates(reader, sized)
    _skip_channels(reader, sized)
    stamps = _STAMPS_4 if version >= (4, 0) else _STAMPS_3
    values = stamps.unpack_from(packet, reader.skip(stamps.size))
    timecode, subframe, time, exposed, received, sent = values[:6]
    return NatNetFrame(
        number=number,
        sets=sets,
        labelled=labelled,
        assets=assets,
        plates=plates,
        timecode=timecode,
        subframe=subframe,
        time=time,
        exposed=exposed,
        received=received,
        sent=sent,
        params=values[-1],
    )


def _begun(reader: ByteReader, sized: bool, n_least: int) -> tuple[int, int]:
    """Read the head of a part of a frame. Return the number of its items, and the offset at which the part
    ends, or -1 if the head does not state it.

    sized : whether the head states the size of the part; n_least : least size of an item [bytes]
    """
    at = reader.at
    if sized:
        if at + 8 > reader.end:
            raise malformed("a part of the frame ends before its number of items")
        n, n_byte = _TWO.unpack_from(reader.data, at)
        at += 8
        stop = at + n_byte
        if stop > reader.end:
            raise malformed(
                f"a part of {n_byte} bytes is announced, but only {reader.end - at} bytes are left"
            )
    else:
        if at + 4 > reader.end:
            raise malformed("a part of the frame ends before its number of items")
        (n,) = _ONE.unpack_from(reader.data, at)
        at, stop = at + 4, -1
    if n * n_least > reader.end - at:
        raise malformed(
            f"{n} items of at least {n_least} bytes are announced, and the packet has {reader.end - at} "
            "bytes left"
        )
    reader.at = at
    return n, stop


def _sets(reader: ByteReader, sized: bool) -> dict[bytes, NDArray[np.float32]]:
    n_set, stop = _begun(reader, sized, _SMALLEST_SET)
    data, sets = reader.data, {}
    for _ in range(n_set):
        zero = data.find(b"\0", reader.at, reader.end)
        if zero < 0:
            raise malformed("a name in the packet has no zero byte at its end")
        name = data[reader.at : zero]
        reader.at = zero + 1
        n = reader.count(12)
        sets[name] = reader.array(_FLOATS, 3 * n).reshape(n, 3)
    if stop >= 0:
        reader.at = stop
    return sets


def _skip_rows(reader: ByteReader, sized: bool, n_byte: int) -> None:
    n, stop = _begun(reader, sized, n_byte)
    reader.at = stop if stop >= 0 else reader.at + n * n_byte


def _skip_skeletons(reader: ByteReader, sized: bool) -> None:
    n, stop = _begun(reader, sized, _SMALLEST_SKELETON)
    if stop >= 0:
        reader.at = stop
        return
    for _ in range(n):
        reader.skip(4)
        reader.skip(_BODY * reader.count(_BODY))


def _assets(reader: ByteReader) -> dict[int, NDArray[Any]]:
    n, stop = _begun(reader, True, 12)
    if n == 0:
        reader.at = stop
        return _NO_ASSETS
    found = {}
    for _ in range(n):
        number = reader.i32()
        reader.skip(_BODY * reader.count(_BODY))
        found[number] = reader.array(LABELLED, reader.count(LABELLED.itemsize))
    reader.at = stop
    return found


def _plates(reader: ByteReader, sized: bool) -> tuple[NatNetPlateSamples, ...]:
    n, stop = _begun(reader, sized, _SMALLEST_PLATE)
    if n == 0:
        if stop >= 0:
            reader.at = stop
        return ()
    found = []
    for _ in range(n):
        number = reader.i32()
        channels = [reader.array(_FLOATS, reader.count(4)) for _ in range(reader.count(4))]
        found.append(NatNetPlateSamples(number, tuple(channels)))
    if stop >= 0:
        reader.at = stop
    return tuple(found)


def _skip_channels(reader: ByteReader, sized: bool) -> None:
    n, stop = _begun(reader, sized, _SMALLEST_PLATE)
    if stop >= 0:
        reader.at = stop
        return
    for _ in range(n):
        reader.skip(4)
        for _ in range(reader.count(4)):
            reader.skip(4 * reader.count(4))
