"""Comparison of the results of a replay with those of the recorded run, byte by byte."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from rtsim.errors import ConfigError
from rtsim.files.comparison.differences import QuantityDifferences, StatusDifferences
from rtsim.live.exact.reading import RecordedAnswer, RecordedRun, answers_of
from rtsim.live.exact.replayed_loop import JournalInput
from streams.codec import FieldLayout, encode
from streams.messages import AnyMessage, FieldSpec, Result, Session

OF_MESSAGE = (
    FieldSpec("time", (), "s"), FieldSpec("t_capture", (), "ns"), FieldSpec("t_received", (), "ns"),
    FieldSpec("iterations", (), "1"), FieldSpec("residual", (), "1"),
)  # fmt: skip
"""Numbers in a result message besides its fields."""


class ReplayedResults:
    """An output that compares the results of a replay with the recorded ones.

    Only the time stamps that do not affect any computation and the random id of a session are copied from
    the recorded run: the times when a result was solved and published, and when a session began. All other
    bytes are computed.

    Attributes
    ----------
    n_result, n_equal : number of compared results, and of those that are equal byte by byte
    n_session, n_session_equal : the same for descriptors
    n_unrecorded : results that the recorder did not receive
    n_missing : recorded results that were not reproduced
    n_beyond : recorded results after the end of a truncated journal
    quantities : differences by quantity, for results that are not equal
    status : differences of the status
    altered : differences of the descriptors, as text
    """

    def __init__(self, recorded: RecordedRun, source: JournalInput) -> None:
        self.events: deque[str] = deque()
        self._recorded, self._source = recorded, source
        self._answers: Iterator[RecordedAnswer] = answers_of(recorded)
        self._waiting: deque[RecordedAnswer] = deque()
        self._layouts: dict[str, tuple[int, FieldLayout | None]] = {}
        self._session, self._n_announced, self._t_solved = "", 0, 0
        self.n_result = self.n_equal = self.n_session = self.n_session_equal = 0
        self.n_unrecorded = self.n_missing = self.n_beyond = 0
        self.quantities: dict[str, QuantityDifferences] = {}
        self.status = StatusDifferences()
        self.altered: list[str] = []

    def announce(self, session: Session) -> None:
        """Begin a session of results and compare its descriptor; the recorded run must have begun a session
        here, too.
        """
        if self._n_announced >= len(self._recorded.results):
            raise ConfigError(
                f"the replay begins session {self._n_announced + 1} of results, but the recorded run had "
                f"only {len(self._recorded.results)}", where=str(self._recorded.path),
                remedy="replay the run with the build of rtsim that recorded it",
            )  # fmt: skip
        then = self._recorded.results[self._n_announced]
        self._n_announced += 1
        self._session = then.session
        mine = replace(session, session=then.session, t_start=then.t_start)
        theirs = self._next(Session)
        self.n_session += 1
        if theirs is None:
            self.altered.append(f"the descriptor of session {self._n_announced} is not in the recording")
            self._layouts[then.session] = (self._n_announced, FieldLayout(mine))
            return
        assert isinstance(theirs.message, Session)
        self._layouts[then.session] = (self._n_announced, common_layout(mine, theirs.message))
        if encode(mine)[1] == theirs.payload:
            self.n_session_equal += 1
        else:
            self.altered += [
                f"session {self._n_announced}: {words}" for words in _changes(theirs.message, mine)
            ]

    def send(self, message: AnyMessage) -> None:
        """Compare a result. Telemetry is not compared, as it differs from run to run."""
        if not isinstance(message, Result):
            return
        stamps = self._source.frame_entry
        try:
            mine = replace(
                message,
                session=self._session,
                t_solved=int(stamps.get("t_solved", self._t_solved)),  # a repetition has that of the result
                t_published=int(stamps["t_published"]),
            )
        except (KeyError, ValueError):
            raise ConfigError(
                f"the replay has a result for frame {message.seq}, but the recorded run had none",
                where=str(self._recorded.path),
                remedy="replay the run with the build of rtsim that recorded it",
            ) from None  # fmt: skip
        self._t_solved = mine.t_solved
        theirs = self._next_result(mine)
        if theirs is None:
            self.n_unrecorded += 1
            return
        self.n_result += 1
        if encode(mine)[1] == theirs.payload:
            self.n_equal += 1
            self.status.n_frame += 1
        else:
            self._compare(mine, theirs.message)

    def service(self) -> None:
        """Do nothing, as nobody is connected to a replay."""

    def end(self, reason: str) -> None:
        """Count the recorded results that the replay did not reach."""
        n = sum(isinstance(answer.message, Result) for answer in (*self._waiting, *self._answers))
        if self._recorded.cut:
            self.n_beyond = n
        else:
            self.n_missing += n

    def _next(self, kind: type) -> RecordedAnswer | None:
        """Return the next recorded message that is of the class `kind` and belongs to the present session;
        None if the recording has no more of them. Messages before it are kept for `_next_result`.
        """
        while (answer := next(self._answers, None)) is not None:
            if isinstance(answer.message, kind) and answer.message.session == self._session:
                return answer
            self._waiting.append(answer)
        return None

    def _next_result(self, mine: Result) -> RecordedAnswer | None:
        """Return the recorded result with the same session and sequence number as the recomputed result
        `mine`; None if the recorder did not receive it.
        """
        while True:
            if not self._waiting:
                answer = next(self._answers, None)
                if answer is None:
                    return None
                self._waiting.append(answer)
            theirs = self._waiting[0].message
            if isinstance(theirs, Session) or (theirs.session, theirs.seq) == (mine.session, mine.seq):
                found = self._waiting.popleft()
                if isinstance(theirs, Result):
                    return found
            elif theirs.session == mine.session and theirs.seq < mine.seq:
                self._waiting.popleft()
                self.n_missing += 1
            else:
                return None

    def _compare(self, mine: Result, theirs: Any) -> None:
        """Collect the differences between a recomputed result `mine` and the recorded one."""
        number, layout = self._layouts[mine.session]
        self.status.add(number, [mine.seq], [mine.time], [theirs.status], [mine.status])
        for spec in OF_MESSAGE:
            one, other = (np.array([getattr(result, spec.name)], float) for result in (theirs, mine))
            self._add(spec, number, mine, one, other)
        if layout is None:
            return
        if misfit := layout.misfit(theirs.data):
            self.n_missing += 1
            self.altered.append(
                f"session {number}: the recorded result {mine.seq} does not fit its descriptor "
                f"({misfit.replace('_', ' ')})"
            )
            return
        for spec in layout.specs.values():
            one, other = (
                np.frombuffer(result.data[spec.name], "<f8").reshape(1, *spec.shape)
                for result in (theirs, mine)
            )
            self._add(spec, number, mine, one, other)

    def _add(self, spec: FieldSpec, number: int, mine: Result, one: Any, other: Any) -> None:
        found = self.quantities.setdefault(spec.name, QuantityDifferences(spec))
        found.add(number, spec, [mine.seq], [mine.time], one, other)


def common_layout(mine: Session, theirs: Session) -> FieldLayout | None:
    """Return the layout of the fields whose numbers can be compared; None if there are none.

    Their names, shapes, labels and units are the same in both descriptors. What else describes a field does
    not matter: a recording of an older build may lack it.
    """
    known = {spec.name: spec for spec in theirs.fields}
    alike = [
        spec
        for spec in mine.fields
        if spec.name in known and numbers_of(spec) == numbers_of(known[spec.name])
    ]
    return FieldLayout(replace(mine, fields=tuple(alike))) if alike else None


def numbers_of(spec: FieldSpec) -> tuple[object, ...]:
    """Return what has to be the same of two fields whose numbers are compared."""
    return tuple(spec.shape), tuple(spec.labels), spec.unit


def _changes(then: Session, now: Session) -> list[str]:
    """Return the differences between two descriptors as text."""
    found = []
    for name in ("rate", "stream"):
        if getattr(then, name) != getattr(now, name):
            found.append(f"{name} {getattr(now, name)} instead of {getattr(then, name)}")
    names = {spec.name: spec for spec in then.fields}, {spec.name: spec for spec in now.fields}
    for name in {**names[0], **names[1]}:
        if names[0].get(name) != names[1].get(name):
            found.append(f"the field {name} has another description than in the recording")
    for key in {**then.meta, **now.meta}:
        if then.meta.get(key) != now.meta.get(key):
            found.append(f"`{key}` is {now.meta.get(key)!r:.120} instead of {then.meta.get(key)!r:.120}")
    return found or ["its bytes differ"]
