"""Gait cycles between foot strikes, and spatio-temporal values that follow from them and from the feet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import OFF, STRIKE, GaitEvent
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.methods.gait_phase import ODD, STRIDE_S

FloatArray = NDArray[np.float64]
LEAST_STRIDE = 0.2
"""Stride length below which the person walks on a belt or steps on the spot [m]."""
LEAST_MOVEMENT = 0.1
"""Smallest movement of a foot, in any direction, between two strikes of a stride [m]; below it the person
stands, whatever events a file has. On a belt and on the spot the foot moves, too."""
UNITS = {
    "Cadence": "steps/min", "Walking Speed": "m/s", "Stride Time": "s", "Step Time": "s",
    "Opposite Foot Off": "%", "Opposite Foot Contact": "%", "Foot Off": "%", "Single Support": "s",
    "Double Support": "s", "Stride Length": "m", "Step Length": "m", "Step Width": "m",
}  # fmt: skip
"""Spatio-temporal values by the names that clinical programs give them."""


class GaitCycle(NamedTuple):
    """A gait cycle, from one foot strike to the next of the same foot [s]; NaN = not known.

    off : time of its foot off
    opposite_off, opposite_strike : events of the other foot
    """

    side: str
    strike: float
    end: float
    off: float = math.nan
    opposite_off: float = math.nan
    opposite_strike: float = math.nan


def cycles_of(events: Sequence[GaitEvent]) -> list[GaitCycle]:
    """Find the complete cycles of both feet, in the order of time.

    Three kinds of strides are left out: those of implausible duration, those whose events show that a foot
    strike was missed, and those whose duration differs from the median by more than the fraction ODD (0.4) of
    the median.
    """
    found = []
    for side in SIDES:
        strikes = _times(events, side, STRIKE)
        other = next(name for name in SIDES if name != side)
        for start, end in pairwise(strikes):
            offs, opposite_offs, opposite_strikes = (
                [t for t in times if start <= t < end]
                for times in (
                    _times(events, side, OFF), _times(events, other, OFF), _times(events, other, STRIKE),
                )
            )  # fmt: skip
            if not STRIDE_S[0] <= end - start <= STRIDE_S[1]:
                continue
            if max(len(offs), len(opposite_offs), len(opposite_strikes)) > 1:
                continue
            off, opposite_off, opposite_strike = (
                t[0] if t else math.nan for t in (offs, opposite_offs, opposite_strikes)
            )
            found.append(
                GaitCycle(
                    side=side,
                    strike=start,
                    end=end,
                    off=off,
                    opposite_off=opposite_off,
                    opposite_strike=opposite_strike,
                )
            )
    if not found:
        return []
    usual = float(np.median([cycle.end - cycle.strike for cycle in found]))
    alike = [cycle for cycle in found if abs(cycle.end - cycle.strike - usual) <= ODD * usual]
    return sorted(alike, key=lambda cycle: cycle.strike)


def _times(events: Sequence[GaitEvent], side: str, kind: str) -> list[float]:
    return sorted(event.time for event in events if event.side == side and event.kind == kind)


def spatio_temporal(cycles: Sequence[GaitCycle], results: Results) -> dict[str, dict[str, float]]:
    """Return spatio-temporal values: side -> name of the value -> mean over the cycles of this side; values
    that no cycle has are left out.

    Lengths are measured between the origins of the foot segments, at the ankles, at foot strikes. They are
    taken along the direction in which the foot itself has moved during the stride. On a belt there are no
    lengths.
    """
    feet = feet_of(results)
    found: dict[str, dict[str, float]] = {}
    for side in SIDES:
        rows = [cycle_values(cycle, feet, results.times) for cycle in cycles if cycle.side == side]
        for name in UNITS:
            known = [row[name] for row in rows if math.isfinite(row[name])]
            if known:
                found.setdefault(side, {})[name] = sum(known) / len(known)
    return found


def cycle_values(cycle: GaitCycle, feet: Mapping[str, FloatArray], times: FloatArray) -> dict[str, float]:
    """Return the spatio-temporal values of one cycle by name, such as "Stride Length"; NaN = not known.

    Single and double support are those of walking: the other foot leaves the ground before it strikes it, and
    this foot leaves it afterwards. In running, and where events are in another order, they are NaN.

    feet : side -> (n, 2) origin of the foot segment along X and Z of ground [m]; times : (n,) [s]
    """
    lasts = cycle.end - cycle.strike
    stride, step, width = _lengths(cycle, feet, times)
    walks = cycle.strike <= cycle.opposite_off and not cycle.opposite_strike < cycle.opposite_off
    first_double = cycle.opposite_off - cycle.strike if walks else math.nan
    both = first_double + cycle.off - cycle.opposite_strike
    return {
        "Cadence": 120.0 / lasts,
        "Walking Speed": stride / lasts,
        "Stride Time": lasts,
        "Step Time": cycle.end - cycle.opposite_strike,
        "Opposite Foot Off": 100.0 * first_double / lasts,
        "Opposite Foot Contact": 100.0 * (cycle.opposite_strike - cycle.strike) / lasts,
        "Foot Off": 100.0 * (cycle.off - cycle.strike) / lasts,
        "Single Support": cycle.opposite_strike - cycle.opposite_off if walks else math.nan,
        "Double Support": both if cycle.off >= cycle.opposite_strike else math.nan,
        "Stride Length": stride,
        "Step Length": step,
        "Step Width": width,
    }


def _lengths(
    cycle: GaitCycle, feet: Mapping[str, FloatArray], times: FloatArray
) -> tuple[float, float, float]:
    """Return length of the stride, length of the step that ends it, and width of that step [m]; NaN = not
    known."""
    other = next(name for name in SIDES if name != cycle.side)
    if cycle.side not in feet:
        return (math.nan,) * 3
    start, end = (_at(t, times, feet[cycle.side]) for t in (cycle.strike, cycle.end))
    stride = end - start
    length = float(np.hypot(*stride))
    if not length >= LEAST_STRIDE:
        return (math.nan,) * 3
    if other not in feet or math.isnan(cycle.opposite_strike):
        return length, math.nan, math.nan
    along = stride / length
    opposite = _at(cycle.opposite_strike, times, feet[other]) - start
    step = length - float(opposite @ along)
    return length, step, abs(float(along[0] * opposite[1] - along[1] * opposite[0]))


def _at(time: float, times: FloatArray, places: FloatArray) -> FloatArray:
    """Interpolate the position of a foot in the ground plane, (2,) [m], at a time [s]; NaN outside the
    recording and in gaps. places : (n, 2) its positions at the times (n,)
    """
    if not times[0] <= time <= times[-1]:
        return np.full(2, math.nan)
    return np.array([np.interp(time, times, places[:, k]) for k in range(2)])


def moving(results: Results, cycles: Sequence[GaitCycle]) -> tuple[list[GaitCycle], str]:
    """Leave out the cycles in which the foot moves by less than LEAST_MOVEMENT, as in standing; return the
    others, and a sentence on those left out, "" if there are none."""
    places, times = feet_places(results), results.times
    still = []
    for cycle in cycles:
        during = (times >= cycle.strike) & (times <= cycle.end)
        path = places.get(cycle.side, np.empty((len(times), 3)))[during]
        path = path[np.isfinite(path).all(axis=1)] if cycle.side in places else path[:0]
        if len(path) > 1 and float(np.linalg.norm(path - path[0], axis=1).max()) < LEAST_MOVEMENT:
            still.append(cycle)
    if not still:
        return list(cycles), ""
    return [cycle for cycle in cycles if cycle not in still], (
        f"{len(still)} of {len(cycles)} strides between the events left out: the foot moves less than "
        f"{100.0 * LEAST_MOVEMENT:.0f} cm in them"
    )


def feet_of(results: Results) -> dict[str, FloatArray]:
    """Return for each side the position of the origin of the foot segment, at the ankle, along X and Z of
    ground in every frame, (n, 2) [m].
    """
    return {side: places[:, [0, 2]] for side, places in feet_places(results).items()}


def feet_places(results: Results) -> dict[str, FloatArray]:
    """Return for each side the position of the origin of the foot segment, at the ankle, in ground in every
    frame, (n, 3) [m]; empty if the results contain no feet.
    """
    spec = next((spec for spec in results.session.fields if spec.name == "segment_positions"), None)
    if spec is None:
        return {}
    own = str(results.session.meta.get("side") or "")
    for group in groups_of(spec.labels, own if own in SIDES else ""):
        if group.name == "foot":
            places = results.fields["segment_positions"]
            return {side: places[:, spec.labels.index(label)] for side, label in group.of.items()}
    return {}
