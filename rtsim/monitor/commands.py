"""Commands to the estimator, sent from a thread so that a slow answer never holds the window up."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, Signal

from streams.control import request
from streams.errors import StreamError
from streams.security import Security

TIMEOUT = 3.0  # s


class Commander(QObject):
    """Sends one command at a time to a control address; `answered(ok, text)` comes in the window's thread."""

    answered = Signal(bool, str)
    _over = Signal(bool)

    def __init__(self, address: str, security: Security | None = None) -> None:
        super().__init__()
        self.address, self.security = address, security
        self.busy = False
        self._again = ""  # to be insisted on once more, when what is under way is over
        self._over.connect(self._rest)

    def send(self, name: str, args: Mapping[str, Any]) -> bool:
        """Start a command; False when another one is still under way."""
        if self.busy:
            return False
        self.busy = True
        self._start(name, dict(args), False)
        return True

    def insist(self, name: str) -> None:
        """Send a command at once, whatever is under way; and again after that, which may be done later."""
        self._again = name if self.busy else ""
        self._start(name, {}, True)

    def _start(self, name: str, args: dict[str, Any], insisted: bool) -> None:
        threading.Thread(target=self._ask, args=(name, args, insisted), daemon=True).start()

    def _ask(self, name: str, args: dict[str, Any], insisted: bool) -> None:
        try:
            ok, text = request(self.address, name, args, TIMEOUT, self.security)
        except StreamError as error:
            ok, text = False, f"The command {name!r} was not sent: {error}."
        with suppress(RuntimeError):  # the window was closed meanwhile
            self.answered.emit(ok, text)
            self._over.emit(insisted)

    def _rest(self, insisted: bool) -> None:
        if insisted:
            return
        self.busy = False
        if self._again:
            self.insist(self._again)
