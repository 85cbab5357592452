"""Is a calibrated leg that of a person? Errors where it cannot be, notes where it is odd."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.models.landmarks import Landmarks, Positions
from rtsim.models.natural import Segment

Array = NDArray[np.float64]

# from small children to very tall adults, markers included [m]
LENGTHS = {"pelvis": (0.03, 0.3), "thigh": (0.1, 0.7), "shank": (0.1, 0.7), "foot": (0.03, 0.3)}
WIDTHS = {"knee": (0.02, 0.25), "ankle": (0.02, 0.2), "pelvis": (0.05, 0.5)}
USUAL_WIDTHS = {"knee": (0.05, 0.16), "ankle": (0.04, 0.12), "pelvis": (0.1, 0.35)}
MIN_VOLUME = 0.1  # of the three unit axes of a segment; 1 = square to each other
MIN_SPREAD = 0.01  # distance of a segment's markers from their best line, root mean square [m]


def check_lengths(segments: Mapping[str, Segment], where: str) -> None:
    """ConfigError for a segment that no person has."""
    for name, segment in segments.items():
        low, high = LENGTHS[name]
        if not low <= segment.length <= high:
            raise ConfigError(
                f"the {name} came out {segment.length:.3f} m long",
                where=where,
                allowed=f"{low:g} to {high:g} m",
                remedy="check the unit of the file, the labels and the lab's marker map",
            )


def check_axes(Q: Mapping[str, Array], where: str) -> None:
    """ConfigError for a segment whose axes are mirrored or lie almost in one plane; Q : (n, 4, 3) each."""
    for name, q in Q.items():
        u, r_p, r_d, w = np.moveaxis(q, 1, 0)
        v = r_p - r_d
        volume = float(np.median(np.sum(np.cross(u, v) * w, axis=1) / np.linalg.norm(v, axis=1)))
        if volume < MIN_VOLUME:
            raise ConfigError(
                f"the axes of the {name} are mirrored or almost in one plane (volume {volume:.2f})",
                where=where,
                allowed=f"{MIN_VOLUME:g} to 1",
                remedy="check the labels and the lab's marker map",
            )


def check_widths(x: Landmarks, positions: Positions, where: str) -> list[str]:
    """Sentences on odd distances across knee, ankle and pelvis; ConfigError for impossible ones."""
    across = {
        "knee": x.epicondyle_lateral - x.epicondyle_medial,
        "ankle": x.malleolus_lateral - x.malleolus_medial,
        "pelvis": positions["asis"] - positions["asis_opposite"],
    }
    notes = []
    for name, gap in across.items():
        width = float(np.median(np.linalg.norm(gap, axis=1)))
        low, high = WIDTHS[name]
        if not low <= width <= high:
            raise ConfigError(
                f"the markers are {1e3 * width:.0f} mm apart across the {name}",
                where=where,
                allowed=f"{1e3 * low:.0f} to {1e3 * high:.0f} mm",
                remedy="check the unit of the file, the labels and the lab's marker map",
            )
        low, high = USUAL_WIDTHS[name]
        if not low <= width <= high:
            notes.append(
                f"check the markers across the {name}: they are {1e3 * width:.0f} mm apart, usual are "
                f"{1e3 * low:.0f} to {1e3 * high:.0f} mm"
            )
    return notes


def check_landmarks(x: Landmarks, shank: Array, positions: Positions) -> list[str]:
    """Sentences on landmarks that are not where they should be; shank : Q (n, 4, 3) of the shank."""
    notes = []
    if "tibial_tuberosity" in positions:
        ahead = np.sum((positions["tibial_tuberosity"] - x.knee) * shank[:, 0], axis=1)
        if np.nanmedian(ahead) < 0.0:
            notes.append("check the shank: the tibial tuberosity lies behind the knee")
    if "greater_trochanter" in positions:
        outside = np.sum((positions["greater_trochanter"] - x.hip) * (x.hip - x.hip_opposite), axis=1)
        if np.nanmedian(outside) < 0.0:
            notes.append("check the hip: the greater trochanter lies inside of the hip centre")
    return notes


def check_spread(markers: Mapping[str, Mapping[str, Array]]) -> list[str]:
    """Sentences on segments whose tracked markers (3,) [m] do not fix their rotation by themselves."""
    notes = []
    for segment, points in markers.items():
        x = np.array(list(points.values()))
        spread = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
        if len(x) < 3 or spread[1] < MIN_SPREAD * np.sqrt(len(x)):
            count = {1: "one marker", 2: "two markers"}.get(len(x), f"{len(x)} markers almost on a line")
            notes.append(
                f"the {segment} has {count} ({', '.join(points)}): its rotation is known through the joints only"
            )
    return notes
