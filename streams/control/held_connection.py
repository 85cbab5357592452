"""One open connection to a control address for all commands of a program, restored if it is lost.

An open connection stays usable when other clients fill the endpoint, and a command needs no handshake.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import zmq
from msgspec.structs import replace

from streams.access.security import Security
from streams.account import plain
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import decode, encode
from streams.control.tickets import TICKET, WITHOUT_TICKET, may_follow
from streams.errors import DecodeError, ManyPartsError, StreamError
from streams.link import ClientLink
from streams.messages import Command, Telemetry
from streams.sockets import ZmqContext, ZmqSocket, client_socket, receive_few

LOOK_MS = 20
"""Longest wait for a message before looking at anything else [ms]."""
UNSENT_LOOK_MS = 2
"""The same while something waits for the connection [ms]."""
NO_ANSWER = "Nobody answered at {} within {:g} s; is the run over?"
LOST = "The connection to {} was lost; whether {} was done is not known."

Then = Callable[[bool, str], object]


class _Asked(NamedTuple):
    """A command that is waiting for its answer."""

    name: str
    parts: list[bytes]
    then: Then
    due_ns: int


class HeldControl(Closing):
    """Sender of commands with a thread of its own; `ask` may be called from any thread.

    Parameters
    ----------
    address : control address, which need not be there yet; timeout_s : how long an answer may take

    Raises StreamError when the address or a key cannot be used.
    """

    def __init__(self, address: str, timeout_s: float, security: Security | None = None) -> None:
        self.address, self.timeout_s, self._security = address, timeout_s, security
        self._asked: deque[_Asked] = deque()  # not sent yet
        self._sent: deque[_Asked] = deque()  # in the order of their answers
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._over = False
        self._context: ZmqContext = zmq.Context()
        try:
            self._connect()
        except StreamError:
            self._context.term()
            self._wake.close()
            self._woken.close()
            raise
        self._thread = threading.Thread(target=self._run, name=f"commands to {address}", daemon=True)
        self._thread.start()

    def ask(self, name: str, args: Mapping[str, Any], then: Then) -> None:
        """Send a command without waiting for the answer. Later `then` is called in the connection's thread
        with (done, sentence), also if nobody answers.

        A command that cannot be sent within the timeout is never sent. Raises StreamError for an argument
        that cannot be encoded.
        """
        command, due_ns = Command(name=name, args=dict(args)), now_ns() + round(1e9 * self.timeout_s)
        parts = encode(command)

        def with_ticket(ok: bool, text: str) -> None:
            if may_follow(ok, text):
                ticketed = encode(replace(command, ticket=text)) if ok else parts
                self._asked.append(_Asked(name, ticketed, then, due_ns))
            else:
                then(ok, text)

        if name in WITHOUT_TICKET:
            self._asked.append(_Asked(name, parts, then, due_ns))
        else:
            self._asked.append(_Asked(name, encode(Command(name=TICKET)), with_ticket, due_ns))
        with suppress(OSError):  # the thread will look up already
            self._wake.send(b"x")

    def close(self) -> None:
        """Close the connection; commands that wait get no answer."""
        self._over = True
        with suppress(OSError):
            self._wake.send(b"x")
        self._thread.join()

    def _connect(self) -> None:
        self._socket: ZmqSocket = client_socket(self._context, zmq.DEALER, self.address, self._security)
        self._socket.immediate = True  # nothing waits for a connection in there, to be done much later
        self._socket.reconnect_ivl = 50
        self._link = ClientLink(self._socket, self.address)
        self._n_lost = 0

    def _hang_up(self) -> None:
        self._link.close()
        self._socket.close(0)

    def _run(self) -> None:
        try:
            while not self._over:
                self._await()
                self._send()
                self._receive()
                self._give_up()
        finally:
            self._hang_up()
            self._context.term()
            self._wake.close()
            self._woken.close()

    def _await(self) -> None:
        """Wait for an answer, a new command or a change of the connection."""
        poller = zmq.Poller()
        poller.register(self._woken, zmq.POLLIN)
        poller.register(self._socket, zmq.POLLIN)
        poller.poll(self._link.wait_ms(UNSENT_LOOK_MS if self._asked else LOOK_MS))
        with suppress(BlockingIOError):
            self._woken.recv(4096)

    def _send(self) -> None:
        while self._asked:
            try:
                self._socket.send_multipart([b"", *self._asked[0].parts], zmq.DONTWAIT)
            except zmq.Again:  # no connection yet
                return
            self._sent.append(self._asked.popleft())

    def _receive(self) -> None:
        """Read answers, which come in the order of the commands as long as the connection is the same."""
        while True:
            try:
                first = self._socket.recv(zmq.DONTWAIT, copy=False)
                parts: list[bytes] | None = receive_few(self._socket, first)
            except zmq.Again:
                parts = None
            except ManyPartsError:  # no answer has so many
                for asked in self._taken():
                    asked.then(False, LOST.format(self.address, asked.name))
                self._hang_up()
                self._connect()
                return
            if parts is not None:
                self._link.heard(parts)
            self._link.check()  # after the answer: it would tell of an end before it
            if self._link.n_ended > self._n_lost:
                self._n_lost = self._link.n_ended
                for asked in self._taken():
                    asked.then(False, LOST.format(self.address, asked.name))
            elif parts is not None and self._sent:
                self._sent.popleft().then(*read_answer(parts[1:], self.address))
            if parts is None:
                return

    def _give_up(self) -> None:
        """Report failure of commands that have waited too long, and open a new connection after an answer
        that never came."""
        now = now_ns()
        late = bool(self._sent) and now > self._sent[0].due_ns
        if late:
            self._hang_up()
            self._connect()
        gone = self._taken() if late else []
        while self._asked and now > self._asked[0].due_ns:
            gone.append(self._asked.popleft())
        for asked in gone:
            asked.then(False, NO_ANSWER.format(self.address, self.timeout_s))

    def _taken(self) -> list[_Asked]:
        return [self._sent.popleft() for _ in range(len(self._sent))]


def read_answer(parts: list[bytes], address: str) -> tuple[bool, str]:
    """Read the answer to a command; return (done, sentence)."""
    try:
        reply = decode(parts)
    except DecodeError as fault:
        return False, f"The answer from {address} was not understood: {fault}."
    if not isinstance(reply, Telemetry) or not reply.text or not reply.text[0].strip():
        return False, f"{address} answered with something that is not a reply; is it a control address?"
    return reply.gauges.get("ok") == 1.0, plain(reply.text[0])
