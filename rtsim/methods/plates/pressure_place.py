"""Detection of a constant offset of the centre of pressure, of one plate or of all plates.

There are two sources of evidence. First, a foot rolls over its plate from the heel to the toes, so the path
of the centre of pressure has a usual position across and along the foot. Persons deviate from it with both
feet or with one foot, for example by a foot in varus, a forefoot strike or a displaced toe marker. Second, a
displaced force changes the moment on the whole body, so the residual moment at the root shows the offset of
one plate relative to the others. The contribution of unmarked trunk and arms to this moment is the same for
all plates.

The model is linear: observations = offset + common terms + error. Offsets of one plate and of all are each
estimated by weighted least squares, and the most likely one is reported if it explains far more than the
errors. If the person walks over the plates in one direction only, a common offset of all plates cannot be
distinguished from individual deviations of the feet. It is therefore only reported if the person has walked
in several directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS, OFF_PLATE
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.files.recording import Results
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.methods.plates.plate_residual import Momentum, labels_of, momentum_of, size
from rtsim.subjects.markers.labs import SIDES
from streams.messages import Status

Array = NDArray[np.float64]
UP = np.array([0.0, 1.0, 0.0])
FLOOR = (0, 2)
"""Horizontal axes in ground: X and Z."""

PRESSED = 0.1
"""Smallest load of a frame that is used, in body weights: with less the centre of pressure is uncertain."""
LEAST_FRAMES = 10
KNOWN = 0.9
"""Fraction of the frames of a step in which the foot has to be visible."""
AT_FAULT = int(Status.DEGRADED | Status.SUSPECT | Status.IMPLAUSIBLE | Status.NOT_CONVERGED)
"""Status bits with which a foot is not used as evidence."""
ROLLS = 0.6
"""The path of the centre of pressure along the foot must be at least this fraction of the distance from ankle
to toes."""
EDGES = (2.0, 98.0)
"""Percentiles of the centre of pressure along the foot that are taken as begin and end of its path."""
USUAL = np.array([-0.003, -0.015])
"""Usual position of the centre of pressure, `outwards` and `ahead` as in PressedStep [m]: means of 20 steps
of six persons in five laboratories."""
HABIT = np.array([0.009, 0.013])
"""Standard deviations of this position between the same persons and marker sets [m]."""
OWN = np.array([0.015, 0.015])
"""Standard deviations of this position between the feet of a person [m], so that left and right differ by
21 mm: a choice, as all of the persons above are healthy."""
ANY = np.array([1.0, 1.0])
"""Standard deviations for both if the usual position is not used as evidence [m]."""
STEP = np.array([0.007, 0.008])
"""Standard deviations of this position between single steps of one foot [m]."""
TURNS, TURNS_ABSENT = 0.010, 0.020
"""Standard deviations of offsets from the residual moment at the root [m]: with a model of the whole body,
and with one that lacks body parts."""
COMMON = 0.05
"""Standard deviation of the offset of all plates that unmodelled motion of trunk and arms causes [m]."""
EXPLAINS = 16.0
"""Reduction of the sum of squared errors, divided by their variances, from which an offset is reported. By
chance it occurs in one of 3000 recordings (chi-squared, two degrees of freedom)."""
LEAST = 0.02
"""Smallest offset that is reported [m]: skin motion and marker placement cause as much."""


class PressedStep(NamedTuple):
    """A step of one foot on one plate, with the position of the centre of pressure under the foot.

    plate : index of the plate
    foot : 0 = right, 1 = left
    outwards : mean distance of the centre of pressure from the line between ankle and tip of the toes,
        positive on the lateral side [m]
    ahead : distance of the middle of its path in front of the middle of this line [m]
    across, along : (2,) lateral and forward direction of the foot in ground, X and Z
    """

    plate: int
    foot: int
    outwards: float
    ahead: float
    across: Array
    along: Array


class Displacement(NamedTuple):
    """A constant offset of the centre of pressure.

    plate : -1 = all plates
    shift : (2,) offset along X and Z of ground [m]
    gain : how much correcting the offset reduces the sum of squared errors, where each error is divided by
        its standard deviation
    """

    plate: int
    shift: Array
    gain: float


def judge_places(results: Results, mass: float, residual: dict[str, Any] | None) -> dict[str, Any] | None:
    """Find the most likely offset of the centre of pressure in walking; None without a complete step.

    mass : of the person [kg]
    residual : result of plate_residual.judge_residual; if it names a mistake, such as a wrong gain of a plate
        or a wrong mass, moments at the root are not used
    Returns plate (its name, "all plates", or "" for none), shift_m (along X and Z of ground) and a sentence.
    """
    steps = steps_of(results, mass)
    if not steps:
        return None
    sound = residual is not None and not residual["mistake"]
    turned = turned_by(results, momentum_of(results, mass) if sound else None, mass)
    found = max(displacements(steps, turned), key=lambda one: one.gain)
    off = float(np.linalg.norm(found.shift))
    if found.gain < EXPLAINS or off < LEAST:
        return {"plate": "", "shift_m": [0.0, 0.0], "sentence": ""}
    one = found.plate >= 0
    whose = labels_of(results, "plate_forces")[found.plate] if one else "all plates"
    x, z = 1e3 * found.shift
    said = (
        f"the centre of pressure of {whose} is shifted by {1e3 * off:.0f} mm from the place that the "
        f"markers of the feet show ({x:+.0f} mm along X, {z:+.0f} mm along Z of ground), so joint moments "
        f"may be off: check the corners, ORIGIN and moments of {'this plate' if one else 'the plates'}, and "
        "that plates and markers have the same laboratory origin; other possible causes: "
        + ("the foot on it rolls" if one else "the feet roll")
        + f" over unusually, or {'its' if one else 'their'} "
        "ankle and toe markers are in wrong places"
    )
    return {"plate": whose, "shift_m": found.shift.tolist(), "sentence": said}


def steps_of(results: Results, mass: float) -> list[PressedStep]:
    """Return the position of the centre of pressure under the foot in each complete step of one foot on one
    plate in which no fault is flagged."""
    fields, centres = results.fields, labels_of(results, "joint_centres")
    needed = ("plate_centres", "plate_shares", "plate_forces", "plate_status", "segment_status")
    if any(name not in fields for name in needed):
        return []
    segments, bits = labels_of(results, "segment_status"), fields["segment_status"].astype(np.int64)
    told, heavy = fields["plate_centres"], PRESSED * mass * GRAVITY
    found = []
    for side, suffix in SUFFIXES.items():
        names = [f"{joint}{suffix}" for joint in ("ankle", "toe")]
        if f"foot{suffix}" not in segments or any(name not in centres for name in names):
            continue
        a, t = (fields["joint_centres"][:, centres.index(name)] for name in names)
        sound = (bits[:, segments.index(f"foot{suffix}")] & AT_FAULT) == 0
        sound &= np.isfinite(a + t).all(axis=1)
        for p in range(told.shape[1]):
            load, share = np.nan_to_num(fields["plate_forces"][:, p, 1]), fields["plate_shares"][:, p]
            own = SIDES.index(side)
            alone = sound & (share[:, own] == BEARS) & (share[:, 1 - own] != BEARS)
            alone &= (fields["plate_status"][:, p].astype(np.int64) & OFF_PLATE) == 0
            alone &= np.isfinite(told[:, p]).all(axis=1)
            for rows in whole(load > heavy, alone):
                step = pressed(p, own, told[rows, p] - a[rows], (t - a)[rows], load[rows])
                found += [step] if step is not None else []
    return found


def whole(loaded: NDArray[np.bool_], known: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Return the frames of each period in which a plate is loaded without interruption, where the foot is
    visible. Left out are periods that begin or end outside the recording, and those in which the foot is not
    visible at both ends and nearly all the time in between.

    loaded, known : (n,) whether the plate is loaded, and whether the foot is visible
    """
    edges = np.flatnonzero(np.diff(loaded.astype(np.int64)))
    spells = [(int(a) + 1, int(b) + 1) for a, b in pairwise(edges) if loaded[a + 1]]
    rows = [
        a + np.flatnonzero(known[a:b])
        for a, b in spells
        if known[a] and known[b - 1] and known[a:b].mean() >= KNOWN
    ]
    return [spell for spell in rows if len(spell) >= LEAST_FRAMES]


def pressed(p: int, foot: int, at: Array, line: Array, load: Array) -> PressedStep | None:
    """Return the footstep of one foot on one plate.

    foot : 0 = right, 1 = left
    at : (n, 3) - centre of pressure relative to the ankle [m]
    line : (n, 3) - tip of the toes relative to the ankle [m]
    load : (n,) - normal force [N]

    Returns None if the centre of pressure does not move along the foot, as in standing.
    """
    forward = line * (1.0 - UP)
    length = np.linalg.norm(forward, axis=1)
    forward /= length[:, None]
    side = (1.0 - 2.0 * foot) * np.cross(forward, UP)
    way = (at * forward).sum(axis=1)
    begin, end = np.percentile(way, EDGES)
    reach = float(np.median(length))
    if end - begin < ROLLS * reach:
        return None
    outwards = float(np.average((at * side).sum(axis=1), weights=load))
    ahead = 0.5 * float(begin + end - reach)
    across, along = (way.mean(axis=0)[list(FLOOR)] for way in (side, forward))
    return PressedStep(plate=p, foot=foot, outwards=outwards, ahead=ahead, across=across, along=along)


def turned_by(results: Results, found: Momentum | None, mass: float) -> tuple[dict[int, Array], float]:
    """Find the offset (2,) of the centre of pressure of each loaded plate that minimises the residual moment
    at the root. Return the offsets by plate, and their standard deviation [m]; {} and infinity if they are
    unknown.
    """
    if found is None:
        return {}, np.inf
    moment = results.fields["residual_moment"][found.rows]
    known = np.isfinite(moment).all(axis=1)
    borne = found.borne[:, known]
    loaded = [p for p in range(len(borne)) if borne.shape[1] and size(borne[p]) > PRESSED]
    if len(loaded) < 2:
        return {}, np.inf
    columns = [-np.cross(np.eye(3)[axis], borne[p])[:, list(FLOOR)].ravel() for p in loaded for axis in FLOOR]
    shifts, *_ = np.linalg.lstsq(np.array(columns).T, moment[known][:, list(FLOOR)].ravel(), rcond=None)
    absent = 1.0 - float(results.session.meta.get("model_mass_kg", mass)) / mass
    sigma = TURNS_ABSENT if absent > 0.05 else TURNS
    return dict(zip(loaded, shifts.reshape(-1, 2), strict=True)), sigma


def displacements(steps: list[PressedStep], turned: tuple[dict[int, Array], float]) -> Iterator[Displacement]:
    """Yield the possible offsets of the centre of pressure, of each loaded plate and of all plates, with the
    reduction of the squared errors by each.

    turned : offsets of each plate from the residual moment at the root, and their standard deviation [m]
    """
    pressed_plates = sorted({step.plate for step in steps})
    for plate, moved in [(p, (p,)) for p in pressed_plates] + [(-1, tuple(pressed_plates))]:
        habits = (HABIT, OWN) if plate >= 0 else (ANY, ANY)
        shift, left = solved(steps, turned, moved, habits)
        yield Displacement(plate, shift, solved(steps, turned, (), habits)[1] - left)


def solved(
    steps: list[PressedStep],
    turned: tuple[dict[int, Array], float],
    moved: tuple[int, ...],
    habits: tuple[Array, Array],
) -> tuple[Array, float]:
    """Estimate a common offset (2,) of the plates with the indices `moved` by weighted least squares; return
    it and the remaining weighted sum of squared errors.

    turned : offsets of each plate from the residual moment at the root, and their deviation, as from
        `turned_by`
    habits : standard deviations (2,) [m], outwards and ahead, of the deviations from the usual path that both
        feet share, and of those of a single foot

    Unknowns, of two components each, are the offset; a term (X, Z) that all offsets in `turned` share; and
    the deviations (outwards, ahead) from the usual path of both feet together, of the right foot, and of the
    left foot.
    """
    shared, *own = (slice(k, k + 2) for k in (4, 6, 8))
    rows, values = [], []
    for where, mean, deviation in (
        (slice(2, 4), np.zeros(2), np.full(2, COMMON)),
        (shared, USUAL, habits[0]),
        *((foot, np.zeros(2), habits[1]) for foot in own),
    ):
        row = np.zeros((2, 10))
        row[:, where] = np.diag(1.0 / deviation)
        rows.append(row)
        values.append(mean / deviation)
    for step in steps:
        row = np.zeros((2, 10))
        row[:, :2] = float(step.plate in moved) * np.stack([step.across, step.along])
        row[:, shared] = row[:, own[step.foot]] = np.eye(2)
        rows.append(row / STEP[:, None])
        values.append(np.array([step.outwards, step.ahead]) / STEP)
    shifts, sigma = turned
    for p, shift in shifts.items():
        row = np.zeros((2, 10))
        row[:, :2], row[:, 2:4] = float(p in moved) * np.eye(2), np.eye(2)
        rows.append(row / sigma)
        values.append(shift / sigma)
    matrix, told = np.concatenate(rows), np.concatenate(values)
    if not moved:
        matrix = matrix[:, 2:]
    found, *_ = np.linalg.lstsq(matrix, told, rcond=None)
    left = told - matrix @ found
    return found[:2] if moved else np.zeros(2), float(left @ left)
