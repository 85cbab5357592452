"""Choice of the connections that are closed when a bound socket has more connections than it can serve.

A new connection is spared for a moment, in which it can send its first message. After that the oldest
connection that has sent nothing is closed first, then the one whose last message is the longest ago. If the
number of connections exceeds an absolute limit, the oldest are closed first, whatever they have sent. The
same applies if many new connections come at once.

The owner of the socket marks connections as `kept`: the connection of the device in use, or those of
subscribers, which send nothing more. Newcomers do not displace kept connections as long as these are no more
than the number of places. If they are more, connections of other users of this machine are closed first,
provided that the owner can tell the users apart. Then follow connections that read nothing of the data sent
to them, then the newest.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from streams.access.wire import HEARTBEAT_RATE, Traffic, inode_of, n_unread, traffic
from streams.clock import now_ns

PLACES = 64
"""Number of connections to one socket that are not closed for lack of room."""
MOST = 256
"""Largest number of simultaneous connections, including new ones that are still spared."""
MOMENT_NS = 300_000_000
"""Time for which a new connection is not closed for having sent nothing [ns]: a handshake and a command take
some milliseconds."""
TAKES_NOTHING_NS = 1_000_000_000
"""A subscriber does not read if data for it have waited this long and none were confirmed [ns]."""


class AcceptedConnection:
    """An accepted connection: a second handle of its socket, and what it may still send [bytes].

    Parameters
    ----------
    wire : handle of the socket
    left : number of bytes that it may still send
    former_ns : when the previous connection with this file descriptor was known to be closed [ns]; 0 = there
        was none
    former_uid : user of that connection; None = not known

    Attributes
    ----------
    guilty : reason why it must be closed; written by any check that finds one
    n_unheard : what it has sent since the owner last read a message from it, without heartbeats [bytes]
    is_doubtful : whether that was too much of a message that is not complete, as far as could be told without
        the owner
    floods : whether that reason is what it has sent
    heard_ns : time at which the owner read its last message, 0 before the first [ns]
    kept : whether newcomers must not displace it, as it is that of the device in use or of a subscriber
    topics, uid : set by the owner of the socket: its subscriptions, and its user (None = not known)
    key : public key of the connection, "" without keys, or before its first message
    told : user of the connection, once it is certain that messages under its file descriptor come from this
        user and not from an earlier connection; None = not certain
    traffic : numbers of received and sent bytes at the last check
    """

    def __init__(
        self, wire: socket.socket, left: float, former_ns: int = 0, former_uid: int | None = None
    ) -> None:
        self.wire, self.left, self.former_ns, self.former_uid = wire, left, former_ns, former_uid
        self.told: int | None = None
        self.inode = inode_of(wire.fileno())
        self.since_ns = self._seen_ns = self._took_ns = now_ns()
        self.guilty, self.floods = "", False
        self.n_unheard, self.is_doubtful = 0.0, False
        self._n_enough: int | None = None  # `n_drained` from which on the doubt is guilt
        self.heard_ns = 0
        self.kept = False
        self.topics: set[bytes] = set()
        self.uid: int | None = None
        self.key = ""
        self.traffic = Traffic()

    @property
    def active_ns(self) -> int:
        """The time of its arrival or of its last message, whichever is later [ns]."""
        return max(self.since_ns, self.heard_ns)

    @property
    def is_new(self) -> bool:
        """Whether it was accepted a moment ago. New connections are checked more often, as most floods of
        data begin with the connection.
        """
        return now_ns() - self.since_ns < MOMENT_NS

    def sent(self, drained_ns: int) -> bool:
        """Return whether a message from this file descriptor can only come from this connection, not from an
        earlier one.

        drained_ns : last time before the message at which no message waited at the socket [ns]
        """
        return not self.former_ns or self.former_ns < drained_ns

    def look(self, burst: int, rate: int) -> bool:
        """Check how much the connection has sent, and mark it for closing if that exceeds the limits; return
        whether it sent anything.

        burst, rate : largest amount at once [bytes], and long-term rate [bytes/s]
        """
        now, before = now_ns(), self.traffic
        self.traffic = traffic(self.wire)
        n_new = self.traffic.received - before.received
        span_s = 1e-9 * max(0, now - self._seen_ns)  # a clock set back is nobody's guilt
        self.left = min(self.left + span_s * rate, burst) - n_new
        self.n_unheard = max(0.0, self.n_unheard + n_new - span_s * HEARTBEAT_RATE)
        self._seen_ns = now
        if self.traffic.taken != before.taken or not self.traffic.waits:
            self._took_ns = now
        if self.left < 0.0:
            self.floods = True
            self.guilty = (
                self.guilty or f"sent {self.traffic.received} bytes to connect, where a few hundred suffice"
            )
        return n_new > 0

    def look_for_end(self, most: int, heard: bool, n_drained: int) -> None:
        """Check whether the connection ends its messages, after `look`, and mark it for closing if it does
        not.

        Too many bytes without a message are a doubt only, as the owner of the socket may be busy. It is
        certain if the owner then finds nothing to read twice: the first time may have begun before the doubt.

        most : largest amount that libzmq may have read without a complete message in it [bytes]
        heard : whether the owner has read a message from the connection between the last two calls
        n_drained : how often the owner had found no message waiting, before `heard` was looked at
        """
        if heard:
            self.n_unheard, self.is_doubtful, self._n_enough = 0.0, False, None
        elif self._n_enough is not None:
            if n_drained >= self._n_enough:
                self.floods = True
                self.guilty = self.guilty or f"sent {self.n_unheard:.0f} bytes without completing a message"
        elif self.is_doubtful:
            self._n_enough = n_drained + 2
        elif self.n_unheard > most:
            self.is_doubtful = self.n_unheard - n_unread(self.wire) > most

    def takes_nothing(self, now: int) -> bool:
        """Return whether the peer reads nothing: at the last check, data sent to it had waited too long for
        its confirmation; now : present time [ns].
        """
        return now - self._took_ns > TAKES_NOTHING_NS


def condemn(
    connections: Mapping[int, AcceptedConnection], is_foreign: Callable[[AcceptedConnection], bool]
) -> None:
    """Write the reason into `guilty` of each connection that must be closed; is_foreign : returns whether a
    connection is another user's."""
    if len(connections) <= PLACES:
        return
    now = now_ns()
    kept = [one for one in connections.values() if one.kept and not one.guilty]
    if len(kept) > PLACES:
        kept.sort(key=lambda one: (not is_foreign(one), not one.takes_nothing(now), -one.since_ns))
        for one in kept[: len(kept) - PLACES]:
            one.guilty = f"exceeded the {PLACES} connections that are served at a time"
    others = [one for one in connections.values() if not (one.kept or one.guilty)]
    idle = [one for one in others if now - one.active_ns > MOMENT_NS]
    idle.sort(key=lambda one: (one.heard_ns > 0, one.active_ns))
    n_gone = max(0, len(others) - max(0, PLACES - len(kept)))
    young = [one for one in others if now - one.active_ns <= MOMENT_NS]
    left = sorted(idle[n_gone:] + young, key=lambda one: one.active_ns)
    gone = idle[:n_gone] + left[: max(0, len(left) + min(len(kept), PLACES) - MOST)]
    for one in gone:
        what = "had sent nothing" if not one.heard_ns else "was silent longer than the others"
        one.guilty = f"{what}, because more than {PLACES} clients were connected"
