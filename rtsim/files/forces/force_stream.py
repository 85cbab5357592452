"""The forces stream of the protocol: its descriptor, and the forces of a trial as its messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_limits import GREATEST
from rtsim.files.forces.force_trial import ForceTrial, are_corners
from rtsim.files.markers.axes import ROTATIONS
from streams.account import plain
from streams.messages import FieldSpec, Session, force_session
from streams.recording.player import PlayedStream

FloatArray = NDArray[np.float64]

FASTEST = 100_000.0
"""Highest plausible sample rate [Hz]."""
MOST_PLATES = 64
LONGEST_WORD = 32
UNITS = ("s", "N", "N m")


class PlateStream(NamedTuple):
    """The force plates described by the descriptor of a forces session.

    names : names of the plates; empty if the session lacks the required fields, so that its forces are not
        used
    n_sample : largest number of samples in a message
    corners : (n_plate, 4, 3) in ground [m]; NaN if unknown
    level : (n_plate,) height of the surface of a plate without corners [m]; 0 if unknown
    z_up : 1 where Z points up, 0 where Y does
    rate : samples per second [Hz], 0 if unknown
    zero : (n_plate, 6) offset of force and moment that the sender has subtracted by taring, in ground [N, N
        m]
    faults : notes for the user on missing or implausible entries of the descriptor
    """

    names: tuple[str, ...]
    n_sample: int
    corners: FloatArray
    level: FloatArray
    z_up: int
    rate: float
    zero: FloatArray
    faults: list[str]


def describe(session: Session) -> PlateStream:
    """Read the force plates from the descriptor of a forces session; implausible entries, such as corners
    that span no surface, are ignored and reported in `faults`.
    """
    n_sample, names, faults = _read_fields(session)
    up = session.meta.get("up", "Y")
    if up not in ("Y", "y", "Z", "z"):
        said = f"'{plain(up, LONGEST_WORD)}'" if isinstance(up, str) else "no text"
        faults.append(
            f"The up axis of the forces is stated as {said}, but only Y and Z are allowed. Y is assumed."
        )
    z_up = up in ("Z", "z")
    corners, told = _read_corners(session.meta.get("corners", []), len(names), z_up)
    rate = session.meta.get("sample_rate", 0.0)
    known = isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0.0 < rate <= FASTEST
    if names and not known:
        told.append("The forces do not state their sample_rate.")
    level, said_of_level = _read_levels(session.meta.get("levels", []), len(names))
    zero, said_of_zero = _read_zero(session.meta.get("zero", []), len(names), z_up)
    return PlateStream(
        names=names, n_sample=n_sample, corners=corners, level=level, z_up=int(z_up),
        rate=float(rate) if known else 0.0, zero=zero,
        faults=[*faults, *told, *said_of_level, *said_of_zero],
    )  # fmt: skip


def _read_fields(session: Session) -> tuple[int, tuple[str, ...], list[str]]:
    """Return the maximum number of samples in a message, the plates' names, and faults; 0 and no names if
    the session has other fields.
    """
    specs: dict[str, FieldSpec] = {spec.name: spec for spec in session.fields}
    times, force, moment = (specs.get(name) for name in ("sample_times", "force", "moment"))
    if times is None or force is None or moment is None:
        fault = "the stream needs the fields sample_times, force and moment"
    elif len(times.shape) != 1 or times.shape[0] == 0:
        fault = "the field sample_times needs the shape [n_sample]"
    elif any(len(s.shape) != 3 or tuple(s.shape[1:]) != (times.shape[0], 3) for s in (force, moment)):
        fault = "the fields force and moment need the shape [n_plate, n_sample, 3]"
    elif force.shape[0] == 0 or moment.shape[0] != force.shape[0]:
        fault = "the fields force and moment need the same number of plates, one or more"
    elif force.shape[0] > MOST_PLATES:
        fault = f"at most {MOST_PLATES} plates are allowed"
    elif (times.unit, force.unit, moment.unit) != UNITS:
        units = ", ".join(plain(unit, LONGEST_WORD) for unit in (times.unit, force.unit, moment.unit))
        fault = f"their fields need the units {', '.join(UNITS)}, not {units}"
    else:
        names = tuple(force.labels) or tuple(f"plate_{p + 1}" for p in range(force.shape[0]))
        return times.shape[0], names, []
    return 0, (), [f"The forces of this session are not used: {fault}."]


def _read_corners(said: object, n_plate: int, z_up: bool) -> tuple[FloatArray, list[str]]:
    """Read the corners of plates from a descriptor: (n_plate, 4, 3) in ground [m]; NaN and a message where
    they are invalid.

    said : value in the descriptor
    z_up : whether Z points up in the stream's axes, else Y
    """
    corners = np.full((n_plate, 4, 3), np.nan)
    if not said:
        return corners, []
    if not isinstance(said, list) or len(said) != n_plate:
        return corners, [
            "The corners of the plates are not used, because the forces do not state "
            f"corners for each of the {n_plate} plates."
        ]
    faults = []
    for p, plate in enumerate(said):
        if not plate:
            continue
        try:
            places = np.array(plate, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            places = np.empty(0)
        fits = places.shape == (4, 3) and bool((np.abs(places) <= GREATEST).all()) and are_corners(places)
        if fits:
            corners[p] = places @ ROTATIONS["+Z"].T if z_up else places
        else:
            faults.append(f"The corners of force plate {p + 1} do not span a surface and are not used.")
    return corners, faults


def _read_levels(said: object, n_plate: int) -> tuple[FloatArray, list[str]]:
    """Read the heights of the surfaces of plates without corners from a descriptor: (n_plate,) [m], along the
    axis that points up; 0 and a message if they are invalid.

    said : value in the descriptor
    """
    if not said or not n_plate:
        return np.zeros(n_plate), []
    try:
        level = np.array(said, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        level = np.empty(0)
    if level.shape != (n_plate,) or not (np.abs(level) <= GREATEST).all():
        fault = (
            "The heights of the plates are not used, because they are not stated as one number for each of "
            f"the {n_plate} plates. Plates without corners are assumed to be at height 0."
        )
        return np.zeros(n_plate), [fault]
    return level, []


def _read_zero(said: object, n_plate: int, z_up: bool) -> tuple[FloatArray, list[str]]:
    """Read the offsets of the plates that the sender has subtracted, (n_plate, 6) in ground [N, N m], with a
    message if they are invalid.

    said : value in the descriptor
    z_up : whether Z points up in the stream's axes, else Y
    """
    if not said or not n_plate:
        return np.zeros((n_plate, 6)), []
    try:
        zero = np.array(said, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        zero = np.empty(0)
    if zero.shape != (n_plate, 6) or not (np.abs(zero) <= GREATEST).all():
        fault = (
            "The zero of the force plates is unknown, because it is not stated as six numbers for "
            f"each of the {n_plate} plates."
        )
        return np.zeros((n_plate, 6)), [fault]
    rows = zero.reshape(-1, 3)
    return (rows @ ROTATIONS["+Z"].T if z_up else rows).reshape(n_plate, 6), []


def force_channel(
    trial: ForceTrial, rate: float, *, t_start: int, speed: float = 1.0, time_base: str = "", source: str = ""
) -> PlayedStream:
    """Convert the forces of a trial to a stream that can be played. It has `rate` messages per second of the
    trial [Hz], each with the samples since the previous message, at or after the time of the last of them.

    t_start : clock reading at the start of the session [ns]
    speed : factor by which the trial is played faster than recorded
    time_base : id of the time base; with the same id in the markers' session, a receiver pairs the two
        streams by `time`
    """
    n_message = int(np.floor((trial.times[-1] - trial.times[0]) * rate + 1e-6)) + 1
    times = trial.times[0] + np.arange(n_message) / rate
    if times[-1] < trial.times[-1]:
        times = np.append(times, times[-1] + 1.0 / rate)
    # A sample at a message's time belongs to it, whatever the last digits of both say.
    number = np.searchsorted(times + 1e-9, trial.times)
    counts = np.bincount(number, minlength=len(times))
    n_sample, n_plate = int(counts.max()), len(trial.names)
    place = np.arange(len(trial.times)) - np.concatenate([[0], np.cumsum(counts)])[number]
    sample_times = np.full((len(times), n_sample), np.nan)
    force = np.full((len(times), n_plate, n_sample, 3), np.nan)
    moment = np.full_like(force, np.nan)
    sample_times[number, place] = trial.times
    force[number, :, place] = trial.force
    moment[number, :, place] = trial.moment
    corners = [plate.tolist() if np.isfinite(plate).all() else [] for plate in trial.corners]
    level = np.where(np.isfinite(trial.corners).all(axis=(1, 2)), 0.0, trial.plates.centre[:, 1])
    levels = {"levels": level.tolist()} if level.any() else {}
    zero = {"zero": trial.zero.tolist()} if trial.zero.any() else {}
    session = force_session(
        trial.names,
        n_sample,
        rate=rate * speed,
        sample_rate=trial.rate,
        t_start=t_start,
        corners=corners if any(corners) else (),
        meta={"source": source or trial.source, "speed": speed, "time_base": time_base, **levels, **zero},
    )
    return PlayedStream(
        session, times, {"sample_times": sample_times, "force": force, "moment": moment}, ("sample_times",)
    )
