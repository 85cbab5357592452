"""Encoding of packets as Motive sends them, NatNet 3.0 to 4.2, for a double of its server.

Field by field as in NaturalPoint's NatNet SDK 4.1; written independently of the code that reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Version = tuple[int, int]


class Body(NamedTuple):
    """A tracked set of markers with a name, such as a skeleton or rigid body."""

    name: str
    number: int
    markers: Sequence[str]


class Plate(NamedTuple):
    """A force plate: number, serial, corners (4, 3) [m], vector from the sensors to the surface (3,) [m]."""

    number: int
    serial: str
    corners: NDArray[np.float64]
    offset: NDArray[np.float64]
    channels: Sequence[str] = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


class Stamps(NamedTuple):
    """Stamps of a frame: seconds since the server's start, then ticks of exposure, receipt and sending."""

    time: float
    exposed: int
    received: int
    sent: int


def header(kind: int, payload: bytes) -> bytes:
    """Encode a message."""
    return struct.pack("<HH", kind, len(payload)) + payload


def text(name: str) -> bytes:
    """Encode a name with its terminating zero."""
    return name.encode() + b"\0"


def server_info(version: Version, tick_rate: int, data_port: int, multicast: bool, group: str) -> bytes:
    """Encode the message that describes the server."""
    parts = [b"Motive".ljust(256, b"\0"), bytes((3, 1, 0, 1)), bytes((*version, 0, 0))]
    parts += [struct.pack("<QHB", tick_rate, data_port, multicast), bytes(map(int, group.split(".")))]
    return header(1, b"".join(parts))


def echo(client_stamp: bytes, ticks: int) -> bytes:
    """Encode the answer to an echo request."""
    return header(13, client_stamp + struct.pack("<Q", ticks))


def definitions(
    version: Version, bodies: Sequence[Body], plates: Sequence[Plate] = (), trained: Sequence[Body] = ()
) -> bytes:
    """Encode the message of tracked objects: bodies, a set of all, plates; trained sets as assets alone (4.1
    and later).
    """
    items: list[tuple[int, bytes]] = []
    for body in bodies:
        names = b"".join(map(text, body.markers))
        items.append((0, text(body.name) + struct.pack("<I", len(body.markers)) + names))
        items.append((1, _rigid_body(version, body)))
    everything = [f"{body.name}_{marker}" for body in bodies for marker in body.markers]
    items.append((0, text("all") + struct.pack("<I", len(everything)) + b"".join(map(text, everything))))
    items += [(3, _plate(plate)) for plate in plates]
    items += [(6, _asset(version, body)) for body in trained]
    items.append((5, text("Camera 1") + bytes(28)))
    payload = [struct.pack("<I", len(items))]
    for kind, content in items:
        payload.append(struct.pack("<I", kind))
        if version >= (4, 1):
            payload.append(struct.pack("<I", len(content)))
        payload.append(content)
    return header(5, b"".join(payload))


def _rigid_body(version: Version, body: Body) -> bytes:
    n = len(body.markers)
    parts = [text(body.name), struct.pack("<ii3f", body.number, -1, 0.0, 0.0, 0.0)]
    if version >= (4, 2):
        parts.append(struct.pack("<4f", 0.0, 0.0, 0.0, 1.0))
    parts += [struct.pack("<I", n), bytes(12 * n), bytes(4 * n)]
    if version >= (4, 0):
        parts += map(text, body.markers)
    return b"".join(parts)


def _asset(version: Version, body: Body) -> bytes:
    parts = [text(body.name), struct.pack("<iiI", 1, body.number, 1)]
    parts += [_rigid_body(version, Body("bone", 1, ())), struct.pack("<I", len(body.markers))]
    for k, marker in enumerate(body.markers):
        parts.append(text(marker) + struct.pack("<i3ffH", k + 1, 0.0, 0.0, 0.0, 0.014, 0))
    return b"".join(parts)


def _plate(plate: Plate) -> bytes:
    parts = [struct.pack("<i", plate.number), text(plate.serial), struct.pack("<ff", 0.4, 0.6)]
    parts += [np.asarray(plate.offset, "<f4").tobytes(), np.eye(12, dtype="<f4").tobytes()]
    parts += [np.asarray(plate.corners, "<f4").tobytes(), struct.pack("<iiI", 2, 0, len(plate.channels))]
    return b"".join([*parts, *map(text, plate.channels)])


def labelled(numbers: Sequence[int], points: NDArray[np.float64], params: Sequence[int]) -> bytes:
    """Encode labelled markers in the given order."""
    rows = np.zeros(
        len(numbers), [("id", "<i4"), ("at", "<f4", 3), ("size", "<f4"), ("params", "<u2"), ("error", "<f4")]
    )
    rows["id"], rows["params"] = numbers, params
    rows["at"] = np.reshape(points, (-1, 3))
    rows["size"] = 0.014
    return rows.tobytes()


def frame(
    version: Version,
    number: int,
    sets: Mapping[str, NDArray[np.float64]],
    labelled_rows: bytes,
    stamps: Stamps,
    *,
    bodies: Mapping[int, NDArray[np.float64]] | None = None,
    skeletons: int = 0,
    assets: Mapping[int, bytes] | None = None,
    plates: Mapping[int, NDArray[np.float64]] | None = None,
    params: int = 0,
) -> bytes:
    """Encode a frame: marker sets, labelled markers, and `skeletons` skeletons of one bone each.

    bodies : number -> (3,) place [m]
    plates : number -> (n_channel, n_sample)
    """
    places = [_pose(n, place) for n, place in (bodies or {}).items()]
    bone = _pose(1, np.array((0.1, 0.2, 0.3)))

    def part(n: int, content: bytes) -> bytes:
        size = struct.pack("<I", len(content)) if version >= (4, 1) else b""
        return struct.pack("<I", n) + size + content

    parts = [struct.pack("<I", number)]
    parts.append(part(len(sets), b"".join(map(_points, sets.keys(), sets.values()))))
    parts.append(part(0, b""))
    parts.append(part(len(places), b"".join(places)))
    parts.append(part(skeletons, (struct.pack("<iI", 7, 1) + bone) * skeletons))
    if version >= (4, 1):
        content = [struct.pack("<iI", n, 1) + bone + rows for n, rows in (assets or {}).items()]
        parts.append(part(len(content), b"".join(content)))
    parts.append(part(len(labelled_rows) // 26, labelled_rows))
    channels = [_channels(n, rows) for n, rows in (plates or {}).items()]
    parts.append(part(len(channels), b"".join(channels)))
    parts.append(part(1, _channels(9, np.zeros((2, 3)))))
    parts.append(struct.pack("<IIdQQQ", 0, 0, *stamps))
    if version >= (4, 0):
        parts.append(struct.pack("<II", 0, 0))
    return header(7, b"".join(parts) + struct.pack("<HI", params, 0))


def asset_markers(rows: bytes) -> bytes:
    """Encode the markers of an asset in a frame."""
    return struct.pack("<I", len(rows) // 26) + rows


def _pose(number: int, place: NDArray[np.float64]) -> bytes:
    return struct.pack("<i3f4ffH", number, *place, 0.0, 0.0, 0.0, 1.0, 0.0, 1)


def _points(name: str, points: NDArray[np.float64]) -> bytes:
    return text(name) + struct.pack("<I", len(points)) + np.asarray(points, "<f4").tobytes()


def _channels(number: int, rows: NDArray[np.float64]) -> bytes:
    parts = [struct.pack("<II", number, len(rows))]
    parts += [struct.pack("<I", len(row)) + np.asarray(row, "<f4").tobytes() for row in rows]
    return b"".join(parts)
