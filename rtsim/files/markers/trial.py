"""The result of every reader of marker files, and its raw form before conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.markers.marker_limits import FARTHEST, FILLERS
from rtsim.errors import ConfigError

AXIS_DOUBTED, AXIS_TAKEN = "check the up axis", "was used as the up axis"
REPEATED = "occurs more than once"
LISTED = "because POINT:MODELED_MARKERS lists them"
SOME = 8  # names, or sentences of one kind, that are shown where there may be any number


class MarkerTrial(NamedTuple):
    """Marker positions of one recording in the ground frame.

    names : n_marker unique marker names
    times : (n,) float64 time of each frame [s], strictly increasing
    positions : (n, n_marker, 3) float64 in ground (Y up, right-handed) [m]; NaN = missing
    rate : nominal frame rate [Hz]
    source : the file the trial came from
    notes : plain sentences: everything that was converted, assumed, dropped or repaired
    subject : measures of the person stored with the trial (name in the file -> SI value)
    person : the person to whom the markers belong, from the prefix of their names; "" = none, or several
    subject_name : name of the person stated in the file elsewhere than in labels; "" = none, or several
    """

    names: tuple[str, ...]
    times: NDArray[np.float64]
    positions: NDArray[np.float64]
    rate: float
    source: str
    notes: tuple[str, ...] = ()
    subject: Mapping[str, float] = {}
    person: str = ""
    subject_name: str = ""


class RawTrial(NamedTuple):
    """A marker trial as stored in its file, in its own units and axes.

    positions : (n, n_marker, 3); NaN = missing
    units, up : unit of length, and axis that points up, as the file states them; "" = not stated
    up_key : where the file states the up axis, for messages
    """

    names: tuple[str, ...]
    times: NDArray[np.float64]
    positions: NDArray[np.float64]
    rate: float
    source: str
    units: str
    up: str = ""
    up_key: str = ""
    notes: tuple[str, ...] = ()
    subject: Mapping[str, float] = {}
    person: str = ""
    surfaces: NDArray[np.float64] | None = None
    subject_name: str = ""


def subject_meta(trial: MarkerTrial) -> dict[str, str]:
    """Return the entry of a marker session's descriptor that states the person's name, "subject_name"; empty
    if the file of the trial does not state a name.
    """
    return {"subject_name": trial.subject_name} if trial.subject_name else {}


def unique_names(names: Sequence[str], seen: Sequence[int] = ()) -> tuple[tuple[str, ...], list[str]]:
    """Make names unique by a suffix (`RTOE`, `RTOE_2`); return them, and notes on repeated names.

    seen : number of samples with data of each; the one with most keeps the name, else the first. A label may
        exist twice but be tracked once.
    """
    taken = set(names)
    n_renamed = 0
    places: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        places.setdefault(name, []).append(index)
    result = list(names)
    notes: list[str] = []
    for name, group in places.items():
        keeper = max(group, key=lambda index: seen[index]) if seen else group[0]
        copy = 2  # where to look on from
        for index in group:
            if index == keeper:
                continue
            while f"{name}_{copy}" in taken:
                copy += 1
            result[index] = f"{name}_{copy}"
            taken.add(result[index])
            n_renamed += 1
            if n_renamed <= SOME:
                notes.append(_tell_renamed(name, result[index], index, keeper, seen))
    if n_renamed > SOME:
        notes.append(
            "number of other names that occur more than once and were renamed in the same way: "
            f"{n_renamed - SOME}"
        )
    return tuple(result), notes


def _tell_renamed(name: str, renamed: str, index: int, keeper: int, seen: Sequence[int]) -> str:
    """Return the note that a marker whose name had occurred before was renamed.

    renamed : its new name
    index, keeper : index of this marker, and of the one that keeps the name
    seen : number of frames with data of each marker; () = not known
    """
    said = f"the name {name!r} {REPEATED}"
    if not seen or seen[index] == seen[keeper]:
        return f"{said}; a later one of this name was renamed {renamed}"
    has = f"has data in {count_of(seen[index], 'frame')}" if seen[index] else "has no data"
    return (
        f"{said}; the one with data in {count_of(seen[keeper], 'frame')} kept it, and another marker of this "
        f"name, which {has}, was renamed {renamed}"
    )


def with_names_told(fault: ConfigError, *trials: MarkerTrial | None) -> ConfigError:
    """Return the error to be shown for `fault`, which ends a run: with the notes of the trials on labels that
    occur more than once or were left out, as these may be the cause.

    A run that ends with an error does not print the notes of its trials.
    """
    notes = [f"{trial.source}: {note}" for trial in trials if trial for note in trial.notes]
    said = [note for note in notes if REPEATED in note or LISTED in note]
    if not said:
        return fault
    remedy = "; ".join([*([fault.remedy] if fault.remedy else []), *dict.fromkeys(said)])
    return ConfigError(fault.what, where=fault.where, allowed=fault.allowed, remedy=remedy)


def with_axis_told(fault: ConfigError, *trials: MarkerTrial | None) -> ConfigError:
    """Return the error to be shown for `fault`, which ends a run. If the notes of a trial say that its up
    axis is doubtful, this is an error about the axis that mentions `fault`, as a wrong axis makes sides and
    poses impossible; otherwise it is `fault` itself.
    """
    doubts = [
        (trial.source, note)
        for trial in trials if trial for note in trial.notes
        if note.startswith(AXIS_DOUBTED) and AXIS_TAKEN not in note
    ]  # fmt: skip
    if not doubts:
        return fault
    where, note = doubts[0]
    return ConfigError(note, where=where, remedy=f"as it is, {fault.what}")


def samples_seen(positions: NDArray[np.float64]) -> list[int]:
    """Return the number of frames in which each marker has data, that is finite coordinates that are not all
    0.

    positions : (n, n_marker, 3)
    """
    known = np.isfinite(positions).all(axis=2) & (positions != 0.0).any(axis=2)
    return [int(n) for n in known.sum(axis=0)]


def blank_missing(positions: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
    """Return a copy in which every unusable marker is NaN in all three coordinates, and notes about it.

    Unusable are: markers at exactly 0, 0, 0, or with all three coordinates 9999, 99999 and so on (both used
    by capture systems for gaps), infinite coordinates, coordinates beyond 1e9, and markers with only one or
    two coordinates.

    positions : (n, n_marker, 3), any unit
    """
    result = np.array(positions, dtype=np.float64, order="C")
    notes = []
    zero = (result == 0.0).all(axis=2)
    infinite = np.isinf(result).any(axis=2)
    far = (np.abs(result) > FARTHEST).any(axis=2) & ~infinite
    filler = (
        (result == result[:, :, :1]).all(axis=2)
        & np.isin(np.abs(result[:, :, 0]), FILLERS)
        & ~infinite
        & ~far
    )
    result[zero | infinite | far | filler] = np.nan
    unknown = np.isnan(result)
    partial = unknown.any(axis=2) & ~unknown.all(axis=2)
    result[partial] = np.nan
    for mask, what in (
        (zero, "at exactly 0, 0, 0"),
        (filler, "with 9999, or more nines, as all three coordinates"),
        (infinite, "with an infinite coordinate"),
        (far, f"with a coordinate beyond {FARTHEST:g}"),
        (partial, "of which the file gives only one or two coordinates"),
    ):
        if mask.any():
            n_marker = int(mask.any(axis=0).sum())
            notes.append(
                f"{count_of(int(mask.sum()), 'marker sample')} {what} treated as missing "
                f"({count_of(n_marker, 'marker')})"
            )
    return result, notes


def name_some(names: Sequence[str], limit: int = SOME) -> str:
    """Return the first few names as text, with the number of the others."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def count_of(n: int, noun: str) -> str:
    """Return a count with its noun: "1 marker", "2 markers"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
