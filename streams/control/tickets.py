"""Tickets: a command that changes something is carried out once, at once, and only from the connection that
it was issued for.

A command that is replayed by an attacker, or that arrives after its sender has stopped waiting, could start
torque unexpectedly. So the receiver of commands first issues a ticket, for one connection and one command.
No clocks are compared, as the age of a ticket is measured by its issuer; after a restart no earlier ticket
is valid.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from streams.clock import is_over, now_ns

TICKET = "ticket"
"""Name of the command that asks for one."""
WITHOUT_TICKET = frozenset({TICKET, "status", "list", "disarm", "emergency_stop"})
"""Commands without a ticket, as they may come late or twice: they change nothing, or remove torque."""
NO_COMMAND = "There is no command"
"""Begins the answer to a command that the other side does not take."""
VALID_S = 2.0
"""Time for which a ticket may be used, which is how long a client waits for an answer [s]."""
MOST = 1024
"""Tickets that are kept, of all connections together."""


def may_follow(ok: bool, text: str) -> bool:
    """Return whether a command may be sent after this answer to the request for a ticket.

    It may be sent if the answer contains a ticket, or if the other program does not use tickets.
    """
    return ok or text.startswith(NO_COMMAND)


class _Given(NamedTuple):
    connection: bytes
    since_ns: int


class Tickets:
    """Tickets issued at one control address; for use by one thread."""

    def __init__(self) -> None:
        self._given: dict[str, _Given] = {}

    def issue(self, connection: bytes) -> str:
        """Issue a ticket for a connection, given by its identity: 32 hexadecimal digits."""
        while len(self._given) >= MOST:
            self._given.pop(next(iter(self._given)))  # the oldest
        ticket = secrets.token_hex(16)
        self._given[ticket] = _Given(connection, now_ns())
        return ticket

    def refusal(self, name: str, ticket: str, connection: bytes) -> str:
        """Use up a ticket and return why a command with it must not be carried out; empty if it may be."""
        if not ticket:
            return (
                f"{name} came without a ticket, so it may be an old command sent again; ask for a ticket by "
                f"the command `{TICKET}` on the same connection and send it along within {VALID_S:g} s."
            )
        given = self._given.pop(ticket, None)
        if given is None or given.connection != connection:
            return f"{name} is no new command: its ticket was used before, or belongs to another connection."
        if is_over(given.since_ns, round(1e9 * VALID_S) + 1, now_ns()):
            return f"{name} came more than {VALID_S:g} s after its ticket was given out; give it again."
        return ""
