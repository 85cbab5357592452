"""Compares the results of one recording solved with different choices of a run config, such as two knee
models: how well their curves agree, movement cycle by movement cycle (`rtsim analyse --compare`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rtsim.config.runs.run_schema import Compare
from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.methods.agreement import Agreement, cycles_of, frequency_of, over_cycles
from rtsim.quantity import GROUND

COLUMNS = Agreement._fields
ANATOMICAL = {"x": "AP", "y": "SI", "z": "ML"}
"""A body's own axes: anteroposterior, superoinferior, mediolateral."""
MILLIMETRES = {"m": ("mm", 1e3)}
"""Lengths are told in millimetres."""


def compare(by_choice: Mapping[str, Results], spec: Compare, where: str) -> dict[str, Any]:
    """Compare curves between results of one recording solved with different choices of the run config; return
    the frequency of the movement, the number of cycles, and a row for each field, entry and pair of choices.

    ConfigError for a field that the results do not have, and for a movement that does not repeat.

    by_choice : name of a choice (an alternative in the config, such as a knee model) -> its results
    spec : the config's table `compare`: fields, choices of each, number of cycles and their start
    where : config file, for error messages
    """
    for field, choices in spec.fields.items():
        lacking = next((choice for choice in choices if field not in by_choice[choice].fields), None)
        if lacking is not None:
            raise ConfigError(
                f"the results of the choice {lacking} do not contain this field",
                where=f"{where}: compare.fields.{field}",
                allowed=", ".join(by_choice[lacking].fields),
            )  # fmt: skip
    frequency = frequency_in(by_choice, spec)
    times = next(iter(by_choice.values())).times
    cycles = cycles_of(times - times[0], frequency, spec.cycles, spec.start_s) if frequency else []
    if not cycles:
        raise ConfigError(
            "the results contain no whole cycle of a periodic movement", where=where,
            remedy="give a longer recording, or an earlier compare.start_s",
        )  # fmt: skip
    rows = [
        row for field, choices in spec.fields.items() for row in rows_of(field, by_choice, choices, cycles)
    ]
    return {"frequency_hz": frequency, "cycles": len(cycles), "rows": rows}


def frequency_in(by_choice: Mapping[str, Results], spec: Compare) -> float:
    """Estimate the frequency of the movement [Hz] from the first field of `spec`, in the results of the
    choice to which the others are compared, without the first seconds, in which filters settle; 0 = none
    found.
    """
    field, choices = next(iter(spec.fields.items()))
    results = by_choice[choices[0]]
    settled = results.times - results.times[0] >= spec.start_s
    found = frequency_of(results.times[settled], results.fields[field][settled])
    return found if found == found else 0.0


def rows_of(
    field: str, by_choice: Mapping[str, Results], choices: Sequence[str], cycles: Sequence[slice]
) -> list[dict[str, Any]]:
    """Return for every entry of a field the agreement of the results of each further choice with those of the
    first one, as mean and standard deviation over the cycles.

    by_choice : name of a choice -> its results
    choices : names of the choices compared, the reference first
    cycles : frames of each movement cycle
    """
    wanted = by_choice[choices[0]]
    told = next(spec for spec in wanted.session.fields if spec.name == field)
    unit, scale = MILLIMETRES.get(told.unit, (told.unit, 1.0))
    parts = told.parts if told.frame in ("", GROUND) else tuple(ANATOMICAL.get(p, p) for p in told.parts)
    rows = []
    for choice in choices[1:]:
        results = by_choice[choice]
        for at in np.ndindex(wanted.fields[field].shape[1:]):
            entry = (slice(None), *at)
            found = over_cycles(
                scale * wanted.fields[field][entry], scale * results.fields[field][entry], list(cycles)
            )
            names = [names[k] for names, k in zip((told.labels, parts), at, strict=False) if names]
            rows.append(
                {
                    "field": field, "entry": " ".join(names), "unit": unit,
                    "choice": choice, "beside": choices[0],
                    "mean": finite(found.mean), "deviation": finite(found.deviation),
                }
            )  # fmt: skip
    return rows


def finite(found: Agreement) -> dict[str, float | None]:
    """Return the measures of agreement of two curves by name, for JSON: with None in place of NaN."""
    return {name: value if math.isfinite(value) else None for name, value in found._asdict().items()}


def in_words(told: Mapping[str, Any]) -> str:
    """Return the result of `compare` as text: a table for each field and pair of choices."""
    cycles = f"{told['cycles']} cycle{'s' if told['cycles'] > 1 else ''}"
    lines = [f"{cycles} at {told['frequency_hz']:.3g} Hz: mean (standard deviation) over the cycles"]
    if any(row["entry"].split()[-1:] == [axis] for row in told["rows"] for axis in ANATOMICAL.values()):
        lines.append(
            "AP, SI, ML: along x (forwards), y (up) and z (to the right) of the body that carries the joint"
        )
    cells = [
        [row["entry"], *(f"{number(row['mean'][key])} ({number(row['deviation'][key])})" for key in COLUMNS)]
        for row in told["rows"]
    ]
    widths = [max(map(len, column)) for column in zip(("", *COLUMNS), *cells, strict=True)]
    before = None
    for row, own in zip(told["rows"], cells, strict=True):
        head = (row["field"], row["choice"], row["beside"])
        if head != before:
            lines += [
                "",
                f"{head[0]} [{row['unit']}]: {head[1]} compared with {head[2]}",
                line(("", *COLUMNS), widths),
            ]
            before = head
        lines.append(line(own, widths))
    return "\n".join(lines)


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row of a table as text: names aligned to the left, numbers to the right, two spaces between
    the cells.
    """
    first, *others = (
        f"{cell:{'>' if k else '<'}{w}}" for k, (cell, w) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others))


def number(value: float | None) -> str:
    """Return a number as text with three significant digits; a dash for None."""
    return "-" if value is None else f"{value:.3g}"
