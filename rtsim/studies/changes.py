"""Insertion of the values of a case of a study into the nested tables of models, runs, subjects and
inputs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.config.bounds import check_numbers
from rtsim.config.load import check_record
from rtsim.config.reading import is_file
from rtsim.config.runs.study_schema import StudyParameter
from rtsim.errors import ConfigError
from rtsim.studies.keys import Step, place_of, value_at, with_value
from rtsim.subjects.subject import Subject, check_person

Tables = Mapping[str, Any]

REPLACED: dict[tuple[Step, ...], str] = {
    ("run", "model"): "model",
    ("run", "side"): "model",
    ("run", "subject"): "subject",
}
"""Keys of a run that have no effect in cases which change the model or the subject itself: key -> table."""


class ChangedKey(NamedTuple):
    """A key in the nested tables of a model, run, subject or input that a parameter of the study changes: the
    table (`root`), the path of keys and indices in it (`steps`), and the value before any change (`base`).
    """

    root: str
    steps: tuple[Step, ...]
    base: Any


def changed_keys(parameter: StudyParameter, bases: Tables) -> tuple[ChangedKey, ...]:
    """Find the keys that a parameter of the study changes; ConfigError for a key that no table has, or whose
    value is not a number although something is to be added to it or multiplied by it.

    bases : nested tables before any change, by name: model, run, subject, input
    """
    found = []
    for key in parameter.keys:
        where = f"parameters.{parameter.name}.key"
        root, _, below = key.partition(".")
        if root not in bases or not below:
            raise ConfigError(
                f"the key {key!r} names no value in a table that the study can change", where=where,
                allowed=", ".join(f"{name}.KEY" for name in bases),
                remedy="begin the key with the name of the table, as in model.NAME",
            )  # fmt: skip
        steps = place_of(bases[root], below, where)
        base = value_at(bases[root], steps)
        if parameter.change != "set" and (isinstance(base, bool) or not isinstance(base, (int, float))):
            raise ConfigError(
                f"{key} is {base!r}, which is not a number, so nothing can be added",
                where=where,
                allowed="a key that is a number",
            )
        if isinstance(base, (dict, list, tuple)):
            raise ConfigError(
                f"the key {key} has several values",
                where=where,
                remedy="name one of the values, such as KEY.0 or KEY.NAME",
            )
        found.append(ChangedKey(root, steps, base))
    return tuple(found)


def check_distinct(parameters: Sequence[StudyParameter], keys: Sequence[Sequence[ChangedKey]]) -> None:
    """Raise ConfigError if two changes of the same value are named, of which the last alone would have an
    effect, or a key of the run whose value is replaced by a model or subject that the case changes.

    keys : keys that each parameter changes
    """
    rows = [
        (parameter.name, key, (place.root, *place.steps))
        for parameter, places in zip(parameters, keys, strict=True)
        for key, place in zip(parameter.keys, places, strict=True)
    ]
    former: dict[tuple[Step, ...], str] = {}
    changing = {place[0]: name for name, _, place in reversed(rows)}
    for name, key, place in rows:
        where = f"parameters.{name}.key"
        if place in former:
            both = f"the parameters {former[place]} and {name} both change {key}"
            raise ConfigError(
                f"the parameter {name} changes {key} twice" if former[place] == name else both,
                where=where, remedy="name each value once in all parameters of a study",
            )  # fmt: skip
        former[place] = name
        table = REPLACED.get(place)
        if table in changing:
            raise ConfigError(
                f"the parameter {name} changes {key}, which has no effect because {changing[table]} changes "
                f"keys of the {table} itself", where=where, remedy="vary them in two studies",
            )  # fmt: skip


def with_values(
    bases: Tables,
    keys: Sequence[Sequence[ChangedKey]],
    parameters: Sequence[StudyParameter],
    values: Sequence[Any],
) -> dict[str, Any]:
    """Return the nested tables that a case changes, by name (model, run, subject, input), with its values in
    them.

    bases : tables before any change; keys : keys that each parameter changes; values : one for each parameter
    """
    changed: dict[str, Any] = {}
    for parameter, places, value in zip(parameters, keys, values, strict=True):
        for place in places:
            new = value
            if parameter.change != "set":
                new = place.base + value if parameter.change == "add" else place.base * value
            tables = changed.get(place.root, bases[place.root])
            changed[place.root] = with_value(tables, place.steps, typed(new, place.base))
    return changed


def typed(value: Any, base: Any) -> Any:
    """Return a number without a fraction as an integer if the base value is an integer; any other value
    unchanged.
    """
    if (
        isinstance(base, int)
        and not isinstance(base, bool)
        and isinstance(value, float)
        and value.is_integer()
    ):
        return int(value)
    return value


def placed(value: Any, folder: str) -> Any:
    """Return the value of a parameter or option; if it is the name of a file in the study's folder, its full
    path.
    """
    if isinstance(value, str) and value and is_file(Path(folder) / value):
        return os.path.realpath(Path(folder) / value)
    return value


def checked_subject(tables: dict[str, Any]) -> Subject:
    """Return the subject from its nested tables, after the changes of a case; ConfigError for impossible
    values.
    """
    subject = check_record(tables, Subject, "subject")
    try:
        check_person(subject)
        check_numbers(subject)
    except ValueError as error:
        raise ConfigError(str(error), where="subject") from None
    return subject
