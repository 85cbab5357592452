"""Commands to the estimator, sent by threads so that a slow answer never blocks the window."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from streams.access.security import Security
from streams.control.emergency_stop import request_stop, stop_address
from streams.control.held_connection import HeldControl
from streams.errors import StreamError

TIMEOUT = 3.0  # s


class Commander(QObject):
    """Sends one command at a time over a connection that stays open. The Qt signal `answered(ok, text)` with
    the outcome of a command is emitted in the thread of the window.
    """

    answered = Signal(bool, str)
    _over = Signal(bool)

    def __init__(self, address: str, security: Security | None = None) -> None:
        super().__init__()
        self.address = address
        self.busy = False
        self._again = ""  # to be insisted on once more, when what is under way is over
        self._held: HeldControl | None = None
        self._fault = (
            ""  # why there is no connection; said when a command is given, as the window can do more
        )
        try:
            self._held = HeldControl(address, TIMEOUT, security)
        except StreamError as error:
            self._fault = str(error)
        self._over.connect(self._rest)

    def send(self, name: str, args: Mapping[str, Any]) -> bool:
        """Start sending a command; return False while another one is being sent."""
        if self.busy:
            return False
        self.busy = True
        self._start(name, dict(args), False)
        return True

    def insist(self, name: str) -> None:
        """Send a command, such as the emergency stop, at once, even while another command is being sent. In
        that case it is sent a second time as soon as the other command has been answered.
        """
        self._again = name if self.busy else ""
        self._start(name, {}, True)

    def stop(self, name: str) -> None:
        """Send the emergency stop, both as datagrams, which other connections cannot block, and as a
        command.
        """
        if stop_address(self.address):
            threading.Thread(target=self._send_datagrams, daemon=True).start()
        self.insist(name)

    def close(self) -> None:
        """Close the connection."""
        if self._held is not None:
            self._held.close()

    def _start(self, name: str, args: dict[str, Any], insisted: bool) -> None:
        def then(ok: bool, text: str) -> None:
            with suppress(RuntimeError):  # the window was closed meanwhile
                self.answered.emit(ok, text)
                self._over.emit(insisted)

        fault = self._fault
        try:
            if self._held is not None:
                self._held.ask(name, args, then)
        except StreamError as error:
            fault = str(error)
        if fault:
            words = f"The command {name!r} was not sent: {fault}."
            QTimer.singleShot(0, lambda: then(False, words))  # after what the window says of the command

    def _send_datagrams(self) -> None:
        with suppress(StreamError, RuntimeError):  # a host that is not there, or a window that was closed
            if request_stop(self.address, TIMEOUT):
                self.answered.emit(True, f"Emergency stop: received at {stop_address(self.address)}.")

    def _rest(self, insisted: bool) -> None:
        if insisted:
            return
        self.busy = False
        if self._again:
            self.insist(self._again)
