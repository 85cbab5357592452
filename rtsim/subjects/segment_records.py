"""Segments from natural coordinates and markers on many frames (Sancisi et al. 2017, eqs 12, 13)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.natural import Segment, local_points
from rtsim.subjects.subject import SubjectSegment, subject_segment
from rtsim.subjects.trunk import LUMBOSACRAL, TRUNK

Array = NDArray[np.float64]
SegmentMarkers = dict[str, dict[str, Array]]  # segment -> marker -> coordinates (3,) in the segment [m]

SEGMENTS = ("pelvis", "thigh", "shank", "foot")


def local_markers(
    Q: Mapping[str, Array], parameters: Mapping[str, Segment], markers: Mapping[str, Mapping[str, Array]]
) -> SegmentMarkers:
    """Mean coordinates of markers (n, 3) per segment and name; those never seen are left out.

    Q : segment -> (n, 4, 3) = u, rP, rD, w
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
    """The segments of `markers`. A pelvis gets the landmark hip_centre, the mean place of the thigh's rP,
    and beside a trunk lumbosacral, that of the trunk's rD."""
    if "pelvis" not in markers:
        return {n: subject_segment(parameters[n], placed, {}) for n, placed in markers.items()}
    ends = {"hip_centre": Q["thigh"][:, 1:2]}
    if TRUNK in markers:
        ends[LUMBOSACRAL] = Q[TRUNK][:, 2:3]
    points = {"pelvis": {n: local_points(Q["pelvis"], parameters["pelvis"], x)[0] for n, x in ends.items()}}
    return {n: subject_segment(parameters[n], placed, points.get(n, {})) for n, placed in markers.items()}
