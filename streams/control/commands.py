"""Commands to a running estimator; the answer to each states whether it was carried out, and a sentence."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import zmq
from msgspec import UNSET
from msgspec.structs import replace

from streams.access.askers import NOT_TOLD, Asker, Askers, key_of
from streams.access.guard import SendingLimit
from streams.access.security import Security
from streams.account import Sentences, account
from streams.clock import now_ns
from streams.closing import Closing
from streams.codec import decode, encode
from streams.control.emergency_stop import StopEndpoint, stop_address
from streams.control.held_connection import read_answer
from streams.control.journal import CommandJournal
from streams.control.tickets import NO_COMMAND, TICKET, WITHOUT_TICKET, Tickets, may_follow
from streams.errors import AddressInUseError, DecodeError, StreamError
from streams.link import ClientLink
from streams.messages import Command
from streams.sockets import BoundSocket, ZmqSocket, client_socket, receive_rest

COMMAND_LIMIT = 8 << 10
"""Largest command [bytes]; a client that sends more is disconnected."""
COMMANDS = SendingLimit(
    part=COMMAND_LIMIT,
    burst=4 * COMMAND_LIMIT,
    rate=COMMAND_LIMIT,
    unfinished=3 * COMMAND_LIMIT,
    buffer=4096,
)
"""Limit of what a client may send: some hundred usual commands at once, and some eighty a second."""
UNKNOWN_NS = 1_000_000_000
"""Time for which a command is repeated that is refused because its user is not known yet [ns]."""
IDLE_MS = 20
"""Longest wait for a message before requests to stop and the connection are checked [ms]."""
MAX_PARTS = 8
PORTS_TRIED = 20
"""Free ports that are looked at for one that is free for datagrams, too."""
ESTIMATOR = "the estimator"
STOP_NAME = "emergency_stop"

Handler = Callable[[Command], tuple[bool, str]]


class CommandRights(Protocol):
    """The rights of users: which commands they may give."""

    @property
    def free(self) -> Collection[str]:
        """Commands that everybody may give."""
        ...

    def refusal(self, command: str, asker: Asker) -> str:
        """Return a sentence on why a user may not give a command; empty if the user may."""
        ...

    def done(self, command: str, asker: Asker) -> None:
        """Record that a command was carried out, and who gave it."""
        ...


class ControlServer(Closing):
    """Receives commands in a thread of its own and answers each.

    Parameters
    ----------
    address : where to bind, e.g. "tcp://127.0.0.1:5562"; port 0 takes a free one
    handler : carries out the command and returns (done, sentence); called in the server's thread, so it must
        only leave a message for the loop of the run. If it raises an exception, the client is told.
    names : names of all commands
    security : keys and allow-list; needed for any address that the network can reach
    rights : rights of users; None = whoever may connect may do everything
    stop : called for each emergency stop, which has an endpoint for datagrams at the same host and port
        number, from a thread of its own; None = there is none

    Raises StreamError when the address is not allowed, malformed or in use, or a key cannot be read.
    """

    def __init__(
        self,
        address: str,
        handler: Handler,
        names: Sequence[str],
        security: Security | None = None,
        rights: CommandRights | None = None,
        stop: Callable[[], object] | None = None,
    ) -> None:
        self._stopping = stop
        self.journal, self._tickets = CommandJournal(), Tickets()
        self._bound, self._stops = _bound(address, security, self._by_datagram if stop is not None else None)
        self.askers = Askers(self._bound.guard, self._bound.listed)
        self._rights, self._drained_ns = rights, 0
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        if self._bound.guard is not None:
            self._bound.guard.ended = self._look_up
        self._handler = handler
        self._names = tuple(names)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"control {self.address}", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address to connect to; if it was bound to port 0, with the port that the system chose."""
        return self._bound.address

    @property
    def stop_address(self) -> str:
        """udp://HOST:PORT of the emergency stop; empty where there is none."""
        return self._stops.address if self._stops is not None else ""

    @property
    def events(self) -> deque[str]:
        """Sentences for the user, newest last: on the commands, and on clients that this server disconnected,
        because they sent too much or had to make room for others. Take them with popleft.
        """
        return self.journal.sentences

    def stop_by(self, whom: str) -> None:
        """Carry out the emergency stop for a caller without a socket; `whom` is the name for the log."""
        if self._stopping is not None:
            self._stopping()
            self.journal.note(STOP_NAME, {}, Asker(whom, ""), True, "heard", floods=True)

    def close(self) -> None:
        """Stop receiving commands."""
        if self._stops is not None:
            self._stops.close()
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        commands = self._bound.socket
        poller = zmq.Poller()
        poller.register(commands, zmq.POLLIN)
        poller.register(self._woken, zmq.POLLIN)
        try:
            while not self._stop.is_set():
                if not commands.poll(0):
                    self._drained_ns = now_ns()
                    self._bound.drained()
                    self._tell()
                    ready = dict(poller.poll(IDLE_MS))
                    if self._woken.fileno() in ready:
                        self._woken.recv(4096)
                    if commands not in ready:
                        continue
                first = commands.recv(copy=False)
                envelope, body = _split(receive_rest(commands, first, MAX_PARTS, self._bound.cut))
                self._note(first)
                ok, text = self._answer(body, first, envelope[0])
                sentences = Sentences()
                sentences.say(text)
                reply = account("", {}, {"ok": float(ok)}, sentences)
                commands.send_multipart(envelope + encode(reply))
        finally:
            self._bound.close()
            self._wake.close()
            self._woken.close()

    def _tell(self) -> None:
        """Report the connections that the guard closed, and the commands that were only counted during a
        flood."""
        events = self._bound.events
        while events:
            self.journal.sentences.append(events.popleft())
        self.journal.flush()

    def _by_datagram(self) -> None:
        self.stop_by(f"a datagram from {self._stops.whence if self._stops is not None else 'somebody'}")

    def _look_up(self) -> None:
        """Let the server's thread record that no message waits at present, so that later messages can be
        attributed to their connections.
        """
        with suppress(OSError):  # it will look up already
            self._wake.send(b"x")

    def _note(self, first: zmq.Frame) -> None:
        """Record that a client has sent a message, so that it keeps its place before silent clients; first :
        first part of the message, which knows its connection
        """
        self._bound.heard(first)
        if self._bound.guard is not None:
            connection = self._bound.guard.connection(int(first.get(zmq.SRCFD)))
            if connection is not None:
                connection.heard_ns, connection.key = now_ns(), key_of(first)

    def _answer(self, body: list[bytes], first: zmq.Frame, connection: bytes) -> tuple[bool, str]:
        """Carry out the command in a message, log the outcome, and return (done, sentence).

        body : content of the message
        first : its first part, by which the sender is identified
        connection : identity of the sender's connection
        """
        asker = self.askers.of(first, self._drained_ns)  # of all, so that who comes next is told, too
        command: Command | None = None
        try:
            message = decode(body)
            command = message if isinstance(message, Command) else None
            ok, text = False, f"A message of type {message.type} is not a command."
        except DecodeError as fault:
            ok, text = False, f"The command was not understood: {fault}."
        if command is not None:
            if command.name == TICKET:
                return True, self._tickets.issue(connection)
            try:
                ok, text = self._obeyed(command, asker, connection)
            except Exception as fault:
                ok, text = False, f"The command {command.name!r} failed: {fault}."
        free = command is not None and command.name in self._free
        name, args = (command.name, command.args) if command is not None else ("unknown", {})
        self.journal.note(name, args, asker, ok, text, floods=free)
        return ok, text

    @property
    def _free(self) -> Collection[str]:
        return () if self._rights is None else self._rights.free

    def _obeyed(self, command: Command, asker: Asker, connection: bytes) -> tuple[bool, str]:
        """Carry out a command if it is permitted; return (done, sentence)."""
        name, ticket = command.name, "" if command.ticket is UNSET else command.ticket
        if name not in self._names:
            return False, f"{NO_COMMAND} {name!r}; there are {', '.join(self._names)}."
        if name in self._free:
            return self._handler(command)
        if self._rights is not None and (refused := self._rights.refusal(name, asker)):
            return False, refused
        # Without keys whoever may give a command can make up a new one as well as send an old one again.
        needed = self._rights is not None and self._bound.listed is not None and name not in WITHOUT_TICKET
        if (needed or ticket) and (refused := self._tickets.refusal(name, ticket, connection)):
            return False, refused
        ok, text = self._handler(command)
        if ok and self._rights is not None:
            self._rights.done(name, asker)
        return ok, text


def _bound(
    address: str, security: Security | None, stop: Callable[[], object] | None
) -> tuple[BoundSocket, StopEndpoint | None]:
    """Bind the control socket and, at the same port number, the endpoint of the emergency stop.

    If the system chooses the port, it must be free for both.
    """
    for n_left in reversed(range(PORTS_TRIED)):
        bound = BoundSocket(zmq.ROUTER, address, security, COMMANDS)
        if stop is None or not stop_address(bound.address):
            break
        try:
            return bound, StopEndpoint(bound.address, stop)
        except StreamError as fault:
            bound.close(linger_ms=0)
            any_port = address.endswith((":0", ":*"))
            if not n_left or not any_port or not isinstance(fault, AddressInUseError):
                raise
    return bound, None


def request(
    address: str,
    name: str,
    args: Mapping[str, Any] | None = None,
    timeout_s: float = 2.0,
    security: Security | None = None,
    asked: str = ESTIMATOR,
) -> tuple[bool, str]:
    """Send a command and wait for the answer; return (done, sentence): whether the command was carried out,
    and the answer in words.

    The connection may be lost before the answer, as a crowded endpoint closes some connections. If the
    command cannot have been carried out yet, or does no harm when it is carried out twice, a new connection
    is opened and the command is sent again.

    The other side may refuse a command because it cannot yet tell which user has sent it: messages of an
    earlier, closed connection may still wait there. For a second the command is then sent again over new
    connections.

    If nobody answers in time, done is False, and the sentence says that nobody has answered.

    asked : name of the program that should answer, used in that sentence

    Raises StreamError when the address, a key or an argument cannot be used.
    """
    command = Command(name=name, args=dict(args or {}))
    encode(command)  # an argument that cannot travel is no reason to connect
    due_ns, answer = now_ns() + round(1e9 * max(0.0, timeout_s)), None
    known_ns = min(due_ns, now_ns() + UNKNOWN_NS)
    with zmq.Context() as context:
        while True:
            with client_socket(context, zmq.REQ, address, security) as socket:
                link = ClientLink(socket, address)
                try:
                    answer = _answer(socket, link, command, due_ns)
                    if answer is None or answer[0] or NOT_TOLD.name not in answer[1] or now_ns() >= known_ns:
                        break
                except _LostError:
                    answer = None
                finally:
                    link.close()
                socket.poll(IDLE_MS)  # a rest, as the other side may close every connection at once
    return answer or (False, f"Nobody answered at {address} within {timeout_s:g} s; is {asked} running?")


class _LostError(Exception):
    """Raised if the connection was lost before the answer and the command may be given again."""


def _answer(socket: ZmqSocket, link: ClientLink, command: Command, due_ns: int) -> tuple[bool, str] | None:
    """Send a command over one connection and return its answer; None if it does not come in time. Raises
    _LostError."""

    def answer_to(command: Command) -> tuple[bool, str] | None:
        if not _send(socket, link, encode(command), due_ns):
            return None
        n_lost, again = link.n_lost, command.name in WITHOUT_TICKET
        while not socket.poll(link.wait_ms(IDLE_MS)):
            if now_ns() >= due_ns:
                return None
            if again and link.n_lost > n_lost:
                raise _LostError
            link.check()  # also for an endless answer
        return read_answer(receive_rest(socket, socket.recv(copy=False), 4, link.cut), link.address)

    if command.name in WITHOUT_TICKET:
        return answer_to(command)
    answer = answer_to(Command(name=TICKET))
    if answer is None or not may_follow(*answer):
        return answer
    return answer_to(replace(command, ticket=answer[1]) if answer[0] else command)


def _send(socket: ZmqSocket, link: ClientLink, parts: list[bytes], due_ns: int) -> bool:
    """Send a message; return whether that succeeded before the time `due_ns`. It fails, for example, if the
    other side uses another protocol, as libzmq then has nowhere to send it.
    """
    while True:
        try:
            socket.send_multipart(parts, zmq.DONTWAIT)
            return True
        except zmq.Again:
            if now_ns() >= due_ns:
                return False
            socket.poll(IDLE_MS, zmq.POLLOUT)
            link.check()


def _split(parts: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Split a message into its envelope (identity and, from REQ clients, an empty part) and its content."""
    n_envelope = 2 if len(parts) > 1 and parts[1] == b"" else 1
    return parts[:n_envelope], parts[n_envelope:]
