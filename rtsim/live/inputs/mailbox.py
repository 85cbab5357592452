"""Commands received by a loop since it last checked for them."""

from __future__ import annotations

import threading

from streams.messages import Command


class Mailbox:
    """The newest command of each kind since the loop last took the commands.

    A newer command replaces an older one of the same kind, as it would override the effect of the older one.
    So the loop carries out at most one command of each kind, however many arrive.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[str, Command] = {}

    def put(self, kind: str, command: Command) -> None:
        """Add a command; it replaces a waiting one of the same kind. Any thread may call this."""
        with self._lock:
            self._newest.pop(kind, None)  # so that the order is that of the newest words
            self._newest[kind] = command

    def take(self) -> list[Command]:
        """Return the waiting commands, the newest last, and empty the mailbox."""
        if not self._newest:  # on nearly every frame
            return []
        with self._lock:
            taken, self._newest = self._newest, {}
        return list(taken.values())
