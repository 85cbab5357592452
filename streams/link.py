"""The state of a connection, in plain sentences, and reconnection where the library does not reconnect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import zmq

from streams.access.wire import EVENT_FORMAT
from streams.clock import is_over, now_ns
from streams.errors import StreamError
from streams.receiving.unfinished import Unfinished
from streams.sockets import ZmqSocket, connect

PATIENCE_NS = 1_000_000_000
"""Time after which a connection that is not established yet is reported [ns]."""
ATTEMPT_NS = 500_000_000
"""Time after the loss of a connection at which a new attempt is made, if libzmq has made none by then
[ns]."""

FILLING_MS = 1
"""Longest wait for a message while an unfinished one grows [ms]."""

_STATE_AFTER = {
    zmq.EVENT_HANDSHAKE_SUCCEEDED: "connected",
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: "refused",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "mismatch",
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "mismatch",
}
_ENDLESS = (
    "{address} sends messages that do not end, are longer than 1 MiB or have too many parts, {n_cut} so far; "
    "cut the connection to make a new one."
)
_ATTEMPTS = (zmq.EVENT_CONNECT_DELAYED, zmq.EVENT_CONNECT_RETRIED)
_SENTENCES = {
    "connecting": "Nobody answers at {address} yet; still trying.",
    "connected": "Connected to {address}.",
    "closed": "The other side closed the connection to {address}; trying to connect again.",
    "refused": "{address} refuses this client's key; ask for its public key to be put on the allow-list.",
    "mismatch": "{address} answers but does not let this client in: keys are missing or wrong on one side, "
    "or it is another program.",
}

_UNUSED = ("connecting", "refused", "mismatch")


class ClientLink:
    """Connects a client socket and watches its connection, for the thread that receives from it.

    libzmq reconnects by itself when the peer goes away, but not after a violation of the protocol (such as a
    message part that is too large) or a refused key. This class reconnects in these cases, too. libzmq also
    receives an endless message until memory is full; this class closes the connection instead. Raises
    StreamError if the address is malformed.

    Attributes
    ----------
    address : address of the other side
    n_ended : number of connections that had been closed by the last `check`; n_lost : number of those among
      them that had been established
    """

    def __init__(self, socket: ZmqSocket, address: str) -> None:
        self._socket, self.address = socket, address
        events = zmq.EVENT_CONNECTED | zmq.EVENT_DISCONNECTED
        for event in (*_STATE_AFTER, *_ATTEMPTS):
            events |= event
        self._monitor = socket.get_monitor_socket(events)  # before connecting, to miss nothing
        try:
            connect(socket, address)
        except StreamError:
            self._monitor.close(0)
            raise
        self._state, self._said = "connecting", ""
        self._start_ns = now_ns()
        self._abandoned_ns: int | None = None
        self._unfinished = Unfinished(address)
        self._n_cut = self._n_cut_said = self._cut_said_ns = 0
        self.n_ended = self.n_lost = 0

    def wait_ms(self, idle_ms: int) -> int:
        """Return how long to wait for a message before the next `check` [ms]: `idle_ms`, and less while an
        unfinished message grows, so that an endless one is stopped in time.
        """
        count = self._unfinished
        if count.doubtful and not count.blind:
            return 0
        return min(FILLING_MS, idle_ms) if count.grows or count.doubtful else idle_ms

    def heard(self, parts: Sequence[bytes]) -> None:
        """Record that a complete message was received, with these parts of it."""
        self._unfinished.heard(parts)

    def cut(self, first: zmq.Frame) -> None:
        """Close the connection, because a message has more parts than any valid one; `of_cuts` reports it.

        first : the first part of the message, which states its connection
        """
        self._follow_events()
        with suppress(zmq.ZMQError):  # as of a transport without descriptors
            self._n_cut += self._unfinished.close(int(first.get(zmq.SRCFD)))

    def of_cuts(self) -> str | None:
        """Return a sentence on connections that were closed since the last one, at most one each second."""
        if self._n_cut == self._n_cut_said or not is_over(self._cut_said_ns, PATIENCE_NS, now_ns()):
            return None
        self._cut_said_ns, self._n_cut_said = now_ns(), self._n_cut
        return _ENDLESS.format(address=self.address, n_cut=self._n_cut)

    def check(self, over: bool = False) -> str | None:
        """Check the connection; return a sentence if something changed since the last call.

        Call it, several times a second, when there was nothing to read.

        over : whether the other side has ended its session; the end of the connection is then expected and
          not reported
        """
        self._follow_events()
        now = now_ns()
        self._n_cut += self._unfinished.cut()
        if (sentence := self.of_cuts()) is not None:
            return sentence
        if self._abandoned_ns is not None and is_over(self._abandoned_ns, ATTEMPT_NS, now):
            self._socket.disconnect(self.address)
            self._socket.connect(self.address)
            self._abandoned_ns = now
        if self._state == self._said or (
            self._state == "connecting" and not is_over(self._start_ns, PATIENCE_NS, now)
        ):
            return None
        at_first = self._state == "connected" and not self._said
        uneventful = at_first or (over and self._state == "closed")
        self._said = self._state
        return None if uneventful else _SENTENCES[self._state].format(address=self.address)

    def trouble(self) -> str:
        """Return as a sentence why nothing can arrive over this connection; "" if data can arrive."""
        self._follow_events()
        return _SENTENCES[self._state].format(address=self.address) if self._state in _UNUSED else ""

    def close(self) -> None:
        """Stop watching; call it before the socket is closed."""
        with suppress(zmq.ZMQError):  # the context may be on its way down already
            self._socket.disable_monitor()
        self._monitor.close(0)

    def _follow_events(self) -> None:
        while self._monitor.poll(0):
            self._follow(*EVENT_FORMAT.unpack(self._monitor.recv_multipart()[0]))

    def _follow(self, event: int, value: int) -> None:
        if event == zmq.EVENT_CONNECTED:
            self._unfinished.connected(value)
        elif event in _STATE_AFTER:
            self._state = _STATE_AFTER[zmq.Event(event)]
        elif event in _ATTEMPTS:
            self._abandoned_ns = None
        else:
            self._unfinished.gone()
            self.n_ended += 1
            self._abandoned_ns = now_ns()
            if self._state == "connected":
                self._state = "closed"
                self.n_lost += 1
