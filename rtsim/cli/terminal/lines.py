"""Output of lines to the terminal. They may contain text from other sources, such as marker names or configs,
so that control characters in them are shown as backslash escapes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import click

from rtsim.errors import RtsimError
from streams.account import plain
from streams.errors import StreamError

LONGEST = 4000
"""Greatest length of a printed line; the rest is left out [characters]."""
UNUSABLE = 2
"""Exit code of a comparison, as that of diff, where there is nothing to compare."""


def line(text: str) -> str:
    """Return the text as one line that a terminal shows literally: control characters become backslash
    escapes.
    """
    return plain(text, LONGEST)


def tell(text: str, err: bool = True) -> None:
    """Print a message, on standard error or as output."""
    click.echo(line(text), err=err)


def json_text(told: Any, indent: int | None = None) -> str:
    """Return what a command found as JSON, with null in place of NaN and infinity, which JSON does not have
    and strict readers reject.
    """
    return json.dumps(_finite(told), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return the value with None in place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, list | tuple) else value


def told_unusable(compare: Callable[[], int]) -> int:
    """Call a function that compares inputs and return its exit code; if the inputs are unusable, print a
    message and return 2.
    """
    try:
        return compare()
    except (RtsimError, StreamError) as error:
        tell(f"rtsim: {error}")
        return UNUSABLE
