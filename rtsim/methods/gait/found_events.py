"""Foot strikes and foot offs detected in results: from force plates, where the vertical force on a foot
crosses a threshold, and otherwise from the motion of the feet (rtsim/methods/gait/marker_events.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_limits import THRESHOLD
from rtsim.files.gait.events import OFF, PLATES, STRIKE, GaitEvent
from rtsim.files.recording import Results
from rtsim.methods.gait.marker_events import by_markers
from rtsim.methods.gait.whole_cycles import gaps_in

FloatArray = NDArray[np.float64]
SHORTEST_S = 0.1
"""Shortest time for which a foot is loaded or unloaded [s]; shorter changes are no events."""
SAME_S = 0.15
"""Largest time between detections by plates and by markers that count as one event of a foot [s]."""


def found_events(results: Results, with_plates: bool = True) -> tuple[GaitEvent, ...]:
    """Detect foot strikes and foot offs in results: by plates, if `with_plates`, and by markers where the
    plates show none; in the order of time.
    """
    plates = by_plates(results) if with_plates else []
    markers = [event for event in by_markers(results) if nearest(event, plates, SAME_S) is None]
    return tuple(sorted([*plates, *markers], key=lambda event: event.time))


def nearest(event: GaitEvent, others: Sequence[GaitEvent], within_s: float) -> GaitEvent | None:
    """Return that one of the other events with the same side and kind (strike or off) as an event which is
    nearest in time, if it is within `within_s` [s]; else None.
    """
    alike = [other for other in others if (other.side, other.kind) == (event.side, event.kind)]
    best = min(alike, key=lambda other: abs(other.time - event.time), default=None)
    return best if best is not None and abs(best.time - event.time) <= within_s else None


def by_plates(results: Results) -> list[GaitEvent]:
    """Detect events: the times at which the vertical force on a foot crosses the threshold, interpolated
    between frames.

    If a foot is already loaded in the first frame, or in the first frame after a gap, this is no event.
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
    """Return the times at which a load (n,) [N] crosses the threshold, and whether it rises; not across
    gaps, of the load or of the frames, as nobody knows when it was."""
    passes: list[tuple[float, bool]] = []
    above, gaps = load > THRESHOLD, set(gaps_in(times).tolist())
    for i in np.flatnonzero(above[1:] != above[:-1]).tolist():
        before, after = float(load[i]), float(load[i + 1])
        if i in gaps or not (math.isfinite(before) and math.isfinite(after)):
            continue
        part = (THRESHOLD - before) / (after - before)
        time = float(times[i] + part * (times[i + 1] - times[i]))
        if passes and time - passes[-1][0] < SHORTEST_S:
            passes.pop()  # a touch, or a foot that is lifted for a moment
        else:
            passes.append((time, bool(above[i + 1])))
    return passes
