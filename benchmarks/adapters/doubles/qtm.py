"""A double of QTM's real-time server: greeting, versions, settings, events, data; written from documented
facts alone.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

import numpy as np

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from streams.capture.qtm.packets import decode_data

HEADER, DATA = struct.Struct("<II"), struct.Struct("<qII")
ERROR, COMMAND, XML, FRAME, NO_MORE, EVENT = 0, 1, 2, 3, 4, 6
SEND_S = 1.0
OLDEST = (1, 8)


class QtmDouble:
    """See `benchmarks.adapters.double.CaptureDouble`.

    Attributes
    ----------
    up : up axis stated in the settings; running : whether a measurement runs, so that frames are sent
    drop_rate : drop rate of two-dimensional data [frames per thousand]; timecode : whether camera time is
        sent
    body : name of a rigid body amid the markers, "" = none; commands : commands of clients, for tests
    """

    def __init__(self, names: Sequence[str], rate: float, plates: Sequence[DoubledPlate] = ()) -> None:
        self.names, self.rate, self.plates = list(names), rate, list(plates)
        self.up, self.running, self.drop_rate, self.timecode = "+Z", True, 0, False
        self.newest, self.commands = (1, 26), []  # type: tuple[int, int], list[str]
        self.body = ""
        self._port = 0
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._clients: dict[socket.socket, set[str]] = {}  # and what each wants, "udp:PORT" among it

    @property
    def address(self) -> str:
        return f"qtm://127.0.0.1:{self._port}"

    @property
    def n_client(self) -> int:
        with self._lock:
            return sum(bool(wanted) for wanted in self._clients.values())

    def start(self) -> None:
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self._port))
        self._listener.listen(8)
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            if self._listener is not None:
                with contextlib.suppress(OSError):
                    self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self._listener = None
            clients, self._clients = list(self._clients), {}
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()

    def describe(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def event(self, number: int) -> None:
        """Send an event to every client."""
        self._send_all(wrapped(EVENT, bytes([number])), everybody=True)

    def send(self, frame: DoubledFrame) -> None:
        if self.running:
            self._send_all(self.message(frame))

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes to all clients."""
        self._send_all(data, everybody=True)

    def decoder(self, frame: DoubledFrame) -> Callable[[], object]:
        body = memoryview(self.message(frame))[HEADER.size :]
        return lambda: decode_data(body)

    @property
    def head_bytes(self) -> int:
        return HEADER.size

    def keep_clock(self, given: Callable[[int], int]) -> None:
        """Do nothing: this protocol shows the clock only by the stamps of frames."""

    def message(self, frame: DoubledFrame) -> bytes:
        """The data packet of a frame."""
        parts = [component(1, self._rates(len(frame.positions)) + floats(1e3 * frame.positions))]
        if self.body:
            place = [*(1e3 * np.nanmean(frame.positions, axis=0)), 0.0, 0.0, 0.0]
            parts.append(component(6, self._rates(1) + floats(np.array(place))))
        if frame.unnamed is not None:
            rows = np.zeros((len(frame.unnamed), 4), dtype="<f4")
            rows[:, :3] = 1e3 * frame.unnamed
            rows.view("<i4")[:, 3] = np.arange(len(rows)) + 1
            parts.append(component(2, self._rates(len(rows)) + rows.tobytes()))
        if frame.wrenches is not None:
            body = struct.pack("<i", len(frame.wrenches))
            for k, samples in enumerate(frame.wrenches):
                body += struct.pack("<iii", k + 1, len(samples), frame.number * len(samples))
                body += floats(samples * [1, 1, 1, 1, 1, 1, 1e3, 1e3, 1e3])
            parts.append(component(4, body))
        if self.timecode:
            parts.append(component(17, struct.pack("<iiII", 1, 2, 7, frame.stamp_ns // 100 & 0xFFFFFFFF)))
        head = DATA.pack(frame.stamp_ns // 1000, frame.number & 0xFFFFFFFF, len(parts))
        return wrapped(FRAME, head + b"".join(parts))

    def settings(self) -> bytes:
        """Return the present settings in XML."""
        labels = "".join(f"<Label><Name>{escape(name)}</Name></Label>" for name in self.names)
        plates = "".join(plate_settings(k + 1, plate) for k, plate in enumerate(self.plates))
        forces = f"<Force><Unit_Length>mm</Unit_Length><Unit_Force>N</Unit_Force>{plates}</Force>"
        points = "".join(f"<Point><X>{k}</X><Y>0</Y><Z>0</Z></Point>" for k in range(3))
        body = f"<Body><Name>{escape(self.body)}</Name><RGBColor>255</RGBColor>{points}</Body>"
        bodies = f"<The_6D><Bodies>1</Bodies>{body}</The_6D>"
        return (
            f"<QTM_Parameters_Ver_1.25><General><Frequency>{self.rate:g}</Frequency></General>"
            f"<The_3D><AxisUpwards>{self.up}</AxisUpwards><Labels>{len(self.names)}</Labels>{labels}</The_3D>"
            f"{bodies if self.body else ''}{forces if self.plates else ''}</QTM_Parameters_Ver_1.25>"
        ).encode()

    def _rates(self, n: int) -> bytes:
        return struct.pack("<Ihh", n, self.drop_rate, 0)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.settimeout(SEND_S)
            with self._lock:
                self._clients[client] = set()
            self._send(client, text(COMMAND, "QTM RT Interface connected"))
            threading.Thread(target=self._listen, args=(client,), daemon=True).start()

    def _listen(self, client: socket.socket) -> None:
        data = b""
        while True:
            try:
                more = client.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                more = b""
            if not more:
                break
            data += more
            while (
                len(data) >= HEADER.size and len(data) >= (size := HEADER.unpack_from(data)[0]) >= HEADER.size
            ):
                self._answer(client, data[HEADER.size : size].rstrip(b"\0").decode("utf-8", "replace"))
                data = data[size:]
        with self._lock:
            self._clients.pop(client, None)
        client.close()

    def _answer(self, client: socket.socket, said: str) -> None:
        self.commands.append(said)
        word, *rest = said.lower().split() or [""]
        if word == "version" and rest:
            wanted = tuple(int(part) for part in rest[0].split(".") if part.isdigit())
            good = OLDEST <= wanted <= self.newest
            answer = f"Version set to {rest[0]}" if good else "Version NOT supported"
            self._send(client, text(COMMAND if good else ERROR, answer))
        elif word == "getparameters":
            self._send(client, wrapped(XML, self.settings() + b"\0"))
        elif word == "getstate":
            self._send(client, wrapped(EVENT, bytes([3 if self.running else 1])))
        elif word == "qtmversion":
            self._send(client, text(COMMAND, "QTM Version is 0.0 (a double)"))
        elif word == "byteorder":
            self._send(client, text(COMMAND, "Byte order is little endian"))
        elif word == "streamframes":
            wanted_parts = set() if rest[:1] == ["stop"] else set(rest)
            with self._lock:
                if client in self._clients:
                    self._clients[client] = wanted_parts
            if wanted_parts and not self.running:
                self._send(client, wrapped(NO_MORE, b""))
        else:
            self._send(client, text(ERROR, f"Command not supported: {word}"))

    def _send_all(self, data: bytes, everybody: bool = False) -> None:
        with self._lock:
            clients = [found for found in self._clients.items() if everybody or found[1]]
        for client, wanted in clients:
            port = next((word.partition(":")[2] for word in wanted if word.startswith("udp:")), "")
            if port.isdigit() and not everybody:
                with contextlib.suppress(OSError):
                    self._datagrams.sendto(data, (client.getpeername()[0], int(port)))
            else:
                self._send(client, data)

    def _send(self, client: socket.socket, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it has hung up: its thread finds out
            client.sendall(data)


Double = QtmDouble


def wrapped(kind: int, body: bytes) -> bytes:
    """Encode a message of any type."""
    return HEADER.pack(HEADER.size + len(body), kind) + body


def text(kind: int, words: str) -> bytes:
    """Encode a text message."""
    return wrapped(kind, words.encode() + b"\0")


def component(kind: int, body: bytes) -> bytes:
    """Encode a component of a data packet."""
    return HEADER.pack(HEADER.size + len(body), kind) + body


def floats(values: np.ndarray) -> bytes:
    """Encode numbers in the format of the protocol."""
    return np.asarray(values, dtype="<f4").tobytes()


def plate_settings(number: int, plate: DoubledPlate) -> str:
    """Return the settings of a force plate [mm]."""
    corners = ""
    for k, corner in enumerate(plate.corners):
        axes = "".join(f"<{axis}>{1e3 * x:.3f}</{axis}>" for axis, x in zip("XYZ", corner, strict=True))
        corners += f"<Corner{k + 1}>{axes}</Corner{k + 1}>"
    return (
        f"<Plate><Plate_ID>{number}</Plate_ID><Frequency>{plate.rate:g}</Frequency>"
        f"<Name>{escape(plate.name)}</Name><Location>{corners}</Location></Plate>"
    )
