"""The queries for settings of a NatNet server, sent one at a time: frame rate, upward axis, unit of length,
and sampling rate of the force plates.

The words and the forms of the answers are those of NaturalPoint's SampleClient (NatNet SDK 4.1). Motive does
not announce that a setting has changed, so the queries are repeated as long as the connection lasts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping

from streams.capture.natnet.messages import HEADER, REQUEST, message
from streams.capture.records import LengthUnit, Upwards

UP: Mapping[float, Upwards] = {0: "+X", 1: "+Y", 2: "+Z"}
UNITS: Mapping[float, LengthUnit] = {1000.0: "m", 10.0: "cm", 1.0: "mm"}
QUESTIONS: Mapping[bytes, tuple[str, Callable[[float], bool]]] = {
    b"FrameRate": ("<f", lambda rate: 1.0 <= rate <= 10_000.0),
    b"UpAxis": ("<i", lambda axis: axis in UP),
    b"UnitsToMillimeters": ("<f", lambda scale: round(scale, 3) in UNITS),
    b"AnalogSamplesPerMocapFrame": ("<i", lambda n: 1 <= n <= 256),
}
"""Questions, each with the form of its answer and a test of which answers are possible. Integers and floats
alternate, so that an answer to the question before is never a possible one."""
ANSWER_BYTES = 4
ROUNDS = 3
"""Number of times that each question is asked while nobody answers."""
HARDLY = 1e-3
"""Answers that differ by a smaller part are the same: a rate may be measured by the server."""


class Questions:
    """The queries to a server, and its answers.

    An answer does not tell to which question it belongs. So changed settings are used only when two rounds of
    questions in a row have found the same; they then change together.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, float] = {}
        self._round: dict[bytes, float] = {}  # answers since the present round of questions began
        self._doubtful: dict[bytes, float] = {}  # answers of the last round, if they differ from the known
        self._n_asked, self._open = 0, b""

    @property
    def answered(self) -> bool:
        """Whether the server has answered any question."""
        return bool(self._known)

    @property
    def complete(self) -> bool:
        """Whether the server has answered all questions."""
        return len(self._known) == len(QUESTIONS)

    @property
    def rate(self) -> float:
        """Frames per second [Hz]; 0 = not answered."""
        return self._known.get(b"FrameRate", 0.0)

    @property
    def up(self) -> Upwards:
        """The axis that points up; "" = not answered."""
        return UP.get(self._known.get(b"UpAxis", -1), "")

    @property
    def unit(self) -> LengthUnit:
        """Unit of positions; metres as long as the server has not answered, as is usual in NatNet."""
        return UNITS[round(self._known.get(b"UnitsToMillimeters", 1000.0), 3)]

    @property
    def plate_rate(self) -> float:
        """Samples of force plates per second [Hz]; 0 = not answered."""
        return self.rate * self._known.get(b"AnalogSamplesPerMocapFrame", 0.0)

    def next(self) -> bytes:
        """Return the message with the next query: for what is not known, until it was asked for often
        enough, then again for what is known. It is empty if the server answers no queries.
        """
        unknown = [name for name in QUESTIONS if name not in self._known]
        if unknown and self._n_asked < ROUNDS * len(QUESTIONS):
            self._open = unknown[self._n_asked % len(unknown)]
            self._n_asked += 1
        elif self._known:
            self._open = next(name for name in QUESTIONS if name in self._known and name not in self._round)
        else:
            return b""
        return message(REQUEST, self._open + b"\0")

    def answer(self, packet: bytes) -> bool:
        """Handle the answer to the open question; return whether it is new information, so that the next
        query is due at once."""
        if len(packet) != HEADER.size + ANSWER_BYTES or self._open not in QUESTIONS:
            return False
        form, allowed = QUESTIONS[self._open]
        value = float(struct.unpack_from(form, packet, HEADER.size)[0])
        if not allowed(value):
            return False
        name, self._open = self._open, b""
        if name not in self._known:
            self._known[name] = value
            return True
        same = math.isclose(value, self._known[name], rel_tol=HARDLY)
        self._round[name] = self._known[name] if same else value
        if len(self._round) < len(self._known):
            return bool(self._doubtful) or any(self._known[key] != v for key, v in self._round.items())
        return self._end_round()

    def _end_round(self) -> bool:
        """Compare the answers of a round with those of earlier ones; return whether settings have changed.
        After the first round that differs the next query waits, so that late answers do not come between.
        """
        found, self._round = self._round, {}
        changed = found != self._known and found == self._doubtful
        self._doubtful = {} if changed or found == self._known else found
        if changed:
            self._known = found
        return changed
