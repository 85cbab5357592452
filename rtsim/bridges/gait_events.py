"""Gait events of a result stream, found by increases of its counters of heel strikes and toe-offs."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

COUNTS = {"heel_strikes": "heel strike", "toe_offs": "toe-off"}
"""Fields that count events of each leg, and what one is called."""
N_KEPT = 64


class ShownGaitEvent(NamedTuple):
    """A heel strike or toe-off: time in the trial [s], side, kind."""

    time: float
    side: str
    kind: str


class GaitEvents:
    """Finds gait events in a result stream: compares the counters of heel strikes and toe-offs in every frame
    with those in the previous frame of the same session.

    kept : the last events of the session, oldest first
    n_event : number of events so far, of all sessions
    """

    def __init__(self) -> None:
        self.kept: deque[ShownGaitEvent] = deque(maxlen=N_KEPT)
        self.n_event = 0
        self._session: Session | None = None
        self._labels: dict[str, tuple[str, ...]] = {}
        self._counted: dict[str, list[float]] = {}

    def look(self, frame: ReceivedFrame) -> None:
        """Append an event to `kept` for each leg whose counter of heel strikes or toe-offs in this frame of
        results is higher than in the previous frame.

        The first frame of a session (one run of the sender) only gives the counts to compare with.
        """
        if frame.session is not self._session:
            self._session = frame.session
            self._labels = {
                spec.name: tuple(spec.labels)
                for spec in frame.session.fields
                if spec.name in COUNTS and tuple(spec.shape) == (len(spec.labels),)
            }
            self._counted = {}
            self.kept.clear()  # steps of another run, or of another person
        for name, labels in self._labels.items():
            counts = frame.data[name].tolist()
            before = self._counted.get(name, counts)
            self._counted[name] = [
                now if now == now else then for now, then in zip(counts, before, strict=True)
            ]
            for label, now, then in zip(labels, counts, before, strict=True):
                if math.isfinite(now) and math.isfinite(then) and now > then:
                    self.kept.append(ShownGaitEvent(frame.time, label, COUNTS[name]))
                    self.n_event += 1
