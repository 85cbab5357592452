"""Electromyograms in the analog channels of a C3D file: selected by name, in volts, with notes on
irregularities.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import whole_content
from rtsim.files.markers.c3d_process import Content
from streams.account import plain

FloatArray = NDArray[np.float64]
OPTION = "--emg"
VOLTS = {"V": 1.0, "volt": 1.0, "volts": 1.0, "mV": 1e-3, "uV": 1e-6, "µV": 1e-6, "μV": 1e-6, "nV": 1e-9}
"""Names of units that a file may state -> volts per unit."""
MOST_NAMED = 24
"""Largest number of channel names in a sentence."""
MOST_CHANNELS = 64
RUN_AT_LIMIT, LEAST_RUNS, LEAST_VALUES = 3, 5, 64
"""A signal counts as clipped if it stays at its largest or smallest value for at least RUN_AT_LIMIT samples,
at least LEAST_RUNS times, and has at least LEAST_VALUES different values.
"""
GREATEST = 1e9
"""Magnitude above which a sample is not valid."""


class C3dEmg(NamedTuple):
    """Raw electromyograms of a C3D file.

    names : names of the channels, as in the file
    unit : "V", or "" if no channel states a unit
    samples : (n_sample, n_channel) float64; NaN = missing
    rate : sample rate [Hz]
    start : time of the first sample in the trial [s]
    notes : sentences for the user
    """

    names: tuple[str, ...]
    unit: str
    samples: FloatArray
    rate: float
    start: float
    notes: tuple[str, ...]


def read_c3d_emg(source: str, wanted: str) -> C3dEmg:
    """Read the electromyograms in the analog channels of a C3D file.

    source : path of the file
    wanted : names of channels, separated by commas; a name may be a pattern such as `EMG*`

    ConfigError for a file without analog channels, a name without or with several matches, a pattern that
    matches several channels of one name, a channel of a force plate, and units other than voltages.
    """
    path = Path(source)
    if path.suffix.lower() != ".c3d":
        raise ConfigError(
            f"{source} has no analog channels", where=OPTION, allowed="a C3D file as the source (.c3d)",
            remedy="remove the option; `rtsim bridge emg` shows electromyograms of a live stream",
        )  # fmt: skip
    content, _ = whole_content(path, with_analogs=True)
    labels = texts_of(content, "LABELS", content.analogs.shape[1])
    if not content.analogs.size or not labels:
        raise ConfigError(
            "the file has no analog channels", where=source,
            remedy=f"export the trial with analog channels, or remove {OPTION}",
        )  # fmt: skip
    if not 0.0 < content.analog_rate < math.inf:
        raise ConfigError(f"the rate of the analog samples is {content.analog_rate:g} Hz", where=source)
    columns: list[int] = []
    for name in (part.strip() for part in wanted.split(",")):
        found = find_channels(name, labels, source, plate_columns(content))
        columns += [column for column in found if column not in columns]
    if len(columns) > MOST_CHANNELS:
        raise ConfigError(f"{len(columns)} channels", where=OPTION, allowed=f"up to {MOST_CHANNELS}")
    check_no_plates(content, columns, labels, source)
    scales, unit, notes = scales_of(
        [texts_of(content, "UNITS", len(labels))[column] for column in columns],
        [labels[column] for column in columns],
        source,
    )
    raw = content.analogs[:, columns]
    names = tuple(labels[column] for column in columns)
    notes += [note for name, row in zip(names, raw.T, strict=True) for note in oddities(name, row)]
    samples = np.where(np.abs(raw) <= GREATEST, raw, np.nan) * scales
    start = content.first / content.rate
    return C3dEmg(
        names=names, unit=unit, samples=samples, rate=content.analog_rate, start=start, notes=tuple(notes)
    )


def texts_of(content: Content, key: str, n: int) -> list[str]:
    """Return the texts of n analog channels from the parameter `key` of the group ANALOG, such as LABELS, and
    its continuations LABELS2 and so on; "" where a text is missing.
    """
    group, found = content.parameters["ANALOG"], []
    for suffix in ("", *map(str, range(2, 256))):
        more = group.get(f"{key}{suffix}")
        if not more:
            break
        found += [plain(str(text).strip(), 128) for text in more]
    return (found + [""] * n)[:n]


def find_channels(name: str, labels: Sequence[str], source: str, of_plates: Container[int] = ()) -> list[int]:
    """Return the indices of the channels with a name, or with names that match a pattern such as `EMG*`.

    The name is compared in exact case, else in any case, else without the part before the last point
    (Voltage.RF). ConfigError if no channel matches, several match a name, or a pattern matches several of one
    name, whose results would have the same label.

    of_plates : channels of force plates, which the error does not suggest as alternatives
    """
    if "*" in name or "?" in name:
        found = [k for k, label in enumerate(labels) if label and fnmatchcase(label.lower(), name.lower())]
        matched = [labels[k] for k in found]
        if twice := next((label for label in matched if matched.count(label) > 1), ""):
            raise _not_unique(matched.count(twice), twice, [], source)
        if found:
            return found
    ways = (
        [label == name for label in labels],
        [label.lower() == name.lower() for label in labels],
        [label.rpartition(".")[2].lower() == name.lower() for label in labels],
    )
    found = next(([k for k, fits in enumerate(way) if fits] for way in ways if any(way)), [])
    if not name or not found:
        there = [label for column, label in enumerate(labels) if label and column not in of_plates]
        more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
        raise ConfigError(
            f"{source} has no analog channel {name!r}", where=OPTION,
            allowed=f"{', '.join(there[:MOST_NAMED])}{more}" if there else "none: all belong to force plates",
            remedy="separate names of channels by commas, or give a pattern such as 'EMG*'",
        )  # fmt: skip
    if len(found) > 1:
        raise _not_unique(len(found), name, [labels[k] for k in found], source)
    return found


def _not_unique(n: int, name: str, labels: Sequence[str], source: str) -> ConfigError:
    """Return the error that n channels are called `name`; labels : their whole names, if these may differ"""
    whole = list(dict.fromkeys(labels))
    return ConfigError(
        f"{n} analog channels of {source} are called {name!r}", where=OPTION,
        allowed=", ".join(whole) if len(whole) > 1 else None,
        remedy=("give the whole name of one channel, or " if len(whole) > 1 else "")
        + "rename the channels in the capture system",
    )  # fmt: skip


def plate_columns(content: Content) -> set[int]:
    """Return the indices of the analog channels of a file that belong to its force plates."""
    wired = content.parameters["FORCE_PLATFORM"].get("CHANNEL", [])
    return {int(value) - 1 for value in wired if isinstance(value, (int, float)) and math.isfinite(value)}


def check_no_plates(content: Content, columns: Sequence[int], labels: Sequence[str], source: str) -> None:
    """Raise ConfigError for a channel that belongs to a force plate."""
    taken = plate_columns(content)
    if of_plate := [labels[column] for column in columns if column in taken]:
        raise ConfigError(
            f"{of_plate[0]} of {source} is a channel of a force plate, not an electromyogram", where=OPTION,
            remedy="leave it out",
        )  # fmt: skip


def scales_of(units: Sequence[str], names: Sequence[str], source: str) -> tuple[FloatArray, str, list[str]]:
    """Return factors (n,) from the channels' units to volts, the resulting unit, and notes for the user.
    ConfigError for a unit that is not a voltage.
    """
    known = {unit.lower(): scale for unit, scale in VOLTS.items()}
    for unit, name in zip(units, names, strict=True):
        if unit and unit.lower() not in known:
            raise ConfigError(
                f"{name} of {source} is in {unit}, so it is not an electromyogram", where=OPTION,
                allowed="channels in V, mV or uV, or without a unit", remedy="leave it out",
            )  # fmt: skip
    untold = [name for name, unit in zip(names, units, strict=True) if not unit]
    if not untold:
        return np.array([known[unit.lower()] for unit in units]), "V", []
    if len(untold) < len(names):
        raise ConfigError(
            f"{untold[0]} of {source} states no unit, but {next(n for n in names if n not in untold)} does",
            where=OPTION, remedy="choose channels that all state a unit, or channels without units",
        )  # fmt: skip
    return (
        np.ones(len(names)),
        "",
        [f"{', '.join(names)}: no unit is stated; the numbers are used as they are in the file."],
    )


def oddities(name: str, samples: FloatArray) -> list[str]:
    """Return notes on a raw channel (n,) that is missing, constant, or clipped at the amplifier's limit."""
    there = samples[np.isfinite(samples) & (np.abs(samples) <= GREATEST)]
    if len(there) < len(samples):
        share = 100.0 * (1.0 - len(there) / len(samples))
        return [
            f"{name}: {share:.1f} % of the samples of this channel are missing; the envelope has gaps there."
        ]
    if np.ptp(there) == 0.0:
        return [f"{name} is constant: was its electrode connected?"]
    if len(np.unique(there)) < LEAST_VALUES:
        return []
    at_limit = (there == there.max()) | (there == there.min())
    edges = np.flatnonzero(np.diff(np.concatenate(([0], at_limit.astype(np.int8), [0]))))
    runs = edges[1::2] - edges[::2]
    long = runs[runs >= RUN_AT_LIMIT]
    if len(long) < LEAST_RUNS:
        return []
    return [
        f"{name} is saturated: {int(long.sum())} samples are at the limits of the channel "
        f"({there.min():g} and {there.max():g}); the envelope of this channel is too small there."
    ]
