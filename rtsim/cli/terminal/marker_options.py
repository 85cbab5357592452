"""Options on which markers of a file or a stream are followed."""

from __future__ import annotations

import click

PERSON_OPTION = click.option(
    "--person",
    metavar="NAME",
    help="Whose markers to take, where labels say NAME:MARKER of several persons.",
)
UNNAMED_OPTION = click.option(
    "--label-unnamed",
    is_flag=True,
    default=None,
    help="Find the person's or the model's markers among those without names, flagged until certain.",
)
