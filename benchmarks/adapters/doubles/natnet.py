"""A double of Motive: a NatNet server on this computer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.natnet_writer import (
    Body,
    Plate,
    Stamps,
    Version,
    definitions,
    echo,
    frame,
    header,
    labelled,
    server_info,
)
from benchmarks.adapters.plate_axes import DEPTH, in_plate_axes
from benchmarks.adapters.server_clock import ServerClock
from streams.capture.natnet.frame import decode_frame
from streams.capture.natnet.markers import NamedRows
from streams.capture.natnet.messages import decode_definitions
from streams.clock import now_ns
from streams.readable import readable

TICK_RATE = 10_000_000
KEPT_NS = 5_000_000_000
"""A client in unicast that says nothing for so long gets no more frames [ns]."""
GROUP = "239.255.42.99"
OCCLUDED, SEEN, NOBODYS = 1 | 8, 2 | 8, 2 | 16
ASSET = 3
OFFSET = np.array((0.0, 0.0, -DEPTH))


class NatNetDouble:
    """See `benchmarks.adapters.double.CaptureDouble`.

    Attributes
    ----------
    version : version of NatNet; multicast : whether frames are sent to the multicast group, not to connected
        clients; person : name of the marker set
    flags_changes : whether a changed list is flagged in the next frame
    answers : whether text requests are answered; up : answer to UpAxis, 0 to 2 for X to Z
    requests : kinds of received messages, for tests
    clock : clock of the server, for echoes; latency_ns : latency from exposure to sending in the stamps [ns]
    """

    def __init__(self, names: Sequence[str], rate: float, plates: Sequence[DoubledPlate] = ()) -> None:
        self.names, self.rate, self.plates = list(names), rate, list(plates)
        self.version: Version = (4, 1)
        self.multicast, self.flags_changes, self.answers = False, True, True
        self.person, self.up = "Anna", 1
        self.requests: list[int] = []
        self.clock = ServerClock()
        self.latency_ns = 0
        self.port = self.data_port = 0
        self._changed = False
        self._clients: dict[tuple[str, int], int] = {}
        self._command: socket.socket | None = None
        self._out: socket.socket | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread()

    @property
    def address(self) -> str:
        return f"natnet://127.0.0.1:{self.port}"

    @property
    def n_client(self) -> int:
        return len(self._clients)

    def start(self) -> None:
        self._command = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._command.bind(("127.0.0.1", self.port))
        self.port = self._command.getsockname()[1]
        self.data_port = self.data_port or free_port()
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self._out.bind(("127.0.0.1", 0))
        self._stopping.clear()
        self._thread = threading.Thread(target=self._serve, args=(self._command,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        for sock in (self._command, self._out):
            if sock is not None:
                sock.close()
        self._command = self._out = None
        self._clients = {}

    def describe(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._changed = self.flags_changes

    def send(self, frame: DoubledFrame) -> None:
        self.clock.learn(frame.stamp_ns)
        self.send_bytes(self.message(frame))

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes to all clients that receive frames."""
        if self.multicast and self._out is not None:
            self._out.sendto(data, (GROUP, self.data_port))
            return
        for client, heard_ns in list(self._clients.items()):
            if self._command is not None and now_ns() - heard_ns < KEPT_NS:
                with contextlib.suppress(OSError):
                    self._command.sendto(data, client)

    def decoder(self, frame: DoubledFrame) -> Callable[[], object]:
        packet, version = self.message(frame), self.version
        rows = NamedRows(decode_definitions(self.definitions(), version))
        return lambda: rows.positions(decode_frame(packet, version))

    @property
    def head_bytes(self) -> int:
        return 0  # each message is a datagram of its own

    def keep_clock(self, given: Callable[[int], int]) -> None:
        self.clock.given = given

    def message(self, sent: DoubledFrame) -> bytes:
        """Return the message of a frame; an occluded marker has a position even then, that of the model."""
        occluded = np.isnan(sent.positions.sum(axis=1))
        points = np.where(occluded[:, None], 0.25, sent.positions)
        others = np.zeros((0, 3)) if sent.unnamed is None else sent.unnamed
        numbers = [ASSET << 16 | k + 1 for k in range(len(points))] + [50_000 + k for k in range(len(others))]
        params = [*np.where(occluded, OCCLUDED, SEEN), *[NOBODYS] * len(others)]
        exposed = sent.stamp_ns * TICK_RATE // 1_000_000_000
        leaving = exposed + self.latency_ns * TICK_RATE // 1_000_000_000
        changed, self._changed = self._changed, False
        return frame(
            self.version,
            sent.number,
            {self.person: points, "all": points},
            labelled(numbers, np.vstack((points, others)), params),
            Stamps(exposed / TICK_RATE, exposed, (exposed + leaving) // 2, leaving),
            bodies={ASSET: points.mean(axis=0)} if len(points) else {},
            skeletons=1,
            plates=self._channels(sent),
            params=2 * changed,
        )

    def definitions(self) -> bytes:
        """Return the definitions of what is tracked at this moment."""
        plates = [Plate(k + 1, plate.name, plate.corners, OFFSET) for k, plate in enumerate(self.plates)]
        return definitions(self.version, [Body(self.person, ASSET, self.names)], plates)

    def _channels(self, sent: DoubledFrame) -> dict[int, np.ndarray]:
        if sent.wrenches is None:
            return {}
        found = {}
        for k, (plate, rows) in enumerate(zip(self.plates, sent.wrenches, strict=True)):
            found[k + 1] = np.hstack(in_plate_axes(plate.corners, rows, OFFSET)).T
        return found

    def _serve(self, command: socket.socket) -> None:
        while not self._stopping.is_set():
            if readable([command], 0.02):
                with contextlib.suppress(OSError):
                    packet, client = command.recvfrom(65_535)
                    arrived_ns = now_ns()
                    if len(packet) >= 4:
                        self._answer(command, packet, client, arrived_ns)

    def _answer(
        self, command: socket.socket, packet: bytes, client: tuple[str, int], arrived_ns: int
    ) -> None:
        kind = struct.unpack_from("<H", packet)[0]
        self.requests.append(kind)
        if client in self._clients:
            self._clients[client] = arrived_ns
        reply = b""
        if kind in (0, 14):
            if kind == 0:
                self._clients[client] = arrived_ns
            reply = server_info(self.version, TICK_RATE, self.data_port, self.multicast, GROUP)
        elif kind == 4:
            reply = self.definitions()
        elif kind == 12:
            reply = echo(packet[4:12], self.clock.at(arrived_ns) * TICK_RATE // 1_000_000_000)
        elif kind == 2 and self.answers:
            reply = self._answer_in_words(packet[4:].split(b"\0")[0])
        elif kind == 9:
            self._clients.pop(client, None)
        if reply:
            command.sendto(reply, client)

    def _answer_in_words(self, question: bytes) -> bytes:
        per_frame = round(self.plates[0].rate / self.rate) if self.plates else 1
        answers = {
            b"FrameRate": struct.pack("<f", self.rate),
            b"UpAxis": struct.pack("<i", self.up),
            b"UnitsToMillimeters": struct.pack("<f", 1000.0),
            b"AnalogSamplesPerMocapFrame": struct.pack("<i", per_frame),
        }
        return header(3, answers[question]) if question in answers else header(100, b"")


Double = NatNetDouble


def free_port() -> int:
    """Return a free UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
