"""The two ends of the loop in `rtsim analyse`: a recording as its input, and an output that stores the
results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rtsim.files.forces.force_stream import force_channel
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.markers.trial import MarkerTrial, subject_meta
from rtsim.files.recording import Results
from rtsim.live.inputs.inputs import ApplyCommands
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.stage import StageCommand
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import AnyMessage, Result, Session, Telemetry, marker_session
from streams.receiving.ring import ReceivedFrame
from streams.recording.player import PlayedStream

Array = NDArray[np.float64]

FINISHED = "the recording is over"
TIME_BASE = "recording"
"""Name of the clock that the markers and the forces of one recording share."""


class TimesInput:
    """Frames without data at the times of a file, one after the other, as fast as they are computed.

    Parameters
    ----------
    times : (n,) times [s]
    session : descriptor of the frames
    progress : function called with the number of finished frames
    """

    def __init__(
        self, times: Array, session: Session, progress: Callable[[int], None] = lambda n_done: None
    ) -> None:
        self.times, self.session, self._progress = times, session, progress
        self._frame = ReceivedFrame(session, FieldLayout(session))
        self.n_done = 0
        self.orders: Mapping[str, StageCommand] = {}
        self.holds = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing, as no resource is open."""

    @property
    def over(self) -> str:
        return FINISHED if self.n_done == len(self.times) else ""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        apply()
        self._progress(self.n_done)
        k, frame = self.n_done, self._frame
        time = float(self.times[k])
        frame.seq, frame.time = k, time
        frame.t_capture = round(1e9 * (time - float(self.times[0])))
        frame.t_received = now_ns()
        self.n_done += 1
        return frame

    def period_ns(self, session: Session) -> int:
        """Return 0: the computation of a frame has no time limit, as nothing waits for it."""
        return 0

    def counters(self) -> Mapping[str, int]:
        return {"received": self.n_done}

    def gauges(self) -> Mapping[str, float]:
        return {}

    def sentences(self) -> list[str]:
        return []

    def rest(self) -> None:
        self._progress(self.n_done)


class RecordingInput(TimesInput):
    """The frames of a trial, one after the other, as fast as they are computed.

    Names, times and positions are those that a player would send, so that a live run gives the same numbers.
    """

    def __init__(
        self,
        trial: MarkerTrial,
        progress: Callable[[int], None] = lambda n_done: None,
        forces: ForceTrial | None = None,
        feed: ForceFeed | None = None,
    ) -> None:
        """Prepare the frames of a trial; forces, feed : the forces of the plates, and the receiver of their
        messages; either both are given or neither
        """
        self.trial = trial
        base = {"time_base": TIME_BASE} if forces is not None else {}
        meta = {"source": trial.source, **subject_meta(trial), **base}
        super().__init__(
            trial.times, marker_session(trial.names, rate=trial.rate, t_start=0, meta=meta), progress
        )
        self._feed = feed
        self._messages: Iterator[ReceivedFrame] = iter(())
        if forces is not None and feed is not None:
            channel = force_channel(forces, trial.rate, t_start=0, time_base=TIME_BASE)
            feed.turn_to(self.session)
            feed.begin(channel.session)
            self._messages = messages_of(channel)

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        frame = super().wait(apply)
        assert frame is not None
        frame.data["positions"][...] = self.trial.positions[frame.seq]
        if self._feed is not None:
            while not self._feed.reaches(frame) and (message := next(self._messages, None)) is not None:
                self._feed.admit(message)
        return frame


def messages_of(channel: PlayedStream) -> Iterator[ReceivedFrame]:
    """Yield the messages of a stream that is stored as arrays, one after the other, in one frame object that
    is overwritten each time.
    """
    frame = ReceivedFrame(channel.session, FieldLayout(channel.session))
    for k, time in enumerate(channel.times.tolist()):
        frame.seq, frame.time = k, time
        for name, rows in channel.data.items():
            frame.data[name][...] = rows[k]
        yield frame


class KeptResults:
    """Output of a run that stores the results of one session in memory, instead of publishing them.

    check : function called with the descriptor before the first result; raises an error if the descriptor is
        unusable

    Attributes
    ----------
    telemetry : the last telemetry message of the run
    sentences : all messages for the user
    """

    def __init__(self, check: Callable[[Session], object] = lambda session: None) -> None:
        self._check = check
        self.events: deque[str] = deque()
        self.telemetry: Telemetry | None = None
        self.sentences: list[str] = []
        self._session: Session | None = None
        self._rows: dict[str, bytearray] = {}  # of each field, frame after frame: the least that holds them
        self._times: list[float] = []
        self._status: list[int] = []

    def announce(self, session: Session) -> None:
        self._check(session)
        self._session, self._times, self._status = session, [], []
        self._rows = {spec.name: bytearray() for spec in session.fields}

    def send(self, message: AnyMessage) -> None:
        if isinstance(message, Result):
            self._times.append(message.time)
            self._status.append(message.status)
            for name, rows in self._rows.items():
                rows += message.data[name]
        elif isinstance(message, Telemetry):
            self.telemetry = message
            self.sentences += [said for said in message.text if said not in self.sentences]

    def service(self) -> None:
        """Do nothing, as nobody is connected."""

    def end(self, reason: str) -> None:
        """Do nothing at the end of a session, as results are stored as they arrive."""

    def results(self) -> Results | None:
        """Return the results of all frames as views of their memory, after which no more can be added; None
        without frames.
        """
        if self._session is None or not self._times:
            return None
        fields = {
            spec.name: np.frombuffer(self._rows[spec.name]).reshape(len(self._times), *spec.shape)
            for spec in self._session.fields
        }
        return Results(
            self._session,
            fields,
            np.array(self._times),
            np.array(self._status, np.int64),
            tuple(self.sentences),
        )
