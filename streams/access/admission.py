"""Admission of connections to a socket without keys: everybody is admitted, but not everybody at once.

libzmq asks this module about each new connection before it accepts any message from the connection. It does
so by its authentication protocol (ZAP, rfc.zeromq.org/spec/27). A refusal is temporary: a ZeroMQ client tries
again by itself.
"""

from __future__ import annotations

import zmq

from streams.clock import is_over, now_ns

ZAP_ADDRESS = "inproc://zeromq.zap.01"
PENALTY_NS = 500_000_000
"""Pause in which new connections are refused after a flood, whose client would reconnect at once [ns]."""


class Admission:
    """Answers libzmq's requests to admit connections, for all sockets of a context; only one thread, which
    polls `socket`, may use it."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self.socket = context.socket(zmq.REP)
        self.socket.linger = 0
        self.socket.bind(ZAP_ADDRESS)
        self._closed_ns = -PENALTY_NS  # since when nobody is let in

    def pause(self) -> None:
        """Refuse all new connections for half a second. It is called after connections were closed for
        sending too much, whose clients would otherwise be back at once.
        """
        self._closed_ns = now_ns()

    def answer(self, n_most: int) -> None:
        """Answer at most n_most waiting requests to connect: accept them, or refuse them during a pause."""
        for _ in range(n_most):
            try:
                version, request, *_ = self.socket.recv_multipart(zmq.DONTWAIT)
            except zmq.Again:
                return
            if not is_over(self._closed_ns, PENALTY_NS, now_ns()):
                status, text = b"300", b"try again later"
            else:
                status, text = b"200", b"OK"
            self.socket.send_multipart([version, request, status, text, b"", b""])

    def close(self) -> None:
        """Stop answering requests to connect."""
        self.socket.close()
