"""The queries for settings of a NatNet server, sent one at a time: frame rate, upward axis, unit of length,
and sampling rate of the force plates.

The words and the forms of the answers are those of NaturalPoint's SampleClient (NatNet SDK 4.1).
"""

from __future__ import annotations

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
"""Questions, each with the form of its answer and a test of which answers are possible."""
ANSWER_BYTES = 4
ROUNDS = 3
"""Number of times that each question is asked while nobody answers."""


class Questions:
    """The queries to a server, and its answers."""

    def __init__(self) -> None:
        self._known: dict[bytes, float] = {}
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
        """Return the message with the next query. It is empty if every answer is known, or if all queries
        were sent often enough without an answer.
        """
        unknown = [name for name in QUESTIONS if name not in self._known]
        if not unknown or self._n_asked >= ROUNDS * len(QUESTIONS):
            return b""
        self._open = unknown[self._n_asked % len(unknown)]
        self._n_asked += 1
        return message(REQUEST, self._open + b"\0")

    def answer(self, packet: bytes) -> bool:
        """Handle the answer to the open question; return whether it is new information."""
        if len(packet) != HEADER.size + ANSWER_BYTES or self._open not in QUESTIONS:
            return False
        form, allowed = QUESTIONS[self._open]
        value = float(struct.unpack_from(form, packet, HEADER.size)[0])
        if self._open in self._known or not allowed(value):
            return False
        self._known[self._open] = value
        return True
