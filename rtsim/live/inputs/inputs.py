"""Inputs of a run: a stream of frames, or the ticks of a clock.

An input is used as a context manager. Its method `wait` returns the next frame, or None if no frame arrives
for some time. Just before it returns, it calls `apply`, so that commands take effect from that frame on.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol, Self

from rtsim.live.compiled.cache_warming import CacheWarming
from rtsim.live.exact.journal import RunJournal
from rtsim.live.inputs.sources import STREAM_OVER
from rtsim.live.inputs.turns import SHARE, Turns
from rtsim.live.ticks import Ticks
from rtsim.stages.stage import Args, StageCommand
from streams.access.allowance import Allowance
from streams.access.security import Security
from streams.account import Sentences
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import Session, new_session_id
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

WAIT_S = 0.05
TIME_UP = "the requested duration is over"
LONGEST_PERIOD_NS = 1e18
"""Longest time limit of a frame [ns], for rates such as 1e-300 Hz."""
MOST_OF_SESSIONS = 32
"""Largest number of messages on refused sessions in one telemetry."""

ApplyCommands = Callable[[], None]


class Input(Protocol):
    """Interface of the inputs of a run, which deliver its frames."""

    @property
    def orders(self) -> Mapping[str, StageCommand]:
        """Commands that the input accepts, by name."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    @property
    def over(self) -> str:
        """Return the reason why there are no more frames; "" while more may come."""

    @property
    def holds(self) -> bool:
        """Return whether a pause of the input was requested, so that missing frames are not a fault."""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        """Return the next frame, or None after some time without one.

        apply : function that is called just before the frame is returned
        """

    def period_ns(self, session: Session) -> int:
        """Return the time limit of the work on a frame [ns]; 0 = no limit."""

    def counters(self) -> Mapping[str, int]:
        """Return the counters of received, lost and dropped frames."""

    def gauges(self) -> Mapping[str, float]:
        """Return measured quantities of the input by name, such as delays, for the telemetry."""

    def sentences(self) -> list[str]:
        """Return the messages for the user since the last call."""

    def rest(self) -> None:
        """Do work that may take longer; called once a second, after a frame."""


class StreamInput:
    """The frames of a marker stream at an address.

    Several senders may send on one stream, each its own session. The leading session is the one whose frames
    have come for the longest time without a pause. Its frames are always returned, those of other sessions
    only if there is time; if they have to wait, only the newest one is kept.

    Parameters
    ----------
    open_stream : function that opens the subscriber
    duration_s : time to listen [s]; 0 = until the stream ends

    Attributes
    ----------
    rehearsal : cache warming, which repeats the last frame while the input waits for the next; None = none
    wait_s : longest wait for a frame before `wait` returns None [s]
    alone : whether only frames of the leading session are returned, for runs in which torque on a person
        depends on them
    journal : journal that records what is received besides frames; None = none
    """

    wait_s, alone = WAIT_S, False

    def __init__(self, open_stream: Callable[[], Subscriber], duration_s: float = 0.0) -> None:
        self._open, self._duration_s = open_stream, duration_s
        self._turns = Turns(Allowance(SHARE), now_ns)
        self._said = Sentences(MOST_OF_SESSIONS)
        self._n_turned_away = 0
        self._put_off: ReceivedFrame | None = None
        self._end_ns = 0
        self.rehearsal: CacheWarming | None = None
        self.journal: RunJournal | None = None
        self._held: ReceivedFrame | None = None  # the newest, valid until the next one is asked for
        self.orders: dict[str, StageCommand] = {}
        self.holds = False

    @classmethod
    def at(
        cls, address: str, backlog: int, security: Security | None = None, duration_s: float = 0.0
    ) -> StreamInput:
        """Return the input for the markers at an address.

        backlog : number of received messages that may wait; beyond it the oldest are dropped
        duration_s : time to listen [s]; 0 = until the stream ends
        """
        return cls(lambda: Subscriber(address, ("markers",), backlog, security), duration_s)

    def __enter__(self) -> StreamInput:
        self.subscriber = self._open().__enter__()
        self._end_ns = now_ns() + int(1e9 * self._duration_s) if self._duration_s > 0.0 else 0
        return self

    def __exit__(self, *error: object) -> None:
        self.subscriber.close()

    @property
    def over(self) -> str:
        if self.subscriber.ended and self._put_off is None:
            return STREAM_OVER
        return TIME_UP if self._end_ns and now_ns() > self._end_ns else ""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        frame = self._granted()
        apply()
        return frame

    def period_ns(self, session: Session) -> int:
        return max(1, int(min(1e9 / session.rate, LONGEST_PERIOD_NS))) if session.rate > 0.0 else 0

    def counters(self) -> Mapping[str, int]:
        return {**self.subscriber.counters, **({"turned_away": n} if (n := self._n_turned_away) else {})}

    def gauges(self) -> Mapping[str, float]:
        told = {"strangers_percent": self._turns.percent(self._receiving_ns())}
        return told if self.rehearsal is None else {**told, "rehearsals": float(self.rehearsal.n_done)}

    def sentences(self) -> list[str]:
        return [*drained(self.subscriber.events), *self._said.take()]

    def _receiving_ns(self) -> int:
        """Return the time that receiving messages of other sessions has taken [ns]."""
        return self.subscriber.strangers_ns

    def rest(self) -> None:
        gc.collect(0)  # young objects only, the rest is frozen: microseconds
        if self.rehearsal is not None:
            self.rehearsal.rest()

    def _granted(self) -> ReceivedFrame | None:
        """Return the next frame that the loop may compute: one of the leading session or, if there is time,
        of another one. None if no frame has come for some time.
        """
        since = self._turns.begin_waiting()
        until = since + round(1e9 * self.wait_s)
        while True:
            came, now = self._next(), now_ns()
            self._turns.waited(since, now if came is None else min(now, came.t_arrived))
            since = now
            if self.alone and came is not None and not came.leads:
                self._n_turned_away += 1
                self._said.say(
                    "A second session of markers runs on the stream besides the first; it is ignored."
                )
                came = None
            frame = came or self._put_off
            if frame is None:
                return None
            if self._turns.grants(frame) or (came is None and self.subscriber.ended):
                break
            if came is not None:
                self._put_off_till_later(came)
            if now >= until:
                return None
        if self._put_off is not None and self._put_off.session is frame.session:
            self._n_turned_away += self._put_off is not frame  # a newer one of its session goes instead
            self._put_off = None
        self._held = frame if frame.leads else None
        return frame

    def _put_off_till_later(self, frame: ReceivedFrame) -> None:
        """Keep a frame for whose session there is no time at present; it replaces any other waiting frame."""
        if self._put_off is not None:
            self._n_turned_away += 1
            self._said.say(
                "Other sessions on the stream take too much time; some of their frames were left out."
            )
        self.subscriber.keep()
        self._put_off = frame

    def _next(self) -> ReceivedFrame | None:
        """Wait for the next frame and return it; shortly before it is due, do the cache warming, if there is
        any."""
        rehearsal, held = self.rehearsal, self._held
        self._held = None
        if rehearsal is not None and held is not None:
            rehearsal.follow(held)
            ahead_s = rehearsal.ahead_s()
            if ahead_s > 0.0:
                frame = self.subscriber.wait(ahead_s)
                if frame is not None:
                    return frame
                rehearsal.run()
        return self.subscriber.wait(self.wait_s)


class ClockInput:
    """Clock that drives a run without input: each tick is one time step, and gives a frame without data.

    Parameters
    ----------
    rate : ticks per second [Hz]
    frame_rate : rate at which the run publishes its results [Hz]; results are to be published after every
        `every` = round(rate / frame_rate) ticks, at least 1. It does not change the ticks.
    duration_s : time to tick [s]; 0 = for ever
    """

    def __init__(self, rate: float, frame_rate: float, duration_s: float = 0.0) -> None:
        self.rate, self.every = rate, max(1, round(rate / frame_rate))
        self.session = Session(
            session=new_session_id(), stream="markers", t_start=now_ns(), rate=rate / self.every, fields=()
        )
        self._frame = ReceivedFrame(self.session, FieldLayout(self.session))
        self._n_end = round(duration_s * rate)
        self._ticks: Ticks | None = None
        self._n = 0
        self._said: deque[str] = deque()
        self.holds = False
        self.orders = {
            "pause": StageCommand(self._answer_pause, lambda args: self._hold(True), "pause", told=True),
            "resume": StageCommand(self._answer_resume, lambda args: self._hold(False), "pause", told=True),
        }

    def __enter__(self) -> ClockInput:
        self._ticks = Ticks(self.rate)
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing, as no resource is open."""

    @property
    def over(self) -> str:
        assert self._ticks is not None
        return TIME_UP if self._n_end and self._ticks.n_due >= self._n_end else ""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        assert self._ticks is not None
        frame = self._frame
        frame.t_capture = self._ticks.wait()
        frame.t_received = now_ns()
        apply()
        if self.holds:
            return None
        frame.seq, self._n = self._n, self._n + 1
        frame.time = self._n / self.rate
        return frame

    def period_ns(self, session: Session) -> int:
        return round(1e9 / self.rate)

    def counters(self) -> Mapping[str, int]:
        return {"ticks": self._n, "missed": self._ticks.n_missed if self._ticks else 0}

    def gauges(self) -> Mapping[str, float]:
        return {"paused": float(self.holds), "behind_s": self.counters()["missed"] / self.rate}

    def sentences(self) -> list[str]:
        return drained(self._said)

    def rest(self) -> None:
        """Do nothing: garbage collection would make a tick late."""

    def _hold(self, on: bool) -> bool:
        if on != self.holds:
            self.holds = on
            self._said.append("The simulation is paused." if on else "The simulation continues.")
        return False

    def _answer_pause(self, args: Args) -> tuple[bool, str]:
        return True, "The simulation is paused from the next time step on."

    def _answer_resume(self, args: Args) -> tuple[bool, str]:
        return True, "The simulation continues."


def drained(events: deque[str]) -> list[str]:
    """Remove all messages from a queue and return them, the oldest first; other threads may add messages
    meanwhile.
    """
    return [events.popleft() for _ in range(len(events))]
