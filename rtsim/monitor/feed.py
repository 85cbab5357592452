"""Takes results from the subscriber and keeps what the window draws: history, counts and the newest pose."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.connection import Connection, Listener
from rtsim.monitor.history import History, Quality, Timeline
from rtsim.monitor.layout import Layout, layout_of
from rtsim.monitor.meter import Meter, quality_of
from streams.errors import StreamError
from streams.messages import Session, Telemetry
from streams.ring import Frame

Array = NDArray[np.float64]

DURATION_MOST = 60.0  # s; the history covers the longest window that can be chosen
N_SAMPLE_MOST = 60_000  # bounds the memory for very fast streams
N_FRAME_PER_TURN = 256  # taken per turn at most, so that the window stays responsive under a flood
N_EVENT = 12


class Change(IntEnum):
    """What new descriptors changed."""

    NOTHING = 0
    DETAILS = 1  # the words about the session; the curves go on after a gap
    FIELDS = 2  # the fields, so that the plots are built anew


class Source(Protocol):
    """The part of streams.subscriber.Subscriber that is used here."""

    @property
    def session(self) -> Session | None: ...
    @property
    def counters(self) -> Mapping[str, int]: ...
    @property
    def events(self) -> deque[str]: ...
    @property
    def telemetry(self) -> deque[Telemetry]: ...
    @property
    def ended(self) -> bool: ...
    def wait(self, timeout_s: float) -> Frame | None: ...


class Feed:
    """The newest state of a result stream.

    Parameters
    ----------
    source : subscriber of the results and the telemetry
    address : endpoint, for the words of the connection
    now : monotonic clock [s]

    Attributes
    ----------
    layout : what the current session has to show, None before the first
    history : display values of the last minute
    pose, pose_quality : arrays of the newest frame (copies), and what it is worth
    events : the last plain sentences, newest last
    telemetry : the estimator's last message about itself
    paused : frames are counted, but neither kept nor shown
    """

    def __init__(self, source: Source, address: str, now: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.layout: Layout | None = None
        self.meter = Meter()
        self.history = History(0, 1)
        self.pose: dict[str, Array] = {}
        self.pose_quality = Quality.GOOD
        self.events: deque[str] = deque(maxlen=N_EVENT)
        self.telemetry: Telemetry | None = None
        self.paused = False
        self._now = now
        self._listener = Listener(address)
        self._session: Session | None = None
        self._values = np.empty(0)
        self._timeline = Timeline(1.0)
        self._fault = ""
        self._counted_before: dict[str, int] = {}

    def take(self) -> tuple[Change, int]:
        """Take what is waiting: what changed, and how many frames were kept for drawing."""
        change, n_kept = Change.NOTHING, 0
        for _ in range(N_FRAME_PER_TURN):
            frame = self._next()
            if frame is None:
                change = max(change, self._adopt(self.source.session))
                break
            change = max(change, self._adopt(frame.session))
            self._listener.hear(self._now())
            self.meter.add(frame)
            if not self.paused and self.layout is not None:
                self._keep(self.layout, frame)
                n_kept += 1
        self._listen()
        return change, n_kept

    def clear(self) -> None:
        """Forget the curves and the counts, not the session."""
        self.history.clear()
        self.meter = Meter()
        self._counted_before = dict(self.source.counters)

    def counters(self) -> dict[str, int]:
        """What the subscriber has counted since the last clearing."""
        before = self._counted_before
        return {name: n - before.get(name, 0) for name, n in self.source.counters.items()}

    def connection(self) -> Connection:
        """State of the stream in words."""
        if self._fault:
            return Connection(self._fault, "bad")
        return self._listener.state(self.layout is not None, self.source.ended, self._now())

    def _next(self) -> Frame | None:
        try:
            return self.source.wait(0.0)
        except StreamError as fault:
            self._fault = str(fault)  # the window stays open on what it has
            return None

    def _listen(self) -> None:
        """Collect the sentences of the subscriber and of the estimator."""
        while self.source.telemetry:
            self.telemetry = self.source.telemetry.popleft()
            self.events.extend(self.telemetry.text)
        while self.source.events:
            self.events.append(self.source.events.popleft())

    def _adopt(self, session: Session | None) -> Change:
        """Follow the sender into another session."""
        known = self._session
        if session is None or session is known:
            return Change.NOTHING
        self._session = session
        self._listener.restart()
        self.meter.restart()
        self.layout = layout = layout_of(session)
        if known is not None and (known.fields, known.rate) == (session.fields, session.rate):
            self._timeline.interrupt()
            return Change.DETAILS
        n_sample = min(int(DURATION_MOST * layout.rate_assumed) + 2, N_SAMPLE_MOST)
        self.history = History(layout.n_channel, n_sample)
        self.pose = {name: np.full(shape, np.nan) for name, shape in layout.shapes.items()}
        self._values = np.full(layout.n_channel, np.nan)
        self._timeline = Timeline(1.0 / layout.rate_assumed, regular=math.isfinite(layout.rate))
        return Change.FIELDS

    def _keep(self, layout: Layout, frame: Frame) -> None:
        self.pose_quality = quality = quality_of(frame.status)
        before, half = self._timeline.time, 0.5 * self._timeline.period
        if self._timeline.advance(frame.seq, frame.t_capture) and len(self.history):
            after = max(before + half, self._timeline.time - half)
            self.history.push(before + half, np.nan, Quality.MISSING)
            self.history.push(after, np.nan, Quality.MISSING)
        if quality is Quality.MISSING:
            self._values.fill(np.nan)
        else:
            layout.read(frame.data, self._values)
        self.history.push(self._timeline.time, self._values, quality)
        for name, array in self.pose.items():
            np.copyto(array, frame.data[name])
