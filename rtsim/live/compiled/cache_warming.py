"""Warming of the processor's caches: the computation of a frame is repeated shortly before the next frame is
due.

Between two frames at 100 Hz the processor sleeps or runs other programs, and its caches lose the data of the
loop, so that the same work takes several times as long as without a pause. Therefore copies of some stages
compute the previous frame again while the run waits. They write to arrays of their own, so the results of
the run are unchanged, bit by bit.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from rtsim.live.result_session import ResultSession
from rtsim.stages.stage import Stage
from streams.clock import now_ns
from streams.codec import FieldLayout, encode
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

LEAD_NS = 1_000_000
"""Time before the next frame is due at which the warming run begins [ns]; the run takes a third to a half of
it."""
LATEST_NS = 600_000
"""A warming run that would begin later than this before the frame is left out, so as not to delay the frame
[ns]."""
SLOWEST = 1.0
"""Lowest rate of a stream for which caches are warmed, as slower streams are not steady [Hz]."""
FASTEST, FASTEST_WITH_FORCES = 250.0, 125.0
"""Fastest streams for which caches are warmed [Hz]: above, it would take too much of the processor; with
force plates a run has less to spare."""


class CacheWarming:
    """Copies of those stages of a run that can be copied; they repeat the last frame while the run waits for
    the next frame of a stream with a steady rate.

    Parameters
    ----------
    stages : stages of the run, compiled, before their first frame
    fastest : highest rate of a stream for which caches are warmed [Hz]

    Attributes
    ----------
    n_done : number of repetitions so far
    """

    def __init__(self, stages: Sequence[Stage], fastest: float = FASTEST) -> None:
        self._fastest = fastest
        self._of_run = [stage for stage in stages if stage.rehearses]
        self._stages: list[Stage] = copy.deepcopy(self._of_run)  # in one go: they read one another
        self._session: Session | None = None
        self._frame: ReceivedFrame | None = None
        self._course: ResultSession | None = None
        self._period_ns = self._due_ns = 0
        self._steady = False
        self.n_done = 0

    def follow(self, frame: ReceivedFrame) -> None:
        """Store a copy of the newest frame, and the time when the next frame is due."""
        if frame.session is not self._session:
            self._turn(frame.session)
        self._steady = abs(frame.t_received - self._due_ns) < LEAD_NS and self._period_ns > 0
        self._due_ns = frame.t_received + self._period_ns
        if not self._steady:
            return
        if self._frame is None:
            self._frame = ReceivedFrame(frame.session, FieldLayout(frame.session))
        self._frame.flat[:] = frame.flat
        self._frame.seq, self._frame.time = frame.seq, frame.time

    def ahead_s(self) -> float:
        """Return the time until the next warming run [s]; 0 if none is due."""
        return max(0.0, 1e-9 * (self._due_ns - LEAD_NS - now_ns())) if self._steady else 0.0

    def run(self) -> None:
        """Repeat the computation of the last frame, including the encoding of its message, which is not sent.
        Do nothing if the next frame is due too soon.
        """
        frame = self._frame
        if frame is None or self._due_ns - now_ns() < LATEST_NS:
            return
        changed = [own.follow(other) for own, other in zip(self._stages, self._of_run, strict=True)]
        if self._course is None or any(changed):
            self._course = ResultSession(self._stages, frame.session, {}, anew=self._course is None)
        result = self._course.run(frame)
        encode(self._course.message(frame, result, frame.seq, result.status))
        self.n_done += 1

    def rest(self) -> None:
        """Discard the messages for the user that the copied stages collected; the run's own stages report the
        same.
        """
        for stage in self._stages:
            stage.collect()

    def _turn(self, session: Session) -> None:
        self._session, self._frame, self._course = session, None, None
        self._period_ns = round(1e9 / session.rate) if SLOWEST <= session.rate <= self._fastest else 0
        self._due_ns = 0
