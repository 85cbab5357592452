"""Qualisys Track Manager over its real-time protocol, by TCP.

Commands are plain text; data come as packets without labels, in the order of the settings' list. Changes of
the list are not announced, so the settings are requested once a second, which also shows whether the server
is still there.
"""

from __future__ import annotations

import socket
from collections import Counter, deque
from collections.abc import Mapping
from struct import Struct, error

import numpy as np

from streams.account import Sentences, plain
from streams.capture.qtm.forces import QtmForces
from streams.capture.qtm.packets import (
    COMMAND,
    DATA,
    DISCOVER,
    ERROR,
    EVENT,
    EVENTS,
    HEADER,
    NO_MORE_DATA,
    XML,
    DataPacket,
    MalformedPacketError,
    decode_data,
)
from streams.capture.qtm.settings import QtmSettings, read_settings
from streams.capture.qtm.socket import QtmSocket
from streams.capture.records import CaptureDescription, CaptureError, CaptureFrame, FoundServer
from streams.capture.system import CaptureAddress, CaptureSystem
from streams.clock import now_ns

PORT, DISCOVERY_PORT = 22223, 22226
VERSIONS = ("1.25", "1.20", "1.15", "1.8")
"""Versions of the protocol, newest first; what is used here has not changed since the last of them."""
ANSWER_S = 1.0
"""Time for each answer before data begin [s]."""
ASK_NS = 800_000_000
"""Time between two questions for the settings, so that a change is known within a second [ns]."""
SILENT_NS = 2_000_000_000
"""Time without a whole message, with a question unanswered, after which the server counts as gone [ns]."""
SETTINGS = ("GetParameters General 3D Force", "GetParameters General 3D")
"""A project without force plates may refuse the first."""
STREAM = "StreamFrames AllFrames 3D 3DNoLabels Force Timecode"
AGAIN = {1, 3, 8, 11, 14, 15}
"""Events after which labels or rates may be others, or data may begin."""
LATEST_STAMP_NS = 1 << 62
"""Stamps beyond this, or below zero, are of no clock [ns]."""
MOST_HELD, MOST_HELD_BYTES = 256, 1 << 15
"""Frames kept while the labels for another number of markers are asked for, and the longest of them."""
SOONEST_NS = 100_000_000
"""A change asks for the settings at once, but not more often [ns]."""
TIMECODES = {0: "smpte", 1: "irig", 2: "camera"}
MOST_SENTENCES, LONGEST_WORDS = 8, 120


class QtmConnection:
    """An open connection to QTM, with the methods that connections to all capture systems have."""

    def __init__(self, address: CaptureAddress) -> None:
        self._counters: Counter[str] = Counter(refused_packets=0)
        self._gauges: dict[str, float] = {}
        self._said = Sentences(MOST_SENTENCES)
        self._news: deque[CaptureFrame | CaptureDescription] = deque()
        self._held: deque[tuple[DataPacket, int]] = deque(maxlen=MOST_HELD)
        self._fault: CaptureError | None = None
        self._asking = self._told_beside = self._told_without_point = False
        self._asked_ns = self._last_data_ns = 0
        self._socket = QtmSocket(address.host, address.port)
        try:
            self._greet()
            self._socket.send(STREAM)
        except BaseException:
            self.close()
            raise
        self._due_ns = now_ns() + ASK_NS

    def _greet(self) -> None:
        """Agree on a protocol version with the server, and read its settings: markers, rate and force
        plates."""
        self._expect((COMMAND,), "its greeting")
        for version in VERSIONS:
            self._socket.send(f"Version {version}")
            kind, words = self._expect((COMMAND, ERROR), "an answer about the version")
            if kind == COMMAND and words.lower().startswith(b"version set"):
                break
        else:
            said = words_of(words)
            spoken = ", ".join(VERSIONS)
            raise CaptureError("refused", f"the server supports none of the versions {spoken}: {said}")
        for question in SETTINGS:
            self._socket.send(question)
            kind, xml = self._expect((XML, ERROR), "its settings")
            if kind == XML:
                break
        else:
            raise CaptureError(
                "refused", "the server did not send its marker settings (labels, rate); load a project in QTM"
            )
        self._question = question
        try:
            self._use(read_settings(xml.rstrip(b"\0")), xml)
        except ValueError as fault:
            raise CaptureError("malformed", str(fault)) from fault

    def _expect(self, kinds: tuple[int, ...], what: str) -> tuple[int, bytes]:
        """Wait for the next message of one of these types and return it; skip all others. what : what is
        awaited, in words for the error"""
        due_ns = now_ns() + round(1e9 * ANSWER_S)
        while (left_ns := due_ns - now_ns()) > 0:
            found = self._socket.message()
            if found is None:
                self._socket.receive(1e-9 * left_ns)
                continue
            kind, body = found
            if kind in kinds:
                return kind, bytes(body)
            if kind == ERROR and COMMAND in kinds:
                break
        raise CaptureError("silent", f"the server did not send {what}; is it QTM's real-time server")

    def description(self) -> CaptureDescription:
        return self._settings.description

    def read(self, timeout_s: float) -> CaptureFrame | CaptureDescription | None:
        due_ns = now_ns() + round(1e9 * timeout_s)
        while True:
            if self._news:
                return self._news.popleft()
            if self._fault is not None:
                raise self._fault
            try:
                self._advance(due_ns)
            except CaptureError as fault:
                self._fault = fault  # after all that came before it
            if not self._news and now_ns() >= due_ns and self._fault is None:
                return None

    def _advance(self, due_ns: int) -> None:
        """Handle the messages that have arrived; if there are none, wait for one until `due_ns`."""
        self._ask()
        if self._take_messages():
            return
        self._socket.receive(1e-9 * max(0, due_ns - now_ns()))
        self._take_messages()

    def _take_messages(self) -> bool:
        """Handle complete messages until a frame or description is ready for `read`; return whether any
        message was handled."""
        taken = False
        while not self._news and (found := self._socket.message()) is not None:
            taken = True
            kind, body = found
            if kind == DATA:
                self._take_data(body)
            elif kind == XML:
                self._take_settings(bytes(body).rstrip(b"\0"))
            elif kind == EVENT:
                self._take_event(body)
            elif kind == NO_MORE_DATA:
                self._counters["no_more_data"] += 1
            elif kind == ERROR:
                self._counters["errors"] += 1
                self._said.say(f"QTM says: {words_of(body)}")
                self._asking = False
            elif kind != COMMAND:
                self._counters["other_packets"] += 1
        return taken

    def _ask(self) -> None:
        """Request the settings once a second, and request the data again if they do not arrive."""
        now = now_ns()
        if self._asking and now - max(self._socket.whole_ns, self._asked_ns) > SILENT_NS:
            raise CaptureError("silent", "the server has stopped answering")
        if now < self._due_ns or (self._asking and now - self._asked_ns < SILENT_NS):
            return
        self._asking, self._asked_ns, self._due_ns = True, now, now + ASK_NS
        self._socket.send(self._question)
        if now - self._last_data_ns > SILENT_NS:
            self._socket.send(STREAM)  # of no effect while data come

    def _take_data(self, body: memoryview) -> None:
        arrived_ns = self._last_data_ns = self._socket.heard_ns
        try:
            packet = decode_data(body)
        except (MalformedPacketError, error) as fault:
            self._counters["refused_packets"] += 1
            self._said.say(f"A data packet was refused: {fault}.")
            return
        n_label = len(self._settings.description.names)
        if packet.markers is not None and len(packet.markers) != n_label:
            # its labels are others: the frames wait until QTM has told them
            if len(self._held) == MOST_HELD or len(body) > MOST_HELD_BYTES:
                self._counters["misfit_frames"] += 1
            if len(body) <= MOST_HELD_BYTES:
                self._held.append((packet, arrived_ns))
            self._due_ns = min(self._due_ns, max(arrived_ns, self._asked_ns + SOONEST_NS))
            if self._counters["misfit_frames"]:
                n_marker = len(packet.markers)
                self._said.say(
                    f"QTM sends {n_marker} markers, but the names of {n_label} markers: such frames are not "
                    "used."
                )
            return
        self._release(n_label)
        self._news.append(self._frame(packet, arrived_ns))

    def _release(self, n_label: int) -> None:
        """Release the frames that waited for a list of this many labels; count those with other numbers of
        labels."""
        while self._held:
            packet, arrived_ns = self._held.popleft()
            if packet.markers is not None and len(packet.markers) == n_label:
                self._news.append(self._frame(packet, arrived_ns))
            else:
                self._counters["misfit_frames"] += 1

    def _frame(self, packet: DataPacket, arrived_ns: int) -> CaptureFrame:
        stamp_ns = 1000 * packet.stamp_us
        timed = 0 <= stamp_ns < LATEST_STAMP_NS
        self._counters["frames_without_stamp"] += not timed
        self._gauges["dropped_2d_permille"] = float(packet.dropped)
        self._gauges["out_of_sync_2d_permille"] = float(packet.out_of_sync)
        for kind, high, low in packet.timecodes:
            name = TIMECODES.get(kind, "other")
            self._gauges |= {f"timecode_{name}_high": float(high), f"timecode_{name}_low": float(low)}
        forces = self._forces.samples(packet.plates, stamp_ns) if packet.plates and timed else None
        markers = packet.markers
        if markers is None:
            markers = np.full((len(self._settings.description.names), 3), np.nan)
            self._counters["frames_without_markers"] += 1
        return CaptureFrame(
            positions=markers,
            arrived_ns=arrived_ns,
            stamp_ns=stamp_ns if timed else None,
            number=packet.number,
            age_ns=0,
            unnamed=packet.unnamed,
            forces=forces,
        )

    def _take_settings(self, xml: bytes) -> None:
        self._asking = False
        self._due_ns = max(self._due_ns, self._asked_ns + ASK_NS)
        if xml != self._xml:
            try:
                settings = read_settings(xml)
            except ValueError as fault:
                self._counters["refused_packets"] += 1
                self._said.say(f"The settings that QTM has sent cannot be used: {plain(str(fault), 120)}.")
                return
            former = self._settings
            self._use(settings, xml)
            if settings.description != former.description:
                self._news.append(settings.description)
        self._release(len(self._settings.description.names))

    def _use(self, settings: QtmSettings, xml: bytes) -> None:
        self._settings, self._xml = settings, xml.rstrip(b"\0")
        self._forces = QtmForces(settings.description, settings.plates, settings.metres)

    def _take_event(self, body: memoryview) -> None:
        number = body[0] if len(body) else 0
        self._counters["events"] += 1
        if number in EVENTS and number != 1:
            self._said.say(f"QTM: {EVENTS[number]}.")
        if number in AGAIN:
            self._due_ns = min(self._due_ns, now_ns())
        if number in (3, 8):
            self._socket.send(STREAM)

    def counters(self) -> Mapping[str, int]:
        counts = {
            "unknown_plate_samples": self._forces.n_unknown,
            "samples_beside": self._forces.n_beside,
            "samples_without_point": self._forces.n_without_point,
        }
        return {**self._counters, **{name: n for name, n in counts.items() if n}}

    def gauges(self) -> Mapping[str, float]:
        return self._gauges

    def sentences(self) -> list[str]:
        if self._forces.n_beside and not self._told_beside:
            self._told_beside = True
            self._said.say(
                "Forces act outside the surfaces of their plates: they are not used. In QTM's project "
                "options, Force data, choose the coordinate system of the laboratory, "
                "and check the plates' corners."
            )
        if self._forces.n_without_point and not self._told_without_point:
            self._told_without_point = True
            self._said.say(
                "QTM sends forces above 20 N without an application point, and their moments do not show "
                "where they act: they are not used. In QTM's project options, Force data, check the "
                "settings of the center of pressure."
            )
        return self._said.take()

    def close(self) -> None:
        self._socket.close()


def words_of(body: bytes | memoryview) -> str:
    """Return the text of a message from the server, shortened so that it can be quoted to the user."""
    return plain(bytes(body[:LONGEST_WORDS]).rstrip(b"\0").decode("utf-8", "replace"), LONGEST_WORDS)


def find(timeout_s: float) -> list[FoundServer]:
    """Find QTM servers that answer to a broadcast on the local network, and one on this machine."""
    found: dict[str, FoundServer] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        asker.bind(("", 0))
        port = Struct(">H")
        question = HEADER.pack(HEADER.size + port.size, DISCOVER) + port.pack(asker.getsockname()[1])
        for host in ("255.255.255.255", "127.0.0.1"):
            try:
                asker.sendto(question, (host, DISCOVERY_PORT))
            except OSError:
                continue  # a machine without a network still has itself
        due_ns = now_ns() + round(1e9 * timeout_s)
        while (left_ns := due_ns - now_ns()) > 0 and len(found) < 64:
            asker.settimeout(1e-9 * left_ns)
            try:
                answer, (host, *_) = asker.recvfrom(2048)
            except OSError:
                continue
            if len(answer) < HEADER.size + 3:
                continue
            (base,) = port.unpack_from(answer, len(answer) - port.size)
            at = "" if base + 1 == PORT else f":{base + 1}"
            found[host] = FoundServer(f"qtm://{host}{at}", words_of(answer[HEADER.size : -port.size]))
    return list(found.values())


SYSTEM = CaptureSystem(
    scheme="qtm",
    words="Qualisys Track Manager (QTM), real-time protocol 1.8 to 1.25",
    default_port=PORT,
    open=QtmConnection,
    find=find,
    usual_up="+Z",
    silence="does a capture, or a preview with real-time output, run in QTM?",
    unseen="are trajectories tracked in 3D and named by an AIM model in real time?",
)
