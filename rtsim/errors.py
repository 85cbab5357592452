"""Errors that are raised before a run, such as configuration errors; each is one clear message."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

LONGEST = 980
"""Longest part of a sentence [characters]: names in a file may have any length. Its four parts fit a line."""
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Controls, ends of lines, halves of characters, and marks that turn the direction of writing."""


def shown(text: str) -> str:
    """Return a text from a file in a form for a terminal: its beginning and end, without unprintable
    characters.
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 200]} ... {text[-200:]}"
    return UNPRINTABLE.sub("?", text)


class RtsimError(Exception):
    """Base of all deliberate errors of rtsim; their text is meant to be shown to a user."""


class ConfigError(RtsimError):
    """An error in a config, a file or a command.

    Parameters
    ----------
    what : the fault, with the offending value
    where : file, key or option that causes it
    allowed : the allowed values or range
    remedy : way to correct it
    """

    def __init__(
        self, what: str, *, where: str | None = None, allowed: str | None = None, remedy: str | None = None
    ) -> None:
        self.what, self.where, self.allowed, self.remedy = what, where, allowed, remedy
        text = f"{shown(where)}: {shown(what)}" if where else shown(what)
        if allowed:
            text += f"; allowed: {shown(allowed)}"
        if remedy:
            text += f"; {shown(remedy)}"
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the function and arguments that recreate the error in another process."""
        made = partial(type(self), where=self.where, allowed=self.allowed, remedy=self.remedy)
        return made, (self.what,)


class ModelError(ConfigError):
    """Raised for a model without a solution: constraints that cannot be satisfied, or a muscle path that
    does not exist.
    """
