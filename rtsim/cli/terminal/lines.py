"""Lines for the user in the terminal, which may contain text that others wrote: marker names of a file or
stream, or a config's own text.
"""

from __future__ import annotations

import click

from streams.account import plain

LONGEST = 4000
"""Of a longer line the rest is left out [characters]."""


def line(text: str) -> str:
    """The text as one line that a terminal shows literally: control characters are written as \\x1b."""
    return plain(text, LONGEST)


def tell(text: str, err: bool = True) -> None:
    """Print a sentence, on standard error or as output."""
    click.echo(line(text), err=err)
