"""Gait events by markers alone, of a whole recording: when feet come down and leave the ground.

A step here is a swing of the foot from its hindmost to its foremost position relative to the pelvis, in which
the foot also moves over the ground. Zeni et al. (2008, Gait Posture 27:710-714) take these two turning points
as the events. Here the foot comes down when its centre sinks fastest, near the foremost position. It has left
the ground when its centre rises fastest, near the hindmost position (O'Connor et al. 2007, Gait Posture
25:469-474). The centre is halfway between the hindmost and the foremost marker of the foot. If there is no
such peak of the vertical speed, the event has the same delay from the turning point as in the other steps of
the foot. Unlike the gait phase of a live run (rtsim/methods/gait_phase.py), this method uses later frames.

On the way down a stair a foot sinks fastest long before it lands on its toe or on its heel. There it lands
when the first of the two is stopped: at the largest upward acceleration (Hreljac and Marshall 2000, J Biomech
33:783-786). It has left the ground when the heel is no longer pushed up: at the largest downward
acceleration.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import MARKERS, OFF, STRIKE, GaitEvent
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.methods.gait_phase import LEAST_PART, LEAST_TRAVEL
from rtsim.methods.person_motion import BACKWARDS, WalkDirection
from streams.messages import Status

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ROOT, FOOT = "pelvis", "foot"
CUTOFF_HZ = 20.0
"""Cut-off of the Butterworth filter, of second order and run both ways, before differentiation."""
LEAST_FRAMES = 10
RISE_S, FALL_S = (-0.15, 0.15), (-0.05, 0.15)
"""The fastest rise is looked for in this time around the hindmost place, the fastest fall around the foremost
[s]; the centre also sinks in the middle of the swing, before that."""
LEAST_KNOWN = 0.8
"""Smallest fraction of the frames around an event in which the foot must be visible."""
RIGID_M = 1e-4
"""Variation of a marker's position in the axes of the foot below which the marker is on this foot [m]."""
DOWN_M = 0.1
"""Height difference of two footholds from which the foot goes down a stair [m]; on flat ground it is 0.02."""
LAND_S, LEAVE_S = (-0.05, 0.25), (-0.15, 0.25)
"""Likewise of steps down: landing around the foremost place, leaving around the hindmost [s]."""
APART_M = 0.08
"""Smallest distance along the foot of two markers that stand for heel and toe [m]."""


class FootCourse(NamedTuple):
    """Path of a foot during a recording.

    ahead : (n,) distance of its centre in front of the pelvis [m]; places : (n, 3) positions of the centre
      [m]
    ends : (2, n) heights of its heel and toe [m]; None = the foot lacks the two markers for them
    """

    ahead: FloatArray
    places: FloatArray
    ends: FloatArray | None = None


def by_markers(results: Results) -> list[GaitEvent]:
    """Detect events from the motion of the feet, in the order of time; none if nobody walks forwards."""
    spec = next((spec for spec in results.session.fields if spec.name == "segment_positions"), None)
    if spec is None or ROOT not in spec.labels or "segment_rotations" not in results.fields:
        return []
    lone = str(results.session.meta.get("side") or "")
    groups = groups_of(spec.labels, lone if lone in SIDES else "")
    feet = {side: label for g in groups if g.name == FOOT for side, label in g.of.items() if side}
    if not feet or len(results.times) < LEAST_FRAMES:
        return []
    columns = [spec.labels.index(label) for label in feet.values()]
    forwards, walks = _direction(results, spec.labels.index(ROOT), columns)
    root = results.fields["segment_positions"][:, spec.labels.index(ROOT)]
    found = []
    for side, column in zip(feet, columns, strict=True):
        ends = foot_ends(results, column)
        centre = foot_centre(results, column)
        known = np.isfinite(centre).all(axis=1) & np.isfinite(root).all(axis=1)
        known &= ~_held(results, (ROOT, feet[side]))
        if known.sum() < LEAST_FRAMES:
            continue
        rate = 1.0 / float(np.median(np.diff(results.times)))
        centre, pelvis = (smoothed(results.times, x, known, rate) for x in (centre, root))
        tips = None
        if ends is not None:
            seen = known & np.isfinite(ends).all(axis=(0, 2))
            if seen.sum() >= LEAST_FRAMES:
                tips = np.stack([smoothed(results.times, end, seen, rate)[:, 1] for end in ends])
        course = FootCourse(((centre - pelvis)[:, [0, 2]] * forwards).sum(axis=1), centre, tips)
        for row, kind in steps_of(course, rate, known):
            if walks[min(max(round(row), 0), len(known) - 1)]:
                time = float(np.interp(row, np.arange(len(known)), results.times))
                found.append(GaitEvent(time, side, kind, kind, MARKERS))
    return sorted(found, key=lambda event: event.time)


def foot_centre(results: Results, column: int) -> FloatArray:
    """Return the midpoint of the hindmost and the foremost marker on a foot (n, 3) [m]; its origin where it
    has no two such markers.

    column : column of the foot among the segments
    """
    ends = foot_ends(results, column)
    return results.fields["segment_positions"][:, column] if ends is None else 0.5 * (ends[0] + ends[1])


def foot_ends(results: Results, column: int) -> FloatArray | None:
    """Return the positions of the hindmost and the foremost marker on a foot in every frame, (2, n, 3) [m];
    None if it has no two markers that stay in place on the foot and are far enough apart.

    column : column of the foot among the segments
    """
    origin = results.fields["segment_positions"][:, column]
    markers = results.fields.get("markers_model")
    if markers is None or markers.ndim != 3:
        return None
    rotation = results.fields["segment_rotations"][:, column]
    local = np.einsum("nji,nmj->nmi", rotation, markers - origin[:, None])
    seen = np.isfinite(local).all(axis=2)
    rigid = [
        k
        for k in range(local.shape[1])
        if seen[:, k].any() and float(local[seen[:, k], k].std(axis=0).max()) < RIGID_M
    ]
    if len(rigid) < 2:
        return None
    along = np.array([local[seen[:, k], k, 0].mean() for k in rigid])
    heel, toe = rigid[int(np.argmin(along))], rigid[int(np.argmax(along))]
    return None if np.ptp(along) < APART_M else np.stack([markers[:, heel], markers[:, toe]])


def smoothed(times: FloatArray, places: FloatArray, known: BoolArray, rate: float) -> FloatArray:
    """Filter positions (n, 3) below CUTOFF_HZ, with gaps bridged by straight lines."""
    whole = np.stack([np.interp(times, times[known], places[known, k]) for k in range(3)], axis=1)
    if rate <= 2.5 * CUTOFF_HZ:
        return whole
    from scipy.signal import butter, filtfilt  # takes longer to load than a report to draw

    b, a = butter(2, 2.0 * CUTOFF_HZ / rate)
    return np.asarray(filtfilt(b, a, whole, axis=0, padlen=min(LEAST_FRAMES - 1, len(whole) - 1)))


def _direction(results: Results, root: int, feet: list[int]) -> tuple[FloatArray, BoolArray]:
    """Return the forward direction of the pelvis in the ground plane (n, 2), and a mask (n,) of the frames in
    which the person does not walk backwards.

    root, feet : columns of pelvis and feet among the segments
    """
    positions, rotations = results.fields["segment_positions"], results.fields["segment_rotations"]
    axes = rotations[:, root][:, [0, 2], 0]
    size = np.hypot(axes[:, 0], axes[:, 1])
    sound = (size > 1e-9) & np.isfinite(size)
    axes = np.where(sound[:, None], axes, 0.0)
    forwards = np.where(sound[:, None], axes / np.where(sound, size, 1.0)[:, None], (1.0, 0.0))
    direction, walks = WalkDirection(), np.zeros(len(forwards), np.bool_)
    for row, time in enumerate(results.times.tolist()):
        pelvis, places = positions[row, root], positions[row, feet]
        if not (sound[row] and np.isfinite(pelvis).all()):
            continue
        ahead = (places - pelvis)[:, [0, 2]] @ forwards[row]
        seen = list(zip(ahead.tolist(), places[:, 1].tolist(), strict=True))
        x, z = forwards[row].tolist()
        walks[row] = direction.look(time, pelvis, (x, z), seen) != BACKWARDS
    return forwards, walks


def _held(results: Results, segments: tuple[str, ...]) -> BoolArray:
    """Return a mask (n,) of the frames in which any of these segments was held at its last pose because its
    markers were missing.
    """
    labels = next((spec.labels for spec in results.session.fields if spec.name == "segment_status"), ())
    out = np.zeros(len(results.times), np.bool_)
    for name in segments:
        if name in labels:
            bits = results.fields["segment_status"][:, labels.index(name)].astype(np.int64)
            out |= (bits & int(Status.DEGRADED)) != 0
    return out


def steps_of(course: FootCourse, rate: float, known: BoolArray) -> list[tuple[float, str]]:
    """Find the steps of a foot: the events at which it leaves the ground or comes down, each as its row of
    the recording, a fractional number, and its kind (OFF or STRIKE).

    known : (n,) whether the foot is visible in a frame; an event is reported only if the foot is visible in
      most frames around it
    """
    turns = turning_points(course.ahead)
    climbs = np.gradient(course.places[:, 1])[None]
    lifts = None if course.ends is None else np.gradient(np.gradient(course.ends, axis=1), axis=1)
    rows = [0, *(row for row, _ in turns), len(known) - 1]
    found: dict[str, list[tuple[int, float]]] = {OFF: [], STRIKE: []}
    for k, ((back, _), (front, is_front)) in enumerate(pairwise(turns)):
        over_ground = course.places[front, [0, 2]] - course.places[back, [0, 2]]
        if not is_front or float(np.hypot(*over_ground)) < LEAST_TRAVEL:
            continue  # a pelvis that moves over feet that stand
        leaves, lands = (RISE_S, climbs), (FALL_S, -climbs)
        heights = course.places[:, 1]
        stood, stands = heights[rows[k] : back + 1].min(), heights[front : rows[k + 3] + 1].min()
        if lifts is not None and stood - stands > DOWN_M:
            leaves, lands = (LEAVE_S, -lifts[:1]), (LAND_S, lifts)
        for row, kind, ((begin, end), curves) in ((back, OFF, leaves), (front, STRIKE, lands)):
            first, last = row + round(rate * begin), row + round(rate * end)
            inside = first > 0 and last < len(known) - 1
            if inside and known[first : last + 1].mean() >= LEAST_KNOWN:
                found[kind].append((row, _first_peak(curves, first, last)))
    return [(row, kind) for kind, pairs in found.items() for row in _placed(pairs)]


def _placed(pairs: list[tuple[int, float]]) -> list[float]:
    """Return the (fractional) rows at which a foot comes down, or leaves the ground: those at which its
    vertical speed peaks. Without a peak it is the row of the turning point plus this foot's usual delay.

    pairs : for each event the row of the turning point, and the row of the peak (NaN = none)
    """
    off = [peak - row for row, peak in pairs if math.isfinite(peak)]
    usual = float(np.median(off)) if off else 0.0
    return [peak if math.isfinite(peak) else row + usual for row, peak in pairs]


def turning_points(ahead: FloatArray) -> list[tuple[int, bool]]:
    """Find the rows at which a foot reverses relative to the pelvis, and whether they are in front, in order.

    Movements smaller than LEAST_TRAVEL, or than the fraction LEAST_PART of the usual movement, are ignored.
    The first and the last turning point may be the ends of the recording instead of reversals.
    """
    few = _zigzag(ahead, LEAST_TRAVEL)
    travels = [abs(float(ahead[b] - ahead[a])) for (a, _), (b, _) in pairwise(few)]
    if not travels:
        return []
    return _zigzag(ahead, max(LEAST_TRAVEL, LEAST_PART * float(np.median(travels))))


def _zigzag(x: FloatArray, least: float) -> list[tuple[int, bool]]:
    """Find the rows at which x (n,) has a maximum or minimum that differs by at least `least` from the
    extremes before and after it; return rows, and whether each is a maximum.
    """
    found: list[tuple[int, bool]] = []
    high = low = 0
    rises: bool | None = None
    for row in range(1, len(x)):
        high = row if x[row] > x[high] else high
        low = row if x[row] < x[low] else low
        if rises is not False and x[high] - x[row] >= least:
            found.append((high, True))
            rises, low = False, row
        elif rises is not True and x[row] - x[low] >= least:
            found.append((low, False))
            rises, high = True, row
    if rises is not None:
        found.append((high, True) if rises else (low, False))
    return found


def _first_peak(curves: FloatArray, first: int, last: int) -> float:
    """Return the (fractional) row of the first peak of any of the curves (n_curve, n) from row `first` to
    row `last`; NaN if there is none.
    """
    peaks = [peak for peak in (_peak(x, first, last) for x in curves) if math.isfinite(peak)]
    return min(peaks, default=math.nan)


def _peak(x: FloatArray, first: int, last: int) -> float:
    """Return the row of the maximum of x from row `first` to row `last`, refined by a parabola; NaN if it
    is no local maximum.
    """
    row = first + int(np.argmax(x[first : last + 1]))
    before, at, after = x[row - 1 : row + 2].tolist()
    if not (before <= at >= after and before + after < 2.0 * at):
        return math.nan
    return row + 0.5 * (before - after) / (before - 2.0 * at + after)
