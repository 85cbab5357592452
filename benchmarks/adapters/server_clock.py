"""The clock of a double's server, derived from the stamps of its frames, or as given."""

from __future__ import annotations

from collections.abc import Callable

from streams.clock import now_ns

HOUR_NS = 3_600_000_000_000


class ServerClock:
    """A server's clock as a function of ours.

    given : our clock [ns] -> the server's [ns]; None = as far from our clock as the newest stamp was when it
        was sent; an hour ahead before the first stamp
    """

    def __init__(self) -> None:
        self.given: Callable[[int], int] | None = None
        self._offset_ns = HOUR_NS

    def learn(self, stamp_ns: int) -> None:
        """Record that a frame with that stamp is sent now."""
        self._offset_ns = stamp_ns - now_ns()

    def at(self, local_ns: int) -> int:
        """The server's clock at a time of our clock [ns]."""
        return self.given(local_ns) if self.given is not None else local_ns + self._offset_ns
