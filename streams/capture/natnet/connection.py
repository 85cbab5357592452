"""A connection to OptiTrack's Motive over NatNet 3.0 to 4.2.

The client sends `connect`, which the server answers with its description. In unicast the server sends frames
to connected clients until it has received nothing from them for some seconds; in multicast it sends to a
group. Ports and messages as in NaturalPoint's NatNet SDK 4.1.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from streams.capture.datagrams import Datagram, arrivals, bound_socket, group_socket, interface_to, resolved
from streams.capture.echo_clock import EchoClock
from streams.capture.natnet.frame import MODELS_CHANGED, decode_frame
from streams.capture.natnet.markers import NamedRows, unnamed_markers
from streams.capture.natnet.messages import (
    DEFINITIONS,
    DISCONNECT,
    ECHO_REQUEST,
    ECHO_RESPONSE,
    FRAME,
    KEEP_ALIVE,
    REQUEST_DEFINITIONS,
    RESPONSE,
    SERVER_INFO,
    Definitions,
    ServerInfo,
    connect_message,
    decode_definitions,
    decode_echo,
    decode_server_info,
    message,
)
from streams.capture.natnet.plates import NatNetPlates
from streams.capture.natnet.questions import Questions
from streams.capture.natnet.stamps import StampCheck
from streams.capture.records import CaptureDescription, CaptureError, CaptureFrame, ClockPair
from streams.capture.system import CaptureAddress
from streams.clock import now_ns
from streams.errors import DecodeError

ANSWER_NS = 3_000_000_000
"""Time that the server has for its first answer [ns]."""
AGAIN_NS = 400_000_000
"""Time without a frame after which the server is told again that we are there, as it may have restarted
[ns]."""
ECHO_NS = 250_000_000
"""Interval between two comparisons of the clocks, which also tell the server that we are there [ns]."""
DEFINITIONS_NS = 700_000_000
"""Interval at which definitions are asked for, so that a changed list is known within a second [ns]."""
ANSWERS_NS = 800_000_000
"""Time for the other answers of a server that answers questions [ns]."""
SOON_NS = 10_000_000
"""Least interval between requests for definitions if a frame states that they have changed [ns]."""
SILENT_NS = 1_600_000_000
"""Time without any message after which the server counts as gone [ns]."""
LATEST_STAMP_NS = 1 << 62
"""Stamps beyond this are of no clock [ns]."""
OLDEST_NS = 10_000_000_000
"""No frame is older than this when it is sent [ns]."""
MOST_SENTENCES = 16
MOST_WAITING, MOST_WAITING_BYTES = 256, 1 << 23
"""Frames that wait for the definitions that they fit, and the bytes of their packets."""
NEWEST = (4, 2)


class _Waiting(NamedTuple):
    """A received packet that contains a frame, and the time of its arrival [ns]."""

    packet: bytes
    arrived_ns: int


class NatNetConnection:
    """Connection to one NatNet server, with the methods that connections to all capture systems have."""

    def __init__(self, address: CaptureAddress) -> None:
        self._address = address
        self._counters: Counter[str] = Counter()
        self._sentences: deque[str] = deque(maxlen=MOST_SENTENCES)
        self._ready: deque[CaptureFrame | CaptureDescription | ClockPair] = deque()
        self._waiting: deque[_Waiting] = deque(maxlen=MOST_WAITING)
        self._echoes = EchoClock()
        self._questions = Questions()
        self._raw_definitions = b""
        self._rows = NamedRows(Definitions((), (), 0))
        self._plates = NatNetPlates(Definitions((), (), 0))
        self._described: CaptureDescription | None = None
        self._stale = self._changed = False
        self._stamps = StampCheck()
        self._fault: CaptureError | None = None
        self._refusal = ""
        self._heard_ns = self._frame_ns = now_ns()
        self._echo_due_ns = self._definitions_due_ns = self._definitions_asked_ns = 0
        self._info: ServerInfo | None = None
        self._server = resolved(address.host, address.port)
        local = address.options.get("interface", "") or interface_to(self._server)
        self._command = bound_socket(local)
        self._sockets = [self._command]
        try:
            self._await(lambda: self._info is not None, ANSWER_NS)
            self._listen(local)
            self._await(lambda: bool(self._raw_definitions and self._questions.complete), AGAIN_NS)
            if self._questions.answered:  # what answers once does so again: one session, not two
                self._await(lambda: self._questions.complete, ANSWERS_NS)
        except BaseException:
            self.close()
            raise
        self._described = self.description()
        self._ready = deque(item for item in self._ready if not isinstance(item, CaptureDescription))

    def description(self) -> CaptureDescription:
        """Return the newest description of the markers and plates."""
        asked = self._questions
        plates = self._plates.descriptions(asked.plate_rate)
        return CaptureDescription(self._rows.names, asked.unit, asked.up, asked.rate, plates)

    def read(self, timeout_s: float) -> CaptureFrame | CaptureDescription | ClockPair | None:
        """Return the next frame, description or pair of clock readings; None after the timeout. Raises
        CaptureError where the server no longer answers.
        """
        due_ns = now_ns() + int(timeout_s * 1e9)
        while not self._ready:
            if self._fault is not None:
                raise self._fault
            now = now_ns()
            self._ask(now)
            if now - self._heard_ns > SILENT_NS:
                raise CaptureError(
                    "silent",
                    f"{self._address.text} has sent nothing for {SILENT_NS * 1e-9:.1f} s; is Motive open?",
                )
            until_ns = min(due_ns, self._echo_due_ns, self._definitions_due_ns)
            for datagram in arrivals(self._sockets, (until_ns - now) * 1e-9):
                self._take(datagram)
            if not self._ready and now_ns() >= due_ns:
                return None
        return self._ready.popleft()

    def counters(self) -> Mapping[str, int]:
        """Return numbers by name: packets refused or from unknown senders; frames that did not match the
        definitions; marker sets of which a labelled marker is at another position than the set's marker with
        the same number, so that its occlusion flag cannot be used.
        """
        return {
            "refused_packets": 0,
            **self._counters,
            "sets_with_other_numbering": self._rows.disagreeing,
            "plate_readings_left_out": self._plates.left_out,
        }

    def gauges(self) -> Mapping[str, float]:
        """Return the current values for the telemetry: the shortest of the recent round trips."""
        return {"echo_round_trip_us": 1e-3 * self._echoes.shortest_ns}

    def sentences(self) -> list[str]:
        """Return messages for the user since the last call."""
        told = list(self._sentences)
        self._sentences.clear()
        return told

    def close(self) -> None:
        """Disconnect and close the sockets."""
        for sock in self._sockets:
            try:
                if sock is self._command:
                    sock.sendto(message(DISCONNECT), self._server)
            except OSError:
                pass  # the network is gone, and so are we
            sock.close()
        self._sockets = []

    # What is sent.

    def _send(self, packet: bytes) -> None:
        try:
            self._command.sendto(packet, self._server)
        except BlockingIOError:
            self._counters["unsent_questions"] += 1
        except OSError as fault:
            raise CaptureError("unreachable", f"{self._address.text} cannot be reached: {fault}") from fault

    def _await(self, done: Callable[[], bool], longest_ns: int) -> None:
        """Send requests and handle answers until done() is true, or the time is over."""
        due_ns = now_ns() + longest_ns
        while not done() and (now := now_ns()) < due_ns:
            self._ask(now)
            for datagram in arrivals(self._sockets, 0.02):
                self._take(datagram)
            if self._fault is not None:
                raise self._fault
        if self._info is None and self._counters["refused_packets"]:
            raise CaptureError("refused", "what answers is not a NatNet server; its port is usually 1510")
        if self._info is None:
            raise CaptureError(
                "unreachable",
                f"nobody answers at {self._address.text} within {longest_ns * 1e-9:.0f} s; is streaming on "
                "in Motive (Data Streaming), is the right network card chosen there, and does the firewall "
                f"let UDP {self._address.port} through?",
            )

    def _listen(self, local: str) -> None:
        """Open the socket for frames: for multicast that of the group, for unicast also the usual port."""
        assert self._info is not None
        mode = self._address.options.get("mode", "")
        multicast = mode == "multicast" or (mode == "" and self._info.multicast)
        where = "unicast"
        if multicast:
            self._sockets.append(group_socket(local, self._info.group, self._info.data_port))
            where = f"multicast, group {self._info.group}"
        else:
            try:  # where another program has it, frames still come to the socket that asks
                self._sockets.append(bound_socket(local, self._info.data_port))
            except CaptureError:
                self._counters["data_port_taken"] += 1
        version = ".".join(map(str, self._info.version))
        self._sentences.append(f"{self._info.application}, NatNet {version}, {where}.")

    def _ask(self, now: int) -> None:
        """Send the requests that are due: for identification, an echo, definitions or a setting, or a message
        that shows the server that this client still exists.
        """
        if now >= self._echo_due_ns:
            self._echo_due_ns = now + ECHO_NS
            if self._info is None or now - self._frame_ns > AGAIN_NS:
                self._send(connect_message())
            if self._info is None:
                return
            self._send(message(KEEP_ALIVE))
            self._send(message(ECHO_REQUEST, struct.pack("<Q", self._echoes.ask(now_ns()))))
            if question := self._questions.next():
                self._send(question)
        if self._info is not None and now >= self._definitions_due_ns:
            self._definitions_due_ns = now + DEFINITIONS_NS
            self._definitions_asked_ns = now
            self._send(message(REQUEST_DEFINITIONS))

    # What comes.

    def _take(self, datagram: Datagram) -> None:
        """Handle one received packet, whichever kind of message it contains."""
        packet = datagram.packet
        if datagram.sender[0] != self._server[0]:
            self._counters["packets_of_strangers"] += 1
            return
        kind = int.from_bytes(packet[:2], "little")
        try:
            if kind == FRAME and self._info is not None:
                self._frame_ns = datagram.arrived_ns
                self._take_frame(_Waiting(packet, datagram.arrived_ns))
            elif kind == SERVER_INFO:
                self._take_info(decode_server_info(packet))
            elif kind == ECHO_RESPONSE and self._info is not None:
                self._take_echo(packet, datagram.arrived_ns)
            elif kind == DEFINITIONS and self._info is not None:
                self._take_definitions(packet)
            elif kind == RESPONSE:
                self._take_answer(packet)
        except DecodeError as fault:
            self._counters["refused_packets"] += 1
            self._tell_refusal(f"A packet was refused: {fault}.")
            return
        self._heard_ns = datagram.arrived_ns

    def _take_info(self, info: ServerInfo) -> None:
        if self._info is None:
            if info.version < (3, 0):
                version = ".".join(map(str, info.version))
                self._fault = CaptureError(
                    "refused",
                    f"{self._address.text} speaks NatNet {version}; versions from 3.0 on are read, which "
                    "Motive 2 and later speak",
                )
                return
            if info.version > NEWEST:
                self._send(connect_message(NEWEST))
                self._sentences.append(
                    f"The server speaks NatNet {'.'.join(map(str, info.version))}; rtsim requests "
                    f"version {'.'.join(map(str, NEWEST))}, the newest version that rtsim reads."
                )
                info = info._replace(version=NEWEST)
            self._info = info
        elif (min(info.version, NEWEST), info.tick_rate) != (self._info.version, self._info.tick_rate):
            self._fault = CaptureError("closed", f"another program answers at {self._address.text} now")

    def _take_echo(self, packet: bytes, arrived_ns: int) -> None:
        asked_ns, ticks = decode_echo(packet)
        stamp_ns = self._stamp_ns(ticks)
        pair = self._echoes.answer(asked_ns, stamp_ns, arrived_ns) if self._ticking else None
        if pair is not None and 0 < stamp_ns < LATEST_STAMP_NS:
            self._ready.append(pair)

    def _take_answer(self, packet: bytes) -> None:
        if self._questions.answer(packet):
            self._tell_changes()
            if following := self._questions.next():
                self._send(following)

    def _take_definitions(self, packet: bytes) -> None:
        if packet != self._raw_definitions:
            assert self._info is not None
            definitions = decode_definitions(packet, self._info.version)
            self._raw_definitions = packet
            self._rows = NamedRows(definitions)
            self._plates = NatNetPlates(definitions, self._plates.left_out)
            self._counters["unread_descriptions"] = definitions.unread
            if self._plates.unused:
                self._sentences.append(
                    f"Force plates without calibrated channels or corners are left out: "
                    f"{', '.join(self._plates.unused)}."
                )
            self._tell_changes()
        self._stale = False
        waiting, self._waiting = self._waiting, deque(maxlen=MOST_WAITING)
        for one in waiting:
            self._take_frame(one, again=True)

    def _tell_refusal(self, sentence: str) -> None:
        """Report why a packet or frame is not used; repeated reports of one kind are made only once."""
        if sentence != self._refusal:
            self._refusal = sentence
            self._sentences.append(sentence)

    def _tell_changes(self) -> None:
        """Queue the description for `read` if it differs from the previous description."""
        if self._described is not None and (new := self.description()) != self._described:
            self._described = new
            self._ready.append(new)

    def _take_frame(self, one: _Waiting, again: bool = False) -> None:
        """Queue a received frame (`one`) for `read`, or keep it until the definitions that match it arrive;
        again : whether it has been kept before"""
        assert self._info is not None
        frame = decode_frame(one.packet, self._info.version)
        changed = bool(frame.params & MODELS_CHANGED)
        if changed and not self._changed and not again:
            self._stale = True
        self._changed = changed
        positions = None
        if not (self._stale or (self._waiting and not again)) and self._raw_definitions:
            positions = self._rows.positions(frame)
        if positions is None:
            self._wait(one, again)
            return
        stamp_ns = self._stamp_ns(frame.exposed or frame.received or frame.sent) if self._ticking else None
        stamp_ns = self._believed(stamp_ns, one.arrived_ns)
        age_ns = self._stamp_ns(frame.sent - frame.exposed) if frame.sent > frame.exposed > 0 else 0
        age_ns = age_ns if age_ns <= OLDEST_NS else 0
        self._ready.append(
            CaptureFrame(
                positions=positions,
                arrived_ns=one.arrived_ns,
                stamp_ns=stamp_ns,
                number=frame.number,
                age_ns=age_ns if self._ticking else 0,
                unnamed=unnamed_markers(frame),
                forces=self._plates.samples(frame, stamp_ns, self._stamps.frame_ns(self._questions.rate)),
            )
        )

    def _wait(self, one: _Waiting, again: bool) -> None:
        n_byte = sum(len(other.packet) for other in self._waiting)
        if again or len(self._waiting) == MOST_WAITING or n_byte + len(one.packet) > MOST_WAITING_BYTES:
            self._counters["unfitting_frames"] += 1
            self._tell_refusal("Frames whose markers differ from the server's definitions are not used.")
            return
        self._waiting.append(one)
        soon_ns = self._definitions_asked_ns + SOON_NS
        self._definitions_due_ns = min(self._definitions_due_ns, max(soon_ns, now_ns()))

    def _believed(self, stamp_ns: int | None, arrived_ns: int) -> int | None:
        """Return the time stamp of a frame if it is consistent with earlier ones, else None. If the server's
        clock was reset, the connection is ended later.
        """
        if stamp_ns is None:
            return None
        if not (0 < stamp_ns < LATEST_STAMP_NS and self._stamps.believed(stamp_ns, arrived_ns)):
            self._counters["frames_without_stamp"] += 1
            stamp_ns = None
        if told := self._stamps.contradiction(self._questions.rate, arrived_ns):
            self._sentences.append(told)
        if leap_ns := self._stamps.leap_ns:
            self._fault = CaptureError(
                "closed",
                f"{self._address.text} was restarted: its clock has leapt by {leap_ns * 1e-9:g} s",
            )
        return stamp_ns

    @property
    def _ticking(self) -> bool:
        return self._info is not None and self._info.tick_rate > 0

    def _stamp_ns(self, ticks: int) -> int:
        """Convert ticks of the server's clock to nanoseconds."""
        assert self._info is not None
        return ticks * 1_000_000_000 // self._info.tick_rate if self._info.tick_rate else 0
