"""NatNet messages (3.0 to 4.2) other than frames: the server's description of itself, and of what it tracks.

Every message begins with two unsigned numbers of two bytes: its kind, and the number of bytes that follow.
All numbers are little-endian. The fields are those in NaturalPoint's NatNet SDK 4.1
(PythonSample/NatNetClient.py).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import ByteReader, as_doubles, malformed
from streams.capture.records import MOST_MARKERS

CONNECT = 0
SERVER_INFO = 1
REQUEST = 2
RESPONSE = 3
REQUEST_DEFINITIONS = 4
DEFINITIONS = 5
FRAME = 7
TEXT = 8
DISCONNECT = 9
KEEP_ALIVE = 10
ECHO_REQUEST = 12
ECHO_RESPONSE = 13
DISCOVERY = 14
UNRECOGNISED = 100

COMMAND_PORT = 1510
DATA_PORT = 1511
GROUP = "239.255.42.99"
"""Multicast group of Motive 2 and later."""

_FLOATS = np.dtype("<f4")
HEADER = struct.Struct("<HH")
LONGEST_PACKET = 65_535
NAME_BYTES = 256
"""Field of the application's name in the server's answer."""
FASTEST_TICKS = 10**10
"""Ticks per second of a clock, at the most; Windows counts 10^7 of them, processors up to some 10^9."""

Version = tuple[int, int]


class ServerInfo(NamedTuple):
    """The server's description of itself.

    application : its name and version in words
    version : version of NatNet, major and minor
    tick_rate : rate of its clock [1/s]; 0 = unknown, as before NatNet 3
    data_port, multicast, group : where frames are sent
    """

    application: str
    version: Version
    tick_rate: int
    data_port: int
    multicast: bool
    group: str


class MarkerSet(NamedTuple):
    """Markers that a server sends together, in this order.

    asset : number of the skeleton, rigid body or trained set with that name, as in labelled markers; -1 =
        none
    members : for a trained set that is only sent as an asset, the number of each marker; else empty
    """

    name: str
    markers: tuple[str, ...]
    asset: int = -1
    members: tuple[int, ...] = ()


class PlateDefinition(NamedTuple):
    """A force plate, as C3D describes one.

    origin : (3,) vector from the sensors' origin to the middle of the surface, in the plate's axes
    corners : (4, 3) corners in the laboratory's axes; by their directions in the plate's axes: +x +y, -x +y,
        -x -y, +x -y
    calibrated : whether channels are forces and moments, not voltages; channels : their names
    """

    number: int
    serial: str
    origin: NDArray[np.float64]
    corners: NDArray[np.float64]
    calibrated: bool
    channels: tuple[str, ...]


class Definitions(NamedTuple):
    """Definitions of all that a server tracks. `unread` counts descriptions of unknown kinds."""

    sets: tuple[MarkerSet, ...]
    plates: tuple[PlateDefinition, ...]
    unread: int


def connect_message(version: Version = (0, 0)) -> bytes:
    """Build the request to register with the server and be answered in a version of NatNet; (0, 0) = the
    server's own.
    """
    who = b"rtsim".ljust(NAME_BYTES, b"\0") + bytes(8)
    return message(CONNECT, who + bytes((0, version[0], version[1], 0, 0, 0)))


def discovery_message() -> bytes:
    """Build the message that asks all servers on the network to identify themselves."""
    return message(DISCOVERY, b"rtsim".ljust(NAME_BYTES, b"\0") + bytes((1, 0, 0, 0, 4, 2, 0, 0)))


def message(kind: int, payload: bytes = b"") -> bytes:
    """Build a message of a kind with its payload."""
    return HEADER.pack(kind, len(payload)) + payload


def opened(packet: bytes) -> tuple[int, int]:
    """Return the kind of a packet and the offset at which its payload ends. Raises DecodeError for a
    truncated packet."""
    if len(packet) < HEADER.size:
        raise malformed(f"the packet has {len(packet)} bytes, but its header alone needs {HEADER.size}")
    kind, n_byte = HEADER.unpack_from(packet)
    end = HEADER.size + n_byte
    if end > len(packet):
        raise malformed(f"the packet has {len(packet)} bytes, but states a length of {end} bytes")
    return kind, end


def decode_server_info(packet: bytes) -> ServerInfo:
    """Read the answer to `connect`. Raises DecodeError for any other packet."""
    kind, end = opened(packet)
    if kind != SERVER_INFO:
        raise malformed(f"the server sent a message of kind {kind} instead of its own description")
    reader = ByteReader(packet, HEADER.size, end)
    name = packet[reader.skip(NAME_BYTES) : reader.at].split(b"\0", 1)[0].decode("utf-8", "replace")
    application = packet[reader.skip(4) : reader.at]
    natnet = packet[reader.skip(4) : reader.at]
    # Servers before NatNet 3 end here.
    tick_rate = reader.u64() if reader.left >= 8 else 0
    data_port = reader.u16() if reader.left >= 2 else DATA_PORT
    multicast = bool(reader.u8()) if reader.left >= 1 else True
    group = ".".join(map(str, packet[reader.skip(4) : reader.at])) if reader.left >= 4 else GROUP
    if tick_rate > FASTEST_TICKS:
        raise malformed(
            f"the server's clock is said to have {tick_rate} ticks per second; at most "
            f"{FASTEST_TICKS} are allowed"
        )
    words = f"{name} {'.'.join(map(str, application))}".strip()
    return ServerInfo(
        application=words,
        version=(natnet[0], natnet[1]),
        tick_rate=tick_rate,
        data_port=data_port or DATA_PORT,
        multicast=multicast,
        group=group,
    )


def decode_echo(packet: bytes) -> tuple[int, int]:
    """Read the answer to an echo request: return the client's stamp, which comes back as sent, and the
    server's clock at the receipt of the request [ticks].
    """
    kind, end = opened(packet)
    if kind != ECHO_RESPONSE:
        raise malformed(f"the server sent a message of kind {kind} instead of an echo")
    reader = ByteReader(packet, HEADER.size, end)
    return reader.u64(), reader.u64()


def decode_definitions(packet: bytes, version: Version) -> Definitions:
    """Decode the definitions of what a server tracks, in the format of a NatNet version.

    The set named `all`, which repeats the markers of the other sets, is left out if there are other sets.
    Raises DecodeError for a packet of another kind, and for one whose fields contradict its length.
    """
    kind, end = opened(packet)
    if kind != DEFINITIONS:
        raise malformed(
            f"the server sent a message of kind {kind} instead of its definitions of markers and plates"
        )
    reader = ByteReader(packet, HEADER.size, end)
    found = _Found()
    for _ in range(reader.count(4)):
        what = reader.u32()
        if version >= (4, 1):
            n_byte = reader.u32()
            part = ByteReader(packet, reader.at, reader.at + n_byte) if n_byte <= reader.left else None
            if part is None:
                raise malformed(
                    f"a description of {n_byte} bytes is announced, but only {reader.left} bytes are left"
                )
            reader.skip(n_byte)
        else:
            part = reader
        if what >= len(_READERS):
            found.unread += 1
            if version < (4, 1):
                break  # nothing says where the next one begins
            continue
        _READERS[what](part, version, found)
    return found.definitions()


class _Found:
    """Definitions collected so far while a packet is decoded."""

    def __init__(self) -> None:
        self.sets: dict[str, tuple[str, ...]] = {}
        self.numbers: dict[str, int] = {}
        self.members: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {}
        self.plates: list[PlateDefinition] = []
        self.unread = 0

    def definitions(self) -> Definitions:
        sets = [MarkerSet(name, marks, self.numbers.get(name, -1)) for name, marks in self.sets.items()]
        # A trained set may come as an asset alone.
        sets += [
            MarkerSet(name, marks, self.numbers[name], numbers)
            for name, (marks, numbers) in self.members.items()
            if name not in self.sets and marks
        ]
        others = [s for s in sets if s.name.casefold() != "all"]
        if sum(len(s.markers) for s in others or sets) > MOST_MARKERS:
            raise malformed(f"more than {MOST_MARKERS} markers are defined")
        return Definitions(tuple(others or sets), tuple(self.plates), self.unread)


def _read_set(reader: ByteReader, version: Version, found: _Found) -> None:
    name = reader.terminated()
    found.unread += name in found.sets  # of two of one name, which frames cannot tell apart, the last is read
    found.sets[name] = tuple(reader.terminated() for _ in range(reader.count(1)))


def _read_body(reader: ByteReader, version: Version, found: _Found | None) -> None:
    name = reader.terminated()
    number = reader.i32()
    reader.skip(4 + 12 + (16 if version >= (4, 2) else 0))  # parent, place, and its rotation
    n_marker = reader.count(16 if version >= (3, 0) else 0) if version >= (3, 0) else 0
    reader.skip(16 * n_marker)  # places, and the labels that active markers need
    if version >= (4, 0):
        for _ in range(n_marker):
            reader.terminated()
    if found is not None:
        found.numbers.setdefault(name, number)


def _read_skeleton(reader: ByteReader, version: Version, found: _Found) -> None:
    name = reader.terminated()
    found.numbers[name] = reader.i32()
    for _ in range(reader.count(21)):
        _read_body(reader, version, None)


def _read_plate(reader: ByteReader, version: Version, found: _Found) -> None:
    number = reader.i32()
    serial = reader.terminated()
    reader.skip(8)  # width and length, which the corners say better
    origin = as_doubles(reader.array(_FLOATS, 3))
    reader.skip(12 * 12 * 4)  # calibration of the raw channels
    corners = as_doubles(reader.array(_FLOATS, 12)).reshape(4, 3)
    reader.skip(4)  # type of the plate
    calibrated = reader.i32() == 0
    channels = tuple(reader.terminated() for _ in range(reader.count(1)))
    found.plates.append(
        PlateDefinition(
            number=number,
            serial=serial,
            origin=origin,
            corners=corners,
            calibrated=calibrated,
            channels=channels,
        )
    )


def _read_device(reader: ByteReader, version: Version, found: _Found) -> None:
    reader.skip(4)
    reader.terminated()
    reader.terminated()
    reader.skip(8)
    for _ in range(reader.count(1)):
        reader.terminated()


def _read_camera(reader: ByteReader, version: Version, found: _Found) -> None:
    reader.terminated()
    reader.skip(28)


def _read_asset(reader: ByteReader, version: Version, found: _Found) -> None:
    name = reader.terminated()
    reader.skip(4)
    number = reader.i32()
    for _ in range(reader.count(21)):
        _read_body(reader, version, None)
    marks: list[str] = []
    numbers: list[int] = []
    for _ in range(reader.count(23)):
        marks.append(reader.terminated())
        numbers.append(reader.i32())
        reader.skip(12 + 4 + 2)
    found.numbers[name] = number
    found.members[name] = (tuple(marks), tuple(numbers))


_READERS = (_read_set, _read_body, _read_skeleton, _read_plate, _read_device, _read_camera, _read_asset)
"""Readers of descriptions, by the number that stands before each."""
