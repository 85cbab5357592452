"""Recognition of markers that are high or low on a body, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PELVIS = re.compile(r"asis|psis|^[lr]?(asi|psi|ias|ips)$|^s[12]$|sacr|iliac|pelvis|hjc|troch|gtr|^[lr]?hip")
TRUNK = re.compile(
    r"head|^[lr][fb]hd$|^c7$|^t\d{1,2}$|clav|stern|^strn$|acr|shoulder|^[lr]?sho$|scapula|neck"
)
BONES = "met|mt|fib|rad|fem|hum|talus|talar|phal"
HEAD_OF_BONE = re.compile(rf"({BONES})[a-z0-9]*head|head(of)?({BONES})")
"""Names of heads of bones: a marker there is none of the person's head."""
FOOT = re.compile(
    r"heel|^[lr]?(hee|cal|ank|fcc|fal|tam|fm[125])$|calc|toe|hallux|mt\d|meta\d|\dmeta|met(a|atarsal)?head|foot"
    r"|ankle|mall?(eol|$)"
)

SEPARATORS = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789\n"))

MAX_FRAME = 200  # frames looked at: enough for a median, cheap for hour-long files


def plain_name(name: str) -> str:
    """Return a marker name in lower case without separators: `R.ASIS`, `r_asis` and `RASIS` are the same."""
    return plain_names([name])[0]


def plain_names(names: Sequence[str]) -> list[str]:
    """Return marker names in lower case without separators, as `plain_name` does, but in one pass over the
    bytes of all names, because unknown senders may send thousands of names.
    """
    if not names:
        return []
    lines = "\n".join(name.replace("\n", "") for name in names).lower()
    return lines.encode("ascii", "ignore").translate(None, SEPARATORS).decode("ascii").split("\n")


def upper_and_lower(names: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """Return three lists, judged by the markers' names: the indices of the markers on the pelvis, of those on
    the trunk or head, and of those on the feet.
    """
    pelvis, trunk, foot = [], [], []
    for index, name in enumerate(names):
        plain = plain_name(name.rpartition(":")[2])  # whoever's it is
        if PELVIS.search(plain):
            pelvis.append(index)
        elif TRUNK.search(plain) and not HEAD_OF_BONE.search(plain):
            trunk.append(index)
        elif FOOT.search(plain):
            foot.append(index)
    return pelvis, trunk, foot


def foot_to(
    upper: Sequence[int], foot: Sequence[int], positions: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return the median over the frames of the vector (3,) from the mean foot marker to the mean of the
    markers `upper`.

    None when no frame shows both. positions : (n, n_marker, 3), any unit; NaN = missing.
    """
    if not upper or not foot:
        return None
    frames = thin(positions)
    low, high = middle_of(frames[:, list(foot)]), middle_of(frames[:, list(upper)])
    both = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1)
    if not both.any():
        return None
    vector: NDArray[np.float64] = np.median(high[both] - low[both], axis=0)
    return vector


def thin(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most 200 of the frames of positions (n, n_marker, 3), evenly spread, as a sample of a long
    trial.
    """
    step = max(1, -(-positions.shape[0] // MAX_FRAME))
    return positions[::step]


def middle_of(group: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean position of the visible markers in each frame, (n, 3); NaN where none is visible.

    group : (n, n_marker, 3), NaN = not visible
    """
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(group).all(axis=2))
    total = np.where(seen[..., None], group, 0.0).sum(axis=1)
    count = seen.sum(axis=1)[:, None]
    result: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result
