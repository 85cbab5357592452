"""Checks whether a calibrated leg can be that of a person: errors if it cannot, notes if it is unusual."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import thin
from rtsim.files.markers.trial import MarkerTrial, count_of
from rtsim.subjects.calibration.landmarks import Landmarks, Positions
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.conventional.measures import RANGES
from rtsim.subjects.subject import LENGTHS

Array = NDArray[np.float64]

WIDTHS = {"pelvis": (0.05, 0.5), "knee": (0.02, 0.25), "ankle": (0.02, 0.2), "forefoot": (0.01, 0.2)}
USUAL_WIDTHS = {"pelvis": (0.1, 0.35), "knee": (0.05, 0.16), "ankle": (0.04, 0.12), "forefoot": (0.03, 0.13)}
ACROSS = {
    "pelvis": "asis", "knee": "epicondyle_medial", "ankle": "malleolus_medial", "forefoot": "metatarsal_1",
}  # fmt: skip
"""Width -> landmark of one of the two markers between which it is measured."""
UNLIKE_WIDTHS = 1.2
"""Ratio of the widths of both knees or ankles above which one was probably measured wrongly [1]; four persons
in three labs have 1.00 to 1.06."""
USUAL_LEG = (0.9, 1.1)
"""Range of the distance from the ASIS by the lateral epicondyle to the lateral malleolus, over the measured
leg length; four persons in three labs have, standing and walking, 0.96 to 1.02 [1]."""
LEG_MARKERS = ("asis", "epicondyle_lateral", "malleolus_lateral")
MIN_VOLUME = 0.1  # of the box of the three unit axes of a segment; 1 = orthogonal axes
MIN_SPREAD = 0.01  # root mean square distance of a segment's markers from their best line [m]
MAX_DEVIATION = 0.2  # of a length from its median, beyond which a frame is left out [1]
MAX_SHIFT = 0.03  # of the distance of two markers between static and trial, soft tissue included [m]
REMEDY = "check the unit of the file, the labels and the lab's marker map"


def check_lengths(segments: Mapping[str, Segment], where: str) -> None:
    """Raise ConfigError for a segment of impossible length."""
    for name, segment in segments.items():
        low, high = LENGTHS[name]
        if not low <= segment.length <= high:
            raise ConfigError(
                f"the segment {name} would be {segment.length:.3f} m long",
                where=where,
                allowed=f"{low:g} to {high:g} m",
                remedy=REMEDY,
            )


def check_axes(Q: Mapping[str, Array], where: str) -> None:
    """Raise ConfigError for a segment whose axes are mirrored or lie almost in one plane; Q : segment -> (n,
    4, 3) natural coordinates u, rP, rD, w
    """
    for name, q in Q.items():
        u, r_p, r_d, w = np.moveaxis(q, 1, 0)
        v = r_p - r_d
        volume = float(np.median(np.sum(np.cross(u, v) * w, axis=1) / np.linalg.norm(v, axis=1)))
        if not volume >= MIN_VOLUME:
            raise ConfigError(
                f"the axes of the segment {name} form a left-handed system or lie almost in one plane "
                f"(triple product {volume:.2f})",
                where=where,
                allowed=f"{MIN_VOLUME:g} to 1",
                remedy="check the labels and the lab's marker map",
            )


def widths(x: Landmarks) -> dict[str, Array]:
    """Return distances across the leg, (n,) each [m]: widths of knee, ankle, forefoot and pelvis."""
    pairs = {
        "knee": (x.epicondyle_lateral, x.epicondyle_medial),
        "ankle": (x.malleolus_lateral, x.malleolus_medial),
        "forefoot": (x.metatarsal_1, x.metatarsal_5),
    }
    if x.pelvis is not None:
        pairs["pelvis"] = (x.pelvis.asis, x.pelvis.asis_opposite)
    return {name: np.linalg.norm(a - b, axis=1) for name, (a, b) in pairs.items()}


def check_widths(x: Landmarks, where: str, stood_in: Container[str] = ()) -> list[str]:
    """Return notes on unusual widths of knee, ankle, forefoot and pelvis; ConfigError for impossible ones.

    stood_in : landmarks without a marker, such as "malleolus_medial", which were placed by an assumption, so
        that their distances are not checked
    """
    notes = []
    for name, across in widths(x).items():
        if ACROSS[name] in stood_in:
            continue
        width = float(np.median(across))
        low, high = WIDTHS[name]
        if not low <= width <= high:
            raise ConfigError(
                f"the markers are {1e3 * width:.0f} mm apart across the {name}",
                where=where,
                allowed=f"a distance of {1e3 * low:.0f} to {1e3 * high:.0f} mm",
                remedy=REMEDY,
            )
        low, high = USUAL_WIDTHS[name]
        if not low <= width <= high:
            notes.append(
                f"check the markers across the {name}: the markers are {1e3 * width:.0f} mm apart "
                f"(usual: {1e3 * low:.0f} to {1e3 * high:.0f} mm)"
            )
    return notes


def notes_on_width(joint: str, width: float, other: float) -> list[str]:
    """Return notes on the measured width of a knee or an ankle that is unusual, or different from that of
    the other leg.

    width, other : width of this leg and of the other one [m]; 0 = not known
    """
    low, high = USUAL_WIDTHS[joint]
    if not low <= width <= high:
        return [
            f"check the width of the {joint}: {1e3 * width:.4g} mm were measured (usual: "
            f"{1e3 * low:.0f} to {1e3 * high:.0f} mm); the joint centre is computed from this width"
        ]
    if other > 0.0 and max(width, other) > UNLIKE_WIDTHS * min(width, other):
        return [
            f"check the widths of both {joint}s: one is {1e3 * min(width, other):.4g} mm, the other "
            f"{1e3 * max(width, other):.4g} mm; the joint centres are computed from these widths"
        ]
    return []


def notes_on_leg_length(x: Positions, length: float | None) -> list[str]:
    """Return a note if the measured length of a leg differs from that between its markers.

    x : landmark, such as "asis" -> (n, 3) position of its marker [m]; the knee may be bent, as the length is
        measured along the knee
    length : measured length from the ASIS to the medial malleolus [m]; None and impossible values are ignored
    """
    low, high = RANGES["leg_length"]
    if length is None or not low <= length <= high or not x.keys() >= {*LEG_MARKERS}:
        return []
    hip, knee, ankle = (x[role] for role in LEG_MARKERS)
    way = seen_median(np.linalg.norm(hip - knee, axis=1) + np.linalg.norm(knee - ankle, axis=1))
    if not np.isfinite(way) or USUAL_LEG[0] <= way / length <= USUAL_LEG[1]:
        return []
    return [
        f"check the length of the leg: {1e3 * length:.4g} mm were measured, but from the ASIS by the "
        f"knee to the ankle its markers are {1e3 * way:.0f} mm apart; the conventional gait model and "
        "some regressions compute the hip centres from the leg length"
    ]


def agreeing_frames(Q: Mapping[str, Array], x: Landmarks, where: str) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the mask of frames (n,) in which every length and width is near its median, and a note on the
    other frames.

    Exchanged labels and ghost markers change lengths and widths far more than soft tissue does.
    """
    lengths = {name: np.linalg.norm(q[:, 1] - q[:, 2], axis=1) for name, q in Q.items()}
    lengths |= {f"width of the {name}": width for name, width in widths(x).items()}
    off = {name: np.abs(d / np.median(d) - 1.0) > MAX_DEVIATION for name, d in lengths.items()}
    good: NDArray[np.bool_] = ~np.any(list(off.values()), axis=0)
    if not good.any():
        raise ConfigError(
            "the lengths of the leg differ from frame to frame in the whole trial", where=where, remedy=REMEDY
        )
    if good.all():
        return good, []
    n_off = {name: int(mask.sum()) for name, mask in off.items() if mask.any()}
    named = ", ".join(f"{name} on {count_of(n, 'frame')}" for name, n in n_off.items())
    return good, [
        f"{int((~good).sum())} of {count_of(len(good), 'frame')} left out, because a length differs "
        f"from its median by more than {100 * MAX_DEVIATION:.0f} % ({named}); labels might be "
        "exchanged in these frames"
    ]


def check_landmarks(x: Landmarks, shank: Array, positions: Positions) -> list[str]:
    """Return notes on landmarks in implausible places; shank : (n, 4, 3) natural coordinates of the shank"""
    notes = []
    if "tibial_tuberosity" in positions:
        ahead = np.sum((positions["tibial_tuberosity"] - x.knee) * shank[:, 0], axis=1)
        if seen_median(ahead) < 0.0:
            notes.append("check the shank: the tibial tuberosity lies behind the knee")
    if "greater_trochanter" in positions and x.pelvis is not None:
        across = x.hip - x.pelvis.hip_opposite
        outside = np.sum((positions["greater_trochanter"] - x.hip) * across, axis=1)
        if seen_median(outside) < 0.0:
            notes.append("check the hip: the greater trochanter lies on the inner side of the hip centre")
    return notes


def seen_median(values: Array) -> float:
    """Return the median over the frames (n,) in which the marker is visible; NaN if there are none."""
    seen = values[np.isfinite(values)]
    return float(np.median(seen)) if seen.size else np.nan


def check_spread(markers: Mapping[str, Mapping[str, Array]]) -> list[str]:
    """Return notes on segments whose tracked markers do not determine their rotation: too few, or almost on
    a line. A thigh without a pelvis, whose rotation the knee alone then determines, has a note of its own.

    markers : segment -> marker -> position in the segment (3,) [m]
    """
    notes = []
    for segment, points in markers.items():
        n = len(points)
        if n < 3 or spread_of(points) < MIN_SPREAD:
            count = {1: "one marker", 2: "two markers"}.get(n, f"{n} markers almost on a line")
            who = "the joints alone determine it"
            if segment == "thigh" == next(iter(markers)):
                who = "the knee alone determines it, and knee angles might be wrong by 20 degrees or more"
            notes.append(
                f"the {segment} has {count} ({', '.join(points)}), which cannot determine its rotation, so "
                f"{who}"
            )
    return notes


def spread_of(points: Mapping[str, Array]) -> float:
    """Return the root mean square distance of the points, (3,) each, from their best-fitting line [m]."""
    x = np.array(list(points.values()))
    return float(np.linalg.svd(x - x.mean(axis=0), compute_uv=False)[1] / np.sqrt(len(x)))


def check_distances(markers: Mapping[str, Mapping[str, Array]], trial: MarkerTrial) -> list[str]:
    """Return notes on markers of a segment whose mutual distances differ between the trial and the static
    trial.

    markers : segment -> name in the trial -> coordinates in the segment (3,) [m]
    """
    notes = []
    for segment, points in markers.items():
        track = {name: thin(trial.positions)[:, trial.names.index(name)] for name in points}
        for a, b in combinations(points, 2):
            apart = np.linalg.norm(track[a] - track[b], axis=1)
            apart = apart[np.isfinite(apart)]
            shift = float(np.median(apart) - np.linalg.norm(points[a] - points[b])) if apart.size else 0.0
            if abs(shift) > MAX_SHIFT:
                notes.append(
                    f"check the {segment}: {a} and {b} are {1e3 * abs(shift):.0f} mm "
                    f"{'farther apart' if shift > 0.0 else 'closer'} in the trial than in the static trial "
                    "(another person, exchanged labels, or a re-applied marker?)"
                )
    return notes
