"""Summary of a solved study, read from its folder: the sensitivity of each result to the parameters, as text
and as panels.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import check_record, parse_toml
from rtsim.config.runs.study_schema import SAMPLED, StudySpec
from rtsim.errors import ConfigError
from rtsim.studies.designs import n_case, unit_points
from rtsim.studies.indices import MorrisEffects, SobolIndices, morris_effects, sobol_indices
from rtsim.studies.record import PLAN, read_record
from rtsim.studies.table import CURVES, NPZ

Array = NDArray[np.float64]
FIFTH = 0.2
QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


class TornadoBar(NamedTuple):
    """The effect of one parameter on a result, as one bar of a tornado diagram.

    start, stop : ends of the bar; marks : ends of its confidence interval, () without one
    words : texts beside the ends of the bar
    """

    name: str
    start: float
    stop: float
    marks: tuple[float, ...] = ()
    words: tuple[str, str] = ("", "")


class TornadoPanel(NamedTuple):
    """The bars of one result in a tornado diagram, the longest first.

    axis : title of the axis
    zero : value at which the bars begin
    """

    title: str
    axis: str
    bars: tuple[TornadoBar, ...]
    zero: float


class HeatPanel(NamedTuple):
    """A heat map of the means of a result over two parameters: values (n_x, n_y), NaN where there are none,
    and the levels of both parameters.
    """

    title: str
    names: tuple[str, str]
    levels: tuple[tuple[str, ...], tuple[str, ...]]
    values: Array


class BandPanel(NamedTuple):
    """Quantiles, over all cases of a study, of a column of the results as a function of time.

    part : (n_point,) - time as a fraction of the duration; values : (n_quantile, n_point) - a row for each of
        QUANTILES
    """

    title: str
    part: Array
    values: Array


class StudySummary(NamedTuple):
    """The summary of a study: its name, lines of text, tornado diagrams, heat maps and quantile bands."""

    name: str
    words: tuple[str, ...]
    tornados: tuple[TornadoPanel, ...]
    heats: tuple[HeatPanel, ...]
    bands: tuple[BandPanel, ...]


def read_arrays(path: Path) -> dict[str, NDArray]:
    """Read the arrays of a study's table or curves from a file (.npz); ConfigError if it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except FileNotFoundError:
        raise ConfigError(
            "there is no table yet",
            where=str(path),
            remedy="run `rtsim study` once more, which writes the table",
        ) from None
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigError(
            f"the table is damaged ({error})",
            where=str(path),
            remedy="remove the table, and run `rtsim study` once more",
        ) from None


def summary_of(folder: Path) -> StudySummary:
    """Return the summary of the study in a folder."""
    record = read_record(folder)
    spec = check_record(parse_toml(record.study, str(folder / PLAN)), StudySpec, str(folder / PLAN))
    table = read_arrays(folder / NPZ)
    if str(next(iter(table["plan"]), "")) != record.hash:
        raise ConfigError(
            "the rows of the table belong to another study", where=str(folder / NPZ),
            remedy="run `rtsim study` once more, which writes the table",
        )  # fmt: skip
    counted = {str(name): int((table["status"] == name).sum()) for name in np.unique(table["status"])}
    told = ", ".join(f"{n} {name}" for name, n in counted.items())
    words = [f"study {spec.name}: {len(table['case'])} of {record.n_case} cases done: {told}"]
    tornados = []
    for result in spec.results:
        unit = str(table.get(f"unit_{result.name}", ""))
        values = np.full(n_case(spec), np.nan)
        values[table["case"]] = table[result.name]
        panel, lines = result_told(spec, f"{result.name} [{unit}]" if unit else result.name, values, table)
        tornados.append(panel)
        words += lines
    curves = read_arrays(folder / CURVES) if spec.curves is not None else {}
    return StudySummary(
        name=spec.name,
        words=tuple(words),
        tornados=tuple(tornados),
        heats=tuple(
            heat
            for result, panel in zip(spec.results, tornados, strict=True)
            if (heat := heat_of(spec, result.name, panel, table)) is not None
        ),
        bands=tuple(
            BandPanel(name, curves["part_of_time"], quantiles_of(curves[name]))
            for name in (spec.curves.columns if spec.curves is not None else ())
        ),
    )


def result_told(
    spec: StudySpec, title: str, values: Array, table: dict[str, NDArray]
) -> tuple[TornadoPanel, list[str]]:
    """Return a tornado diagram and lines of text about the sensitivity of one result of a study. A Saltelli
    design gives Sobol indices, a Morris design Morris effects, and any other design the mean results at low
    and high values of each parameter.

    title : name of the result; values : (n_case,) - the result in each case, NaN where it is missing
    table : columns of the study's table, with the values of the parameters
    """
    names = [one.name for one in spec.parameters]
    known = values[np.isfinite(values)]
    if not len(known):
        return TornadoPanel(title, "no case has a result", (), 0.0), [f"{title}: no case has a result"]
    lines = [
        f"{title}: mean {known.mean():.4g}, standard deviation {known.std():.3g}, {known.min():.4g} "
        f"to {known.max():.4g}"
    ]
    if spec.design.kind == "saltelli":
        found = sobol_indices(values, len(names), spec.seed)
        return sobol_told(title, names, found, lines)
    if spec.design.kind == "morris":
        points = unit_points(spec.design, len(names), spec.seed)
        return morris_told(title, names, morris_effects(points, values, spec.seed), lines)
    sampled = spec.design.kind in SAMPLED
    bars = [bar_along(name, table[name], values[table["case"]], sampled) for name in names]
    where = "in the lowest and the highest fifth" if sampled else "at the lowest and the highest value"
    panel = TornadoPanel(
        title,
        f"mean result {where} of each parameter",
        ordered(bars),
        known.mean(),
    )
    lines += [
        f"  {bar.name}: mean result {bar.start:.4g} at {bar.words[0]}, {bar.stop:.4g} at {bar.words[1]}"
        for bar in panel.bars
    ]
    return panel, lines


def sobol_told(
    title: str, names: Sequence[str], found: SobolIndices, lines: list[str]
) -> tuple[TornadoPanel, list[str]]:
    """Return the Sobol indices of one result as a tornado diagram, and as text that is added to `lines`;
    title : name of the result; names : of the parameters
    """
    bars = []
    for k, name in enumerate(names):
        first, total = found.first_interval[:, k], found.total_interval[:, k]
        bars.append(TornadoBar(name, 0.0, float(found.total[k]), (float(total[0]), float(total[1]))))
        lines.append(
            f"  {name}: first order {found.first[k]:.3f} ({first[0]:.3f} to {first[1]:.3f}), "
            f"total {found.total[k]:.3f} ({total[0]:.3f} to {total[1]:.3f})"
        )
    lines += left_out(found.n, found.n_left_out, "rows of the Saltelli design")
    return TornadoPanel(title, "total Sobol index, 95 % interval", ordered(bars), 0.0), lines


def morris_told(
    title: str, names: Sequence[str], found: MorrisEffects, lines: list[str]
) -> tuple[TornadoPanel, list[str]]:
    """Return the Morris effects of one result as a tornado diagram, and as text that is added to `lines`;
    title : name of the result; names : of the parameters
    """
    bars = []
    for k, name in enumerate(names):
        ends = found.magnitude_interval[:, k]
        bars.append(TornadoBar(name, 0.0, float(found.magnitude[k]), (float(ends[0]), float(ends[1]))))
        spread = found.deviation_interval[:, k]
        lines.append(
            f"  {name}: mu* {found.magnitude[k]:.4g} ({ends[0]:.4g} to {ends[1]:.4g}), mu "
            f"{found.mean[k]:.4g}, sigma {found.deviation[k]:.4g} ({spread[0]:.4g} to {spread[1]:.4g})"
        )
    lines += left_out(found.n, found.n_left_out, "trajectories")
    axis = "mu*: mean absolute elementary effect over the whole range, 95 % interval"
    return TornadoPanel(title, axis, ordered(bars), 0.0), lines


def left_out(n: int, n_left_out: int, what: str) -> list[str]:
    """Return a list with one line of text on cases that were not used; an empty list if all were used.

    n, n_left_out : numbers of rows or trajectories that were used and left out; what : word for them
    """
    return (
        [f"  computed from {n} {what}; {n_left_out} were left out, because cases have no result"]
        if n_left_out
        else []
    )


def ordered(bars: Sequence[TornadoBar]) -> tuple[TornadoBar, ...]:
    """Return the bars of a tornado diagram, the longest one first."""
    return tuple(sorted(bars, key=lambda bar: -abs(bar.stop - bar.start) if bar.stop == bar.stop else 0.0))


def bar_along(name: str, levels: NDArray, values: Array, sampled: bool) -> TornadoBar:
    """Return the effect of a parameter on a result as a bar between two means of the result. They are those
    of the cases with the lowest and with the highest value of the parameter; of a sample, in which every case
    has another value, those of the lowest and of the highest fifth of the values. For a parameter with text
    values, they are the smallest and the largest mean of any value.

    name, levels : name of the parameter and its value in each case, (n,); values : (n,) - the result
    sampled : whether the values are a sample
    """
    known = np.isfinite(values)
    levels, values = levels[known], values[known]
    distinct = np.unique(levels)
    if sampled and len(distinct):
        low, high = np.quantile(levels, [FIFTH, 1.0 - FIFTH])
        ends = (f"{low:.4g} or less", f"{high:.4g} or more")
        return TornadoBar(
            name, float(values[levels <= low].mean()), float(values[levels >= high].mean()), words=ends
        )
    means = [float(values[levels == level].mean()) for level in distinct]
    order = [0, -1] if levels.dtype.kind == "f" else [int(np.argmin(means)), int(np.argmax(means))]
    words = tuple(text_of(distinct[k]) for k in order)
    return TornadoBar(name, means[order[0]], means[order[1]], words=(words[0], words[1]))


def text_of(level: object) -> str:
    """Return a level (value) of a parameter as text."""
    return f"{level:.4g}" if isinstance(level, float) else str(level)


def heat_of(spec: StudySpec, result: str, panel: TornadoPanel, table: dict[str, NDArray]) -> HeatPanel | None:
    """Return the means of a result over those two parameters of a grid that affect it most; None if the
    design is no grid of two or more parameters.

    panel : tornado diagram of the result, with the parameters in the order of their effect; table : columns
        of the study's table
    """
    if spec.design.kind != "grid" or len(panel.bars) < 2:
        return None
    names = (panel.bars[0].name, panel.bars[1].name)
    levels = [np.unique(table[name]) for name in names]
    if min(map(len, levels)) < 2:
        return None
    values = np.full((len(levels[0]), len(levels[1])), math.nan)
    for i, x in enumerate(levels[0]):
        for j, y in enumerate(levels[1]):
            cell = table[result][(table[names[0]] == x) & (table[names[1]] == y)]
            cell = cell[np.isfinite(cell)]
            values[i, j] = cell.mean() if len(cell) else math.nan
    shown = [tuple(text_of(x) for x in row.tolist()) for row in levels]
    return HeatPanel(panel.title, names, (shown[0], shown[1]), values)


def quantiles_of(curves: Array) -> Array:
    """Return the quantiles over all cases of curves (n_case, n_point), (n_quantile, n_point); NaN where no
    case has a value.
    """
    found = np.full((len(QUANTILES), curves.shape[1]), np.nan)
    there = np.isfinite(curves).any(axis=0)
    if there.any():
        found[:, there] = np.nanquantile(curves[:, there], QUANTILES, axis=0)
    return found
