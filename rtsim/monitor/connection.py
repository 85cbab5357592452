"""Texts for the user of the monitor on whether frames arrive from the sender of the results."""

from __future__ import annotations

import time
from typing import NamedTuple

SILENCE = 1.0  # s without a frame after which the sender counts as gone


class ConnectionState(NamedTuple):
    """State of a result stream as text, and the name of the Theme colour in which it is shown.

    flows : whether frames arrive continuously
    heard : whether frames arrive at all, also from a paused sender
    """

    words: str
    mood: str
    flows: bool = False
    heard: bool = False


class FrameWatch:
    """Records when the last frame of a result stream arrived, to state whether frames still arrive.

    Parameters
    ----------
    address : endpoint of the stream, as the user gave it
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._heard: float | None = None
        self._heard_at_wall = 0.0

    def hear(self, now: float) -> None:
        """Record that a frame arrived at a monotonic time [s]."""
        self._heard = now
        self._heard_at_wall = time.time()

    def restart(self) -> None:
        """Discard the time of the last frame, because a new session of the stream begins."""
        self._heard = None

    def state(self, announced: bool, ended: bool, now: float, holds: bool = False) -> ConnectionState:
        """Return the state of the stream at a monotonic time [s].

        Parameters
        ----------
        announced : whether a session descriptor has been received
        ended : whether the sender has reported the end of the stream
        holds : whether the sender has reported that it is paused
        """
        if not announced:
            return ConnectionState(f"waiting for a result stream at {self.address}", "warning")
        if ended:
            return ConnectionState("the stream has ended", "text_dim")
        if self._heard is None:
            return ConnectionState("stream announced, waiting for its first frame", "warning")
        if now - self._heard > SILENCE:
            clock = time.strftime("%H:%M:%S", time.localtime(self._heard_at_wall))
            return ConnectionState(f"no data since {clock}", "bad")
        if holds:
            return ConnectionState("paused by command", "accent", heard=True)
        return ConnectionState("receiving", "good", flows=True, heard=True)
