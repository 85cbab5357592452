"""Gait events that results show: where plates begin and cease to bear a foot, and how the feet move.

By plates: the vertical force of the ground on a foot passes THRESHOLD. By markers: as of the gait phase
(rtsim/methods/gait_phase.py, after Zeni et al. 2008), from how far each foot is in front of the pelvis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.files.gait.events import MARKERS, OFF, PLATES, STRIKE, GaitEvent
from rtsim.files.recording import Results
from rtsim.files.tables.legs import groups_of
from rtsim.methods.gait_phase import HEEL_STRIKE, Swing
from rtsim.methods.person_motion import WalkDirection

FloatArray = NDArray[np.float64]
SHORTEST_S = 0.1
"""A foot that a plate bears, or does not, for less time trembles [s]."""
SAME_S = 0.15
"""Plates and markers that tell of an event of one foot within this time mean the same one [s]."""
ROOT, FOOT = "pelvis", "foot"


def found_events(results: Results, with_plates: bool = True) -> tuple[GaitEvent, ...]:
    """Events by plates, where these are of use, and by markers where no plate tells of them, in the order of
    time.
    """
    plates = by_plates(results) if with_plates else []
    markers = [event for event in by_markers(results) if nearest(event, plates, SAME_S) is None]
    return tuple(sorted([*plates, *markers], key=lambda event: event.time))


def nearest(event: GaitEvent, others: Sequence[GaitEvent], within_s: float) -> GaitEvent | None:
    """The one of the others of this side and kind that is next to an event, if any is so near [s]."""
    alike = [other for other in others if (other.side, other.kind) == (event.side, event.kind)]
    best = min(alike, key=lambda other: abs(other.time - event.time), default=None)
    return best if best is not None and abs(best.time - event.time) <= within_s else None


def by_plates(results: Results) -> list[GaitEvent]:
    """Where the force of the ground on a foot passes the threshold, between frames by a straight line.

    A load that is there in the first frame, or where it is not known, is no event.
    """
    spec = next((spec for spec in results.session.fields if spec.name == "foot_forces"), None)
    if spec is None:
        return []
    found = []
    for k, side in enumerate(spec.labels):
        load = results.fields["foot_forces"][:, k, 1]
        for time, rises in _passes(results.times, load):
            kind = STRIKE if rises else OFF
            found.append(GaitEvent(time, side, kind, kind, PLATES))
    return found


def _passes(times: FloatArray, load: FloatArray) -> list[tuple[float, bool]]:
    """When a load (n,) [N] passes the threshold, and whether it rises; not over gaps."""
    passes: list[tuple[float, bool]] = []
    above = load > THRESHOLD
    for i in np.flatnonzero(above[1:] != above[:-1]).tolist():
        before, after = float(load[i]), float(load[i + 1])
        if not (math.isfinite(before) and math.isfinite(after)):
            continue
        part = (THRESHOLD - before) / (after - before)
        time = float(times[i] + part * (times[i + 1] - times[i]))
        if passes and time - passes[-1][0] < SHORTEST_S:
            passes.pop()  # a touch, or a foot that is lifted for a moment
        else:
            passes.append((time, bool(above[i + 1])))
    return passes


def by_markers(results: Results) -> list[GaitEvent]:
    """Events by the places of the feet before the pelvis; none where nobody walks forwards."""
    spec = next((spec for spec in results.session.fields if spec.name == "segment_positions"), None)
    if spec is None or ROOT not in spec.labels or "segment_rotations" not in results.fields:
        return []
    own = str(results.session.meta.get("side") or "")
    feet = next(
        (g.of for g in groups_of(spec.labels, own if own in ("right", "left") else "") if g.name == FOOT), {}
    )
    sides = [side for side in feet if side]
    if not sides:
        return []
    root = spec.labels.index(ROOT)
    columns = [spec.labels.index(feet[side]) for side in sides]
    positions, rotations = results.fields["segment_positions"], results.fields["segment_rotations"]
    swings, direction = [Swing() for _ in sides], WalkDirection()
    found = []
    for row, time in enumerate(results.times.tolist()):
        x, _, z = rotations[row, root, :, 0].tolist()  # forwards, by the pelvis
        size = math.hypot(x, z)
        pelvis, places = positions[row, root], positions[row, columns]
        if not (size > 0.0 and np.isfinite(pelvis).all()):
            continue
        ahead = ((places - pelvis) @ (x / size, 0.0, z / size)).tolist()
        seen = list(zip(ahead, places[:, 1].tolist(), strict=True))
        if direction.look(time, pelvis, (x / size, z / size), seen):
            swings = [Swing() for _ in sides]
            continue
        for side, swing, place in zip(sides, swings, ahead, strict=True):
            event = swing.add(time, place) if math.isfinite(place) else None
            if event is not None:
                kind = STRIKE if event.kind == HEEL_STRIKE else OFF
                found.append(GaitEvent(event.time, side, kind, kind, MARKERS))
    return sorted(found, key=lambda event: event.time)
