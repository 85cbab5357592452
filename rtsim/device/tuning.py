"""Parameters that are changed during a run: within declared ranges, by ramps, with undo and snapshots."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

OVER_S = "over_s"
LONGEST_RAMP_S = 60.0
LEAST_RAMP_S = 0.05
"""Shortest duration of a change while torque is commanded, even if a shorter one is requested [s]."""
MOST_UNDONE, MOST_SNAPSHOTS, LONGEST_NAME = 64, 16, 32
ROUNDED_S = 1e-9

Values = dict[str, float]


class Tuning:
    """Parameters of a run, each on a ramp to its target value.

    A command starts a ramp, from the present value, for each parameter whose target it changes; all others
    are unaffected.

    Parameters
    ----------
    values : values at the start
    ranges : allowed ranges of the parameters that may be set, ends included
    over_s : duration of a change, if the command does not state one [s]

    Attributes
    ----------
    values : values in this tick
    targets : values at the ends of the ramps
    snapshots : stored sets of values by name
    """

    def __init__(self, values: Values, ranges: Mapping[str, tuple[float, ...]], over_s: float) -> None:
        self.values, self.targets = dict(values), dict(values)
        self.ranges, self.over_s = dict(ranges), over_s
        self.snapshots: dict[str, Values] = {"start": dict(values)}
        self._undo: deque[Values] = deque(maxlen=MOST_UNDONE)
        self._left_s: Values = {}  # of the ramps that are not over [s]

    def listed(self) -> str:
        """Return a sentence with the target value and the range of each parameter, and the names of the
        snapshots.
        """
        told = []
        for name, value in self.targets.items():
            low, high = self.ranges.get(name, (value, value))
            told.append(f"{name} = {value:g} ({f'{low:g} to {high:g}' if low < high else 'fixed'})")
        return f"{', '.join(told)}; snapshots: {', '.join(self.snapshots)}."

    def refusal(self, name: str, args: Mapping[str, Any]) -> str:
        """Return a sentence on why a command cannot be carried out; empty if it can."""
        if not 0.0 <= number_of(args.get(OVER_S, self.over_s)) <= LONGEST_RAMP_S:
            return (
                f"{OVER_S} = {args[OVER_S]!s:.32} is not the duration of a change; allowed: 0 to "
                f"{LONGEST_RAMP_S:g}."
            )
        if name == "undo":
            return "" if self._undo else "There is no change of parameters to undo."
        if name in ("save", "switch"):
            return self._of_snapshot(name, args.get("name"))
        asked = [key for key in args if key != OVER_S]
        if not asked:
            return f"No parameter is given; those that can be set: {', '.join(self.ranges) or 'none'}."
        for key in asked:
            if key not in self.ranges:
                return (
                    f"{key!r} cannot be set; parameters that can be set: {', '.join(self.ranges) or 'none'}."
                )
            low, high = self.ranges[key]
            if not low <= number_of(args[key]) <= high:
                return f"{key} = {args[key]!s:.32} cannot be set; allowed: {low:g} to {high:g}."
        return ""

    def apply(self, name: str, args: Mapping[str, Any], least_s: float = LEAST_RAMP_S) -> str:
        """Carry out a command that was not refused; return a sentence on what was done.

        name, args : name and arguments of the command
        least_s : shortest permitted duration of the change [s]; it is less than 0.05 s only while no torque
            is commanded
        """
        if name == "save":
            self.snapshots[args["name"]] = dict(self.targets)
            return f"The parameters are kept as the snapshot {args['name']}."
        before = dict(self.targets)
        if name == "undo":
            self.targets = self._undo.pop()
        else:
            self._undo.append(before)
            new = self.snapshots[args["name"]] if name == "switch" else {
                key: number_of(value) for key, value in args.items() if key != OVER_S
            }  # fmt: skip
            self.targets = before | new
        over_s = number_of(args.get(OVER_S, self.over_s))
        changed = [key for key, value in self.targets.items() if value != before[key]]
        if not changed:
            return "The parameters are unchanged."
        for key in changed:
            self._left_s[key] = max(over_s, least_s)
        told = ", ".join(f"{key} {before[key]:g} -> {self.targets[key]:g}" for key in changed)
        least = f"; this time was extended to {least_s:g} s, the shortest allowed" if over_s < least_s else ""
        return f"Parameters change: {told}, over {over_s:g} s{least}."

    def tick(self, tick_s: float) -> None:
        """Advance the ramps by this time [s]."""
        for name, left_s in list(self._left_s.items()):
            target = self.targets[name]
            if left_s - tick_s > ROUNDED_S:
                self.values[name] += (target - self.values[name]) * tick_s / left_s
                self._left_s[name] = left_s - tick_s
            else:
                self.values[name] = target
                del self._left_s[name]

    def _of_snapshot(self, name: str, asked: object) -> str:
        if not isinstance(asked, str) or not 0 < len(asked) <= LONGEST_NAME or not asked.isprintable():
            return f"Give name=NAME, at most {LONGEST_NAME} characters."
        if name == "switch" and asked not in self.snapshots:
            return f"There is no snapshot {asked!r}; there are {', '.join(self.snapshots)}."
        if name == "save" and asked not in self.snapshots and len(self.snapshots) >= MOST_SNAPSHOTS:
            return f"There are {MOST_SNAPSHOTS} snapshots already; save over one of them."
        return ""


def number_of(value: object) -> float:
    """Convert a client's value, a number or a text, to a number; NaN if it is neither a number nor the text
    of one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
