"""The footsteps of a trial. A footstep is one contact of a foot with a force plate: which foot, which plate,
first and last frame, and whether the contact is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS, TWO_FEET, UNSEEN
from kernels.plates.plate_contact import EMPTY, LOADED, NOT_MEASURED
from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import MOST_DRIFT
from rtsim.methods.gait_phase import STRIDE_S
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.methods.plates.plate_loads import PlateLoads
from rtsim.subjects.subject import PERSON

Array = NDArray[np.float64]

SHORTEST = 0.2
"""A shorter contact is no step of a walk [s]."""
WHOLE = 0.06
"""Force at the beginning or end of a trial or of its forces, as a fraction of the step's peak force, up to
which the step counts as complete."""
MOST_SHARED = 0.05
"""Largest fraction of a step's frames in which the foot is not known, or a second foot is on the plate."""
CONTACTS = 4
"""Number of successive footsteps on plates that show a whole stride."""
FEET = ("right", "left")


class FootStep(NamedTuple):
    """One contact of a foot with one plate.

    plate : index of the plate
    foot : 0 = right, 1 = left, by the marker labels; -1 = it is not known which foot loads the plate
    first, last : frames of the markers, both included
    fault : why it is unusable, in words; "" = complete
    """

    plate: int
    foot: int
    first: int
    last: int
    fault: str


def find_steps(loads: PlateLoads, names: Sequence[str]) -> list[FootStep]:
    """Find all contacts of feet with plates that last at least SHORTEST (0.2 s), as a step does, in the order
    of their beginnings.

    names : names of the plates
    """
    steps = []
    for p, run in contacts_of(loads):
        if loads.times[run[-1]] - loads.times[run[0]] >= SHORTEST:
            steps.append(_judge(loads, p, names[p], run))
    return sorted(steps, key=lambda step: step.first)


def contacts_of(loads: PlateLoads) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the plate and the frames of each period in which a plate is loaded, however short; frames with
    unknown force within it are included.
    """
    for p in range(loads.loaded.shape[1]):
        on = np.flatnonzero(loads.loaded[:, p] == LOADED)
        lifted = np.cumsum(loads.loaded[:, p] == EMPTY)[on]
        runs = np.split(on, np.flatnonzero(np.diff(lifted) > 0) + 1)
        yield from ((p, np.arange(run[0], run[-1] + 1)) for run in runs if len(run))


def _judge(loads: PlateLoads, p: int, name: str, run: NDArray[np.int64]) -> FootStep:
    """Return the contact of a foot with plate p, called `name`, over the frames `run` of the markers; its
    `fault` describes in words everything that makes it unusable.
    """
    borne, foot = (loads.share[run, p] == BEARS).sum(axis=0), foot_of(loads, p, run)
    two = int(((loads.status[run, p] & TWO_FEET) != 0).sum())
    unseen = int(((loads.status[run, p] & UNSEEN) != 0).sum())
    most = MOST_SHARED * len(run)
    faults = _cut(loads, p, name, run)
    unknown = loads.times[run[loads.loaded[run, p] != LOADED]]
    if len(unknown):
        faults.append(f"the force on {name} is not known at {_span(unknown)}")
    if two > most:
        faults.append(f"two feet are on {name} in {two} of {len(run)} frames")
    elif unseen > most:
        faults.append(f"a foot is not visible in {unseen} of {len(run)} frames in which {name} is loaded")
    elif not len(unknown) and (foot < 0 or len(run) - borne[foot] > most):
        other = int(len(run) - borne.max(initial=0))
        faults.append(
            f"the centre of pressure of {name} is not under the foot in {other} of {len(run)} frames"
        )
    return FootStep(p, foot, int(run[0]), int(run[-1]), "; ".join(faults))


def foot_of(loads: PlateLoads, p: int, run: NDArray[np.int64]) -> int:
    """Return the foot that loads plate p in most of the frames `run`: 0 = right, 1 = left, -1 = none does."""
    borne = (loads.share[run, p] == BEARS).sum(axis=0)
    return int(np.argmax(borne)) if borne.any() else -1


def _cut(loads: PlateLoads, p: int, name: str, run: NDArray[np.int64]) -> list[str]:
    """Return sentences on why the contact of a foot with plate p, called `name`, is incomplete: the trial, or
    the known forces, begin or end during it. run : the frames of the contact
    """
    first, last = int(run[0]), int(run[-1])
    normal, known = loads.force[:, p, 1], np.flatnonzero(loads.loaded[:, p] != NOT_MEASURED)
    small = WHOLE * float(np.nanmax(normal[run]))
    faults = []
    for at, before, end, said in ((first, first - 1, known[0], "begin"), (last, last + 1, known[-1], "end")):
        if normal[at] <= small:
            continue
        bears = f"while {name} bears {normal[at]:.0f} N, so the footstep is incomplete"
        if not 0 <= before < len(loads.times):
            faults.append(f"the trial {said}s {bears}")
        elif loads.loaded[before, p] == NOT_MEASURED:
            if at == end:
                faults.append(f"the forces {said} at {loads.times[at]:.2f} s {bears}")
            else:
                faults.append(
                    f"the force is not known at {loads.times[before]:.2f} s, one frame "
                    f"{'before' if before < at else 'after'} a frame in which {name} bears "
                    f"{normal[at]:.0f} N, so the footstep is incomplete"
                )
    return faults


def _span(times: Array) -> str:
    """Return the first and the last of some times as text."""
    first, last = f"{times[0]:.2f}", f"{times[-1]:.2f}"
    return f"{first} s" if first == last else f"{first} to {last} s"


def body_weight(loads: PlateLoads, mass: float | None, source: str) -> tuple[float, str]:
    """Return the weight of the person [N] and its source in words.

    It is computed from the mass [kg] if that is given, else from the mean force over strides that are
    completely on plates.

    A stride lasts from the second to the fourth of four successive contacts, so that the foot that still
    stands at the beginning of the second contact is measured as well. Strides with unknown forces are left
    out, as the unknown forces would count as zero, and so are four contacts that are not of one walk over the
    plates. Raises ConfigError that names `source` if there is neither
    a mass nor such a stride.
    """
    if mass is not None:
        return mass * GRAVITY, "from the mass given by --mass"
    missing = loads.loaded == NOT_MEASURED
    used = ~missing.all(axis=0)  # a plate that measured nothing does not count
    gaps = missing[:, used].any(axis=1)
    onsets = _onsets(loads)
    spans = _strides(loads, onsets, gaps)
    whole = [(first, last) for first, last in spans if not gaps[first:last].any()]
    if not whole:
        if spans:
            lacking = f"the forces are not known throughout any of the {len(spans)} strides"
        elif len(onsets) < CONTACTS:
            lacking = f"only {len(onsets)} footsteps begin on plates, and a whole stride needs four"
        else:
            lacking = (
                f"of {len(onsets)} footsteps that begin on plates no four follow each other as in a walk: "
                f"right and left in turn, the plates unloaded for less than {SHORTEST:g} s at a time, and "
                f"each stride within {STRIDE_S[1]:g} s"
            )
        raise ConfigError(f"the weight is not known: {lacking}", where=source, remedy="give --mass")
    total = np.nansum(loads.force[:, used, 1], axis=1)
    weight = float(np.mean([total[first:last].mean() for first, last in whole]))
    least, most = (kg * GRAVITY for kg in PERSON["mass_kg"])
    if not least <= weight <= most:
        raise ConfigError(
            f"the plates bear {weight:.4g} N over whole strides, which cannot be the weight of a person",
            where=source,
            allowed=f"{least:.0f} to {most:.0f} N", remedy="check the unit of the forces, or give --mass",
        )  # fmt: skip
    n_left, n_other = len(spans) - len(whole), len(onsets) - CONTACTS + 1 - len(spans)
    left = f"; left out for unknown forces: {n_left}" if n_left else ""
    left += f"; left out because the person turned or stepped off the plates: {n_other}" if n_other else ""
    return weight, f"from the forces of {len(whole)} whole stride{'s'[: len(whole) > 1]}{left}"


def _onsets(loads: PlateLoads) -> list[tuple[int, int]]:
    """Return the first frame and the foot (-1 = unknown) of each footstep that begins on a plate, in the
    order of time; what is too short for a step, or loaded by no foot, such as noise of an empty plate, is
    none, unless the trial ends during it and somebody stands on the plate.
    """
    found = []
    for p, run in contacts_of(loads):
        before, foot = run[0] - 1, foot_of(loads, p, run)
        if before < 0 or loads.loaded[before, p] == NOT_MEASURED:
            continue
        lasts = foot >= 0 and loads.times[run[-1]] - loads.times[run[0]] >= SHORTEST
        ends = run[-1] == len(loads.times) - 1 and float(np.nanmax(loads.force[run, p, 1])) > MOST_DRIFT
        if lasts or ends:
            found.append((int(run[0]), foot))
    return sorted(found)


def _strides(
    loads: PlateLoads, onsets: Sequence[tuple[int, int]], gaps: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Return the first and the last frame of each stride from the second to the fourth of four footsteps, if
    right and left follow each other, the stride is not too long, and the plates bear nothing only as briefly
    as in the flights of a run. Otherwise the person turned round, or stepped beside the plates.

    onsets : of `_onsets`; gaps : (n,) whether the force on a plate is unknown
    """
    away = _away(loads, gaps)
    found = []
    for k in range(len(onsets) - CONTACTS + 1):
        rows, feet = zip(*onsets[k : k + CONTACTS], strict=True)
        first, last = rows[1], rows[3]
        alternate = all(a != b for a, b in pairwise(feet))
        lasts = loads.times[last] - loads.times[first]
        # a frame earlier as well, in which the first of the four still bears, or a flight is
        if alternate and STRIDE_S[0] <= lasts <= STRIDE_S[1] and not away[first - 1 : last].any():
            found.append((first, last))
    return found


def _away(loads: PlateLoads, gaps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether the person may be beside the plates in each frame (n,): no plate bears anything for as
    long as a step lasts, SHORTEST, or longer.

    gaps : (n,) whether the force on a plate is unknown
    """
    off = ~gaps & ~(loads.loaded == LOADED).any(axis=1)
    away = np.zeros(len(off), np.bool_)
    rows, end = np.flatnonzero(off), len(off) - 1
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else []:
        before, after = max(run[0] - 1, 0), min(run[-1] + 1, end)
        away[run] = loads.times[after] - loads.times[before] >= SHORTEST
    return away


def usable(steps: Sequence[FootStep]) -> list[FootStep]:
    """Return the complete steps among `steps`."""
    return [step for step in steps if not step.fault]
