"""The result of every reader of force plates: wrenches in ground, and centres of pressure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_contact import Plates, contacts
from kernels.plates.plate_limits import GREATEST, THRESHOLD
from rtsim.errors import ConfigError
from rtsim.files.markers.ground import check_clock
from rtsim.files.markers.trial import count_of, name_some

FloatArray = NDArray[np.float64]

MOST_DRIFT = 50.0
"""Largest force of an empty plate [N]; a larger one means that somebody stands on the plate."""
DROPPED_FROM, LONGEST_DROP = 200.0, 0.03
"""A force that falls from at least DROPPED_FROM [N] to 0 and returns within LONGEST_DROP [s] was not measured
meanwhile: the flight phase of a leap is longer.
"""
CLEAR = 100.0
"""Normal force above which a plate itself shows whether its forces point up [N]."""
SMALLEST_EDGE = 0.05
"""Smallest edge of a plate [m]; corners that are closer together are not valid."""


class ForceTrial(NamedTuple):
    """Force plates of one recording in ground (Y up, right-handed): the forces that act on the person.

    names : n_plate unique names
    times : (n,) float64 - time of each sample [s], strictly increasing, on the clock of the markers' times
    rate : nominal rate [Hz]
    plates : positions of the plates, for the kernels
    corners : (n_plate, 4, 3) float64 corners of the surfaces [m]; NaN if the file does not state them
    force : (n, n_plate, 3) float64 [N]; NaN = missing
    moment : (n, n_plate, 3) float64 moment about the ground origin [N m]; NaN = missing
    centre : (n, n_plate, 3) float64 - centre of pressure on the surface [m]; NaN without contact
    free_moment : (n, n_plate) float64 moment about the surface's normal (up) through the centre of pressure
        [N m]; NaN without contact
    loaded : (n, n_plate) int64: 1 = loaded, 0 = empty, -1 = not measured
    zero : (n_plate, 6) float64 offset of each force and moment that taring has subtracted [N, N m]
    source : the file the trial came from
    notes : sentences on everything that was converted, assumed, dropped or repaired
    origins : (n_plate, 3) float64 vector from the plate's measuring origin to the middle of its surface, in
        ground, by which its moments were shifted [m]; NaN if they were not; None = for no plate
    """

    names: tuple[str, ...]
    times: FloatArray
    rate: float
    plates: Plates
    corners: FloatArray
    force: FloatArray
    moment: FloatArray
    centre: FloatArray
    free_moment: FloatArray
    loaded: NDArray[np.int64]
    zero: FloatArray
    source: str
    notes: tuple[str, ...] = ()
    origins: FloatArray | None = None


class RawForces(NamedTuple):
    """Forces from a file, in ground axes, metres and newtons, before contacts are found.

    names, times, rate, source, notes : names of the plates, times of the samples [s], rate [Hz], file, notes
    corners : (n_plate, 4, 3) [m]; NaN if the file does not state them
    force, moment : (n, n_plate, 3) force [N] and moment about the ground origin [N m]; NaN = missing
    level : (n_plate,) float64 height of the surface if corners do not state it [m]
    zero : (n_plate, 6) offsets that taring has subtracted [N, N m]; None = nothing was subtracted
    origins : (n_plate, 3) vectors by which moments were shifted [m], from the plate's measuring origin to the
        middle of its surface; None = for no plate
    """

    names: tuple[str, ...]
    times: FloatArray
    rate: float
    corners: FloatArray
    level: FloatArray
    force: FloatArray
    moment: FloatArray
    source: str
    notes: tuple[str, ...]
    zero: FloatArray | None = None
    origins: FloatArray | None = None


def force_trial(raw: RawForces, threshold: float = THRESHOLD, or_else: str = "") -> ForceTrial:
    """Find when each plate is loaded, and return the forces as a trial. Forces that push the person down are
    reversed, which is reported.

    threshold : smallest normal force that counts as a load [N]
    or_else : another possible reason for forces that point down, appended to the message

    ConfigError for a trial without samples or plates, and for implausible rates and times.
    """
    _check_extent(raw)
    notes = list(raw.notes)
    force, moment = np.ascontiguousarray(raw.force), np.ascontiguousarray(raw.moment)
    zero = np.zeros((len(raw.names), 6)) if raw.zero is None else raw.zero
    empty: NDArray[np.bool_] = np.asarray(
        (np.abs(force) < THRESHOLD).all(axis=2)
    )  # some programs have no moment where nobody stands
    moment[empty & ~(np.abs(moment) <= GREATEST).all(axis=2)] = 0.0
    known: NDArray[np.bool_] = np.asarray((np.abs(force) <= GREATEST).all(axis=2))  # NaN is not, either
    halves: NDArray[np.bool_] = known & ~np.asarray((np.abs(moment) <= GREATEST).all(axis=2))
    notes += _tell_halves(raw.names, halves, known & ~empty)
    force[halves], moment[halves] = np.nan, np.nan
    gap = ~known
    force[gap], moment[gap] = np.nan, np.nan
    if gap.any():
        notes.append(
            f"{count_of(int(gap.sum()), 'force sample')} with missing values or values beyond "
            f"{GREATEST:g} treated as missing"
        )
    notes += _without_drops(raw, force, moment)
    turned = _pushed_down(force, threshold)
    if turned.any():
        sign = np.where(turned, -1.0, 1.0)[:, None]
        force, moment, zero = sign * force, sign * moment, sign * zero
        notes.append(_tell_turned(raw.names, turned) + or_else)
    plates = lay_out(raw.corners, raw.level)
    centre, free_moment, loaded = find_contacts(plates, force, moment, threshold)
    notes += _tell_light(force, threshold)
    return ForceTrial(
        names=raw.names,
        times=raw.times,
        rate=raw.rate,
        plates=plates,
        corners=raw.corners,
        force=force,
        moment=moment,
        centre=centre,
        free_moment=free_moment,
        loaded=loaded,
        zero=zero,
        source=raw.source,
        notes=tuple(notes),
        origins=raw.origins,
    )


def find_contacts(
    plates: Plates, force: FloatArray, moment: FloatArray, threshold: float = THRESHOLD
) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Compute the centre of pressure (n, n_plate, 3) [m], the free moment (n, n_plate) [N m], and whether
    each plate is loaded (n, n_plate; 1 loaded, 0 empty, -1 not measured), in new arrays.

    force, moment : (n, n_plate, 3) about the ground origin [N, N m]
    threshold : smallest normal force that counts as a load [N]
    """
    n, n_plate = force.shape[:2]
    centre, free_moment = np.empty((n, n_plate, 3)), np.empty((n, n_plate))
    loaded = np.empty((n, n_plate), np.int64)
    contacts(plates, force, moment, threshold, centre, free_moment, loaded)
    return centre, free_moment, loaded


def lay_out(corners: FloatArray, level: FloatArray) -> Plates:
    """Return the plates as rectangles with upward normals, from corners (n_plate, 4, 3) [m] in clockwise or
    anticlockwise order.

    A plate with NaN corners becomes an unbounded level floor at the height `level` (n_plate,) [m].
    """
    n_plate = corners.shape[0]
    plates = Plates(np.zeros((n_plate, 3)), np.zeros((n_plate, 3, 3)), np.full((n_plate, 2), np.inf))
    plates.centre[:, 1] = level
    plates.axes[:] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    for p in np.flatnonzero(np.isfinite(corners).all(axis=(1, 2))):
        axes, half = edges(corners[p])
        if axes[2, 1] < 0.0:
            axes[1:] *= -1.0
        plates.centre[p], plates.axes[p], plates.half[p] = corners[p].mean(axis=0), axes, half
    return plates


def levels(point: FloatArray, force: FloatArray) -> FloatArray:
    """Estimate the height of each plate's surface from recorded points of force application, (n_plate,) [m]:
    the median height of the points at which a force acts; 0 for a plate without forces.
    """
    heavy = (np.linalg.norm(force, axis=2) >= THRESHOLD) & np.isfinite(point).all(axis=2)
    heights = [point[heavy[:, p], p, 1] for p in range(point.shape[1])]
    return np.array([float(np.median(height)) if height.size else 0.0 for height in heights])


def edges(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the axes x, y, z of a plate as rows (3, 3), and half its side lengths (2,), from corners (4, 3)
    in the order +x +y, -x +y, -x -y, +x -y.
    """
    along, across = spans(corners)
    normal = np.cross(along, across)
    axes = np.stack([along, np.cross(normal, along), normal])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return axes, 0.5 * np.array([np.linalg.norm(along), np.linalg.norm(across)])


def spans(corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean vectors of the two edges along x, and of the two along y, (3,) each [m], of corners
    (4, 3) in the order +x +y, -x +y, -x -y, +x -y.
    """
    return (
        0.5 * (corners[0] + corners[3] - corners[1] - corners[2]),
        0.5 * (corners[0] + corners[1] - corners[2] - corners[3]),
    )


def are_corners(corners: FloatArray) -> bool:
    """Return whether four corners (4, 3) [m] span a surface, rather than a line or a point."""
    if not np.isfinite(corners).all():
        return False
    along, across = spans(corners)
    return float(np.linalg.norm(np.cross(along, across))) >= SMALLEST_EDGE**2


def _tell_halves(names: tuple[str, ...], halves: NDArray[np.bool_], loaded: NDArray[np.bool_]) -> list[str]:
    """Return notes on plates with a force but an unknown moment, whose samples were treated as missing.

    names : names of the plates
    halves, loaded : (n, n_plate) whether the force alone is known, and whether the plate is loaded
    """
    return [
        f"{name} has no moment or no point of application in {n} of {n_loaded} samples with a load; "
        "these samples were treated as missing, so the load of the foot on this plate is unknown "
        "there"
        for name, n, n_loaded in zip(
            names, halves.sum(axis=0).tolist(), loaded.sum(axis=0).tolist(), strict=True
        )
        if n
    ]


def _without_drops(raw: RawForces, force: FloatArray, moment: FloatArray) -> list[str]:
    """Replace forces that are exactly 0 for an instant between loads by NaN, in place; return notes.

    A person does not leave a plate so briefly.
    """
    notes = []
    loads = np.linalg.norm(force, axis=2)
    for p, name in enumerate(raw.names):
        zero = np.concatenate([[False], loads[:, p] == 0.0, [False]])
        begins, ends = np.flatnonzero(zero[1:] & ~zero[:-1]), np.flatnonzero(zero[:-1] & ~zero[1:])
        n = 0
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if begin == 0 or end == len(loads) or raw.times[end] - raw.times[begin - 1] > LONGEST_DROP:
                continue
            if min(loads[begin - 1, p], loads[end, p]) >= DROPPED_FROM:
                force[begin:end, p] = moment[begin:end, p] = np.nan
                n += end - begin
        if n:
            notes.append(
                f"{name} is at exactly 0 in {count_of(n, 'sample')} between loads of more than "
                f"{DROPPED_FROM:g} N; these samples were treated as missing"
            )
    return notes


def _check_extent(raw: RawForces) -> None:
    if raw.force.shape[0] == 0 or raw.force.shape[1] == 0:
        raise ConfigError(
            "the file contains no samples of force plates", where=raw.source, remedy="export it again"
        )
    check_clock(raw.times, raw.rate, "frame rate of the forces", raw.source)


def _pushed_down(force: FloatArray, threshold: float) -> NDArray[np.bool_]:
    """Return for each plate whether its forces point down, as the person's force on the plate does:
    (n_plate,).

    A plate without a clear load of its own follows the sum of the forces on all plates.
    """
    heavy = np.where(np.abs(force[..., 1]) >= threshold, force[..., 1], 0.0)  # NaN is not heavy
    sums = heavy.sum(axis=0)
    clear = np.where(sums < 0.0, -heavy.min(axis=0), heavy.max(axis=0)) >= CLEAR
    turned: NDArray[np.bool_] = np.asarray(np.where(clear, sums < 0.0, sums.sum() < 0.0))
    return turned


def _tell_turned(names: Sequence[str], turned: NDArray[np.bool_]) -> str:
    """Return a note on the plates whose forces were reversed."""
    found = [name for name, down in zip(names, turned.tolist(), strict=True) if down]
    if len(found) == len(names):
        which = "all forces point down, as the forces of a person on the plates do"
    else:
        which = f"the forces of {name_some(found)} point down, those of the other plates up"
    return f"{which}; these were reversed (force and moment), so that they act on the person"


def _tell_light(force: FloatArray, threshold: float) -> list[str]:
    """Return a note if no force is large enough for a person, as with values in kilonewtons."""
    greatest = float(np.nanmax(np.abs(force), initial=0.0))
    if not 0.0 < greatest < threshold:
        return []
    return [
        f"no force reaches {threshold:g} N, from which a plate counts as loaded; the largest force is "
        f"{greatest:.3g}: nobody stands on the plates, or their forces are not in newtons"
    ]
