"""The display of `rtsim live` in the terminal during a run: the newest results, which are shown as a table,
and the state of the processes.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live

from rtsim.cli.terminal.lines import tell
from rtsim.live.inputs.sources import STREAM_OVER
from rtsim.live.processes.children import LAST, Child
from rtsim.report.table import live_table
from rtsim.report.tally import StreamSummary
from streams.account import bounded
from streams.control.commands import request
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

LOOK_S = 0.1
DRAW_S = 0.25
SILENT_S = 0.7
"""Silence of a source or an estimator after which the user is told [s]."""
BEGIN_S = 3.0
"""Time after which the user is told that a source which others start has sent nothing [s]."""
ENDING_S = 3.0
"""Time that an estimator may take for its last results after it was told to stop [s]."""
EXIT_S = 30.0
"""Time that an estimator may take to end, and so to give its exit code, once its results are over [s]."""
RECORDING_S = 5.0
"""Time that a recorder may take to close its file once the results are over [s]."""
MOST_TOLD = 20
"""Largest number of messages that are printed before the first frame."""
MOST_NOTES = 200
"""Largest number of notes that are printed in all, however many sessions a sender begins."""
NEEDED = ("estimator", "player", "connector")
"""Processes without which there is nothing to watch; without a recorder or a monitor the run goes on."""


class Watch:
    """Follows the results of a run, and its processes, to their end.

    Parameters
    ----------
    source : source of the markers, as the user names it
    addresses : addresses of results and control
    children : child processes, the estimator first
    notes : notes on the run that the user has seen already

    Attributes
    ----------
    failed : whether one of the processes has failed
    failures : messages on the failures
    """

    def __init__(
        self,
        source: str,
        addresses: dict[str, str],
        children: Sequence[Child],
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.addresses, self.children = source, addresses, children
        self._plays = any(child.name == "player" for child in children)
        self._notes = set(notes)
        self._session: Session | None = None
        self.estimator = children[0]
        self.failed = False
        self.failures: list[str] = []
        self._over: dict = {}  # what the estimator said at its end
        self._told: set[str] = set()
        self._told_waiting: list[str] = []  # sentences before the first frame
        self._due = math.inf  # when the run is over, ended or not [s, monotonic]
        self._look_due = self._draw_due = 0.0
        self._began = time.monotonic()
        self._heard = self._fresh = math.inf  # when a frame came, and one that is not stale
        self._silent = ""
        self._last: ReceivedFrame | None = None

    def follow(self, console: Console) -> dict:
        """Follow the run to its end, or end it if the user interrupts (Ctrl-C); return its summary."""
        tally = StreamSummary()
        with Subscriber(self.addresses["results"], ("result", "telemetry"), backlog=512) as results:
            live = (
                Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
            )
            with live or contextlib.nullcontext():
                try:
                    self._follow(tally, results, live)
                except KeyboardInterrupt:
                    self._stop()
                    self._follow(tally, results, None)
            over = results.ended
        self._see_off(over)
        return tally.summary()

    def _follow(self, tally: StreamSummary, results: Subscriber, live: Live | None) -> None:
        while not results.ended and self.estimator.running and time.monotonic() < self._due:
            frame = results.wait(LOOK_S)
            now = time.monotonic()
            if frame is not None:
                tally.take_frame(frame)
                self._last = frame
                self._hear(frame, now)
            if now >= self._look_due:
                self._look_due = now + LOOK_S
                self._look(now)
            if live is not None and self._last is not None and now >= self._draw_due:
                self._draw_due = now + DRAW_S
                tally.look_at(self._last)
                live.update(live_table(tally, self.source))
            while results.telemetry:
                tally.take_telemetry(results.telemetry.popleft())
            if self._last is None:
                self._tell_waiting(tally)
        if self._last is not None:
            tally.look_at(self._last)
        while results.telemetry:
            tally.take_telemetry(results.telemetry.popleft())

    def _tell_waiting(self, tally: StreamSummary) -> None:
        """Report why there is no table as long as no frame has come, for example that no sender answers."""
        for words in tally.sentences:
            if words not in self._told_waiting and len(self._told_waiting) < MOST_TOLD:
                self._told_waiting.append(words)
                tell(words)

    def _tell_notes(self, session: Session) -> None:
        """Print the notes in the descriptor of a stream that another program sends."""
        self._session = session
        if self._plays:  # from a file, which was read here, too
            return
        for note in bounded(session.meta.get("notes"), MOST_TOLD):
            if note not in self._notes and len(self._notes) < MOST_NOTES:
                self._notes.add(note)
                tell(note)

    def _hear(self, frame: ReceivedFrame, now: float) -> None:
        self._heard = now
        if frame.session is not self._session:
            self._tell_notes(frame.session)
        if not frame.status & Status.STALE:
            self._fresh = now
            if self._silent:
                say(f"{self._silent} is sending again")
                self._silent = ""

    def _look(self, now: float) -> None:
        """Check the processes, and report at once which one has failed, and which one has fallen silent."""
        self._hand_on()
        for child in self.children:
            self._tell_failure(child, "the run goes on without it")
        if self._told.intersection(NEEDED) and self._due == math.inf:
            self._stop()
        if not self._silent and self._due == math.inf:
            self._tell_silence(now)

    def _tell_silence(self, now: float) -> None:
        """Report which process has fallen silent, or has been silent from the start."""
        source = "the player" if self._plays else f"the source {self.source}"
        since = f"for {SILENT_S:g} s"
        if now - self._fresh > SILENT_S:
            self._silent = "the estimator" if now - self._heard > SILENT_S else source
        elif self._last is None and not self._plays and now - self._began > BEGIN_S:
            self._silent, since = source, "yet"
        if self._silent:
            say(f"{self._silent} has sent nothing {since}; waiting for it (Ctrl-C ends the run)")

    def _tell_failure(self, child: Child, then: str = "") -> None:
        failure = child.failure()
        if not failure or child.name in self._told:
            return
        self._told.add(child.name)
        self.failed = True
        last = failure.splitlines()[-1]
        if child is self.estimator and self._end_of_estimator():  # it ended well: a verdict on the stream
            then = ""
        else:
            last = last if last.startswith(f"the {child.name}") else f"the {child.name} has failed: {last}"
            then = "the run ends" if child.name in NEEDED else then
        self.failures.append(f"{last}; {then}" if then else last)
        say(self.failures[-1])

    def _end_of_estimator(self) -> dict:
        """Return the last state of the estimator; {} = it has not ended, or could not report it."""
        self._over = self._over or self.estimator.newest_state("over")
        return self._over

    def _stop(self) -> None:
        """Let the estimator end its session, so that recorder and subscribers receive the end."""
        if self.estimator.running:
            self._due = time.monotonic() + ENDING_S
            request(self.addresses["control"], "stop", timeout_s=1.0)

    def _see_off(self, over: bool) -> None:
        """Wait for the processes of the run that end by themselves, and report the last failures.

        over : whether the run has ended by itself
        """
        if over and not self.estimator.wait(EXIT_S):
            self.failed = True
            say(f"the estimator has not ended within {EXIT_S:g} s after its results, so it is stopped now")
        of_itself = self._end_of_estimator().get("reason") == STREAM_OVER
        for child in self.children[1:]:
            if child.name == "recorder" and over:
                child.wait(RECORDING_S)
            if child.name == "player" and of_itself:
                child.wait(ENDING_S)
        self._hand_on()
        for child in self.children:
            self._tell_failure(child)

    def _hand_on(self) -> None:
        """Print what the recorder and the relay of a capture system report to the user, such as missing
        frames.
        """
        for child in self.children:
            if child.name in ("recorder", "connector"):
                for words in child.take_words():
                    if not words.startswith(LAST):  # its last, which is told as its failure
                        tell(words)


def say(text: str) -> None:
    """Print a message to the user, above the table of results."""
    tell(f"rtsim: {text}")
