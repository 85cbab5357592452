"""A clock combined with a motion stream: joint coordinates that another program publishes as results move the
model. Before each tick the newest received motion is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from rtsim.live.inputs.inputs import ApplyCommands, ClockInput, drained
from rtsim.simulation.motion_feed import SILENT_S, MotionFeed
from streams.access.security import Security
from streams.account import Sentences
from streams.clock import is_over, now_ns
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

BACKLOG = 8
"""Largest number of frames of motion that wait for a tick."""


class MotionStream:
    """Receives joint coordinates from a stream of results between two ticks, and passes them to a feed, which
    moves the model. Of several senders on the stream only the leading one is followed, the one whose frames
    have come for the longest time without a pause.

    Parameters
    ----------
    address : address of the stream
    feed : receiver of its frames
    security : keys of the client

    Attributes
    ----------
    heard_ns : time of the last usable frame by this computer's clock [ns]
    """

    def __init__(self, address: str, feed: MotionFeed, security: Security | None = None) -> None:
        self._address, self.feed, self._security = address, feed, security
        self._n_beside = 0
        self._said = Sentences(1)
        self.heard_ns = 0

    @property
    def silent(self) -> bool:
        """Whether no usable frame has come for some time, by this computer's clock."""
        return is_over(self.heard_ns, round(1e9 * SILENT_S), now_ns())

    def open(self) -> None:
        """Connect to the stream."""
        self._stream = Subscriber(self._address, ("result",), BACKLOG, self._security)

    def close(self) -> None:
        """Disconnect from the stream."""
        self._stream.close()

    def take(self) -> None:
        """Read all messages that have arrived, within a limited time, and pass their frames to the feed."""
        before = self.feed.counters["motion_taken"]
        for _ in range(BACKLOG):
            message = self._stream.wait(0.0)
            if message is None:
                break
            if message.leads:
                self.feed.admit(message)
            else:
                self._n_beside += 1
                self._said.say(
                    "A second session of motion runs on the stream besides the first; it is ignored."
                )
        if self.feed.counters["motion_taken"] != before:
            self.heard_ns = now_ns()

    def counters(self) -> Mapping[str, int]:
        """Return the counters of received, lost and dropped messages."""
        told = {f"motion_{name}": n for name, n in self._stream.counters.items() if n}
        return {**told, "motion_beside": n} if (n := self._n_beside) else told

    def sentences(self) -> list[str]:
        """Return notes for the user since the last call."""
        return [f"Motion: {said}" for said in (*drained(self._stream.events), *self._said.take())]


class MotionClock(ClockInput):
    """Clock of a simulation whose prescribed coordinates follow a stream of results: it ticks at a steady
    rate, and at each tick new frames of the stream are passed to motion.feed, which moves the coordinates.
    """

    def __init__(self, motion: MotionStream, rate: float, frame_rate: float, duration_s: float = 0.0) -> None:
        super().__init__(rate, frame_rate, duration_s)
        self.motion = motion

    def __enter__(self) -> MotionClock:
        self.motion.open()
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.motion.close()

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        frame = super().wait(apply)
        self.motion.take()
        return frame

    def counters(self) -> Mapping[str, int]:
        return {**super().counters(), **self.motion.counters()}

    def sentences(self) -> list[str]:
        return [*super().sentences(), *self.motion.sentences()]
