"""Segments of a subject from natural coordinates and markers: means over the frames of segment lengths and
angles, and of local marker coordinates (Sancisi et al. 2017, eqs 12, 13).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.subjects.calibration.natural import Segment, known_frames, local_points, unit
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK
from rtsim.subjects.subject import SubjectSegment, subject_segment

Array = NDArray[np.float64]
SegmentMarkers = dict[str, dict[str, Array]]  # segment -> marker -> coordinates (3,) in the segment [m]

STILL_DEG = 10.0
"""Range of a joint angle in a trial up to which a person stands still; in motion, skin moves the markers."""
BENT_DEG = 45.0
"""Flexion beyond which the person in a static trial does not stand."""
TURNED_DEG = 20.0
"""A note is given if one shank is rotated relative to thigh and foot by this much more than the other one.
Six static trials of five labs have at most 6 degrees, a seventh, with only wands on the shanks, has 13."""
SEGMENTS = ("pelvis", "thigh", "shank", "foot")
PARENTS = {"thigh": "pelvis", "shank": "thigh", "foot": "shank"}


def local_markers(
    Q: Mapping[str, Array], parameters: Mapping[str, Segment], markers: Mapping[str, Mapping[str, Array]]
) -> SegmentMarkers:
    """Return the mean coordinates (3,) [m] of markers in the frames of their segments, by segment and name;
    markers that are never visible are left out.

    Q : segment -> (n, 4, 3) = u, rP, rD, w; markers : segment -> name -> (n, 3) positions in ground [m]
    """
    placed: SegmentMarkers = {}
    for name, tracks in markers.items():
        if not tracks:
            placed[name] = {}
            continue
        local = local_points(Q[name], parameters[name], np.stack(list(tracks.values()), axis=1))
        placed[name] = {m: x for m, x in zip(tracks, local, strict=True) if np.isfinite(x).all()}
    return placed


def segment_records(
    Q: Mapping[str, Array], parameters: Mapping[str, Segment], markers: SegmentMarkers
) -> dict[str, SubjectSegment]:
    """Build the subject's records of the segments in `markers`. The pelvis gets the landmark hip_centre, the
    mean position of the thigh's proximal point, and if there is a trunk, the landmark lumbosacral, the mean
    position of the trunk's distal point.

    Q : segment -> (n, 4, 3) = u, proximal point, distal point, w; parameters : lengths and angles of the
        segments
    """
    turned = {name: in_parent(Q[parent], Q[name]) for name, parent in PARENTS.items() if parent in Q}
    if "pelvis" not in markers:
        return {n: subject_segment(parameters[n], placed, {}, turned.get(n)) for n, placed in markers.items()}
    ends = {"hip_centre": Q["thigh"][:, 1:2]}
    if TRUNK in markers:
        ends[LUMBOSACRAL] = Q[TRUNK][:, 2:3]
    points = {"pelvis": {n: local_points(Q["pelvis"], parameters["pelvis"], x)[0] for n, x in ends.items()}}
    return {
        n: subject_segment(parameters[n], placed, points.get(n, {}), turned.get(n))
        for n, placed in markers.items()
    }


def in_parent(parent: Array, own: Array) -> tuple[float, ...] | None:
    """Return the orientation of a segment in its parent: angles about z, the new x, the new y, means over
    the frames [deg]; None if the person does not stand still, as the joint moves or is bent far.

    parent, own : (n, 4, 3) = u, rP, rD, w
    """
    R = np.einsum("fki,fkj->fij", axes_of(parent), axes_of(own))
    R = R[known_frames(R)]
    about_z = np.degrees(np.arctan2(-R[:, 0, 1], R[:, 1, 1]))
    if not len(R) or np.ptp(about_z) > STILL_DEG or np.abs(about_z).max() > BENT_DEG:
        return None
    about_x, about_y = np.degrees([np.arcsin(R[:, 2, 1]), np.arctan2(-R[:, 2, 0], R[:, 2, 2])])
    return float(about_z.mean()), float(about_x.mean()), float(about_y.mean())


def turned_shanks(segments: Mapping[str, SubjectSegment]) -> list[str]:
    """Return a note if one shank's axes are rotated about its long axis compared with the other shank's.

    Rotated shank axes change the angles at knee and ankle by opposite amounts; tibial torsion or a foot that
    points outwards changes only one of them.
    """
    apart = []
    for name in ("shank", "foot"):
        turns = [segments[name + end].in_parent_deg for end in SUFFIXES.values() if name + end in segments]
        if len(turns) != len(SUFFIXES) or None in turns:
            return []
        apart.append(sum(turn[2] for turn in turns if turn is not None))  # the left one is its mirror image
    knee, ankle = apart
    least = min(abs(knee), abs(ankle))
    if knee * ankle >= 0.0 or least < TURNED_DEG:
        return []
    return [
        "check the shanks: when the person stood, one shank was rotated about its long axis by "
        f"{least:.0f} degrees or more relative to the other (by the knees {abs(knee):.0f}, by the "
        f"ankles {abs(ankle):.0f} the other way): is a marker that defines the frontal plane of a "
        "shank (a wand, the fibula head, a malleolus) misplaced? Rotation angles of knee and ankle "
        "might be wrong by this amount"
    ]


def axes_of(Q: Array) -> Array:
    """Return orthonormal axes as columns, (n, 3, 3): X along u, v in the X-Y plane."""
    u, v = Q[:, 0], Q[:, 1] - Q[:, 2]
    z = unit(np.cross(u, v))
    return np.stack([u, np.cross(z, u), z], axis=2)
