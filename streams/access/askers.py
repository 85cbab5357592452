"""The identity of the sender of a command or measurement, known by the key or by the user of its connection.

libzmq states with each message the key and the file descriptor of its connection. By the time the descriptor
is checked, it may belong to another connection. A sender that cannot be identified with certainty has no
role.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import zmq

from streams.access.users import TELLS, is_own, name_of, uid_of
from streams.access.wire import inode_of

if TYPE_CHECKING:
    from streams.access.crowd import AcceptedConnection
    from streams.access.guard import Guard

Role = Literal["", "watch", "set", "arm", "device"]
KNOWN_AFTER_MS = 20
"""Time after which the guard knows of a connection that has been made [ms]."""


class Asker(NamedTuple):
    """The sender of a message: a name for messages, and the role that determines the permitted commands; "" =
    no role.
    """

    name: str
    role: Role


ANYBODY = Asker("whoever may connect", "arm")
"""Sender that cannot be identified, if there are no keys and the system does not report users."""
NOT_TOLD = Asker("a connection whose user the system does not reveal", "")


class Askers:
    """Identifies the senders of messages at one bound socket.

    guard : guard of the socket, None if it has none
    known : names and roles by public key, None if no keys are used
    """

    def __init__(self, guard: Guard | None, known: Mapping[str, Asker] | None) -> None:
        self._guard, self._known = guard, known
        self.tells = known is not None or (guard is not None and TELLS)
        if guard is not None and known is None and TELLS:
            guard.is_foreign = is_foreign

    def of(self, frame: zmq.Frame, drained_ns: int) -> Asker:
        """Return the name and the role of the sender of a message; the role determines which commands are
        carried out. A sender that cannot be identified with certainty has the role "" (no role).

        If neither keys nor the system identify senders, every sender has the role "arm".

        drained_ns : last time before the message at which no message waited at the socket [ns]; it shows
            whether the message may have come by an earlier connection with the same file descriptor
        """
        if self._known is not None:
            return self._known.get(key_of(frame), NOT_TOLD)
        if not self.tells:
            return ANYBODY
        connection = self.connection(frame, drained_ns)
        uid = None if connection is None else user_of(connection)
        if uid is None:
            return NOT_TOLD
        return Asker(name_of(uid), "arm" if is_own(uid) else "watch")

    def connection(self, frame: zmq.Frame, drained_ns: int) -> AcceptedConnection | None:
        """Return the connection by which a message came; None if it may have come by an earlier connection
        with the same file descriptor.

        drained_ns : last time before the message at which no message waited at the socket [ns]; if the
            connection is newer than that, the message may have been sent over an earlier one
        """
        if self._guard is None:
            return None
        fd = int(frame.get(zmq.SRCFD))
        for _ in range(KNOWN_AFTER_MS):
            found = self._guard.connection(fd)
            if found is not None:
                uid = user_of(found) if self._known is None and self.tells else None
                if not found.sent(drained_ns) and (uid is None or uid != found.former_uid):
                    return None  # it may be of the one before, of another user
                found.told = uid
                return found
            if not inode_of(fd):
                return None  # it has hung up
            time.sleep(1e-3)
        return None


def key_of(frame: zmq.Frame) -> str:
    """Return the public key that was accepted for the connection of a message; "" where no keys are used."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:  # nobody was asked for the connection
        return ""


def user_of(connection: AcceptedConnection) -> int | None:
    """Return the user id of a connection, found out at the first call; None if the system does not report
    it."""
    if connection.uid is None:
        connection.uid = uid_of(connection.wire)
    return connection.uid


def is_foreign(connection: AcceptedConnection) -> bool:
    """Return whether a connection belongs to another user than this process; False if the system does not
    report the user.
    """
    return not is_own(user_of(connection))
