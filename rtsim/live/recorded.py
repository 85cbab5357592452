"""A recording as an input, and results that are kept: the two ends of the loop in `rtsim analyse`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from rtsim.files.recording import Results
from rtsim.files.trial import MarkerTrial
from rtsim.live.inputs import Obey
from rtsim.stages.stage import Order
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import AnyMessage, Result, Session, Telemetry, marker_session
from streams.ring import Frame

FINISHED = "the recording is over"


class RecordingInput:
    """The frames of a trial, one after the other, as fast as they are worked on.

    Names, times and positions are those that a player would send, so that a live run gives the same numbers.
    """

    def __init__(self, trial: MarkerTrial, progress: Callable[[int], None] = lambda n_done: None) -> None:
        self.trial, self._progress = trial, progress
        self.session = marker_session(trial.names, rate=trial.rate, t_start=0, meta={"source": trial.source})
        self._frame = Frame(self.session, FieldLayout(self.session))
        self.n_done = 0
        self.orders: Mapping[str, Order] = {}
        self.holds = False

    def __enter__(self) -> RecordingInput:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""

    @property
    def over(self) -> str:
        return FINISHED if self.n_done == len(self.trial.times) else ""

    def wait(self, obey: Obey) -> Frame | None:
        obey()
        self._progress(self.n_done)
        k, frame = self.n_done, self._frame
        time = float(self.trial.times[k])
        frame.seq, frame.time = k, time
        frame.t_capture = round(1e9 * (time - float(self.trial.times[0])))
        frame.t_received = now_ns()
        frame.data["positions"][...] = self.trial.positions[k]
        self.n_done += 1
        return frame

    def period_ns(self, session: Session) -> int:
        """As long as it takes: nobody waits."""
        return 0

    def counters(self) -> Mapping[str, int]:
        return {"received": self.n_done}

    def gauges(self) -> Mapping[str, float]:
        return {}

    def sentences(self) -> list[str]:
        return []

    def rest(self) -> None:
        self._progress(self.n_done)


class Kept:
    """An output that keeps the results of one session.

    Attributes
    ----------
    telemetry : the last account of the run; sentences : everything that was told
    """

    def __init__(self) -> None:
        self.events: deque[str] = deque()
        self.telemetry: Telemetry | None = None
        self.sentences: list[str] = []
        self._session: Session | None = None
        self._frames: list[Result] = []

    def announce(self, session: Session) -> None:
        self._session, self._frames = session, []

    def send(self, message: AnyMessage) -> None:
        if isinstance(message, Result):
            self._frames.append(message)
        elif isinstance(message, Telemetry):
            self.telemetry = message
            self.sentences += [said for said in message.text if said not in self.sentences]

    def service(self) -> None:
        """Nobody is connected."""

    def end(self, reason: str) -> None:
        """The results stay."""

    def results(self) -> Results | None:
        """What came of the frames so far; None where there were none."""
        if self._session is None or not self._frames:
            return None
        fields = {
            spec.name: np.array([np.frombuffer(frame.data[spec.name]) for frame in self._frames]).reshape(
                len(self._frames), *spec.shape
            )
            for spec in self._session.fields
        }
        return Results(
            self._session,
            fields,
            np.array([frame.time for frame in self._frames]),
            np.array([frame.status for frame in self._frames], np.int64),
            tuple(self.sentences),
        )
