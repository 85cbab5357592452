"""Suffixes of file formats in the help texts of commands, from the table of all file formats
(rtsim/files/formats)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rtsim.files.formats import FORCES, MARKERS, PRESSURE, listed, of_laboratories

Command = TypeVar("Command", bound=Callable[..., Any])
WORDS = {
    "MARKER_FILES": listed(MARKERS),
    "TRIAL_FILES": listed(of_laboratories(MARKERS)),
    "FORCE_FILES": listed(FORCES),
    "PRESSURE_FILES": listed(PRESSURE),
}
"""Words that stand for formats in the docstring of a command."""


def naming_formats(command: Command) -> Command:
    """Insert the suffixes of file formats for placeholders such as MARKER_FILES into the docstring of a
    command, which click prints as help.
    """
    text = command.__doc__ or ""
    for word, files in WORDS.items():
        text = text.replace(word, files)
    command.__doc__ = text
    return command
