"""Reception of results in the monitor: it stores what the window draws, which is the history of the curves,
counts and the newest pose.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtsim.device.arming import ARM_STATES
from rtsim.files.gait.events import GaitEvent
from rtsim.files.gait.marks import MARKED
from rtsim.monitor.connection import ConnectionState, FrameWatch
from rtsim.monitor.device.device_layout import ARMING
from rtsim.monitor.gait.live_events import LiveGaitEvents
from rtsim.monitor.gait.strides import channel_delays
from rtsim.monitor.layout import LARGEST, WindowLayout, layout_of
from rtsim.monitor.message_log import MessageLog
from rtsim.monitor.meter import Meter, quality_of
from rtsim.monitor.past.archive import CurveArchive, PoseArchive
from rtsim.monitor.plots.history import History, Quality, Timeline, Window
from rtsim.monitor.rebuild_limit import RebuildLimit
from rtsim.monitor.words import SENTENCE_MOST, printable
from streams.errors import StreamError
from streams.messages import Session, Status, Telemetry
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

DURATION_MOST = 60.0  # s; the history covers the longest window that can be chosen ...
HISTORY_BYTES = 96 << 20  # ... unless that takes more memory than this
N_FRAME_PER_TURN = 256  # taken per turn at most, so that the window stays responsive under a flood ...
BYTES_PER_TURN = 16 << 20  # ... of small frames, and of large ones
N_MESSAGE_PER_TURN = 64  # of telemetry, and of sentences
N_ADOPTED = 4  # sessions in quick succession; from then on one per second, as plots are slow to build
SAID = "Device: "  # beginning of messages on why the device was armed or disarmed
N_MARK = 1000  # events marked by hand that are kept
N_BEGIN = 1000  # beginnings of sessions that are kept: ten minutes of them, as many as are adopted
SAME = ("side", "stick", "subject", "subject_name", "person", "source")
"""Entries of a descriptor's `meta` on who is measured, how and where; curves of sessions in which one of them
differs are not joined."""
PAUSED = "paused"  # gauge of telemetry: 1 while the sender holds by command


class Change(IntEnum):
    """What a new descriptor, the message with which a session of a stream begins, changes in the monitor
    window: nothing, its texts, or its plots."""

    NOTHING = 0
    DETAILS = 1  # texts on the session; the curves continue after a gap
    FIELDS = 2  # the fields have changed, so all plots are built anew


class FrameSource(Protocol):
    """Interface of the subscriber of a result stream, with the members that the monitor uses."""

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
    def wait(self, timeout_s: float) -> ReceivedFrame | None: ...


class Feed:
    """The newest state of a result stream, as the monitor window draws it.

    Parameters
    ----------
    source : subscriber of the results and the telemetry
    address : endpoint, for texts on the connection
    now : monotonic clock [s]
    looks_back : whether the last ten minutes are stored, which takes up to 288 MB

    Attributes
    ----------
    layout : layout of the panels for the current session, None before the first session
    delays : (n_channel,) by how much the values of each curve are later than their frames [s]
    history : display values of the last minute
    pose, pose_quality : arrays of the newest frame for the stick figure (copies); its quality
    device : newest values of the fields of a device, if there is one; reason : why it was last armed or
        disarmed
    sentences : the last messages to the user
    telemetry : the sender's last message about itself
    archive, poses : the last ten minutes, if they are stored; gait : gait events found in the frames
    marks : events marked by hand
    trial_time : time in the trial of the newest frame that the curves show [s]
    """

    def __init__(
        self,
        source: FrameSource,
        address: str,
        now: Callable[[], float] = time.monotonic,
        looks_back: bool = True,
    ) -> None:
        self.source, self.address, self._looks_back = source, address, looks_back
        self.layout: WindowLayout | None = None
        self.meter = Meter()
        self.history = History(0, 1)
        self.pose: dict[str, Array] = {}
        self.pose_quality = Quality.GOOD
        self.device: dict[str, Array] = {}
        self.reason = ""
        self.sentences = MessageLog()
        self.telemetry: Telemetry | None = None
        self.archive, self.poses, self.gait = CurveArchive(0, 1.0), PoseArchive({}), LiveGaitEvents()
        self.marks: deque[GaitEvent] = deque(maxlen=N_MARK)
        self._n_mark = 0
        self.trial_time, self.delays = 0.0, np.zeros(0)
        self._now = now
        self._listener = FrameWatch(address)
        self._session: Session | None = None
        self._begins: deque[float] = deque(maxlen=N_BEGIN)
        self._values = np.empty(0)
        self._timeline = Timeline(1.0)
        self._fault = ""
        self._counted_before: dict[str, int] = {}
        self._turnover = RebuildLimit(N_ADOPTED)
        self._n_beyond = 0

    def take(self) -> tuple[Change, int]:
        """Process the messages that have arrived; return which kind of change in the window they require, and
        how many frames were stored for drawing.
        """
        change, n_kept = Change.NOTHING, 0
        self._listen()
        n_byte = 0
        for _ in range(N_FRAME_PER_TURN):
            frame = self._next()
            if frame is None:
                change = max(change, self._adopt(self.source.session))
                break
            change = max(change, self._adopt(frame.session))
            self._listener.hear(self._now())
            self.meter.add(frame)
            if frame.session is self._session:
                for name, array in self.device.items():
                    np.copyto(array, frame.data[name])
            if self.layout is not None and frame.session is self._session:
                self._keep(self.layout, frame)
                n_kept += 1
            n_byte += frame.flat.nbytes
            if n_byte > BYTES_PER_TURN:
                break
        if self._looks_back:
            self.archive.take(self.history)
        return change, n_kept

    def mark(self) -> GaitEvent:
        """Mark an event by hand at the newest frame; return the event."""
        self._n_mark += 1
        event = GaitEvent(self._timeline.time, "", "", f"event {self._n_mark}", MARKED)
        self.marks.append(event)
        return event

    def events_since(self, time: float) -> list[GaitEvent]:
        """Return gait events and events marked by hand at or after a time on the axis of the curves [s]."""
        return [*self.gait.since(time), *(mark for mark in self.marks if mark.time >= time)]

    @property
    def begun(self) -> float:
        """Time on the axis of the curves after which the current session began [s]; minus infinity for the
        first of the sessions that share the axis.
        """
        return self.begin_of(math.inf)

    def begin_of(self, time: float) -> float:
        """Return `begun` of the session that the samples at a time on the axis of the curves belong to."""
        return max((begin for begin in self._begins if begin < time), default=-math.inf)

    def samples_before(self, end: float, duration: float) -> tuple[Window, int]:
        """Return the samples of the given duration before a time on the axis of the curves [s], and of how
        many frames every two of them are the extremes; 1 where each sample is of a frame of its own, as long
        as the history holds all of them.
        """
        held, oldest = self.history.latest(len(self.history)).time, self.archive.reach()[0]
        if len(held) and held[0] <= max(end - duration, oldest):
            return self.history.before(end, duration), 1
        return self.archive.window(end, duration), self.archive.stride

    def clear(self) -> None:
        """Clear the curves, poses, events and counts of the monitor window; the session of the stream that it
        shows is kept."""
        self.history.clear()
        self.archive.clear(self.history)
        self.poses.clear()
        self.gait.clear()
        self.marks.clear()
        self.meter = Meter()
        self._turnover.n_passed = self._n_beyond = 0
        self._counted_before = dict(self.source.counters)

    def counters(self) -> dict[str, int]:
        """Return the counters of the subscriber since they were last cleared."""
        before = self._counted_before
        return {name: n - before.get(name, 0) for name, n in self.source.counters.items()}

    def connection(self) -> ConnectionState:
        """Return the state of the stream as text."""
        if self._fault:
            return ConnectionState(self._fault, "bad")
        state = self._listener.state(self.layout is not None, self.source.ended, self._now(), self.holds)
        if state.heard and self.device_fault:
            return state._replace(words=f"{state.words}, the device reports a fault", mood="bad")
        return state

    @property
    def device_fault(self) -> bool:
        """Whether the newest frame reports a fault of the device."""
        codes = self.device.get(ARMING)
        return codes is not None and codes[0] == ARM_STATES.index("fault")

    @property
    def holds(self) -> bool:
        """Return whether the sender of this session has reported that it is paused."""
        said = self.telemetry
        return said is not None and self.told_of_this_session and said.gauges.get(PAUSED, 0.0) > 0.0

    @property
    def told_of_this_session(self) -> bool:
        """Whether the newest telemetry belongs to the present session."""
        said, session = self.telemetry, self._session
        return said is not None and session is not None and said.session == session.session

    def notes(self) -> list[str]:
        """Return notes on data of the stream that the window does not show; empty if everything is shown."""
        notes = list(self.layout.notes) if self.layout else []
        if self._n_beyond:
            notes.append(f"values beyond {LARGEST:.0e} are drawn as gaps")
        if self._turnover.n_passed:
            n = self._turnover.n_passed
            notes.append(
                f"{n} session{'s' if n > 1 else ''} of the stream ended before anything could be drawn"
            )
        if self.layout and self.history.n_capacity < _n_sample(self.layout.rate_assumed):
            reach = (self.history.n_capacity - 2) / self.layout.rate_assumed
            notes.append(f"curves show the last {reach:.3g} s at most, because there are so many curves")
        return notes

    def _next(self) -> ReceivedFrame | None:
        try:
            return self.source.wait(0.0)
        except StreamError as fault:
            self._fault = str(fault)  # the window stays open on what it has
            return None

    def _listen(self) -> None:
        """Collect messages for the user from the subscriber, and those that the sender states in its
        telemetry.
        """
        now = self._now()
        self.sentences.turn(now)
        for _ in range(min(len(self.source.telemetry), N_MESSAGE_PER_TURN)):
            self.telemetry = self.source.telemetry.popleft()
            self.sentences.hear(self.telemetry.text, len(self.telemetry.text), now)
            for text in islice(self.telemetry.text, N_MESSAGE_PER_TURN):
                if text.startswith(SAID):
                    self.reason = printable(text.removeprefix(SAID), SENTENCE_MOST)
        n = min(len(self.source.events), N_MESSAGE_PER_TURN)
        self.sentences.hear([self.source.events.popleft() for _ in range(n)], n, now)

    def _adopt(self, session: Session | None) -> Change:
        """Switch to another session of the sender, with its own layout and history."""
        known = self._session
        if session is None or session is known or not self._turnover.grants(session, self._now()):
            return Change.NOTHING
        self._session, self.reason = session, ""
        self._listener.restart()
        self.meter.restart()
        self.layout = layout = layout_of(session)
        self.delays = channel_delays(session, layout)
        sizes = layout.device.sizes if layout.device else {}
        self.device = {name: np.full(n, np.nan) for name, n in sizes.items()}
        self.gait.begin(session)
        if known is not None and _goes_on(known, session):
            if len(self.history):
                self._begins.append(self._timeline.time)
            self._timeline.interrupt()
            return Change.DETAILS
        n_most = HISTORY_BYTES // (16 * (layout.n_channel + 2))  # each sample is held twice
        self.history = History(layout.n_channel, min(_n_sample(layout.rate_assumed), n_most))
        self.pose = {name: np.full(shape, np.nan) for name, shape in layout.parts.items()}
        self.archive = CurveArchive(layout.n_channel, layout.rate_assumed)
        self.poses = PoseArchive(layout.parts)
        self.gait.clear()
        self.marks.clear()
        self._begins.clear()
        self.pose_quality = Quality.GOOD
        self._n_beyond = 0
        self._values = np.full(layout.n_channel, np.nan)
        self._timeline = Timeline(1.0 / layout.rate_assumed, regular=math.isfinite(layout.rate))
        return Change.FIELDS

    def _keep(self, layout: WindowLayout, frame: ReceivedFrame) -> None:
        stale = bool(frame.status & Status.STALE)  # the last frame again
        if not stale:
            self._advance(frame)
        for name, array in self.pose.items():
            np.copyto(array, frame.data[name][: len(array)])
        if stale and self.holds:
            return  # on purpose: the curves wait, too
        if stale:
            self._timeline.repeat(frame.seq)
        self.pose_quality = quality = quality_of(frame.status)
        if quality is Quality.MISSING:
            self._values.fill(np.nan)
        else:
            self._n_beyond += layout.read(frame.data, self._values)
        in_trial = math.nan if stale else frame.time
        self.history.push(self._timeline.time, self._values, quality, in_trial)
        if self._looks_back:
            self.poses.push(self._timeline.time, self.pose, quality)
        self.trial_time = frame.time
        if quality < Quality.UNUSABLE:
            self.gait.look(frame, self._timeline.time)

    def _advance(self, frame: ReceivedFrame) -> None:
        """Advance the axis of the curves to a new frame, with a gap where frames are missing before it."""
        before, half = self._timeline.time, 0.5 * self._timeline.period
        if self._timeline.advance(frame.seq, frame.t_capture) and len(self.history):
            after = max(before + half, self._timeline.time - half)
            self.history.push(before + half, np.nan, Quality.MISSING)
            self.history.push(after, np.nan, Quality.MISSING)
            long = self._timeline.time - before >= 2.0 * self.poses.period  # else the next has no place
            if self._looks_back and long:  # who looks back into it sees the pose before it, as an old one
                self.poses.push(min(before + self.poses.period, after), self.pose, Quality.MISSING)


def _goes_on(known: Session, session: Session) -> bool:
    """Return whether the curves of a session continue those of the known one before it: fields and rate are
    the same, and so are person, side and source.
    """
    same = all(known.meta.get(key) == session.meta.get(key) for key in SAME)
    return same and (known.fields, known.rate) == (session.fields, session.rate)


def _n_sample(rate: float) -> int:
    """Return the number of samples that cover the longest time window; rate : frame rate [Hz]."""
    return int(DURATION_MOST * rate) + 2
