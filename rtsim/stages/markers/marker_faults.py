"""Faults of markers in words: which markers are affected, and by which kind of fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.markers.marker_health import EXCHANGED, FROZEN, MOVED, OUTLIER, SEGMENT, Health

KINDS = {
    OUTLIER: (
        "marker_astray",
        "These markers are not where other markers, the prediction or the model expect them: {markers}",
    ),
    FROZEN: ("marker_frozen", "These markers stand still while others move: {markers}"),
    EXCHANGED: ("labels_exchanged", "These markers have exchanged labels: {markers}"),
    SEGMENT: ("segment_suspect", "The markers of a segment do not fit their usual places: {markers}"),
    MOVED: (
        "marker_moved",
        "These markers have moved on their segments and are used at the new places from now on: {markers}",
    ),
}
"""Fault -> counter, sentence."""
PUT_RIGHT = "labels_put_right"
"""Counter of exchanged labels that are corrected with certainty, which is no fault of the frame."""
MEANING = "0 none, " + ", ".join(
    f"{code} {words}"
    for code, words in (
        (OUTLIER, "disagrees with its segment, the prediction or the model"),
        (FROZEN, "frozen"),
        (EXCHANGED, "exchanged labels"),
        (SEGMENT, "error of the segment as a whole"),
        (MOVED, "moved permanently; used at its new position"),
    )
)
MOST_NAMES = 8


def faults_in_words(health: Health, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (counter, sentence) for each kind of fault in the present frame; names : names of the markers"""
    certain = (health.fault == EXCHANGED) & (health.certain == 1)
    if certain.any():
        yield PUT_RIGHT, f"Exchanged labels, put right: {listed(certain, names)}."
    for code, (counter, words) in KINDS.items():
        found = (health.fault == code) & ~certain
        if found.any():
            yield counter, f"{words.format(markers=listed(found, names))}. The frames are suspect."


def listed(found: NDArray[np.bool_], names: Sequence[str]) -> str:
    """Return the names of the markers that were found; only the first ones if there are many."""
    markers = np.flatnonzero(found).tolist()
    more = f" and {len(markers) - MOST_NAMES} more" if len(markers) > MOST_NAMES else ""
    return ", ".join(names[m] for m in markers[:MOST_NAMES]) + more
