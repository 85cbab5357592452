"""Lines for the user in the terminal, which may contain text that others wrote: marker names of a file or
stream, or a config's own text.
"""

from __future__ import annotations

from collections.abc import Callable

import click

from rtsim.errors import RtsimError
from streams.account import plain
from streams.errors import StreamError

LONGEST = 4000
"""Of a longer line the rest is left out [characters]."""
UNUSABLE = 2
"""Exit code of a comparison, as that of diff, where there is nothing to compare."""


def line(text: str) -> str:
    """The text as one line that a terminal shows literally: control characters are written as \\x1b."""
    return plain(text, LONGEST)


def tell(text: str, err: bool = True) -> None:
    """Print a sentence, on standard error or as output."""
    click.echo(line(text), err=err)


def told_unusable(compare: Callable[[], int]) -> int:
    """Run a comparison and return its exit code; 2 where what is to be compared cannot be used, which a
    sentence says."""
    try:
        return compare()
    except (RtsimError, StreamError) as error:
        tell(f"rtsim: {error}")
        return UNUSABLE
