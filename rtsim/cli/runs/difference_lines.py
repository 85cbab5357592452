"""Differences of two runs as lines of text."""

from __future__ import annotations

from collections.abc import Iterable

from rtsim.files.comparison.differences import QuantityDifferences, StatusDifferences
from streams.messages import Status

MOST_LINES = 20
"""Largest number of printed quantities; those with the largest difference relative to the peak come first."""


def quantity_lines(quantities: Iterable[QuantityDifferences], one: str, other: str) -> list[str]:
    """Return a line for each quantity of the results that differs, with the amount; one, other : names of the
    two runs.
    """
    differing = [found for found in quantities if found.n_differ]
    differing.sort(key=lambda found: (-found.n_lacking, -found.largest / (found.peak or 1.0)))
    lines = []
    for found in differing[:MOST_LINES]:
        unit = "" if found.spec.unit in ("1", "") else f" {found.spec.unit}"
        words = f"  {found.spec.name}: {found.n_differ} of {found.n_value} values differ"
        if found.first is not None:
            place = found.first
            at = (
                f"; the first difference is in frame {place.frame} of session {place.session} at "
                f"{place.time:.6g} s"
            )
            words += f"{at} ({place.label})" if place.label else at
        if found.most is not None:
            words += f"; largest difference {found.largest:.3g}{unit}"
            words += f" ({found.most.label}, {found.most.time:.6g} s)" if found.most.label else ""
            words += f", RMS difference {found.rms:.3g}{unit}, peak of the quantity {found.peak:.3g}{unit}"
        if found.n_lacking:
            words += f"; {found.n_lacking} values exist in only one of the two files"
        lines.append(words)
    if len(differing) > MOST_LINES:
        lines.append(f"  and {len(differing) - MOST_LINES} more quantities")
    return [f"Quantities that differ between {one} and {other}:", *lines] if lines else []


def status_line(status: StatusDifferences, one: str, other: str) -> list[str]:
    """Return a list with one line on the frames whose statuses differ between two runs, [] if there are none;
    one, other : names of the two runs
    """
    if status.first is None:
        return []
    session, frame, time, mine, theirs = status.first
    words = f"{Status(mine).names()} in {one}, {Status(theirs).names()} in {other}"
    return [
        f"The status of {status.n_differ} of {status.n_frame} frames differs, first in frame {frame} of "
        f"session {session} at {time:.6g} s: {words}."
    ]
