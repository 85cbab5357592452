"""Recognition of labels that are not names but numbers of unlabelled markers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.c3d_labels import GHOST

NUMBERED = re.compile(r"(new|marker|point|trajectory|unidentified|unknown|unnamed|no ?name)?[ _:.#-]*\d*")


def unnamed_in(labels: Sequence[str], followed: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices of the labels of a stream that are not names of markers: empty, `*12`, `Unlabeled
    3`, `New 0012`, `17`; all indices if no tracked marker is among the labels.

    followed : indices of the labels that name tracked markers
    """
    if not len(followed):
        return np.arange(len(labels))
    plain = [label.rsplit(":", 1)[-1].strip() for label in labels]
    found = [
        k for k, label in enumerate(plain)
        if k not in followed and (GHOST.fullmatch(label) or NUMBERED.fullmatch(label.lower()))
    ]  # fmt: skip
    return np.array(found, np.int64)
