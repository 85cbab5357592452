"""Conversion of a raw trial to ground: metres, Y up, right-handed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.axes import guess_up, parse_up, rotate_to_ground, up_by_names
from rtsim.files.markers.filled import blank_filled
from rtsim.files.markers.persons import of_person
from rtsim.files.markers.sides import doubt_sides
from rtsim.files.markers.smoothing import doubt_smoothing
from rtsim.files.markers.trial import MarkerTrial, RawTrial, blank_missing
from rtsim.files.markers.upright import doubt_up, judge
from rtsim.files.units import length_unit, metres_per_unit, resolve_units

RATES = (1e-3, 1e6)  # [Hz] of a trial
LONGEST_S = 1e7  # [s] four months, and the latest time in a trial


def check_extent(raw: RawTrial) -> None:
    """Raise ConfigError for a trial without markers, and for implausible times and rates."""
    if raw.positions.shape[0] == 0 or raw.positions.shape[1] == 0:
        raise ConfigError(
            "the file contains no frames of markers", where=raw.source, remedy="export it again"
        )
    check_clock(raw.times, raw.rate, "frame rate", raw.source)


def check_clock(times: NDArray[np.float64], rate: float, rate_name: str, source: str) -> None:
    """Raise ConfigError for implausible times (n,) [s] or an implausible rate [Hz].

    rate_name : what the rate is called in the error, such as "frame rate"
    source : name of the file, for the error
    """
    if not RATES[0] <= rate <= RATES[1]:
        raise ConfigError(
            f"the {rate_name} is {rate:g} Hz",
            where=source,
            allowed=f"{RATES[0]:g} to {RATES[1]:g} Hz",
            remedy="correct the rate or the times in the file",
        )
    if not np.abs(times).max() <= LONGEST_S:
        raise ConfigError(
            f"the times are from {times[0]:g} to {times[-1]:g} s",
            where=source,
            allowed=f"up to {LONGEST_S:g} s",
            remedy="let the times begin at 0",
        )


class Settled(NamedTuple):
    """Unit and up axis that were chosen for a raw trial.

    positions : (n, n_marker, 3) float64 - axes of the file [m]; NaN = missing
    scale : metres per unit of the file
    up : axis of the file that points up, such as "+Z"
    notes : sentences on conversions and assumptions
    doubted : another axis along which the person seems to stand upright, else ""
    """

    positions: NDArray[np.float64]
    scale: float
    up: str
    notes: list[str]
    doubted: str = ""


def settle(raw: RawTrial, up: str | None = None, units: str | None = None) -> Settled:
    """Determine the unit of length and the up axis of a raw trial; `up` and `units`, if given, override what
    the file states and what the data suggest.

    Raises ConfigError for an unknown axis or unit, and for an impossible unit without a clear replacement.
    """
    positions, notes = blank_missing(raw.positions)
    if length := length_unit(units):
        scale = metres_per_unit(length, "--units")
        notes.append(f"unit of length: {length}, as requested by --units")
    else:
        scale, said = resolve_units(raw.names, positions, raw.units, raw.source)
        notes += said
    if scale != 1.0:
        notes.append(f"lengths were converted to metres (factor {scale:g})")
        positions *= scale

    doubted = ""
    if up is not None:
        axis = parse_up(up, "--up")
        notes.append(f"up axis: {axis}, as requested by --up")
        if doubt := doubt_up(raw, positions, axis, "--up", "leave it out"):
            notes += doubt
            doubted = (up_by_names(raw.names, positions) or ("",))[0]
    elif raw.up:
        upright = judge(raw, positions, scale, parse_up(raw.up, f"{raw.source}, {raw.up_key}"))
        axis, doubted = upright.axis, upright.doubted
        notes += upright.notes
    else:
        axis, said_up = guess_up(raw.names, positions)
        notes.append(said_up)
    return Settled(positions, scale, axis, notes, doubted)


def to_ground(
    raw: RawTrial, up: str | None = None, units: str | None = None, person: str = ""
) -> MarkerTrial:
    """Convert a raw trial to metres and Y up; `up` and `units`, if given, override what the file states and
    what the data suggest.

    person : the person whose markers are used, if there are several; "" = all

    Gaps that were filled by lines or cubics become missing values. All conversions and assumptions are listed
    in the notes. Raises ConfigError for a trial without markers, implausible times or rates, an unknown axis,
    an unknown or impossible unit, and a person who is not in the trial.
    """
    raw = of_person(raw, person)
    check_extent(raw)
    positions, _, axis, notes, doubted = settle(raw, up, units)
    positions, gaps = blank_filled(raw.names, raw.times, positions, raw.rate)
    notes += gaps
    if axis != "+Y":
        notes.append(f"positions were rotated from {axis} up to Y up")
    upright = rotate_to_ground(positions, doubted or axis)  # right and left are the body's, however it lies
    positions = rotate_to_ground(positions, axis)
    doubt = doubt_sides(raw.names, upright)
    if doubt:
        notes.append(doubt)
    if doubt := doubt_smoothing(raw.names, positions, raw.rate):
        notes.append(doubt)
    return MarkerTrial(
        names=raw.names,
        times=raw.times,
        positions=positions,
        rate=raw.rate,
        source=raw.source,
        notes=(*raw.notes, *notes),
        subject=raw.subject,
        person=raw.person,
        subject_name=raw.subject_name,
    )
