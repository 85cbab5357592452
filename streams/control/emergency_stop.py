"""The emergency stop: datagrams to an endpoint of its own, which other traffic cannot fill up.

Other clients can prevent a new connection; a datagram needs none. A datagram that begins with the 8 bytes
MARK is a stop; on Linux a kernel filter, which needs no privileges, drops all others before they use memory,
so that the buffer can only be full of stops. No key is required: whoever can reach the endpoint may stop.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from streams.addresses import check_address
from streams.clock import now_ns
from streams.closing import Closing
from streams.errors import AddressInUseError, StreamError
from streams.reservation import is_claimed, release

WORD, ANSWER = b"rtsim:stop", b"rtsim:stopped"
MARK = WORD[:8]
"""First bytes of a stop; a datagram that begins with them is one, whatever follows."""
LONGEST = 64
"""Bytes of a datagram that are looked at."""
TOKEN = 16
"""Bytes behind the word that the answer repeats, at most."""
AT_ONCE, REST_S = 8, 0.005
"""Datagrams read at once, and the pause after them: in a flood of stops it is stopped already [s]."""
LOOK_S = 0.05
"""Interval between two looks whether to end [s]."""
REPEAT_S = 0.005
"""Interval at which a stop is repeated until it is answered [s]."""
BUFFER = 4096
_UDP_HEADER = 8
_SO_ATTACH_FILTER = 26  # of asm-generic/socket.h; the socket module has no name for it
# struct sock_filter of linux/filter.h: load a word, compare it (steps if equal, if not), return so many bytes
_LOAD, _COMPARE, _RETURN = 0x20, 0x15, 0x06


def stop_address(control: str) -> str:
    """Return the address udp://HOST:PORT that belongs to a control address; "" if it has none, as for
    ipc://."""
    return f"udp://{control.removeprefix('tcp://')}" if control.startswith("tcp://") else ""


class StopEndpoint(Closing):
    """Listens for emergency stops in a thread of its own.

    Parameters
    ----------
    control : bound control address, tcp://HOST:PORT; stops are received at the same host and port number
    heard : called from the thread for each stop (in a flood, repeatedly); a stop is answered after this call

    Attributes
    ----------
    address : udp://HOST:PORT
    whence : HOST:PORT of the sender of the newest stop, as the datagram states it

    Raises StreamError where the port cannot be bound.
    """

    def __init__(self, control: str, heard: Callable[[], object]) -> None:
        self.address = stop_address(control)
        release(_port_of(control))
        self._socket = _bind(control)
        self._heard = heard
        self.whence = ""
        self._over = False
        self._thread = threading.Thread(target=self._run, name=f"stop {self.address}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening for emergency stops."""
        self._over = True
        self._thread.join()

    def _run(self) -> None:
        self._socket.settimeout(LOOK_S)
        with self._socket:
            while not self._over:
                stops = self._take()
                if stops:
                    self._obey(stops)
                    time.sleep(REST_S)

    def _take(self) -> list[tuple[bytes, object]]:
        """Wait for an emergency stop, and return all that have arrived, each with its sender's address."""
        stops = []
        for n in range(AT_ONCE):
            if n:
                self._socket.setblocking(False)
            try:
                text, whence = self._socket.recvfrom(LONGEST)
            except OSError:  # none, or what a system reports of an answer that did not arrive
                break
            if text.startswith(MARK):
                stops.append((text, whence))
        self._socket.settimeout(LOOK_S)
        return stops

    def _obey(self, stops: list[tuple[bytes, object]]) -> None:
        whence = stops[-1][1]
        self.whence = ":".join(map(str, whence[:2])) if isinstance(whence, tuple) else ""
        try:
            self._heard()
        except Exception:  # then nobody is told that it was done
            return
        for text, whence in stops:
            if answer := answer_to(text):
                with suppress(OSError):
                    self._socket.sendto(answer, whence)  # type: ignore[call-overload]


def answer_to(stop: bytes) -> bytes:
    """Return the answer to an emergency stop. It is never longer than the stop, and empty if the stop is too
    short or is itself an answer.

    If answers were answered, two endpoints would answer each other for ever.
    """
    if len(stop) < len(ANSWER) or stop.startswith(ANSWER):
        return b""
    return (ANSWER + stop[len(WORD) : len(WORD) + TOKEN])[: len(stop)]


def request_stop(control: str, timeout_s: float = 2.0) -> bool:
    """Send a stop to the program with this control address until it is answered; return whether it was.

    Raises StreamError if the host does not exist, or the address does not support datagrams.
    """
    check_address(control)
    if not stop_address(control):
        raise StreamError(
            f"{control} cannot take the emergency stop by UDP datagram; give an address that begins with tcp://"
        )
    stop = WORD + os.urandom(TOKEN)
    answer, due_ns = answer_to(stop), now_ns() + round(1e9 * timeout_s)
    family, places = _places(control)
    with socket.socket(family, socket.SOCK_DGRAM) as wire:
        while True:
            for place in places:
                with suppress(OSError):
                    wire.sendto(stop, place)
            again_ns = now_ns() + round(1e9 * REPEAT_S)
            while (left_ns := again_ns - now_ns()) > 0:
                wire.settimeout(1e-9 * left_ns)
                with suppress(OSError):
                    if wire.recv(LONGEST) == answer:
                        return True
            if now_ns() > due_ns:
                return False


def check_stop_free(control: str) -> None:
    """Raise StreamError where the endpoint of a control address could not be bound at the moment."""
    if stop_address(control) and _port_of(control) and not is_claimed(_port_of(control)):
        _bind(control).close()


def _port_of(control: str) -> int:
    port = control.rpartition(":")[2]
    return int(port) if port.isdigit() else 0


def _places(control: str) -> tuple[int, list[tuple]]:
    """Return the address family and the socket addresses of a control address's host and port."""
    host, _, port = control.removeprefix("tcp://").rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    try:
        found = socket.getaddrinfo(
            "0.0.0.0" if host == "*" else host.strip("[]"), port, family, socket.SOCK_DGRAM
        )
    except OSError as fault:
        raise StreamError(f"{control}: there is no such host ({fault.strerror or fault})") from fault
    return family, [place for *_, place in found]


def _bind(control: str) -> socket.socket:
    """Bind the socket for stops, with a filter against other datagrams where the system has one."""
    family, places = _places(control)
    wire = socket.socket(family, socket.SOCK_DGRAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # on Windows another program could take it over
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        if family == socket.AF_INET6:
            wire.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        _filter(wire)
        wire.bind(places[0])
    except OSError as fault:
        wire.close()
        text = f"{stop_address(control)}, the endpoint of the emergency stop, cannot be bound"
        if fault.errno in (98, 48, 10048, 10013):  # in use: Linux, macOS, Windows
            raise AddressInUseError(
                f"{text}: another program has this port for datagrams; choose another port"
            ) from fault
        raise StreamError(f"{text} ({fault.strerror})") from fault
    return wire


def _filter(wire: socket.socket) -> None:
    """Let the kernel drop datagrams that do not begin with MARK; do nothing where it cannot."""
    if sys.platform != "linux":
        return
    first, second = struct.unpack(">II", MARK)
    steps = (
        (_LOAD, 0, 0, _UDP_HEADER), (_COMPARE, 0, 3, first),
        (_LOAD, 0, 0, _UDP_HEADER + 4), (_COMPARE, 0, 1, second),
        (_RETURN, 0, 0, _UDP_HEADER + LONGEST), (_RETURN, 0, 0, 0),
    )  # fmt: skip
    program = ctypes.create_string_buffer(b"".join(struct.pack("@HBBI", *step) for step in steps))
    with suppress(OSError):  # what is no stop is then read and left
        wire.setsockopt(
            socket.SOL_SOCKET,
            _SO_ATTACH_FILTER,
            struct.pack("@HP", len(steps), ctypes.addressof(program)),
        )
