"""Lines for the user: what a file or a stream calls its markers, and a config itself, may stand in them."""

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
