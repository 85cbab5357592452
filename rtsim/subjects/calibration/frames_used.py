"""Choice of the frames that a calibration uses, with notes on problems: few usable frames, markers displaced
on their segment in some frames, or a static trial that may not belong to the trial.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.files.markers.trial import MarkerTrial, count_of
from rtsim.subjects.calibration.landmarks import PELVIS, Landmarks
from rtsim.subjects.markers.distances import ERRORS, error_of_centre
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.odd_frames import odd_frames
from rtsim.subjects.markers.persons import of_another

Array = NDArray[np.float64]

MAX_FRAME = 400
FEWEST = 10
"""A note is given if fewer frames are usable, as marker noise then hardly averages out. A choice."""
FEW = 0.5
"""A note is given if a smaller fraction of the frames shows all anatomical markers [1]. A choice."""

MOVES = 0.3
"""Travel of the mean of all markers from which a trial does not count as static [m]."""
SAME_MEASURE = 1e-3
"""Differences of measures up to this are rounding [m]."""
MOST_ODD = 0.5
"""Largest fraction of the frames that may be left out because of displaced markers: if there are more, it is
unclear which frames are right. A choice."""
MARKED = {
    "pelvis": PELVIS,
    "thigh": ("greater_trochanter", "epicondyle_lateral", "epicondyle_medial", "thigh_lateral"),
    "shank": ("fibula_head", "tibial_tuberosity", "malleolus_lateral", "malleolus_medial", "shank_lateral"),
    "foot": ("calcaneus", "metatarsal_1", "metatarsal_5", "toe"),
}
"""Roles of the markers on each segment."""
MEASURED = tuple(f"{side}{name}" for name in ("KneeWidth", "AnkleWidth", "LegLength") for side in "RL")
"""Measures that are taken by hand, by their names in the file."""


def notes_on_frames(trial: MarkerTrial, n_usable: int) -> list[str]:
    """Return a note if few frames of a trial can be used.

    n_usable : frames that show all anatomical markers at once
    """
    n = len(trial.times)
    sparse = n_usable < FEW * n
    if n_usable >= FEWEST and not sparse:
        return []
    why = (
        "the other frames lack some markers"
        if sparse
        else "marker noise does not average out over so few frames"
    )
    remedy = "a complete trial of a second or more in which the person stands still contains more such frames"
    used = (
        f"of {count_of(n, 'frame')}, only the {n_usable} in which all anatomical markers are visible "
        "were used"
    )
    return [f"check the calibration: {used}, {why}: {remedy}"]


def way_of(middle: NDArray[np.float64]) -> float:
    """Return how far a point (n, 3) moves over the frames: the range of that coordinate which has the largest
    range [m]; 0 if the point is never visible.
    """
    seen = middle[np.isfinite(middle).all(axis=1)]
    return float(np.max(np.ptp(seen, axis=0))) if len(seen) else 0.0


def notes_on_static(trial: MarkerTrial, static: MarkerTrial | None) -> list[str]:
    """Return notes if a static trial seems to be of another person, by the person that its labels name or by
    stored measures that differ; none without a static trial.
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
            f"static trial and trial store different measures: {', '.join(unlike)}; those of the "
            "static trial were used; give the correct ones with --measures, or with an option for "
            "each"
        )
    return notes


def fitting_frames(
    positions: Array, names: tuple[str, ...], table: LabSide, x: Landmarks, good: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return a mask (n,) of those frames among `good` in which every marker is at its usual place on its
    segment, relative to the segment's other markers and joint centre, and a note on the other frames.

    positions : (n, n_marker, 3) - positions of the markers `names` [m]
    x : landmarks in the same n frames; good : (n,) mask of the frames that may be used
    """
    found, fits = Counter[str](), good.copy()
    if table.is_keypoints:
        return good, []
    for points, errors in points_of(positions, names, table, x).values():
        odd = odd_frames(points, errors)
        found.update(list(points)[k] for k in odd[good & (odd >= 0)].tolist())
        fits &= odd < 0
    if fits[good].all():
        return good, []
    n, n_odd = int(good.sum()), int((good & ~fits).sum())
    named = ", ".join(f"{name} on {count_of(k, 'frame')}" for name, k in found.most_common())
    where = f"a marker is elsewhere on its segment than in most frames ({named})"
    if n_odd > MOST_ODD * n:
        return good, [
            f"check the markers of the calibration: in {n_odd} of {count_of(n, 'frame')} {where}; these "
            "frames were used nevertheless, because too few would remain without them"
        ]
    return fits, [f"{n_odd} of {count_of(n, 'frame')} were left out of the calibration, because {where}"]


def points_of(
    positions: Array, names: tuple[str, ...], table: LabSide, x: Landmarks
) -> dict[str, tuple[dict[str, Array], list[float]]]:
    """Return for each segment the points that are fixed to it, its markers and its proximal joint centre: by
    name their positions over the frames, (n, 3) each [m], and in the same order the typical distance of each
    from its place on the rigid segment [m].

    positions : (n, n_marker, 3) - positions of the markers `names` in the frames of the landmarks x [m]
    """
    centres = {"thigh": ("pelvis", "the hip", x.hip), "shank": ("thigh", "the knee", x.knee)}
    centres["foot"] = ("shank", "the ankle", x.ankle)
    if x.pelvis is None:
        del centres["thigh"]
    found = {}
    for segment, roles in MARKED.items():
        wanted = [*getattr(table.tracking, segment), *(table.roles[r] for r in roles if r in table.roles)]
        own = find_markers(dict.fromkeys(wanted), names)
        points = {name: positions[:, m] for name, m in own.items()}
        errors = [ERRORS[segment]] * len(points)
        if segment in centres:
            beside, name, centre = centres[segment]
            points[name] = centre
            errors.append(error_of_centre(segment, beside))
        if own:
            found[segment] = points, errors
    return found


def thin(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most MAX_FRAME of the frames, evenly spread."""
    return frames[np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAME)).astype(np.int64)]
