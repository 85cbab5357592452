"""Which frames of a trial a calibration uses, and a sentence where they are few: of a trial that is cut, or
mostly without its markers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial, count_of

MAX_FRAME = 400
FEWEST = 10
"""Usable frames below which the noise of the markers hardly averages out. A choice."""
FEW = 0.5
"""Part of the frames below which a trial is told to be mostly without its markers. A choice."""


def notes_on_frames(trial: MarkerTrial, n_usable: int) -> list[str]:
    """The sentence, if any, on a trial of which few frames can be used.

    n_usable : frames that show all anatomical markers at once
    """
    n = len(trial.times)
    sparse = n_usable < FEW * n
    if n_usable >= FEWEST and not sparse:
        return []
    why = "the others lack some" if sparse else "noise of the markers does not average out over so few"
    remedy = "a complete trial of a second or more, in which the person stands still, shows more"
    used = f"of {count_of(n, 'frame')} it used the {n_usable} that show all anatomical markers at once"
    return [f"check the calibration: {used}, {why}: {remedy}"]


def thin(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most MAX_FRAME of the frames, evenly spread."""
    return frames[np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAME)).astype(np.int64)]
