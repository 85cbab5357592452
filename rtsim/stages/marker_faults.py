"""Faults of markers in words: what is wrong with which, counted by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernels.health import ASTRAY, EXCHANGED, FROZEN, MOVED, SEGMENT, Health

KINDS = {
    ASTRAY: ("marker_astray", "{} not where the rest of the segment, the prediction or the model has it"),
    FROZEN: ("marker_frozen", "{} frozen while others move"),
    EXCHANGED: ("labels_exchanged", "Labels at each other's places: {}"),
    SEGMENT: ("segment_suspect", "The markers of a segment do not fit their usual places: {}"),
    MOVED: ("marker_moved", "{} stayed at another place of its segment and counts there from now on"),
}
"""Fault -> counter, sentence."""
MEANING = "0 none, " + ", ".join(
    f"{code} {words}"
    for code, words in (
        (ASTRAY, "against its segment, the prediction or the model"),
        (FROZEN, "frozen"),
        (EXCHANGED, "exchanged labels"),
        (SEGMENT, "its segment as a whole"),
        (MOVED, "moved for good and learnt anew"),
    )
)
MOST_NAMES = 8


def faults_in_words(health: Health, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(counter, sentence) of each kind of fault of the frame at hand; names : of the markers."""
    for code, (counter, words) in KINDS.items():
        found = np.flatnonzero(health.fault == code).tolist()
        if found:
            told = ", ".join(names[m] for m in found[:MOST_NAMES])
            more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
            yield counter, f"{words.format(told + more)}: suspect."
