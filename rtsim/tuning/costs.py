"""The cost of a setting of a device: published values, such as a joint angle, are each reduced to one number
over a movement cycle, and these are added with weights.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.tuning_schema import Channel, CostTerm, TuningSpec
from rtsim.errors import ConfigError
from streams.messages import FieldSpec

Array = NDArray[np.float64]
Buffers = Mapping[str, bytes | NDArray[np.float64]]

MISSING = 2.5
"""Ratio of the time between two frames, or two values of the event that begins cycles, to the usual one
between frames, above which some are missing, so that the cycle does not count."""
LEAST_FRAMES = 4
"""Least number of frames of a cycle."""
N_USUAL = 64
"""Number of steps between frames whose median is the usual one."""


class FieldEntry(NamedTuple):
    """Position of a published value in the frames: the field, and its index in the flattened field."""

    field: str
    entry: int

    def read(self, data: Buffers) -> float:
        """Return the value at this position in a frame."""
        return float(np.frombuffer(data[self.field])[self.entry])


def find(channel: Channel, fields: Sequence[FieldSpec], where: str = "tuning") -> FieldEntry:
    """Find where frames contain a published value that a config names by field, label and part; ConfigError
    if no field has it; where : place in the config, for errors
    """
    spec = next((field for field in fields if field.name == channel.field), None)
    if spec is None:
        raise _absent("no field", channel.field, [field.name for field in fields], where)
    n = spec.shape[0] if spec.shape else 1
    row = _chosen(channel.label, spec.labels, n, f"the field {channel.field} has no label", where)
    if len(spec.shape) <= 1:
        if channel.part:
            raise ConfigError(
                f"the field {channel.field} has no vector components (parts)",
                where=f"{where}.part",
                remedy="remove the key part",
            )
        return FieldEntry(channel.field, row)
    if len(spec.shape) != 2:
        raise ConfigError(
            f"the field {channel.field} contains neither numbers nor vectors", where=f"{where}.field"
        )
    column = _chosen(channel.part, spec.parts, spec.shape[1], f"the field {channel.field} has no part", where)
    return FieldEntry(channel.field, row * spec.shape[1] + column)


def _chosen(name: str, names: Sequence[str], n: int, what: str, where: str) -> int:
    if name in names:
        return list(names).index(name)
    if not name and n == 1:
        return 0
    raise _absent(what, name, names, where)


def _absent(what: str, name: str, names: Sequence[str], where: str) -> ConfigError:
    return ConfigError(
        f"{what} {name!r}", where=where, allowed=", ".join(names) or "none", remedy="correct the name"
    )


def places_of(spec: TuningSpec, fields: Sequence[FieldSpec]) -> tuple[list[FieldEntry], FieldEntry | None]:
    """Return where the frames of a run contain the values of all cost terms, and that value which begins a
    movement cycle when it rises above a threshold, or None if cycles have a fixed period.

    spec : the table [tuning] of a config; fields : fields of the frames
    """
    costs = [find(term, fields, f"tuning.costs[{k}]") for k, term in enumerate(spec.costs)]
    begins = spec.cycle.begins
    return costs, find(begins, fields, "tuning.cycle.begins") if begins else None


def reduced(term: CostTerm, values: Array, phases: Array) -> float:
    """Reduce the values of a cost term over one cycle to one number, such as their peak or RMS, without the
    term's weight; values : (n_frame,); phases : (n_frame,) - phase of the cycle, 0 to 1
    """
    if term.reduction == "peak":
        return float(np.abs(values).max())
    if term.reduction == "mean":
        return float(values.mean())
    if term.reduction == "from_target":
        at = np.arange(len(term.target) + 1) / len(term.target)
        values = values - np.interp(phases, at, (*term.target, term.target[0]))
    square = float((values**2).mean())
    return square if term.reduction == "mean_square" else math.sqrt(square)


class CycleCost:
    """The cost of one setting, computed from the frames of a run as they arrive.

    Parameters
    ----------
    spec : definition of the cost; fields : fields of the frames
    t_settled : time before which no cycle begins, so that the run has settled [s]

    Attributes
    ----------
    costs : costs of the complete cycles so far; n_broken : number of cycles that have no cost because frames
        or values are missing, those included whose beginning or end was not seen
    n_frame : number of frames so far, including those before the first cycle
    """

    def __init__(self, spec: TuningSpec, fields: Sequence[FieldSpec], t_settled: float) -> None:
        self.spec, self.t_settled = spec, t_settled
        self._places, self._event = places_of(spec, fields)
        self.costs: list[float] = []
        self.n_broken = self.n_frame = 0
        self._rows: list[tuple[float, ...]] = []  # time and numbers of this cycle; none before it begins
        self._from = math.nan  # where this cycle begins [s]
        self._before = math.nan
        self._below = False
        self._last = self._seen = math.nan  # newest frame, and newest one that could begin a cycle [s]
        self._unseen = 0.0  # longest time in this cycle between frames that could begin the next one [s]
        self._steps: deque[float] = deque(maxlen=N_USUAL)  # between frames [s]

    @property
    def done(self) -> bool:
        """Whether as many cycles are complete as the definition of the cost asks for."""
        return len(self.costs) >= self.spec.cycles

    @property
    def cost(self) -> float:
        """Mean cost over the cycles; NaN before the first one."""
        return float(np.mean(self.costs)) if self.costs else math.nan

    def add(self, time: float, data: Buffers) -> None:
        """Add a frame; time : model time [s]; data : values of its fields"""
        self.n_frame += 1
        if time >= self.t_settled and not self.done:
            self._use(time, data)
        if not math.isnan(self._last):
            self._steps.append(time - self._last)
        self._last = time

    def _use(self, time: float, data: Buffers) -> None:
        """Add a frame to its cycle, which may begin with it; time : model time [s]; data : values"""
        seen = self._seen
        if self._begins(time, data):
            self._close(time)
            late = self._lacks(time - seen)
            self.n_broken += late
            self._rows, self._from, self._unseen = [], math.nan if late else time, 0.0
        if not math.isnan(self._from):
            self._rows.append((time, *(place.read(data) for place in self._places)))

    def _lacks(self, gap_s: float) -> bool:
        """Return whether something is missing in a gap between two frames [s], by the usual step of the
        frames before. Without an earlier step this is not known, and counts as missing.
        """
        return not self._steps or gap_s > MISSING * float(np.median(list(self._steps)))

    def _begins(self, time: float, data: Buffers) -> bool:
        """Return whether a movement cycle begins with this frame, or has begun since the last frame that
        could tell (self._seen); then the previous cycle has ended.

        time : model time [s]; data : values of the frame's fields
        """
        cycle = self.spec.cycle
        if self._event is not None:
            value = self._event.read(data)
            if math.isnan(value):
                return False
            self._see(time)
            rises, self._below = self._below and value > cycle.above, value <= cycle.above
            return rises
        assert cycle.period_s is not None
        self._see(time)
        number = math.floor(time / cycle.period_s + 1e-6)
        rises = not math.isnan(self._before) and number > self._before
        self._before = number
        return rises

    def _see(self, time: float) -> None:
        """Note that a frame could tell whether a cycle begins; time : model time [s]"""
        if not math.isnan(self._seen):
            self._unseen = max(self._unseen, time - self._seen)
        self._seen = time

    def _close(self, time: float) -> None:
        """Finish the cycle that ends at a time [s], and store its cost."""
        if math.isnan(self._from):
            return
        rows = np.array(self._rows)
        # in a gap the event may have come and gone, and at the end of the cycle it came at an unknown time
        if len(rows) < LEAST_FRAMES or not np.isfinite(rows).all() or self._lacks(self._unseen):
            self.n_broken += 1
            return
        phases = (rows[:, 0] - rows[0, 0]) / (time - rows[0, 0])
        terms = zip(self.spec.costs, rows[:, 1:].T, strict=True)
        self.costs.append(sum(term.weight * reduced(term, values, phases) for term, values in terms))
