"""Relays a capture system: frames are published at once, and a lost connection is restored.

Nothing that a server sends ends the relay: invalid data are counted, failures of the connection are
reported, and another attempt follows.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from time import process_time_ns

from streams.account import Sentences, account, plain
from streams.capture.frame_times import FrameTimes
from streams.capture.label_changes import (
    RowsByName,
    SessionPace,
    rate_kept,
    rows_kept,
    words_of_change,
)
from streams.capture.records import (
    CaptureDescription,
    CaptureError,
    CaptureFrame,
    ClockPair,
    believed_rate,
)
from streams.capture.relay_options import RelayOptions
from streams.capture.relayed import Labelled, RelayedSession
from streams.capture.silence import Silence
from streams.capture.system import CaptureAddress, CaptureConnection, systems
from streams.capture.waiting_frames import WaitingFrames
from streams.clock import now_ns
from streams.errors import StreamError
from streams.messages import Telemetry
from streams.publisher import Publisher

LOOK_S = 0.02
"""Longest wait for data before subscribers and requests to end are handled [s]."""
RETRY_S = (0.1, 0.2, 0.5, 1.0)
"""Pauses between attempts to connect; the last one is repeated [s]."""
TELL_NS = 1_000_000_000
MOST_SAID = 8
"""Largest number of sentences per second that are shown; the telemetry has more."""
NO_SIZE = "nothing is relayed until enough markers are visible; or give the unit, for example ?units=mm."

Judge = Callable[[CaptureDescription, list[CaptureFrame], str], Labelled | None]
"""Function that finds unit and axis from a description without them, its frames and the system's usual
axis; None = not enough frames yet."""


class Relay:
    """Relays one capture system: publishes its frames as streams of this protocol.

    Parameters
    ----------
    address : address of the system
    publisher : publisher of the streams; it stays open
    say : called with sentences on events
    judge : function that determines unit and upward axis from the first frames if the system does not state
        them
    noted : function that returns notes on the marker names of a session

    Raises CaptureError for an invalid option.
    """

    def __init__(
        self,
        address: CaptureAddress,
        publisher: Publisher,
        say: Callable[[str], None],
        judge: Judge,
        noted: Callable[[Sequence[str]], list[str]] | None = None,
    ) -> None:
        self._noted = noted
        self._began_ns, self._cpu_ns = now_ns(), process_time_ns()
        self._address, self._publisher, self._say, self._judge = address, publisher, say, judge
        self._options = RelayOptions.of(address.options)
        self._system = systems()[address.scheme]
        self._times = FrameTimes(self._options.latency_ns)
        self._session: RelayedSession | None = None
        self._described: CaptureDescription | None = None
        self._begun_with: CaptureDescription | None = None
        self._due = self._unfit = False  # whether a session of what is described is still to begin; cannot
        self._rows: RowsByName | None = None
        self._pace, self._n_postponed = SessionPace(), 0
        self._notes: tuple[str, ...] = ()
        self._waiting = WaitingFrames()
        self._connection: CaptureConnection | None = None
        self._former: Counter[str] = Counter()  # what connections counted that are closed
        self._sentences = Sentences()
        self._tell_due_ns = 0
        self._on_telemetry: Callable[[Telemetry], None] | None = None
        self._age_ns = self._n_unnamed = self._n_said = self._n_try = 0
        self._silence = Silence(address.text, self._system)
        self._told: set[str] = set()
        self.counters: Counter[str] = Counter(frames=0, published=0, reconnects=0, sessions=0)

    def run(self, stop: threading.Event, on_telemetry: Callable[[Telemetry], None] | None = None) -> None:
        """Relay until `stop` is set.

        on_telemetry : called once a second with the telemetry message

        Raises CaptureError only if another attempt is useless.
        """
        self._on_telemetry = on_telemetry
        try:
            while not stop.is_set():
                self._relay_one_connection(stop)
                self._rest(RETRY_S[min(self._n_try, len(RETRY_S) - 1)], stop)
                self._n_try += 1
        finally:
            self._publisher.end("the relay was stopped")

    def _relay_one_connection(self, stop: threading.Event) -> None:
        """Connect, and relay frames until the connection ends; report the reason, once until frames come
        again."""
        try:
            self._connection = self._system.open(self._address)
            self._connected()
            while not stop.is_set():
                self._take(self._connection.read(LOOK_S))
                self._serve()
        except CaptureError as fault:
            if fault.final:
                raise
            self.counters[f"connection_{fault.reason}"] += 1
            self._tell_once(str(fault))
        except Exception as fault:  # of a decoder: must not end a measurement, is counted and told
            self.counters["decoder_faults"] += 1
            words = plain(f"{type(fault).__name__}: {fault}", 200)
            self._tell_once(f"the connection failed by an unexpected error ({words})")
        finally:
            self._disconnect()

    def telemetry(self) -> Telemetry:
        """Return a telemetry message: the counts so far, the current values, and the sentences since the last
        call.
        """
        connection = self._connection
        counters = self._former + self.counters + self._times.counters
        gauges = {
            **self._times.clock.gauges(), "capture_age_ms": 1e-6 * self._age_ns,
            "unnamed_markers": float(self._n_unnamed), "connected": float(connection is not None),
            "cpu_percent": 100.0 * (process_time_ns() - self._cpu_ns) / max(1, now_ns() - self._began_ns),
        }  # fmt: skip
        if connection is not None:
            counters += Counter(connection.counters())
            gauges.update(connection.gauges())
        session = self._session.markers.session if self._session is not None else ""
        return account(session, {**dict.fromkeys(self.counters, 0), **counters}, gauges, self._sentences)

    def _connected(self) -> None:
        assert self._connection is not None
        if self.counters["connections"]:
            self.counters["reconnects"] += 1
        self.counters["connections"] += 1
        again = " again" if self.counters["reconnects"] else ""
        self._tell_once(f"Connected to {self._address.text}{again}.", connected=True)
        self._times.reconnect()
        self._silence.connected()
        self._take(self._connection.description())

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            self._former += Counter(connection.counters())
            for sentence in connection.sentences():
                self._tell(sentence)
        except Exception:  # as above: it was counted and told that the connection has failed
            self.counters["decoder_faults"] += 1
        finally:
            connection.close()

    def _tell_once(self, sentence: str, connected: bool = False) -> None:
        """Report a sentence on the connection, unless the same sentence was reported since the last frame;
        connected : whether the connection is established
        """
        if sentence not in self._told:
            self._told.add(sentence)
            place = "" if sentence.startswith(self._address.text) else f"{self._address.text}: "
            self._tell(sentence if connected else f"{place}{sentence}; trying again.")

    def _tell(self, sentence: str) -> None:
        """Report a message to the user; if many come in quick succession, as from a server that changes its
        names all the time, report only a few."""
        self._sentences.say(sentence)
        self._n_said += 1
        if self._n_said <= MOST_SAID:
            self._say(sentence)
        elif self._n_said == MOST_SAID + 1:
            self._say("There are more messages than can be shown here; the telemetry contains more of them.")

    def _rest(self, rest_s: float, stop: threading.Event) -> None:
        due_ns = now_ns() + round(1e9 * rest_s)
        while now_ns() < due_ns and not stop.wait(LOOK_S):
            self._serve()

    def _serve(self) -> None:
        """Serve subscribers, and send telemetry once a second."""
        self._publisher.service()
        if now_ns() >= self._tell_due_ns:
            self._tell_due_ns, self._n_said = now_ns() + TELL_NS, 0
            self._tell_storm()
            if self._connection is not None:
                for sentence in self._connection.sentences():
                    self._tell(sentence)
                if silent := self._silence.sentence():
                    self._tell_once(silent, connected=True)
            told = self.telemetry()
            self._publisher.send(told)
            if self._on_telemetry is not None:
                self._on_telemetry(told)

    def _tell_storm(self) -> None:
        """Report, at most once a second, that descriptions change faster than sessions may begin."""
        n, self._n_postponed = self._n_postponed, 0
        if n:
            self.counters["postponed_sessions"] += n
            self._tell(
                f"{self._address.text} sends new descriptions of its markers or plates too often ({n} more "
                "than the two per second that are allowed): only markers whose names stay the same are "
                "still relayed."
            )

    def _take(self, news: CaptureFrame | CaptureDescription | ClockPair | None) -> None:
        if isinstance(news, CaptureFrame):
            self.counters["frames"] += 1
            self._n_try = 0
            self._silence.frame(news.arrived_ns)
            self._told.clear()
            self._take_kept(news)
        elif isinstance(news, CaptureDescription):
            self._describe(news)
        elif news is not None and self._times.clock.pair(news.stamp_ns, news.local_ns):
            self._times.counters["clock_restarts"] += 1

    def _take_kept(self, frame: CaptureFrame) -> None:
        """Publish a frame, or store it until a session for its description has begun."""
        if self._due and self._pace.allows(now_ns()):
            self._begin_described()
        if self._session is None:
            self._wait(frame)
        elif self._due:
            self._relay_by_names(frame)
        else:
            self._relay(frame)

    def _describe(self, description: CaptureDescription) -> None:
        """Begin a new session if a description differs from the present one; at most two sessions a
        second."""
        asked, before = self._options, self._described
        description = description._replace(
            up=asked.up or description.up,
            unit=asked.unit or description.unit,
            rate=believed_rate(description.rate),
            plates=tuple(plate._replace(rate=believed_rate(plate.rate)) for plate in description.plates),
        )
        description = rate_kept(description, before)
        if description == before:
            return
        allowed = self._pace.allows(now_ns())
        if before is not None:
            if allowed:
                change = words_of_change(before, description)
                self._tell(
                    f"{self._address.text} has sent a new description of its markers or plates: {change}."
                )
            kept = rows_kept(self._waiting.frames, before, description)
            self.counters["frames_not_kept"] += len(self._waiting.frames) - len(kept)
            self._waiting.put(kept)
        self._described, self._rows = description, None
        self._due = self._session is None or description != self._begun_with
        if self._due and allowed:
            self._begin_described()
        self._n_postponed += self._due

    def _begin_described(self) -> None:
        """Begin a session for the present description, or wait until its names, unit and axis are known."""
        description, former = self._described, self._session
        assert description is not None
        self._session, self._begun_with = None, description
        self._due = self._unfit = False
        labelled = Labelled(description)
        if former is not None and self._pace.recent(now_ns()):  # the room is the one that was judged
            judged = former.description
            unit, up = description.unit or judged.unit, description.up or judged.up
            if (unit, up) != (description.unit, description.up):
                labelled = Labelled(description._replace(unit=unit, up=up), notes=self._notes)
        if not description.names and not self._options.n_unnamed:
            self._tell(f"{self._address.text} has no markers with names yet: {self._system.unseen}")
        elif labelled.description.unit and labelled.description.up:
            self._begin(labelled)
            for kept in self._waiting.taken():
                self._relay(kept)

    def _wait(self, frame: CaptureFrame) -> None:
        """Store a frame; once unit and axes are determined, publish all stored frames."""
        description = self._described
        if description is None or not (description.names or self._options.n_unnamed):
            self.counters["frames_without_markers"] += 1
            return
        if self._unfit:
            self.counters["frames_without_session"] += 1
            return
        if not description.unit and not frame.shows_any:
            self._count_without_unit(1)
            return
        dropped = self._waiting.add(frame)
        self.counters["frames_not_kept"] += dropped.n_thinned + (dropped.n_old if description.unit else 0)
        self._count_without_unit(0 if description.unit else dropped.n_old)
        frames = self._waiting.frames
        judged = None if self._due else self._judge(description, frames, self._system.usual_up)
        if judged is not None:
            self._begin(judged)
            for kept in self._waiting.taken():
                self._relay(kept)

    def _count_without_unit(self, n_frame: int) -> None:
        """Count frames that are left out as no unit is known; report it at the first."""
        if n_frame and not self.counters["frames_without_unit"]:
            self._tell(f"{self._address.text} does not report its unit of length: {NO_SIZE}")
        self.counters["frames_without_unit"] += n_frame

    def _begin(self, labelled: Labelled) -> None:
        labelled = labelled._replace(n_unnamed=self._options.n_unnamed)
        names, self._notes = labelled.description.names, labelled.notes
        self._pace.begin(now_ns())
        for note in (*labelled.notes, *(self._noted(names) if self._noted is not None else ())):
            self._tell(note)
        try:
            self._session = RelayedSession(labelled, self._address.text, self._options.sign)
            self._publisher.announce(self._session.markers)
            if self._session.forces is not None:
                self._publisher.announce(self._session.forces)
        except StreamError as fault:  # as more than a message holds
            self._session, self._unfit = None, True
            self._tell(
                f"{self._address.text}: its description of markers and plates cannot be published: {fault}"
            )
            return
        self.counters["sessions"] += 1
        self._times.begin()

    def _relay_by_names(self, frame: CaptureFrame) -> None:
        """Publish a frame whose description has no session yet: its markers are assigned by their names to
        the rows of the present session.
        """
        session, described = self._session, self._described
        assert session is not None
        assert described is not None
        if self._rows is None:
            self._rows = RowsByName(described, session.description)
        moved = self._rows.moved(frame.positions)
        if moved is None:
            self.counters["misfit_frames"] += 1
            return
        positions, n_left = moved
        self.counters["frames_by_names"] += 1
        self.counters["markers_left_out"] += n_left
        forces = frame.forces
        if forces is not None and described.plates != session.description.plates:
            self.counters["misfit_forces"] += 1
            forces = None
        self._relay(frame._replace(positions=positions, forces=forces))

    def _relay(self, frame: CaptureFrame) -> None:
        session = self._session
        if session is None:
            return
        positions = session.positions(frame)
        if positions is None:
            self.counters["misfit_frames"] += 1
            return
        self._silence.markers(positions)
        content = positions.tobytes()
        placed = self._times.place(frame, content, session.description.rate)
        if placed is None:
            return
        t_capture, time = placed
        samples = frame.forces
        if samples is not None and len(samples.stamps):
            stamp_ns = frame.stamp_ns if frame.stamp_ns is not None else int(samples.stamps[0])
            messages, told = session.force_messages(samples, stamp_ns, t_capture, time)
            if not messages:
                self.counters["misfit_forces"] += 1
            if told:
                self._tell(told)
            for message in messages:
                self._publisher.send(message)
        self._publisher.send(session.marker_message(content, t_capture, time))
        self.counters["published"] += 1
        self._age_ns = frame.arrived_ns - t_capture
        self._n_unnamed = 0 if frame.unnamed is None else len(frame.unnamed)
