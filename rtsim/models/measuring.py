"""Scale factors from pairs of markers: their distances in a person divided by those in the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, count_of, name_some
from rtsim.files.osim.setup_scale import MEASURED, Measurement, Scaler

Array = NDArray[np.float64]
Note = Callable[[str], None]


class SegmentMeasure(NamedTuple):
    """A scale factor determined from distances between markers in a trial, and the distances that it comes
    from.

    name : name of the measurement in the setup file
    pairs : two marker names, their distance in the model and that in the person [m]
    factor : mean ratio of person to model over the pairs
    """

    name: str
    pairs: tuple[tuple[str, str, float, float], ...]  # markers, distance in the model, in the person [m]
    factor: float  # the mean of the pairs' ratios


ROUNDED = 0.05
"""Part of the time between two frames by which a time that a person wrote may be off."""
UNSET = (-1.0, -1.0)
"""The time_range that OpenSim's ModelScaler and MarkerPlacer have where none is set [s]."""


def static_frames(times: Array, start: float, end: float, where: str, note: Note) -> slice:
    """Return the slice of the frames of a static trial in the time range of a setup, as frames_between; with
    a note if the trial has only a part of the range.

    times : (n,) times of all frames [s]; start, end : in the same time [s], infinite where none is given
    where : the tool of the setup, for messages

    Returns the first frame, with a note, for the range that OpenSim has where none is set, as OpenSim does.
    ConfigError if the trial has no part of any other range.
    """
    if is_unset(times, start, end):
        note(f"{where}: the time_range -1 to -1 s is the one that OpenSim has where none is set, so only the "
             f"first frame of the static trial is used, at {times[0]:g} s")  # fmt: skip
        return slice(0, 1)
    off, first, last = rounded(times), float(times[0]), float(times[-1])
    span, lasts = f"{start:g} to {end:g} s", f"which lasts from {first:g} to {last:g} s"
    if start > last + off or end < first - off:
        raise ConfigError(
            f"the time_range {span} is outside the static trial, {lasts}", where=where,
            remedy="correct time_range in the setup, or give the static trial that belongs to it",
        )  # fmt: skip
    if (math.isfinite(start) and start < first - off) or (math.isfinite(end) and end > last + off):
        note(f"{where}: the time_range {span} is only in part inside the static trial, {lasts}; the part "
             "inside is used")  # fmt: skip
    return frames_between(times, start, end)


def is_unset(times: Array, start: float, end: float) -> bool:
    """Return whether a time range is the one that OpenSim has where none is set; a trial that has a frame at
    or before that time, -1 s, has been cut to it.

    times : (n,) times of all frames [s]; start, end : in the same time [s]
    """
    return (start, end) == UNSET and bool(times[0] > end + rounded(times))


def rounded(times: Array) -> float:
    """Return the time by which a written time may be off from a frame, from the frames' times (n,) [s]."""
    return ROUNDED * float(np.diff(times).min()) if len(times) > 1 else 0.0


def frames_between(times: Array, start: float, end: float) -> slice:
    """Return the slice of the frames from the last one at or before the start to the first one at or after
    the end.

    times : (n,) times of all frames [s]; start, end : in the same time [s]
    """
    off = rounded(times)
    before, after = np.flatnonzero(times <= start + off), np.flatnonzero(times >= end - off)
    first = int(before[-1]) if len(before) else 0
    last = int(after[0]) if len(after) else len(times) - 1
    return slice(first, max(first, last) + 1)


def body_factors(
    scaler: Scaler,
    bodies: tuple[str, ...],
    places: Mapping[str, Array],
    trial: MarkerTrial | None,
    note: Note,
) -> tuple[dict[str, Array], tuple[SegmentMeasure, ...]]:
    """Compute the scale factors (3,) of every body along its axes, in the order that the setup states, and
    the measurements that they come from. Bodies without a measurement or a factor by hand get 1.

    bodies : names of all bodies; places : positions of the model's markers in ground at the initial
        coordinates [m]

    ConfigError if the trial has other markers than the setup, so that little or nothing would be scaled, or
    no part of the setup's time range.
    """
    factors = {name: np.ones(3) for name in bodies}
    taken: list[SegmentMeasure] = []
    for step in scaler.order:
        if step == MEASURED:
            if trial is None and scaler.measurements:
                raise ConfigError("measurements need a static trial", where="scaling", remedy="add --static")
            check_markers(scaler, places, trial)
            inside = slice(0)
            if trial is not None and scaler.measurements:
                inside = static_frames(trial.times, *scaler.times, where="ModelScaler", note=note)
            for measurement in scaler.measurements:
                assert trial is not None
                measured = measure(measurement, places, trial, inside, note)
                if measured is not None:
                    taken.append(measured)
                    apply(measurement, measured.factor, factors, note)
        else:
            for body, given in scaler.by_hand:
                if body in factors:
                    factors[body] = np.array(given)
                else:
                    note(
                        f"the scale factors given by hand for {body} are not used, because the model has "
                        "no such body"
                    )
    return factors, tuple(taken)


def check_markers(scaler: Scaler, places: Mapping[str, Array], trial: MarkerTrial | None) -> None:
    """Raise ConfigError for a trial whose markers are not those of the scaling setup, such as one of another
    laboratory. Such a trial has no complete measurement, or fewer than half of the markers that the setup
    needs, and at least half of the trial's markers are unknown to setup and model.
    """
    pairs = (pair for measurement in scaler.measurements for pair in measurement.pairs)
    wanted = list(dict.fromkeys(name for pair in pairs for name in pair))
    if trial is None or not wanted:
        return
    there = [name for name in wanted if name in trial.names]
    strange = [name for name in trial.names if name not in places and name not in wanted]
    whole = any(all(name in there for pair in one.pairs for name in pair) for one in scaler.measurements)
    if (whole and 2 * len(there) >= len(wanted)) or 2 * len(strange) < len(trial.names):
        return
    raise ConfigError(
        f"the trial has other markers than the setup: of the {count_of(len(wanted), 'marker')} to be "
        f"measured ({name_some(wanted)}) the trial has {name_some(there) if there else 'none'}, but "
        f"{name_some(strange)}",
        where="static trial",
        remedy="give a trial with the markers of the setup, or a setup file for the markers of the trial",
    )


def measure(
    measurement: Measurement,
    places: Mapping[str, Array],
    trial: MarkerTrial,
    inside: slice,
    note: Note,
) -> SegmentMeasure | None:
    """Compute a scale factor from a measurement: the mean over its marker pairs of the distance in the trial
    divided by that in the model. Return None, with a note, where a marker is missing.

    places : positions of the model's markers [m]; inside : frames of the trial that are used
    """
    pairs = []
    for pair in measurement.pairs:
        missing = [name for name in pair if name not in places]
        absent = [name for name in pair if name not in trial.names]
        if missing or absent:
            of = f"the model has no {missing[0]}" if missing else f"the trial has no {absent[0]}"
            note(f"measurement {measurement.name} is not used: {of}")
            return None
        a, b = (trial.positions[inside, trial.names.index(name)] for name in pair)
        distances = np.linalg.norm(a - b, axis=1)
        seen = distances[np.isfinite(distances)]
        model = float(np.linalg.norm(places[pair[0]] - places[pair[1]]))
        if not len(seen) or not model > 0.0:
            why = (
                "are never visible together in the time range of the setup"
                if model > 0.0
                else "have the same position in the model"
            )
            note(f"measurement {measurement.name} is not used: {pair[0]} and {pair[1]} {why}")
            return None
        if len(seen) < len(distances):
            note(
                f"measurement {measurement.name}: {pair[0]} or {pair[1]} is missing in "
                f"{len(distances) - len(seen)} of {len(distances)} frames, which are left out of the mean"
            )
        pairs.append((*pair, model, float(seen.mean())))
    if not pairs:
        note(f"measurement {measurement.name} is not used: it has no pair of markers")
        return None
    return SegmentMeasure(measurement.name, tuple(pairs), float(np.mean([b / a for *_, a, b in pairs])))


def apply(measurement: Measurement, factor: float, factors: dict[str, Array], note: Note) -> None:
    """Set the scale factors of the bodies and axes that a measurement names to `factor`."""
    for body, axes in measurement.bodies:
        if body not in factors:
            note(f"measurement {measurement.name}: the model has no body {body}")
            continue
        for axis in axes:
            factors[body]["XYZ".index(axis)] = factor
