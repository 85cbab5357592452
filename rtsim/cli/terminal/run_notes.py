"""Output of the notes of a run on its recording or stream and its subject: few lines by default, all on
request, missing results last.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from rtsim.cli.terminal.lines import tell

ALL_NOTES_OPTION = click.option(
    "--all-notes", is_flag=True, help="Print every note on the source and the subject, one on each line."
)


def tell_of_run(notes: Sequence[str]) -> None:
    """Print the notes on source and subject, in few lines unless all are requested."""
    from rtsim.report.notes import calm

    for note in notes if click.get_current_context().params.get("all_notes") else calm(notes):
        tell(note)


def tell_missing(notes: Sequence[str]) -> None:
    """Print at the end of a run which results are missing, if its notes say so."""
    from rtsim.report.notes import missing

    for note in missing(notes):
        tell(note)
