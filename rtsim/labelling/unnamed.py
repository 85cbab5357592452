"""Recognition of labels that are not names but numbers of unlabelled markers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.c3d_labels import GHOST

NUMBERED = re.compile(r"(new|marker|point|trajectory|unidentified|unknown|unnamed|no ?name)?[ _:.#-]*\d*")


def is_nameless(label: str) -> bool:
    """Return whether a label is not the name of a marker: empty, `*12`, `Unlabeled 3`, `New 0012`, `17`."""
    return bool(GHOST.fullmatch(label.strip()) or NUMBERED.fullmatch(label.strip().lower()))


def unnamed_in(
    labels: Sequence[str], followed: Sequence[int], others: Sequence[int] = ()
) -> NDArray[np.int64]:
    """Return the indices of the labels of a stream that, apart from what stands before a colon, are not names
    of markers (`is_nameless`); all indices if no tracked marker is among the labels.

    followed : indices of the labels that name tracked markers
    others : indices of the labels that name markers of other persons, which are never returned
    """
    left_out, every = {*followed, *others}, not len(followed)
    found = [
        k for k, label in enumerate(labels)
        if k not in left_out and (every or is_nameless(label.rsplit(":", 1)[-1]))
    ]  # fmt: skip
    return np.array(found, np.int64)


def named_others(labels: Sequence[str], own: Sequence[str]) -> list[int]:
    """Return the indices of the markers of a stream that have a name, but not as one of the chosen person's.

    labels : labels of the stream; own : the same, with "" in the places of all but the chosen person's
    """
    return [k for k, label in enumerate(labels) if not own[k] and not is_nameless(label)]
