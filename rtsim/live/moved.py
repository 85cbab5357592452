"""A clock beside a stream of motion: ticks, each with the newest motion that has come."""

from __future__ import annotations

from collections.abc import Mapping

from rtsim.live.inputs import ClockInput, Obey, drained
from rtsim.simulation.motion_feed import MotionFeed
from streams.ring import Frame
from streams.security import Security
from streams.subscriber import Subscriber

BACKLOG = 8
"""So many frames of motion wait for a tick, at the most."""


class MovedClock(ClockInput):
    """Ticks at a steady rate; before each, the frames of a result stream go to the feed.

    Parameters
    ----------
    address : of the stream; feed : takes its frames in; security : keys of the client
    """

    def __init__(
        self,
        address: str,
        feed: MotionFeed,
        rate: float,
        frame_rate: float,
        duration_s: float = 0.0,
        security: Security | None = None,
    ) -> None:
        super().__init__(rate, frame_rate, duration_s)
        self._address, self._feed, self._security = address, feed, security

    def __enter__(self) -> MovedClock:
        self.motion = Subscriber(self._address, ("result",), BACKLOG, self._security)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.motion.close()

    def wait(self, obey: Obey) -> Frame | None:
        frame = super().wait(obey)
        for _ in range(BACKLOG):  # a tick does not wait for a sender that never pauses
            message = self.motion.wait(0.0)
            if message is None:
                break
            self._feed.admit(message)
        return frame

    def counters(self) -> Mapping[str, int]:
        told = {f"motion_{name}": n for name, n in self.motion.counters.items() if n}
        return {**super().counters(), **told}

    def sentences(self) -> list[str]:
        return [*super().sentences(), *(f"Motion: {said}" for said in drained(self.motion.events))]
