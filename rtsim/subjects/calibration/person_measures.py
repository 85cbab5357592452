"""Lengths and angles of a person given by the user, under the names with which trials store them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtsim.config.load import load_toml
from rtsim.config.reading import is_file
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.files.subject_files.read import SUFFIXES, read_measures
from rtsim.subjects.conventional.measures import (
    LETTERS,
    STORED,
    STORED_ONCE,
    check_measures,
    stored_measures,
)
from rtsim.units import DEGREES

UNITS = {"_mm": 1e-3, "_deg": 1.0 / DEGREES}
OWN = ".toml"


class AskedMeasures(NamedTuple):
    """Measures of a person that the user states, in a file and by options.

    path : path of a file with measures of a person, "" = none; given : numbers that override those in the
    file
    """

    path: str = ""
    given: PersonMeasures = PersonMeasures()


NOTHING_ASKED = AskedMeasures()


def load_measures(path: str) -> tuple[PersonMeasures, dict[str, float]]:
    """Load measures of a person from a file. Those of a .toml file are returned as a record, those of a .vsk
    or .mp file as values [m, rad, kg] by name; the other one of the two results is empty.
    """
    if not is_file(path):
        raise ConfigError(f"no such file {path!r}", where="--measures", allowed=", ".join((OWN, *SUFFIXES)))
    if Path(path).suffix.lower() == OWN:
        return load_toml(Path(path), PersonMeasures), {}
    return PersonMeasures(), {name: x for name, x in read_measures(path).values.items() if x}


def all_measures(asked: AskedMeasures) -> tuple[PersonMeasures, dict[str, float]]:
    """Return the measures of a person from a file and from the command's options, which override the file:
    as a record, and as numbers [m, rad, kg] by the names under which trials store them.

    Values that come from a .vsk or .mp file are not in the record. ConfigError for an impossible number.
    """
    path, given = asked
    told, stored = load_measures(path) if path else (PersonMeasures(), {})
    usual = PersonMeasures()
    other = {f: x for f in usual.__struct_fields__ if (x := getattr(given, f)) != getattr(usual, f)}
    told = msgspec.structs.replace(told, **other)
    stored |= named(told)
    check_measures(stored_measures(stored), path or "the options")
    return told, stored


def named(told: PersonMeasures) -> dict[str, float]:
    """Return a person's measures by the names under which trials store them, such as RKneeWidth [SI
    units].
    """
    found: dict[str, float] = {}
    for key, factor in (
        (key, x) for end, x in UNITS.items() for key in told.__struct_fields__ if key.endswith(end)
    ):
        field, value = key.rpartition("_")[0], getattr(told, key)
        if value is None:
            continue
        if field in STORED_ONCE:
            found[STORED_ONCE[field]] = factor * value
        elif field in STORED:
            both = value if isinstance(value, tuple) else (value, value)
            found |= {f"{LETTERS[s]}{STORED[field]}": factor * x for s, x in zip(LETTERS, both, strict=True)}
    return found


def with_measures(trial: MarkerTrial, stored: Mapping[str, float]) -> MarkerTrial:
    """Replace the measures stored with a trial by those of a person, and add a note on the replaced ones."""
    if not stored:
        return trial
    other = [
        name for name, x in stored.items() if trial.subject.get(name) and abs(trial.subject[name] - x) > 1e-6
    ]
    notes = [f"measures taken from the options instead of the file: {name_some(other)}"] if other else []
    return trial._replace(subject={**trial.subject, **stored}, notes=(*trial.notes, *notes))


def with_measures_of_both(
    moving: MarkerTrial, still: MarkerTrial | None, stored: Mapping[str, float]
) -> tuple[MarkerTrial, MarkerTrial | None]:
    """Replace the measures stored with a movement trial and its static trial by those of a person, `stored`.

    The calibration uses the measures of the static trial. Those that it still lacks, or stores as 0, are
    copied from the movement trial, because measures are often entered after the static trial was recorded, or
    lost when it was exported.
    """
    moving = with_measures(moving, stored)
    if still is None:
        return moving, None
    still = with_measures(still, stored)
    own = {name: x for name, x in still.subject.items() if x or name not in moving.subject}
    return moving, still._replace(subject={**moving.subject, **own})


def near_measures(source: str) -> str:
    """Return a hint for an error message that names files with measures of a person in the folder of a trial;
    "" if there are none.
    """
    folder = Path(source).parent
    if not is_file(source):
        return ""
    near = [path.name for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    return f" (files of measures in the trial's folder: {name_some(near, 3)})" if near else ""
