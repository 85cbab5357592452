"""A connection to a Vicon server over TCP: the server announces its data, the client requests some, and
frames follow.

The vendor's SDK is not needed. The protocol is that in the source of DataStream SDK 1.11 (MIT licence).
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter, deque
from collections.abc import Mapping

from streams.capture.byte_reader import as_doubles
from streams.capture.echo_clock import EchoClock
from streams.capture.records import CaptureDescription, CaptureError, CaptureFrame, ClockPair
from streams.capture.system import CaptureAddress
from streams.capture.vicon.blocks import (
    CONTENTS,
    HEADER,
    LARGEST_BLOCK,
    OBJECT_ENUMS,
    OBJECTS,
    PING,
    REQUEST_FRAME,
    WANTED,
    block,
    numbers,
)
from streams.capture.vicon.frame_numbers import FrameNumbers
from streams.capture.vicon.plates import ViconPlates
from streams.capture.vicon.stream import ViconFrame, ViconRows, ViconStream
from streams.clock import now_ns
from streams.errors import DecodeError
from streams.readable import readable

ANSWER_S = 3.0
"""Time that the server has to answer [s]."""
PING_NS = 250_000_000
SILENT_NS = 1_700_000_000
"""A server that answered pings and says nothing for so long is gone [ns]."""
USER_TIMEOUT_MS = 1500
"""Time without an acknowledgement after which the system ends a connection, where it can [ms]."""
MOST_SENTENCES = 16
RECEIVE = 1 << 18
LONGEST_BLOCK_NS = 1_000_000_000
"""A block that is incomplete after this time states a wrong size [ns]."""
DOUBT_NS = 1_000_000_000
"""Shortest interval between two questions what is tracked, where frames do not fit the last answer [ns]."""
MOST_READY = 64
"""Frames that are decoded ahead of whoever reads them; what follows waits as bytes."""
MOST_REFUSED = 100
"""Largest number of successive inconsistent blocks; more mean another protocol."""


class ViconConnection:
    """Connection to one Vicon server, with the methods that connections to all capture systems have."""

    def __init__(self, address: CaptureAddress) -> None:
        self._address = address
        self._counters: Counter[str] = Counter()
        self._sentences: deque[str] = deque(maxlen=MOST_SENTENCES)
        self._ready: deque[CaptureFrame | CaptureDescription] = deque()
        self._buffer = bytearray()
        self._stream = ViconStream()
        self._rows, self._plates = ViconRows(()), ViconPlates(self._stream.statics)
        self._n_change = self._n_refused = 0
        self._described: CaptureDescription | None = None
        self._echoes = EchoClock()
        self._numbers = FrameNumbers()
        self._kept: deque[tuple[ViconFrame, int]] = (
            deque()
        )  # frames that are not dated yet, and their arrival
        self._content = (-1, b"")
        self._fault: CaptureError | None = None
        self._refusal = ""
        self._heard_ns = now_ns()
        self._ping_due_ns = self._wanted_ns = self._begun_ns = 0
        self._socket = _connected(address)
        try:
            self._agree()
        except BaseException:
            self.close()
            raise

    def description(self) -> CaptureDescription:
        """Return the newest description of markers and plates."""
        statics = self._stream.statics
        rate = round(1e9 / statics.period_ns, 3) if statics.period_ns else 0.0
        plates = self._plates.descriptions()
        return CaptureDescription(self._rows.names, "mm", statics.up or "+Z", rate, plates)

    def read(self, timeout_s: float) -> CaptureFrame | CaptureDescription | ClockPair | None:
        """Return the next frame, description or pair of clock readings; None after the timeout. Raises
        CaptureError where the server no longer answers.
        """
        due_ns = now_ns() + int(timeout_s * 1e9)
        while not self._ready:
            if self._fault is not None:
                if self._kept:
                    self._hand_over(self._numbers.release_ns())
                    continue
                raise self._fault
            now = now_ns()
            self._ping(now)
            until_ns = min(due_ns, self._ping_due_ns)
            self._receive(max(0.0, (until_ns - now) * 1e-9))
            if self._kept and now_ns() >= self._numbers.kept_until_ns:
                self._hand_over(self._numbers.release_ns())
            if not self._ready and now_ns() >= due_ns:
                return None
        return self._ready.popleft()

    def counters(self) -> Mapping[str, int]:
        """Return numbers by name: blocks refused; markers that belong to no subject; what FrameNumbers and
        ViconPlates count.
        """
        return {"refused_packets": 0, **self._counters, **self._numbers.counters, **self._plates.counters}

    def gauges(self) -> Mapping[str, float]:
        """Return the current values for the telemetry: the shortest of the recent round trips, where the
        server answers pings."""
        return {"echo_round_trip_us": 1e-3 * self._echoes.shortest_ns}

    def sentences(self) -> list[str]:
        """Return messages for the user since the last call."""
        told = list(self._sentences)
        self._sentences.clear()
        return told

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    # What is sent.

    def _send(self, content: bytes) -> None:
        try:
            self._socket.sendall(content)
        except BlockingIOError:
            self._counters["unsent_pings"] += 1
        except OSError as fault:
            raise CaptureError("closed", f"nothing can be sent to {self._address.text}: {fault}") from fault

    def _agree(self) -> None:
        """Wait for the server's offer, request data, and wait for a first frame with names."""
        due_ns = now_ns() + int(ANSWER_S * 1e9)
        while self._stream.offered is None and self._fault is None and (left := due_ns - now_ns()) > 0:
            self._receive(left * 1e-9)
        if self._fault is not None:
            raise self._fault
        if self._stream.offered is None:
            raise CaptureError(
                "refused",
                f"{self._address.text} does not describe its data within {ANSWER_S:.0f} s, as Vicon does",
            )
        due_ns = now_ns() + 300_000_000
        while not self._rows.names and self._fault is None and (left := due_ns - now_ns()) > 0:
            self._receive(left * 1e-9)
        self._described = self.description()
        self._ready = deque(item for item in self._ready if isinstance(item, CaptureFrame))
        if not self._rows.names:
            self._sentences.append("No subject has been described yet; frames follow when one is enabled.")

    def _want(self) -> None:
        """Request the kinds of data that the server offers and this program needs, with frames sent as soon
        as they exist."""
        assert self._stream.offered is not None
        self._wanted_ns = now_ns()
        wanted = (self._stream.offered & WANTED) | {CONTENTS}
        self._send(block((OBJECT_ENUMS, numbers(wanted))))
        self._send(block((REQUEST_FRAME, b"\1")))

    def _doubt(self) -> None:
        """Request the data again from time to time, with a changed request, as this makes the server send all
        descriptions again.
        """
        if self._stream.offered is not None and now_ns() - self._wanted_ns > DOUBT_NS:
            self._counters["asked_again"] += 1
            self._want()

    def _ping(self, now: int) -> None:
        if now < self._ping_due_ns:
            return
        self._ping_due_ns = now + PING_NS
        if self._stream.offered is not None and PING in self._stream.offered:
            self._send(block((PING, struct.pack("<Q", self._echoes.ask(now_ns())))))
            silent = self._echoes.shortest_ns >= 0 and now - self._heard_ns > SILENT_NS
            if silent and not self._take_blocks():  # else it is we who are late
                raise CaptureError(
                    "silent", f"{self._address.text} has sent nothing for {SILENT_NS * 1e-9:.1f} s"
                )

    # What comes.

    def _receive(self, timeout_s: float) -> None:
        """Handle complete blocks of data; if there is none, read the bytes that have arrived."""
        if self._take_blocks() or not readable([self._socket], timeout_s):
            return
        try:
            got = self._socket.recv(RECEIVE)
        except BlockingIOError:
            return
        except OSError as fault:
            self._fault = CaptureError("closed", f"{self._address.text} closed the connection: {fault}")
            return
        arrived_ns = self._heard_ns = now_ns()
        if not got:
            self._fault = CaptureError("closed", f"{self._address.text} closed the connection")
            return
        if not self._buffer:
            self._begun_ns = arrived_ns
        self._buffer += got
        self._take_blocks()

    def _take_blocks(self) -> bool:
        """Handle complete blocks while there is room for their frames; return whether any block was
        handled."""
        at, arrived_ns = 0, self._heard_ns
        while len(self._buffer) - at >= HEADER.size and self._fault is None and len(self._ready) < MOST_READY:
            tag, n_byte = HEADER.unpack_from(self._buffer, at)
            if tag != OBJECTS or n_byte > LARGEST_BLOCK:
                self._fault = CaptureError(
                    "malformed",
                    f"{self._address.text} sent a block that begins with {tag:#x} and {n_byte} bytes, "
                    "which no Vicon server sends",
                )
                break
            end = at + HEADER.size + n_byte
            if end > len(self._buffer):
                if at:  # it has only begun
                    self._begun_ns = arrived_ns
                elif arrived_ns - self._begun_ns > LONGEST_BLOCK_NS:
                    self._fault = CaptureError(
                        "malformed", f"{self._address.text} sent a block of {n_byte} bytes without an end"
                    )
                break
            self._take(bytes(self._buffer[at:end]), arrived_ns)
            at = end
        del self._buffer[:at]
        return at > 0

    def _take(self, raw: bytes, arrived_ns: int) -> None:
        """Decode one block and store its frame."""
        try:
            frame = self._stream.take(raw)
        except DecodeError as fault:
            self._counters["refused_packets"] += 1
            if str(fault) != self._refusal:  # a flood of one kind is told once
                self._refusal = str(fault)
                self._sentences.append(
                    f"A data block of the server could not be read and was left out: {fault}."
                )
            self._n_refused += 1
            if self._n_refused > MOST_REFUSED:
                self._fault = CaptureError(
                    "malformed",
                    f"{self._address.text} has sent {MOST_REFUSED} blocks of data in a row that could not be "
                    "decoded",
                )
            self._doubt()
            return
        self._n_refused = 0
        for asked_ns in self._stream.pings:
            self._echoes.answer(asked_ns, 0, arrived_ns)
        if self._stream.newly_offered:
            self._want()
        if self._stream.n_change != self._n_change:
            self._n_change = self._stream.n_change
            self._hand_over(self._numbers.release_ns())  # they are of the former descriptions
            self._learn()
        if frame is not None:
            self._keep(frame, arrived_ns)

    def _learn(self) -> None:
        """Make the description from changed subjects and plates."""
        statics = self._stream.statics
        rows = ViconRows(statics.subjects)
        if rows.names != self._rows.names or not rows.same_numbers(self._rows):
            self._rows = rows
        self._plates = ViconPlates(statics, self._plates)
        self._numbers.period_ns = statics.period_ns
        self._tell_changes()

    def _tell_changes(self) -> None:
        if self._described is not None and (new := self.description()) != self._described:
            self._described = new
            if self._ready and isinstance(self._ready[-1], CaptureDescription):
                self._ready.pop()  # nobody has had a frame of it
            self._ready.append(new)

    def _keep(self, frame: ViconFrame, arrived_ns: int) -> None:
        """Store a frame, and hand over the frames that can be dated now."""
        if frame.labelled is None:
            self._counters["frames_without_markers"] += 1
            return  # the first one after a request may lack them
        content = (frame.number, frame.labelled.tobytes())
        if content == self._content:  # FrameTimes knows repeated frames by stamps, which may be missing here
            self._counters["repeated_frames"] += 1
            return
        self._content = content
        self._kept.append((frame, arrived_ns))
        self._hand_over(self._numbers.stamps_ns(frame.number, arrived_ns))

    def _hand_over(self, stamps_ns: list[int | None]) -> None:
        """Hand over the oldest frames that are stored, which have these times [ns]."""
        for stamp_ns in stamps_ns:
            frame, arrived_ns = self._kept.popleft()
            self._hand_over_one(frame, arrived_ns, stamp_ns)

    def _hand_over_one(self, frame: ViconFrame, arrived_ns: int, stamp_ns: int | None) -> None:
        assert frame.labelled is not None
        positions, n_unknown = self._rows.positions(frame.labelled)
        self._counters["markers_of_no_subject"] += n_unknown
        if n_unknown:
            self._doubt()
        forces = self._plates.samples(frame, stamp_ns)
        self._sentences.extend(self._plates.sentences())
        if self._plates.newly_rated:
            self._tell_changes()
        unnamed = None if frame.unlabelled is None else as_doubles(frame.unlabelled["position"])
        trip_ns = max(0, self._echoes.shortest_ns)
        age_ns = round(1e9 * frame.latency_s) + trip_ns // 2
        self._ready.append(
            CaptureFrame(
                positions=positions,
                arrived_ns=arrived_ns,
                stamp_ns=stamp_ns,
                number=frame.number,
                age_ns=age_ns,
                unnamed=unnamed,
                forces=forces,
            )
        )


def _connected(address: CaptureAddress) -> socket.socket:
    """Open a TCP connection to the server."""
    try:
        sock = socket.create_connection((address.host, address.port), ANSWER_S)
    except (OSError, UnicodeError) as fault:
        raise CaptureError(
            "unreachable",
            f"nobody answers at {address.text}: {fault}; is Nexus, Tracker or Shogun running there, and "
            f"does the firewall let TCP {address.port} through?",
        ) from fault
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(AttributeError, OSError):  # only Linux has it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
    return sock
