"""A clock beside a stream of motion: ticks, each with the newest motion that has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rtsim.live.inputs import ClockInput, Obey, drained
from rtsim.simulation.motion_feed import MotionFeed
from streams.ring import Frame
from streams.subscriber import Subscriber


class MovedClock(ClockInput):
    """Ticks at a steady rate; before each, the frames of a result stream go to the feed.

    Parameters
    ----------
    open_motion : opens the subscriber; feed : takes its frames in
    """

    def __init__(
        self,
        open_motion: Callable[[], Subscriber],
        feed: MotionFeed,
        rate: float,
        frame_rate: float,
        duration_s: float = 0.0,
    ) -> None:
        super().__init__(rate, frame_rate, duration_s)
        self._open, self._feed = open_motion, feed

    def __enter__(self) -> MovedClock:
        self.motion = self._open()
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.motion.close()

    def wait(self, obey: Obey) -> Frame | None:
        frame = super().wait(obey)
        while (message := self.motion.wait(0.0)) is not None:
            self._feed.admit(message)
        return frame

    def counters(self) -> Mapping[str, int]:
        told = {f"motion_{name}": n for name, n in self.motion.counters.items() if n}
        return {**super().counters(), **told}

    def sentences(self) -> list[str]:
        return [*super().sentences(), *(f"Motion: {said}" for said in drained(self.motion.events))]
