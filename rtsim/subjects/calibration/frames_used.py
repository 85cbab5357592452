"""Choice of the frames that a calibration uses, and sentences where they are few (in a trial that is cut, or
mostly without its markers) or where the static trial may not belong to this trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial, count_of
from rtsim.subjects.markers.persons import of_another

MAX_FRAME = 400
FEWEST = 10
"""Usable frames below which the noise of the markers hardly averages out. A choice."""
FEW = 0.5
"""Part of the frames below which a trial is told to be mostly without its markers. A choice."""

MOVES = 0.3
"""Travel of the mean of all markers from which a trial does not count as static [m]."""
SAME_MEASURE = 1e-3
"""Measures that differ by less were only rounded [m]."""
MEASURED = tuple(f"{side}{name}" for name in ("KneeWidth", "AnkleWidth", "LegLength") for side in "RL")
"""Measures that are taken by hand, by their names in the file."""


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


def way_of(middle: NDArray[np.float64]) -> float:
    """Largest displacement of a point (n, 3) [m] along one axis [m]; 0 where it is never seen."""
    seen = middle[np.isfinite(middle).all(axis=1)]
    return float(np.max(np.ptp(seen, axis=0))) if len(seen) else 0.0


def notes_on_static(trial: MarkerTrial, static: MarkerTrial | None) -> list[str]:
    """Sentences on a static trial of another person by its labels, or with other measures than those that are
    stored with the trial; none without one.
    """
    if static is None:
        return []
    notes = of_another(trial, static)
    unlike = [
        f"{name} ({1e3 * static.subject[name]:.4g} and {1e3 * trial.subject[name]:.4g} mm)"
        for name in MEASURED
        if min(trial.subject.get(name, 0.0), static.subject.get(name, 0.0)) > 0.0
        and abs(trial.subject[name] - static.subject[name]) > SAME_MEASURE
    ]
    if unlike:
        notes.append(
            f"static trial and trial store different measures: {', '.join(unlike)}: those of the static "
            "trial were taken; --measures, or an option for each, says which are right"
        )
    return notes


def thin(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most MAX_FRAME of the frames, evenly spread."""
    return frames[np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAME)).astype(np.int64)]
