"""Check, before any case is solved, whether a schema rejects values that a study gives to its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.config.runs.study_schema import StudyInput, StudyParameter
from rtsim.errors import ConfigError
from rtsim.studies.changes import ChangedKey, checked_subject, with_values
from rtsim.studies.plan import StudyPlan

MOST_VALUES = 200
"""Values of a parameter that are looked at, spread evenly over all of them."""


def refused_values(plan: StudyPlan) -> list[str]:
    """Check each value of each parameter alone, with all other keys unchanged, and return a note on each
    value that the schema of the model, run, subject or input rejects. Cases with such a value have no
    results.

    ConfigError for a parameter whose values are all rejected.
    """
    found = []
    for number, parameter in enumerate(plan.spec.parameters):
        values = values_of(plan, number)
        reasons = {value: reason for value in values if (reason := why_refused(plan, number, value))}
        if len(reasons) == len(values):
            raise ConfigError(
                f"no value of this parameter is allowed: {next(iter(reasons.values()))}",
                where=f"parameters.{parameter.name}", remedy="give other values",
            )  # fmt: skip
        found += [
            f"parameters.{parameter.name}: {value!r} is not allowed: {why}" for value, why in reasons.items()
        ]
    return found


def values_of(plan: StudyPlan, number: int) -> list[Any]:
    """Return the distinct values of a parameter, at most about MOST_VALUES of them; number : index of the
    parameter
    """
    values = sorted({case[number] for case in plan.cases}, key=lambda value: (str(type(value)), value))
    step = -(-len(values) // MOST_VALUES)
    return [*dict.fromkeys((*values[::step], values[-1]))]


def why_refused(plan: StudyPlan, number: int, value: Any) -> str:
    """Return the reason why the schema rejects a value of a parameter, "" if it does not; number : index of
    the parameter
    """
    parameters: tuple[StudyParameter, ...] = (plan.spec.parameters[number],)
    keys: tuple[tuple[ChangedKey, ...], ...] = (plan.keys[number],)
    try:
        for root, tables in with_values(plan.task.bases, keys, parameters, (value,)).items():
            if root in SCHEMAS and not (root == "input" and plan.spec.analyse is None):
                SCHEMAS[root](tables)
    except ConfigError as error:
        return str(error)
    return ""


SCHEMAS: dict[str, Callable[[Any], Any]] = {
    "model": lambda tables: check_record(tables, ModelSpec, "model"),
    "run": lambda tables: check_record(tables, RunConfig, "run"),
    "subject": checked_subject,
    "input": lambda tables: check_record(tables, StudyInput, "input"),
}
