"""A fuzzed target: a reader or decoder, valid input to begin with, and the permitted outcomes of any
input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rtsim.errors import RtsimError
from streams.errors import StreamError

Form = Literal["bytes", "text", "markup", "toml", "msgpack", "packets"]
REFUSALS: tuple[type[Exception], ...] = (RtsimError, StreamError)
"""Errors that a reader may raise: their text is one sentence for a user."""


class NonsenseError(Exception):
    """Raised if a reader accepted something that it must not; the text says what."""


class FuzzTarget(NamedTuple):
    """A reader or decoder to be fuzzed.

    name : name of the target, and of the folder of its corpus
    feed : function that takes the bytes of a message, or the path of a file where there is a suffix;
        whatever it returns is dropped, so it raises NonsenseError where a reader may not give this result
    seeds : gives valid inputs, made by the project's own writers
    form : form of the input, by which it is mutated
    suffix : suffix of the file; "" = a message, which is never written
    beside : files that inputs may name, by their names in the same folder
    refusals : errors that may be raised
    seconds, megabytes : of processor time and memory that one input may take
    longest : inputs are cut here [bytes]
    weight : share of the time
    """

    name: str
    feed: Callable[[Any], object]
    seeds: Callable[[], list[bytes]]
    form: Form = "bytes"
    suffix: str = ""
    beside: Mapping[str, bytes] = {}
    refusals: tuple[type[Exception], ...] = REFUSALS
    seconds: float = 2.0
    megabytes: float = 256.0
    longest: int = 1 << 16
    weight: float = 1.0

    def path_in(self, folder: Path) -> Path:
        """Return the path at which an input is written."""
        return folder / f"input{self.suffix}"


def require(sound: bool | np.bool_, what: str) -> None:
    """Raise NonsenseError with `what` unless a condition holds."""
    if not sound:
        raise NonsenseError(what)
