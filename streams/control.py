"""Commands to a running estimator, each answered with success or not and a sentence."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import zmq

from streams.account import Sentences, account, plain
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import decode, encode
from streams.errors import DecodeError, StreamError
from streams.guard import Allowance
from streams.link import Link
from streams.messages import Command, Telemetry
from streams.security import Security
from streams.sockets import BoundSocket, ZmqSocket, client_socket, receive_rest

COMMAND_LIMIT = 8 << 10
"""Largest command [bytes]; a client that sends more is disconnected."""
COMMANDS = Allowance(part=COMMAND_LIMIT, burst=4 * COMMAND_LIMIT, rate=COMMAND_LIMIT, buffer=4096)
"""What a client may send: some hundred usual commands at once, and some eighty a second."""
IDLE_MS = 20
"""How often to look up while nothing arrives: whether to stop, and what the other side does [ms]."""
MAX_PARTS = 8

Handler = Callable[[Command], tuple[bool, str]]


class ControlServer(Closing):
    """Receives commands in a thread of its own and answers each.

    Parameters
    ----------
    address : where to bind, e.g. "tcp://127.0.0.1:5562"; port 0 takes a free one
    handler : does the command and returns (done, sentence); called in the server's thread, so it must only
        leave word for the loop. If it raises, the client is told.
    names : the commands there are
    security : keys and allow-list; needed for any address that the network can reach

    Raises StreamError when the address is not allowed, malformed or in use, or a key cannot be read.
    """

    def __init__(
        self,
        address: str,
        handler: Handler,
        names: Sequence[str],
        security: Security | None = None,
    ) -> None:
        self._bound = BoundSocket(zmq.ROUTER, address, security, COMMANDS)
        self._handler = handler
        self._names = tuple(names)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"control {self.address}", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The endpoint to connect to, with the real port."""
        return self._bound.address

    @property
    def events(self) -> deque[str]:
        """Plain sentences about clients that were cut off, newest last; take them with popleft."""
        return self._bound.events

    def close(self) -> None:
        """Answer no more commands."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        socket = self._bound.socket
        try:
            while not self._stop.is_set():
                if not socket.poll(IDLE_MS):
                    continue
                parts = receive_rest(socket, socket.recv(copy=False), MAX_PARTS)
                envelope, body = _split(parts)
                ok, text = self._answer(body)
                sentences = Sentences()
                sentences.say(text)
                reply = account("", {}, {"ok": float(ok)}, sentences)
                socket.send_multipart(envelope + encode(reply))
        finally:
            self._bound.close()

    def _answer(self, body: list[bytes]) -> tuple[bool, str]:
        try:
            command = decode(body)
        except DecodeError as fault:
            return False, f"The command was not understood: {fault}."
        if not isinstance(command, Command):
            return False, f"A message of type {command.type} is not a command."
        if command.name not in self._names:
            return False, f"There is no command {command.name!r}; there are {', '.join(self._names)}."
        try:
            return self._handler(command)
        except Exception as fault:
            return False, f"The command {command.name!r} failed: {fault}."


def request(
    address: str,
    name: str,
    args: Mapping[str, Any] | None = None,
    timeout_s: float = 2.0,
    security: Security | None = None,
) -> tuple[bool, str]:
    """Send a command and wait for the answer; returns (done, sentence), also when nobody answers.

    Raises StreamError when the address, a key or an argument cannot be used.
    """
    command = encode(Command(name=name, args=dict(args or {})))
    with zmq.Context() as context, client_socket(context, zmq.REQ, address, security) as socket:
        link, due_ns = Link(socket, address), now_ns() + round(1e9 * max(0.0, timeout_s))
        try:
            if not (_send(socket, link, command, due_ns) and _await(socket, link, due_ns)):
                return (
                    False,
                    f"Nobody answered at {address} within {timeout_s:g} s; is the estimator running?",
                )
            reply = decode(socket.recv_multipart())
        except DecodeError as fault:
            raise StreamError(f"the answer from {address} was not understood: {fault}") from fault
        finally:
            link.close()
    if not isinstance(reply, Telemetry) or not reply.text:
        return False, f"{address} answered with something that is not a reply; is it a control address?"
    return reply.gauges.get("ok") == 1.0, plain(reply.text[0])


def _send(socket: ZmqSocket, link: Link, parts: list[bytes], due_ns: int) -> bool:
    """Send a message; whether it could go in time: of a peer that does not speak our way there is no pipe."""
    while True:
        try:
            socket.send_multipart(parts, zmq.DONTWAIT)
            return True
        except zmq.Again:
            if now_ns() >= due_ns:
                return False
            socket.poll(IDLE_MS, zmq.POLLOUT)
            link.check()


def _await(socket: ZmqSocket, link: Link, due_ns: int) -> bool:
    """Wait for a whole message, and for no endless one; whether it came in time."""
    while not socket.poll(IDLE_MS):
        if now_ns() >= due_ns:
            return False
        link.check()
    return True


def _split(parts: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The envelope (identity and, from REQ clients, an empty part) and the message."""
    n_envelope = 2 if len(parts) > 1 and parts[1] == b"" else 1
    return parts[:n_envelope], parts[n_envelope:]
