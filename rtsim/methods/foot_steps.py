"""The steps of a trial: which foot comes down on which force plate, from when to when, and whether wholly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.bearing import BEARS, TWO_FEET, UNSEEN
from kernels.plates import LOADED
from rtsim.errors import ConfigError
from rtsim.methods.plate_check import GRAVITY
from rtsim.methods.plate_loads import PlateLoads
from rtsim.subjects.subject import PERSON

Array = NDArray[np.float64]

SHORTEST = 0.2
"""A shorter contact is no step of a walk [s]."""
WHOLE = 0.06
"""Force at the end of a trial, in parts of the step's greatest, with which the step counts as complete."""
MOST_SHARED = 0.05
"""Part of a step's frames that may be doubtful: whose foot it is, or a second foot on the plate."""
FEET = ("right", "left")


class FootStep(NamedTuple):
    """One contact of a foot with one plate.

    plate : index of the plate
    foot : 0 the right, 1 the left one by its labels; -1 = no foot is known to bear it
    first, last : frames of the markers, both included
    fault : what is wrong with it, a sentence; "" = complete
    """

    plate: int
    foot: int
    first: int
    last: int
    fault: str


def find_steps(loads: PlateLoads, names: Sequence[str]) -> list[FootStep]:
    """All contacts that last like those of a step, in the order in which they begin.

    names : of the plates
    """
    steps = []
    for p, run in contacts_of(loads):
        if loads.times[run[-1]] - loads.times[run[0]] >= SHORTEST:
            steps.append(_judge(loads, p, names[p], run))
    return sorted(steps, key=lambda step: step.first)


def contacts_of(loads: PlateLoads) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Plate and frames of each contact, however short."""
    for p in range(loads.loaded.shape[1]):
        on = np.flatnonzero(loads.loaded[:, p] == LOADED)
        runs = np.split(on, np.flatnonzero(np.diff(on) > 1) + 1)
        yield from ((p, run) for run in runs if len(run))


def _judge(loads: PlateLoads, p: int, name: str, run: NDArray[np.int64]) -> FootStep:
    """The contact of these frames."""
    borne = (loads.share[run, p] == BEARS).sum(axis=0)
    foot = int(np.argmax(borne)) if borne.any() else -1
    two = int(((loads.status[run, p] & TWO_FEET) != 0).sum())
    unseen = int(((loads.status[run, p] & UNSEEN) != 0).sum())
    normal = loads.force[run, p, 1]
    small = WHOLE * float(normal.max())
    fault, most = "", MOST_SHARED * len(run)
    if run[0] == 0 and normal[0] > small:
        fault = f"the trial begins while {name} bears {normal[0]:.0f} N: the step is cut"
    elif run[-1] == len(loads.times) - 1 and normal[-1] > small:
        fault = f"the trial ends while {name} bears {normal[-1]:.0f} N: the step is cut"
    elif two > most:
        fault = f"two feet are on {name} in {two} of {len(run)} frames"
    elif unseen > most:
        fault = f"a foot is not seen in {unseen} of {len(run)} frames in which {name} is pressed"
    elif foot < 0 or len(run) - borne[foot] > most:
        other = int(len(run) - borne.max(initial=0))
        fault = f"{name} is pressed where the foot is not in {other} of {len(run)} frames"
    return FootStep(p, foot, int(run[0]), int(run[-1]), fault)


def body_weight(loads: PlateLoads, mass: float | None, source: str) -> float:
    """Weight of the person [N]: of the mass [kg], or the mean force over strides that are wholly on plates.

    From the second of four contacts in succession to the fourth is a stride, and the foot before the second
    is measured as well. ConfigError naming `source` where there is neither.
    """
    if mass is not None:
        return mass * GRAVITY
    onsets = sorted(int(run[0]) for _, run in contacts_of(loads) if run[0] > 0)
    spans = [(onsets[k + 1], onsets[k + 3]) for k in range(len(onsets) - 3)]
    if not spans:
        raise ConfigError(
            f"the weight is not known: {len(onsets)} contacts begin on plates, and a stride with the foot "
            "before it takes four",
            where=source,
            remedy="give --mass",
        )
    total = np.nansum(loads.force[..., 1], axis=1)
    weight = float(np.mean([total[first:last].mean() for first, last in spans]))
    least, most = (kg * GRAVITY for kg in PERSON["mass_kg"])
    if not least <= weight <= most:
        raise ConfigError(
            f"the plates bear {weight:.4g} N over whole strides, which nobody weighs", where=source,
            allowed=f"{least:.0f} to {most:.0f} N", remedy="check the unit of the forces, or give --mass",
        )  # fmt: skip
    return weight


def usable(steps: Sequence[FootStep]) -> list[FootStep]:
    """Those that are complete."""
    return [step for step in steps if not step.fault]
