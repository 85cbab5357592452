"""Distances between markers that movement does not change, in a trial and in the subject.

Distances are between the markers of a segment, and from them to the joint centres computed from the adjacent
segment: a segment with three or more markers is fitted to its markers frame by frame (least squares, Kabsch
1976), and the centre of its joint is used as one more point of the adjacent segment. So the lengths of bones
are compared as well, and segments with two markers are included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]
Tracks = Mapping[str, Array]  # name of a marker of the subject -> (n, 3) [m]; NaN = missing

FEWEST = 3
"""Least number of markers that determine a pose, and of frames for a median."""
MIN_SPREAD = 0.02
"""Least distance of markers from their best line for a segment to be fitted to them, root mean square [m]:
with soft-tissue motion of 1 to 2 cm those nearer to a line say little of the turn about it."""
SEEN = 0.5
"""Markers visible in fewer frames than this fraction of the most visible one are not used for the fit."""

ERRORS = {"pelvis": 0.006, "thigh": 0.008, "shank": 0.005, "foot": 0.004}
"""Usual distance of markers from their places in the fit of a segment [m]; no other segments are judged."""
CENTRE_ERRORS = {
    ("pelvis", "thigh"): 0.014,
    ("thigh", "pelvis"): 0.009,
    ("thigh", "shank"): 0.010,
    ("shank", "thigh"): 0.012,
    ("shank", "foot"): 0.007,
    ("foot", "shank"): 0.006,
}
"""Usual distance of a joint centre from its place on the first of two segments, as the second carries it
[m]."""
LIMIT = 4.2
"""Evidence from which a marker counts as displaced [usual distances]: see docs/damage.md."""


class SharedPoint(NamedTuple):
    """A point that two segments share, (3,) in each [m]."""

    proximal: str
    distal: str
    in_proximal: Array
    in_distal: Array


class Distances(NamedTuple):
    """k distances of one segment: from a marker to another marker or a joint centre.

    first, second : names of markers; "" for a joint centre
    expected : (k,) - distances of the subject; found : (k,) - medians over the frames; away : (k,) - medians
        of |distance in a frame - expected| [m]; NaN where too few frames show both markers
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    expected: Array
    found: Array
    away: Array


class Ruler:
    """Distances of a subject, or of a model with markers of its own, that movement does not change: between
    the markers of a segment, and from them to its joint centres.

    Parameters
    ----------
    local : segment -> marker -> (3,) in the segment [m]; joints : points that segments share
    loose : segments whose distances do not characterise a person, such as a trunk, whose markers move when
        arms are raised or the head nods

    Attributes
    ----------
    segment_of : marker -> segment
    """

    def __init__(
        self,
        local: dict[str, dict[str, Array]],
        joints: list[SharedPoint],
        loose: frozenset[str] = frozenset(),
    ) -> None:
        self.local, self.joints, self.loose = local, joints, loose
        self.segment_of = {marker: name for name, group in local.items() for marker in group}

    def neighbours(self, segment: str) -> list[str]:
        """Return the segments that share a joint with a segment."""
        pairs = [(j.proximal, j.distal) for j in self.joints if segment in (j.proximal, j.distal)]
        return [b if a == segment else a for a, b in pairs]

    def measure(self, segment: str, tracks: Tracks, leave_out: frozenset[str] = frozenset()) -> Distances:
        """Compare the distances of a segment's markers in a trial with the subject's; leave_out : markers
        to ignore.
        """
        own = {m: x for m, x in self.local[segment].items() if m not in leave_out and m in tracks}
        names = list(own)
        rows: list[tuple[str, str, float, float, float]] = []
        for k, a in enumerate(names):
            for b in names[k + 1 :]:
                rows.append((a, b, *compared(tracks[a], tracks[b], own[a], own[b])))
        for joint in self.joints:
            if segment not in (joint.proximal, joint.distal):
                continue
            here, there = joint.in_proximal, joint.in_distal
            beside = joint.distal
            if segment == joint.distal:
                here, there, beside = there, here, joint.proximal
            centre = self.carried(beside, there, tracks, leave_out)
            if centre is not None:
                rows += [(a, "", *compared(tracks[a], centre, own[a], here)) for a in names]
        first, second, *numbers = zip(*rows, strict=True) if rows else ((),) * 5
        expected, found, away = (np.array(column, dtype=np.float64) for column in numbers)
        return Distances(tuple(first), tuple(second), expected, found, away)

    def carried(
        self, segment: str, point: Array, tracks: Tracks, leave_out: frozenset[str] = frozenset()
    ) -> Array | None:
        """Return the position (n, 3) [m] of a point of a segment from the segment's markers; None if these
        do not determine it.
        """
        own = {m: x for m, x in self.local[segment].items() if m not in leave_out and m in tracks}
        counts = {m: int(np.isfinite(tracks[m][:, 0]).sum()) for m in own}
        often = [m for m in own if counts[m] >= max(FEWEST, SEEN * max(counts.values()))]
        if len(often) < FEWEST:
            return None
        x = np.array([own[m] for m in often])
        x_mean = x.mean(axis=0)
        if np.linalg.svd(x - x_mean, compute_uv=False)[1] < MIN_SPREAD * np.sqrt(len(x)):
            return None
        y = np.stack([tracks[m] for m in often], axis=1)
        seen = np.isfinite(y).all(axis=(1, 2))
        if seen.sum() < FEWEST:
            return None
        y_mean = y[seen].mean(axis=1)
        u, _, vt = np.linalg.svd(np.einsum("ki,nkj->nij", x - x_mean, y[seen] - y_mean[:, None]))
        v = np.swapaxes(vt, 1, 2)
        v[:, :, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(v))[:, None]  # a rotation, never a mirroring
        place = np.full(tracks[often[0]].shape, np.nan)
        place[seen] = y_mean + np.einsum("nij,nkj,k->ni", v, u, point - x_mean)
        return place


def compared(x: Array, y: Array, x_local: Array, y_local: Array) -> tuple[float, float, float]:
    """Return three numbers [m]: the expected distance of two points, the median of their measured distance
    over the frames, and the median of the absolute difference between both. The latter two are NaN if the
    points are visible in too few frames.

    x, y : (n, 3) - measured points; x_local, y_local : (3,) - the points on their segment
    """
    expected = float(np.linalg.norm(x_local - y_local))
    apart = np.linalg.norm(x - y, axis=1)
    apart = apart[np.isfinite(apart)]
    if len(apart) < FEWEST:
        return expected, np.nan, np.nan
    return expected, float(np.median(apart)), float(np.median(np.abs(apart - expected)))


def ruler_of_subject(subject: Subject) -> Ruler:
    """Return the distances between markers, and from markers to joint centres, that a person's movement
    does not change.
    """
    local = {
        name: {marker: 1e-3 * np.array(x) for marker, x in segment.markers_mm.items()}
        for name, segment in subject.segments.items()
    }
    return Ruler(local, joints_of(subject), frozenset({TRUNK}))


def joints_of(subject: Subject) -> list[SharedPoint]:
    """Return hip, knee and ankle of each leg as points that two segments share."""
    found = []
    for suffix in ("", *SUFFIXES.values()):
        legs = [f"{name}{suffix}" for name in ("thigh", "shank", "foot")]
        if not all(name in subject.segments for name in legs):
            continue
        ends = [-subject.segments[name].segment().basis()[:, 1] for name in legs]
        pelvis, start = subject.segments.get("pelvis"), np.zeros(3)
        hip = pelvis.points_mm.get(f"hip_centre{suffix}") if pelvis is not None else None
        if hip is not None:
            found.append(SharedPoint("pelvis", legs[0], 1e-3 * np.array(hip), start))
        found.append(SharedPoint(legs[0], legs[1], ends[0], start))
        found.append(SharedPoint(legs[1], legs[2], ends[1], start))
    return found


def spine_of(subject: Subject) -> tuple[SharedPoint, ...]:
    """Return the point that pelvis and trunk share (L5/S1), by which the pelvis restricts the position of the
    trunk, in a tuple; it is empty if the person lacks one of these segments.
    """
    pelvis, trunk = subject.segments.get("pelvis"), subject.segments.get(TRUNK)
    if pelvis is None or trunk is None or LUMBOSACRAL not in pelvis.points_mm:
        return ()
    here, there = 1e-3 * np.array(pelvis.points_mm[LUMBOSACRAL]), -trunk.segment().basis()[:, 1]
    return (SharedPoint("pelvis", TRUNK, here, there),)


def errors_of(subject: Subject) -> dict[str, float]:
    """Return the typical RMS distance of the markers of each segment from a rigid fit [m]; segments that do
    not characterise a person are left out.
    """
    kinds = {name: kind_of_segment(name) for name in subject.segments}
    return {name: ERRORS[kind] for name, kind in kinds.items() if kind in ERRORS}


def error_of_centre(segment: str, beside: str) -> float:
    """Return the typical error of the position of a joint centre on a segment, if the centre is computed from
    the adjacent segment `beside` [m].
    """
    return CENTRE_ERRORS[kind_of_segment(segment), kind_of_segment(beside)]
