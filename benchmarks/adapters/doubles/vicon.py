"""A double of a Vicon server: DataStream over TCP on this computer, one person.

Objects as in the source of Vicon's DataStream SDK 1.11 (MIT licence); written independently of the code that
reads them.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.plate_axes import axes_of, in_plate_axes
from benchmarks.adapters.server_clock import ServerClock
from streams.capture.vicon.stream import ViconRows, ViconStream
from streams.clock import now_ns
from streams.readable import readable

OFFERED = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 20, 23, 26, 36, 37, 39, 42, 100004)
STATIC = (1, 2, 3, 4, 20, 37)
FIRST_DEVICE, FORCE_CHANNEL, MOMENT_CHANNEL = 5, 1, 2
SUBJECT = 0
TICKS_PER_S = 135_000_000
SEND_S = 1.0


class _Client:
    """A connection: what the client has requested, and whether it has received the static objects."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.buffer = b""
        self.wanted: frozenset[int] = frozenset()
        self.streaming = False
        self.told = False
        self.n_asked = 0


class ViconDouble:
    """See `benchmarks.adapters.double.CaptureDouble`.

    Attributes
    ----------
    person : the subject; y_up : whether the server states Y as the up axis; pings : whether pings are
        answered
    moment_scale : 1 for moments in N m, 1000 for N mm
    clock : clock of the server, by which it states the age of a frame
    """

    def __init__(self, names: Sequence[str], rate: float, plates: Sequence[DoubledPlate] = ()) -> None:
        self.names, self.rate, self.plates = list(names), rate, list(plates)
        self.person, self.y_up, self.pings, self.moment_scale = "Anna", False, True, 1.0
        self.clock = ServerClock()
        self.port = 0
        self._clients: list[_Client] = []
        self._lock = threading.Lock()
        self._server: socket.socket | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread()

    @property
    def address(self) -> str:
        return f"vicon://127.0.0.1:{self.port}"

    @property
    def n_client(self) -> int:
        return sum(client.streaming for client in self._clients)

    def start(self) -> None:
        self._server = socket.socket()
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._server.bind(("127.0.0.1", self.port))
        self._server.listen(8)
        self.port = self._server.getsockname()[1]
        self._stopping.clear()
        self._thread = threading.Thread(target=self._serve, args=(self._server,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._server is not None:
            self._server.close()
            self._server = None
        with self._lock:
            clients, self._clients = self._clients, []
        for client in clients:
            client.socket.close()

    def describe(self, names: Sequence[str]) -> None:
        with self._lock:
            self.names = list(names)
            for client in self._clients:
                client.told = False

    def send(self, frame: DoubledFrame) -> None:
        age_s = max(0.0, 1e-9 * (self.clock.at(now_ns()) - frame.stamp_ns)) if self.clock.given else 0.0
        with self._lock:
            for client in list(self._clients):
                if client.streaming or client.n_asked:
                    client.n_asked = max(0, client.n_asked - 1)
                    content = self.block(frame, client.wanted, client.told, age_s)
                    client.told = True
                    self._write(client, content)

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes to all clients."""
        with self._lock:
            for client in list(self._clients):
                self._write(client, data)

    def decoder(self, frame: DoubledFrame) -> Callable[[], object]:
        stream, wanted = ViconStream(), frozenset(OFFERED)
        stream.take(self.block(frame, wanted, False))
        rows, content = ViconRows(stream.statics.subjects), self.block(frame, wanted, True)

        def decode() -> object:
            decoded = stream.take(content)
            return rows.positions(decoded.labelled) if decoded is not None else None

        return decode

    @property
    def head_bytes(self) -> int:
        return 8

    def keep_clock(self, given: Callable[[int], int]) -> None:
        self.clock.given = given

    def message(self, frame: DoubledFrame) -> bytes:
        """Return the block of a frame for a client that has received all static objects."""
        return self.block(frame, frozenset(OFFERED), True)

    def block(self, frame: DoubledFrame, wanted: frozenset[int], told: bool, age_s: float = 0.0) -> bytes:
        """Return the block of a frame; it contains the static objects unless the client has received them."""
        number = struct.pack("<I", frame.number)
        delays = struct.pack("<I", 2) + _text("Camera") + struct.pack("<d", 0.5 * age_s)
        delays += _text("Core") + struct.pack("<d", 0.5 * age_s)
        others = np.zeros((0, 3)) if frame.unnamed is None else frame.unnamed
        parts: list[tuple[int, bytes]] = [] if told else self._statics()
        parts += [(5, number), (36, number), (6, _recons(frame.positions)), (9, _segment(frame.positions))]
        parts += [(7, _unlabelled(others)), (26, delays), *self._samples(frame)]
        parts = [part for part in parts if part[0] in wanted]
        kinds = [kind for kind, _ in parts]
        contents = struct.pack("<I", len(set(kinds)))
        contents += b"".join(struct.pack("<II", kind, kinds.count(kind)) for kind in sorted(set(kinds)))
        contents += _numbers([kind for kind in STATIC if told and kind in wanted])
        return block([(100004, contents), *parts])

    def _samples(self, frame: DoubledFrame) -> list[tuple[int, bytes]]:
        """Return forces and moments of plates; all values of one component are consecutive."""
        parts = []
        for k, wrenches in enumerate(frame.wrenches if frame.wrenches is not None else ()):
            force, moment = in_plate_axes(self.plates[k].corners, wrenches, np.zeros(3))
            for kind, channel, rows in (
                (10, FORCE_CHANNEL, force),
                (11, MOMENT_CHANNEL, self.moment_scale * moment),
            ):
                head = struct.pack("<IIII", frame.number, FIRST_DEVICE + k, channel, rows.size)
                parts.append((kind, head + np.asarray(rows, "<f4").T.tobytes()))
        return parts

    def _statics(self) -> list[tuple[int, bytes]]:
        segment = struct.pack("<II6f", 0, 1, *[0.0] * 6) + _text(self.person)
        markers = b"".join(struct.pack("<I", k) + _text(name) for k, name in enumerate(self.names))
        subject = struct.pack("<I", SUBJECT) + _text(self.person) + struct.pack("<I", 1) + segment
        subject += struct.pack("<I", len(self.names)) + markers + struct.pack("<I", 0)
        period = round(TICKS_PER_S / self.rate)
        parts = [(1, struct.pack("<q", period)), (37, bytes((self.y_up,))), (2, subject)]
        for k, plate in enumerate(self.plates):
            device = FIRST_DEVICE + k
            parts.append((3, struct.pack("<IQ", device, period) + _text(plate.name)))
            for number, names in ((FORCE_CHANNEL, "Fx Fy Fz"), (MOMENT_CHANNEL, "Mx My Mz")):
                channel = struct.pack("<II", device, number) + _text(names[0]) + struct.pack("<I", 3)
                parts.append((4, channel + b"".join(map(_text, names.split()))))
            parts.append((20, struct.pack("<I", device) + _place(plate)))
        return parts

    def _serve(self, server: socket.socket) -> None:
        while not self._stopping.is_set():
            with self._lock:
                clients = {client.socket: client for client in self._clients}
            with contextlib.suppress(OSError, ValueError):  # one was closed meanwhile
                for sock in readable([server, *clients], 0.02):
                    if sock is server:
                        self._accept(server)
                    else:
                        self._read(clients[sock])

    def _accept(self, server: socket.socket) -> None:
        sock, _ = server.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(SEND_S)
        client = _Client(sock)
        with self._lock:
            self._clients.append(client)
            self._write(client, block([(100001, _numbers(OFFERED))]))

    def _read(self, client: _Client) -> None:
        got = b""
        with contextlib.suppress(OSError):
            got = client.socket.recv(65_536)
        if not got:
            self._drop(client)
            return
        client.buffer += got
        while len(client.buffer) >= 8:
            end = 8 + struct.unpack_from("<I", client.buffer, 4)[0]
            if len(client.buffer) < end:
                break
            with self._lock:
                self._obey(client, client.buffer[8:end])
            client.buffer = client.buffer[end:]

    def _obey(self, client: _Client, content: bytes) -> None:
        at = 0
        while at + 8 <= len(content):
            kind, n_byte = struct.unpack_from("<II", content, at)
            body = content[at + 8 : at + 8 + n_byte]
            at += 8 + n_byte
            if kind == 100001:
                client.wanted = frozenset(struct.unpack(f"<{len(body) // 4 - 1}I", body[4:]))
                client.told = False
            elif kind == 100002:
                client.streaming = bool(body[0])
                client.n_asked += not body[0]
            elif kind == 100008:
                client.n_asked += 1
            elif kind == 42 and self.pings:
                self._write(client, block([(42, body)]))

    def _write(self, client: _Client, raw: bytes) -> None:
        try:
            client.socket.sendall(raw)
        except OSError:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        client.socket.close()
        self._clients = [c for c in self._clients if c is not client]


Double = ViconDouble


def block(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """Encode objects, each with its kind and content, as one block."""
    content = b"".join(struct.pack("<II", kind, len(body)) + body for kind, body in parts)
    return struct.pack("<II", 0x1A2B0001, len(content)) + content


def _text(name: str) -> bytes:
    raw = name.encode()
    return struct.pack("<I", len(raw)) + raw


def _numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f"<I{len(values)}I", len(values), *values)


def _recons(positions: NDArray[np.float64]) -> bytes:
    rows = []
    for k, place in enumerate(positions):
        if not np.isnan(place).any():
            rows.append(struct.pack("<IId3d9dI", SUBJECT, k, 7.0, *(1000.0 * place), *[0.0] * 9, k))
    return struct.pack("<I", len(rows)) + b"".join(rows)


def _segment(positions: NDArray[np.float64]) -> bytes:
    """Encode the person as one segment, at the mean of all visible markers."""
    there = positions[~np.isnan(positions).any(axis=1)]
    place = 1000.0 * there.mean(axis=0) if len(there) else np.zeros(3)
    return struct.pack("<III3d9d", SUBJECT, 1, 1, *place, *np.eye(3).ravel())


def _unlabelled(positions: NDArray[np.float64]) -> bytes:
    rows = [
        struct.pack("<d3d9dI", 7.0, *(1000.0 * place), *[0.0] * 9, k) for k, place in enumerate(positions)
    ]
    return struct.pack("<I", len(rows)) + b"".join(rows)


def _place(plate: DoubledPlate) -> bytes:
    """Encode the pose of a plate: its centre and axes in the world, and its bounds and position in its own
    axes [mm].
    """
    rotation, middle = axes_of(plate.corners)
    local = (plate.corners - middle) @ rotation
    bounds = np.vstack((local.min(axis=0) - np.array((0.0, 0.0, 0.05)), local.max(axis=0)))
    values = [1e3 * middle, rotation.ravel(), 1e3 * bounds.ravel(), np.zeros(3), np.eye(3).ravel()]
    return np.concatenate(values).astype("<f4").tobytes()
