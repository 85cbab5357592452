"""Words that a loop has been sent since it last looked."""

from __future__ import annotations

import threading

from streams.messages import Command


class Mailbox:
    """What a loop has been told since it last looked.

    A newer word replaces an older one of its kind, whose effect it would have undone: however many come, the
    loop has no more to do than there are kinds.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[str, Command] = {}

    def put(self, kind: str, command: Command) -> None:
        """Add a word, from any thread."""
        with self._lock:
            self._newest.pop(kind, None)  # so that the order is that of the newest words
            self._newest[kind] = command

    def take(self) -> list[Command]:
        """The words that were left, the one that came last at the end; they are then forgotten."""
        if not self._newest:  # on nearly every frame
            return []
        with self._lock:
            taken, self._newest = self._newest, {}
        return list(taken.values())
