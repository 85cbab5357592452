"""Messages of Qualisys' real-time protocol as bytes, little-endian; a data packet decoded into arrays.

Every message consists of its total size (uint32), its type (uint32) and its body. Sources: the open client
libraries of Qualisys (qtm-rt 3.1.0 and qualisys_cpp_sdk, MIT).
"""

from __future__ import annotations

import math
from struct import Struct
from typing import NamedTuple

import numpy as np

from streams.capture.records import MOST_MARKERS, MOST_PLATES, FloatArray

HEADER = Struct("<II")
DATA_HEADER = Struct("<qII")
COUNT, THREE = Struct("<i"), Struct("<iii")
MARKER_HEADER = Struct("<Ihh")
FLOAT = np.dtype("<f4")

ERROR, COMMAND, XML, DATA, NO_MORE_DATA, EVENT, DISCOVER = 0, 1, 2, 3, 4, 6, 7
"""Types of messages that matter here."""
MARKERS, UNNAMED, FORCE, MARKERS_RES, UNNAMED_RES, FORCE_SINGLE, TIMECODE = 1, 2, 4, 9, 10, 15, 17
"""Types of components of a data packet."""
MARKER_WORDS = {MARKERS: 3, UNNAMED: 4, MARKERS_RES: 4, UNNAMED_RES: 5}
"""Words of 4 bytes of each marker; the first three are x, y, z [mm]."""
FORCE_WORDS = 9
"""Numbers in a sample: force [N], moment [N m], application point."""
MOST_BYTES = 1 << 20
"""Longest message that is believed."""
MOST_SAMPLES = 1024
EVENTS = {
    1: "the program is connected to its cameras", 2: "the connection to the cameras is closed",
    3: "the capture has begun", 4: "the capture is over", 5: "the measured data were fetched",
    6: "a calibration has begun", 7: "the calibration is over",
    8: "real-time output from a file has begun", 9: "real-time output from a file is over",
    10: "the capture waits for a trigger", 11: "camera settings were changed", 12: "QTM is shutting down",
    13: "the capture was saved", 14: "reprocessing has begun", 15: "reprocessing is over",
    16: "a trigger has come",
}  # fmt: skip


class MalformedPacketError(ValueError):
    """Raised for a data packet whose lengths and counts contradict each other."""


class QtmPlateSamples(NamedTuple):
    """Samples of a plate that came with a frame.

    number : number of the first sample
    values : (n, 9) force [N], moment [N m], application point [unit of the XML settings]
    """

    plate: int
    number: int
    values: FloatArray


class DataPacket(NamedTuple):
    """A data packet of QTM: one frame of markers and force samples.

    stamp_us, number : time since the measurement began [us]; frame number, which is unreliable
    markers : (n, 3) - [mm], in the order of the labels, NaN = missing; None = not in the packet
    unnamed : (n, 3) - [mm], trajectories without a label; None = not in the packet
    dropped, out_of_sync : number of frames per thousand, in the last second, that were dropped or not
        synchronised
    plates : samples of each force plate
    timecodes : time codes as (type, high, low) (`decode_timecodes`)
    """

    stamp_us: int
    number: int
    markers: FloatArray | None
    unnamed: FloatArray | None
    dropped: int
    out_of_sync: int
    plates: list[QtmPlateSamples]
    timecodes: list[tuple[int, int, int]]


def message(kind: int, text: str) -> bytes:
    """Build a text message: a command or an error."""
    body = text.encode("utf-8") + b"\0"
    return HEADER.pack(HEADER.size + len(body), kind) + body


@np.errstate(invalid="ignore")  # a NaN that signals, as only a stranger sends it
def decode_data(body: memoryview) -> DataPacket:
    """Decode a data packet without its header of 8 bytes; MalformedPacketError if lengths contradict each
    other.

    Unknown components are skipped.
    """
    if len(body) < DATA_HEADER.size:
        raise MalformedPacketError(f"the data packet has only {len(body)} bytes")
    stamp_us, number, _ = DATA_HEADER.unpack_from(body)
    markers = unnamed = None
    dropped = out_of_sync = 0
    plates: list[QtmPlateSamples] = []
    timecodes: list[tuple[int, int, int]] = []
    start, end = DATA_HEADER.size, len(body)
    while start < end:
        if end - start < HEADER.size:
            raise MalformedPacketError("a component of the packet ends before its header")
        size, kind = HEADER.unpack_from(body, start)
        if not HEADER.size <= size <= end - start:
            raise MalformedPacketError(
                f"the packet announces a component of {size} bytes, but has only {end - start} bytes left"
            )
        part = body[start + HEADER.size : start + size]
        if kind in (MARKERS, MARKERS_RES):
            markers, dropped, out_of_sync = decode_markers(part, MARKER_WORDS[kind])
        elif kind in (UNNAMED, UNNAMED_RES):
            unnamed, dropped, out_of_sync = decode_markers(part, MARKER_WORDS[kind])
        elif kind in (FORCE, FORCE_SINGLE):
            plates = decode_forces(part, single=kind == FORCE_SINGLE)
        elif kind == TIMECODE:
            timecodes = decode_timecodes(part)
        start += size
    return DataPacket(
        stamp_us=stamp_us,
        number=number,
        markers=markers,
        unnamed=unnamed,
        dropped=dropped,
        out_of_sync=out_of_sync,
        plates=plates,
        timecodes=timecodes,
    )


def decode_markers(part: memoryview, n_word: int) -> tuple[FloatArray, int, int]:
    """Decode positions (n, 3) [mm], and the numbers of frames per thousand that were dropped or out of sync.

    part : bytes of this component of a data packet
    n_word : number of 4-byte words of each marker; the first three are x, y, z
    """
    if len(part) < MARKER_HEADER.size:
        raise MalformedPacketError("the number of markers is missing")
    n, dropped, out_of_sync = MARKER_HEADER.unpack_from(part)
    if n > MOST_MARKERS or len(part) < MARKER_HEADER.size + 4 * n_word * n:
        raise MalformedPacketError(f"{n} markers do not fit into {len(part)} bytes")
    rows = np.frombuffer(part, FLOAT, n * n_word, MARKER_HEADER.size).reshape(n, n_word)[:, :3]
    positions = rows.astype(np.float64)
    if n and not math.isfinite(positions.sum()):
        # NaN stands in x of a missing marker, whatever is in y and z
        positions[~np.isfinite(positions).all(axis=1)] = np.nan
    return positions, dropped, out_of_sync


def decode_forces(part: memoryview, single: bool) -> list[QtmPlateSamples]:
    """Decode the samples of all plates.

    part : bytes of this component of a data packet
    single : whether each plate has one sample, without a number
    """
    if len(part) < COUNT.size:
        raise MalformedPacketError("the number of force plates is missing")
    (n_plate,) = COUNT.unpack_from(part)
    if not 0 <= n_plate <= MOST_PLATES:
        raise MalformedPacketError(f"{n_plate} force plates")
    plates, start = [], COUNT.size
    head = COUNT if single else THREE
    for _ in range(n_plate):
        if len(part) - start < head.size:
            raise MalformedPacketError("the header of a force plate is missing")
        plate, n, number = (
            (*head.unpack_from(part, start), 1, 0)[:3] if single else head.unpack_from(part, start)
        )
        start += head.size
        n_byte = 4 * FORCE_WORDS * n
        if not 0 <= n <= MOST_SAMPLES or len(part) - start < n_byte:
            raise MalformedPacketError(f"{n} samples of a force plate do not fit into the packet")
        values = np.frombuffer(part, FLOAT, FORCE_WORDS * n, start).reshape(n, FORCE_WORDS)
        plates.append(QtmPlateSamples(plate, number, values.astype(np.float64)))
        start += n_byte
    return plates


def decode_timecodes(part: memoryview) -> list[tuple[int, int, int]]:
    """Decode the time codes in a component of a data packet to (type, high, low), where high and low are two
    32-bit words; type 0 = SMPTE, 1 = IRIG, 2 = camera time.
    """
    if len(part) < COUNT.size:
        raise MalformedPacketError("the number of time codes is missing")
    (n,) = COUNT.unpack_from(part)
    code = Struct("<iII")
    if not 0 <= n <= 16 or len(part) < COUNT.size + n * code.size:
        raise MalformedPacketError(f"{n} time codes")
    return [code.unpack_from(part, COUNT.size + k * code.size) for k in range(n)]
