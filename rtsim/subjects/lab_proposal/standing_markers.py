"""Positions of the markers of a standing person: medians over the part of a static trial with the least
movement.

A proposed map needs a standing person: there are errors for a person who moves or lies, a wrong unit, and
two persons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, count_of, name_some
from rtsim.subjects.markers.marker_names import without_subject

Array = NDArray[np.float64]

WINDOW_S = 0.5
"""Length of the part of a trial with the least movement that is used [s]."""
STILL = 0.01
"""Standard deviation of a marker's place about its mean in that part, the median of all markers [m]: people
who stand sway by millimetres, a step moves markers by decimetres."""
APART = 0.7
"""A wider gap between markers separates two persons [m]: arms and legs are marked at every joint."""
FEWEST = 10
"""Least number of markers, as pelvis and one leg need at least these."""
HEIGHTS = (0.45, 2.4)
"""Range of the height from the lowest marker of a child's leg to the head of a tall adult with arms up
[m]."""
SPREADS = (0.1, 4.0)
"""Median distance of markers from their middle [m]: 0.3 to 0.9 of a person, more where several stand."""
LONGEST = 2.5
"""Ratio of horizontal extent to height of the markers above which the person lies [1]: outstretched arms
reach 1.9 times the height of the pelvis, or the whole height if the head is marked."""
MOST_FRAMES = 2000


class StandingMarkers(NamedTuple):
    """The markers of a person who stands.

    names : names of the visible markers, without the person's name
    points : (n_marker, 3) - positions in ground, Y up [m]; notes : notes on omissions, and on the time of
        the frames used
    """

    names: tuple[str, ...]
    points: Array
    notes: tuple[str, ...] = ()


def standing_markers(trial: MarkerTrial, where: str) -> StandingMarkers:
    """Return the markers of the person who stands in a static trial; ConfigError if nobody stands."""
    check_unit(trial.positions, where)
    positions, told = stillest(trial, where)
    with np.errstate(invalid="ignore"):
        known: NDArray[np.bool_] = np.asarray(np.isfinite(positions).all(axis=2))
        points = np.array([np.median(x[k], axis=0) if k.any() else np.full(3, np.nan)
                           for x, k in zip(positions.swapaxes(0, 1), known.T, strict=True)])  # fmt: skip
    points = points.reshape(-1, 3)
    there = np.isfinite(points).all(axis=1)
    missing = [name for name, is_there in zip(trial.names, there, strict=True) if not is_there]
    if missing:
        told.append(f"these markers have no data and were left out of the map: {name_some(missing)}")
    names = [without_subject(name) for name in trial.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"the markers {name_some(twice)} occur more than once, with different subject prefixes (as in "
            "ANNA:LASI)", where=where, remedy="choose the person: --person NAME",
        )  # fmt: skip
    chosen = np.flatnonzero(there)
    check_count(len(chosen), where)
    kept, strangers = one_person(points[chosen], [names[k] for k in chosen], where)
    if strangers:
        told.append(f"markers far away from the person were left out of the map: {name_some(strangers)}")
    chosen = chosen[kept]
    check_count(len(chosen), where)
    check_height(points[chosen], where)
    return StandingMarkers(tuple(names[k] for k in chosen), points[chosen], tuple(told))


def check_count(n: int, where: str) -> None:
    """Raise ConfigError for too few markers to identify a leg and a pelvis."""
    if n < FEWEST:
        raise ConfigError(
            f"the trial has only {count_of(n, 'marker')} with data",
            where=where, allowed=f"at least {FEWEST}",
            remedy="give a static trial with the markers of pelvis and legs",
        )  # fmt: skip


def check_unit(positions: Array, where: str) -> None:
    """Raise ConfigError where the distances between the markers (n, n_marker, 3) of a frame are impossible
    for a person."""
    with np.errstate(invalid="ignore"):
        known: NDArray[np.bool_] = np.asarray(np.isfinite(positions).all(axis=2))
        best = positions[int(known.sum(axis=1).argmax())]
    there = best[np.isfinite(best).all(axis=1)]
    if not len(there):
        return
    spread = float(np.median(np.linalg.norm(there - np.median(there, axis=0), axis=1)))
    if not SPREADS[0] <= spread <= SPREADS[1]:
        raise ConfigError(
            f"half of the markers are within {spread:.3g} m, which is impossible for a person", where=where,
            allowed=f"{SPREADS[0]:g} to {SPREADS[1]:g} m", remedy="give the unit of the file: --units mm",
        )  # fmt: skip


def stillest(trial: MarkerTrial, where: str) -> tuple[Array, list[str]]:
    """Return the positions (n, n_marker, 3) in the part of a trial with the least movement, and notes for
    the user; ConfigError if there is none.
    """
    step = max(1, -(-len(trial.times) // MOST_FRAMES))
    positions, times = trial.positions[::step], trial.times[::step]
    n = max(1, min(len(times), round(WINDOW_S * trial.rate / step)))
    starts = range(0, len(times) - n + 1, max(1, n // 2))
    sway = [sway_of(positions[k : k + n]) for k in starts]
    if not np.isfinite(sway).any():
        raise ConfigError("no marker of the trial has data", where=where, remedy="give another static trial")
    best = starts[int(np.nanargmin(sway))]
    if np.nanmin(sway) > STILL:
        raise ConfigError(
            f"the person moves: even in the {WINDOW_S:g} s with the least motion, markers move by "
            f"{1e3 * float(np.nanmin(sway)):.0f} mm", where=where,
            allowed=f"up to {1e3 * STILL:g} mm for a standing person",
            remedy="give a static trial in which the person stands still with all markers",
        )  # fmt: skip
    if sway_of(positions) <= STILL:
        return positions, []
    return positions[best : best + n], [
        f"the person moves; the part with the least motion, from {times[best]:.2f} s to "
        f"{times[best + n - 1]:.2f} s, was used as standing"
    ]


def sway_of(positions: Array) -> float:
    """Return the root mean square distance of a marker from its mean position, as the median over the markers
    [m].

    positions : (n, n_marker, 3) [m]
    """
    known: NDArray[np.bool_] = np.asarray(np.isfinite(positions).all(axis=2))
    count = known.sum(axis=0)
    if not (count > 0).any():
        return float("nan")
    x = np.where(known[..., None], positions, 0.0)
    mean = x.sum(axis=0) / np.maximum(count, 1)[:, None]
    square = (np.where(known[..., None], positions - mean, 0.0) ** 2).sum(axis=(0, 2))
    return float(np.median(np.sqrt(square / np.maximum(count, 1))[count > 0]))


def one_person(points: Array, names: list[str], where: str) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which points (n, 3) belong to the person, and the names of other markers; ConfigError for two
    persons.
    """
    groups = fcluster(linkage(points, "single"), APART, "distance")
    sizes = {int(g): int((groups == g).sum()) for g in np.unique(groups)}
    largest = max(sizes, key=lambda g: sizes[g])
    persons = [g for g, n in sizes.items() if n >= FEWEST and np.ptp(points[groups == g, 1]) > HEIGHTS[0]]
    if len(persons) > 1:
        some = [name_some([names[k] for k in np.flatnonzero(groups == g)], 3) for g in persons]
        raise ConfigError(
            f"{len(persons)} persons stand in the trial, {APART:g} m or more apart ({'; '.join(some)})",
            where=where, allowed="one",
            remedy="export only one person, or choose the person by name: --person NAME",
        )  # fmt: skip
    kept = groups == largest
    return kept, [name for name, own in zip(names, kept, strict=True) if not own]


def check_height(points: Array, where: str) -> None:
    """Raise ConfigError where the height of the points (n, 3) is not that of a standing person."""
    across, height, along = (float(x) for x in np.ptp(points, axis=0))
    longest = max(across, along)
    low, high = HEIGHTS
    largest = max(longest, height)
    if not low <= largest <= high:
        raise ConfigError(
            f"the markers are spread over {largest:.3g} m, which is impossible for a person", where=where,
            allowed=f"{low:g} to {high:g} m", remedy="give the unit of the file: --units mm",
        )  # fmt: skip
    if longest > LONGEST * height or height < low:
        raise ConfigError(
            f"nobody stands in the trial: the markers spread over {longest:.2f} m along the floor and "
            f"{height:.2f} m upwards", where=where,
            remedy="give a static trial of a standing person, or the axis that points up: --up Z",
        )  # fmt: skip
