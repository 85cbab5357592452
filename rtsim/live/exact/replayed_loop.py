"""The loop of a replay: the same code receives the same frames and commands in the same order as in the
recorded run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rtsim.files.gait.marks import MARK
from rtsim.live.exact.journal import OF_FRAME
from rtsim.live.exact.reading import RecordedRun, bad_entry, command_of, entries_of, session_of
from rtsim.live.inputs.inputs import ApplyCommands
from rtsim.live.inputs.recorded import FINISHED
from rtsim.live.loop import Loop, ResultSink
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.stage import Stage, StageCommand
from streams.codec import WIRE_FLOAT, FieldLayout
from streams.errors import StreamError
from streams.messages import Command, Journal, Session
from streams.receiving.ring import ReceivedFrame

PROGRESS_EVERY = 50


class JournalInput:
    """An input that delivers what the recorded run received, entry by entry.

    Parameters
    ----------
    recorded : the run
    feed : receiver of its forces, if it has any
    progress : function called with the number of finished frames

    Attributes
    ----------
    frame_entry : values of the newest journal entry of a frame, or of a result that was published again
    command : function that passes a command to the loop
    """

    holds = False

    def __init__(
        self,
        recorded: RecordedRun,
        feed: ForceFeed | None,
        progress: Callable[[int], None] = lambda n_done: None,
    ) -> None:
        self._entries, self._feed, self._progress = entries_of(recorded), feed, progress
        self._frames: dict[int, ReceivedFrame] = {}
        self.frame_entry: Mapping[str, Any] = {}
        self.orders: Mapping[str, StageCommand] = {}
        self.over, self.n_done = "", 0
        self.command: Callable[[Command], None] = lambda command: None

    def __enter__(self) -> JournalInput:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing, as no resource is open."""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        """Return the next recorded frame; None at the end, and where the recorded run published its last
        result again because no frame came.

        apply : function that executes the commands received so far; called after each recorded command
        """
        for entry in self._entries:
            try:
                found = self._take(entry)
            except (KeyError, TypeError, ValueError, StreamError) as fault:
                raise bad_entry(entry, fault) from None
            if entry.entry == "command":
                apply()
            if found is not None or entry.entry == "repeat":
                return found
        self.over = FINISHED
        return None

    def _take(self, entry: Journal) -> ReceivedFrame | None:
        """Carry out a journal entry: a command, a session or force samples; return the frame if it is the
        entry of a frame."""
        match entry.entry:
            case "command":
                self.command(command_of(entry))
            case "session":
                session = session_of(entry)
                self._frames[entry.values["number"]] = ReceivedFrame(session, FieldLayout(session))
            case "turn" if self._feed is not None:
                self._feed.turn_to(self._frames[entry.values["number"]].session)
            case "forces" if self._feed is not None:
                self._feed.admit(self._filled(entry))
            case "frame":
                self.frame_entry = entry.values
                self.n_done += 1
                if self.n_done % PROGRESS_EVERY == 0:
                    self._progress(self.n_done)
                frame = self._filled(entry)
                frame.t_taken = entry.values.get("t_taken", frame.t_arrived)  # older journals lack it
                return frame
            case "repeat":
                self.frame_entry = entry.values
        return None

    def _filled(self, entry: Journal) -> ReceivedFrame:
        """Return the frame of an entry, with its values and stamps filled in."""
        frame = self._frames[entry.values["number"]]
        for name in OF_FRAME:
            setattr(frame, name, entry.values[name])
        values = np.frombuffer(entry.data["values"], WIRE_FLOAT)
        if values.shape != frame.flat.shape:
            raise ValueError(f"the frame has {len(values)} numbers, but its session states {len(frame.flat)}")
        frame.flat[:] = values
        return frame

    def period_ns(self, session: Session) -> int:
        """Return 0, no time limit for a frame, as the journal states which results were late."""
        return 0

    def counters(self) -> Mapping[str, int]:
        return {"received": self.n_done}

    def gauges(self) -> Mapping[str, float]:
        return {}

    def sentences(self) -> list[str]:
        return []

    def rest(self) -> None:
        """Do nothing, as a replay has no work once a second."""


class ReplayedLoop(Loop):
    """The loop of a replay, which takes its frames and commands from the journal of the recorded run."""

    source: JournalInput

    def __init__(
        self, source: JournalInput, stages: Sequence[Stage], output: ResultSink, meta: Mapping[str, Any]
    ) -> None:
        super().__init__(source, stages, output, meta, takes_marks=True)
        source.command = self._put
        for stage in stages:
            stage.awaited = self._n_awaited

    def _serve(self) -> None:
        while not (self.reason or self.source.over):
            frame = self.source.wait(self._obey)
            if frame is not None:
                self._late = bool(self.source.frame_entry.get("late", False))
                self._turn(frame)
            elif self._last is not None and not self.source.over:
                self._publish_stale(self._last)
        self.reason = self.reason or self.source.over

    def _put(self, command: Command) -> None:
        if command.name not in self.orders:
            raise ValueError(f"{command.name[:32]!r} is not a command of this run")
        self._mailbox.put(self._marks.kind() if command.name == MARK else command.name, command)

    def _n_awaited(self) -> int:
        return int(self.source.frame_entry.get("n_awaited", 0))
