"""Quantities over the gait cycle: 0 to 100 % from one strike of a foot to the next, at 101 points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.files.tables.sound import Sound
from rtsim.methods.gait.cycles import GaitCycle
from streams.messages import FieldSpec, Session

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
PERCENT: FloatArray = np.arange(101.0)
"""Parts of the cycle [%]."""
TURN_RAD = math.radians(20.0)
"""Rotation of the pelvis between the strikes of a stride above which the person turns a corner."""
ACROSS_RAD = math.radians(45.0)
"""Angle of the pelvis to the direction of walking above which the person has turned a corner, so that angles
relative to this direction are meaningless."""
FILTERED, INSTANT = "; filtered", "at the same instant"
"""Ends of the meaning of fields that passed the run's filter of speeds, and are late by its delay: those of
values, and of rates of such values."""
COORDINATES = "coordinates"
"""A field of that filter whose meaning states the delay."""
DELAY_MOST_S = 1.0
"""Largest delay of that filter that is believed of a recording [s]."""
ROOT, DIRECTED, ROTATION = "pelvis", "pelvis_angles", "pelvis_rotation"


class CycleCurves(NamedTuple):
    """Values of a quantity over all gait cycles of one side, and their mean and deviation.

    field, name : the field of the results, and the quantity's name in it without its side
    unit : unit of the field
    side : right or left, the foot whose strikes delimit the cycles
    values : (n_stride, 101) values
    sound : (n_stride, 101) whether no fault of measurement is flagged in the frames beside the point
    """

    field: str
    name: str
    unit: str
    side: str
    values: FloatArray
    sound: BoolArray

    @property
    def usable(self) -> FloatArray:
        """(n_stride, 101) usable values: NaN where they are flagged."""
        return np.where(self.sound, self.values, math.nan)

    @property
    def mean(self) -> FloatArray:
        """(101,) mean of the usable values, over the strides that `averaged` selects; NaN where there are
        none.
        """
        return mean_of(self.usable)

    @property
    def deviation(self) -> FloatArray:
        """(101,) standard deviation (n - 1) over the strides that `averaged` selects; NaN for fewer than
        two strides.
        """
        return deviation_of(self.usable)


def averaged(strides: FloatArray) -> BoolArray:
    """Return a mask (n_stride, ...) of the strides in (n_stride, ..., 101) that enter the mean: those without
    gaps.

    If all strides have gaps, the mask selects the strides with the longest known part that are known at the
    same points. So the mean is over the same strides at all points, and it does not jump where the known part
    of a stride ends.
    """
    known = np.isfinite(strides)
    n_known = known.sum(axis=-1)
    farthest = n_known.max(axis=0, initial=0)
    chosen: BoolArray = (n_known == farthest) & (n_known > 0)
    for curve in np.ndindex(farthest.shape):
        if not 0 < farthest[curve] < strides.shape[-1]:
            continue
        of_curve = (slice(None), *curve)
        rows, alike, n = np.unique(known[of_curve], axis=0, return_inverse=True, return_counts=True)
        most = np.argmax(np.where(rows.sum(axis=-1) == farthest[curve], n, 0))
        chosen[of_curve] = alike.reshape(-1) == most
    return chosen


def mean_of(strides: FloatArray) -> FloatArray:
    """Return the mean curve (..., 101) of strides (n_stride, ..., 101), over the strides that `averaged`
    selects; NaN where they are unknown.
    """
    used = np.where(averaged(strides)[..., None], strides, math.nan)
    n = np.isfinite(used).sum(axis=0)
    return np.where(n > 0, np.nansum(used, axis=0) / np.maximum(n, 1), math.nan)


def deviation_of(strides: FloatArray) -> FloatArray:
    """Return the standard deviation (n - 1) of strides, (..., 101), over the strides that `averaged`
    selects; NaN for fewer than two.
    """
    used = np.where(averaged(strides)[..., None], strides, math.nan)
    n = np.isfinite(used).sum(axis=0)
    squares = np.nansum((used - mean_of(strides)) ** 2, axis=0)
    return np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), math.nan)


def over_cycle(times: FloatArray, values: FloatArray, begin: float, end: float) -> FloatArray:
    """Interpolate values (n, ...) at 101 points from begin to end, (101, ...), linearly between frames.

    The result is NaN at points before the first or after the last frame, and at points next to an unknown
    value.
    """
    at = begin + 0.01 * PERCENT * (end - begin)
    row = np.interp(at, times, np.arange(len(times)), left=math.nan, right=math.nan)
    inside = np.isfinite(row)
    low = np.floor(np.where(inside, row, 0.0)).astype(np.int64)
    high = np.minimum(low + 1, len(times) - 1)
    shape = (-1, *[1] * (values.ndim - 1))
    part = np.where(inside, row - low, math.nan).reshape(shape)
    between = values[low] + part * (values[high] - values[low])
    return np.where(part == 0.0, values[low], between)


def curves_over(
    results: Results, spec: FieldSpec, cycles: Sequence[GaitCycle], scale: float = 1.0
) -> list[CycleCurves]:
    """Return the curves of all quantities in one field of the results over gait cycles. A quantity of a side,
    such as the flexion of the right knee, is taken over the cycles of that foot; one without a side, such as
    the tilt of the pelvis, over those of each foot.

    scale : factor by which the values are multiplied
    """
    lone = str(results.session.meta.get("side") or "")
    labels = [label or spec.name for label in (spec.labels or ("",))]
    values = scale * results.fields[spec.name].reshape(len(results.times), -1)
    unsound, instants = Sound(results).unsound(spec), instants_of(results, spec)
    found = []
    for group in groups_of(labels, lone if lone in SIDES else ""):
        for label_side, label in group.of.items():
            column = labels.index(label)
            for side in (label_side,) if label_side else SIDES:
                own = [cycle for cycle in cycles if cycle.side == side]
                if own:
                    rows, sound = strides_of(instants, values[:, column], unsound[:, column], own)
                    curve = CycleCurves(
                        field=spec.name, name=group.name or spec.name, unit=spec.unit, side=side,
                        values=rows, sound=sound,
                    )  # fmt: skip
                    found.append(curve)
    return found


def instants_of(results: Results, spec: FieldSpec) -> FloatArray:
    """Return the instants (n,) that the values of a field belong to [s]: the times of the frames, minus the
    delay of the field.
    """
    return results.times - delay_of(results.session, spec)


def delay_of(session: Session, spec: FieldSpec) -> float:
    """Return by how much the values of a field are later than their frames [s]: the delay that the session
    states of the filter of speeds, if the field passed it, as joint moments do; else 0.
    """
    value = next((other for other in session.fields if other.name == spec.of), spec)
    late = value.name == COORDINATES or value.meaning.partition(";")[0].endswith(INSTANT)
    late = late or value.meaning.endswith((FILTERED, INSTANT))
    return (filter_delay(session) or 0.0) if late else 0.0


def filter_delay(session: Session) -> float | None:
    """Return the delay of the filter of speeds that a session states [s]; None if it states none from 0 to
    DELAY_MOST_S.
    """
    rates = session.meta.get("rates")
    delays = rates.get("delay_s") if isinstance(rates, Mapping) else None
    delay = delays[0] if isinstance(delays, (list, tuple)) and delays else None
    known = isinstance(delay, (int, float)) and 0.0 <= delay <= DELAY_MOST_S
    return float(delay) if known and delay is not None else None


def strides_of(
    times: FloatArray, values: FloatArray, unsound: BoolArray, cycles: Sequence[GaitCycle]
) -> tuple[FloatArray, BoolArray]:
    """Return the values (n,) of a quantity over gait cycles, (n_stride, 101), and whether the frames on both
    sides of each point are free of flagged faults, (n_stride, 101).

    times : (n,) instants that the values belong to, as of `instants_of` [s]
    unsound : (n,) whether a frame is flagged
    """
    rows = [over_cycle(times, values, cycle.strike, cycle.end) for cycle in cycles]
    flags = [over_cycle(times, unsound.astype(np.float64), cycle.strike, cycle.end) for cycle in cycles]
    return np.array(rows), np.array(flags) == 0.0


def turned(results: Results, cycle: GaitCycle) -> float:
    """Return by how much the forward direction of the pelvis on the floor differs between the beginning and
    the end of a cycle [rad]; NaN = not known."""
    spec = next((spec for spec in results.session.fields if spec.name == "segment_positions"), None)
    if spec is None or ROOT not in spec.labels or "segment_rotations" not in results.fields:
        return math.nan
    axes = results.fields["segment_rotations"][:, spec.labels.index(ROOT)][:, [0, 2], 0]
    ends = over_cycle(results.times, axes, cycle.strike, cycle.end)[[0, -1]]
    headings = np.arctan2(ends[:, 1], ends[:, 0])
    return (
        abs(math.remainder(float(headings[1] - headings[0]), math.tau))
        if np.isfinite(headings).all()
        else math.nan
    )


def across(results: Results, cycle: GaitCycle) -> bool:
    """Return whether the pelvis, on average over a cycle, is rotated from the direction of walking by more
    than ACROSS_RAD, so that the person has turned a corner."""
    labels = next((spec.labels for spec in results.session.fields if spec.name == DIRECTED), ())
    if ROTATION not in labels:
        return False
    angle = results.fields[DIRECTED][:, labels.index(ROTATION)]
    course = over_cycle(results.times, angle, cycle.strike, cycle.end)
    known = course[np.isfinite(course)]
    return bool(len(known)) and abs(float(known.mean())) > ACROSS_RAD


def straight(results: Results, cycles: Sequence[GaitCycle]) -> tuple[list[GaitCycle], str]:
    """Select the cycles of straight walking, or all cycles if none is straight; also return a sentence on
    the other cycles.
    """
    turns = [c for c in cycles if turned(results, c) > TURN_RAD or across(results, c)]
    if not turns:
        return list(cycles), ""
    why = (
        f"the pelvis turns by more than {math.degrees(TURN_RAD):.0f} degrees in them, or faces more than "
        f"{math.degrees(ACROSS_RAD):.0f} degrees off the direction of walking"
    )
    if len(turns) == len(cycles):
        return list(cycles), f"all {len(cycles)} strides are turns ({why}); they are used nevertheless"
    kept = [cycle for cycle in cycles if cycle not in turns]
    return kept, f"{len(turns)} of {len(cycles)} strides left out, because {why}"
