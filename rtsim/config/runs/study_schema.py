"""Schema of a study: what is solved repeatedly, which keys vary, and which results are stored."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

from rtsim.config.bounds import check_texts
from rtsim.config.runs.run_schema import LONGEST_S

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
Value = float | int | bool | str
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=LONGEST_S)]
Pair = Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]
TIMED = ("at", "time_to")
FIXED = ("case", "status", "reason", "seed", "versions", "plan", "frames", "unusable")
"""Columns that every table of a study has."""
SAMPLED = ("sobol", "latin_hypercube", "saltelli", "morris")


class AnalysedRun(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Table of a study that names a run over a recording, as in `rtsim analyse`, to be solved in each
    case.
    """

    # a run config, by file or shipped name, and choices that it offers
    config: str = ""
    choices: tuple[str, ...] = ()
    # keys of the run that replace those of the config
    run: dict[str, Any] = {}
    # whether a trial is analysed even if it does not fit its subject
    anyway: bool = False


class SimulatedModel(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Table of a study that names a forward simulation of a model, as in `rtsim simulate`, to be solved in
    each case.
    """

    model: str
    subject: str = ""
    # prescribed motion, a .mot or .sto file; further coordinates that follow it
    motion: str = ""
    prescribe: tuple[str, ...] = ()
    # load -> factor of its force; muscle or torque generator -> excitation
    load: dict[str, float] = {}
    excite: dict[str, float] = {}
    # largest number of rows that are stored for results and curves
    rows: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 2000


class FittedMeasurements(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Table of a study that names a fit, as in `rtsim fit NAME ARGUMENTS --OPTION VALUE`, to be solved in
    each case.
    """

    name: str
    arguments: tuple[str, ...] = ()
    # by the names of the options, without the dashes
    options: dict[str, Value | tuple[Value, ...]] = {}


class StudyInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The part of a recording that a study solves, and the noise added to it."""

    # times from the recording's first frame on
    start_s: Seconds = 0.0
    # 0 = to the end
    end_s: Seconds = 0.0
    # standard deviation of white noise on every coordinate of every marker, another one in each case
    noise_mm: Annotated[float, msgspec.Meta(ge=0.0, le=100.0)] = 0.0


class Design(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Design of a study: how its cases are chosen.

    grid: every combination of the values; list: the first values of all parameters, the second ones, ...;
    sobol, latin_hypercube: n points of a quasi-random sample; saltelli: n (d + 2) cases for Sobol indices;
    morris: n trajectories of d + 1 cases.
    """

    kind: Literal["grid", "list", "sobol", "latin_hypercube", "saltelli", "morris"] = "grid"
    n: Annotated[int, msgspec.Meta(ge=0)] = 0
    # of a Morris design: levels of each parameter
    levels: Annotated[int, msgspec.Meta(ge=4, le=100)] = 4

    def __post_init__(self) -> None:
        if self.kind in SAMPLED and self.n < 1:
            raise ValueError(f"design.n: a design of kind {self.kind} has 0 cases; allowed: 1 or more")
        if self.kind not in SAMPLED and self.n:
            raise ValueError(
                f"design.n: the number of cases of a {self.kind} follows from its values; remove n"
            )
        if self.kind in ("sobol", "saltelli") and self.n & (self.n - 1):
            raise ValueError(
                f"design.n: {self.n} is not a power of two, and a Sobol sequence needs a power of two"
            )
        if self.kind == "morris" and self.levels % 2:
            raise ValueError(f"design.levels: {self.levels} is odd, but a Morris design needs an even number")


class StudyParameter(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A parameter of a study: one or several keys, which take the same value in a case, and the values to
    be tried.
    """

    name: str
    # dotted path below model, run, subject or input
    key: str | tuple[str, ...]
    # of grids and lists
    values: tuple[Value, ...] = ()
    # of samples: lowest and highest, spread evenly on a linear or a logarithmic scale
    range: Pair | None = None
    scale: Literal["linear", "log"] = "linear"
    # of samples, instead: mean and standard deviation of a normal distribution
    normal: Pair | None = None
    # whether a value replaces that of the key, is added to it, or multiplies it
    change: Literal["set", "add", "multiply"] = "set"

    def __post_init__(self) -> None:
        n_given = bool(self.values) + (self.range is not None) + (self.normal is not None)
        if n_given > 1:
            raise ValueError(f"parameters.{self.name}: give one of values, range and normal")
        if self.range is not None:
            low, high = self.range
            if not low < high:
                raise ValueError(f"parameters.{self.name}.range: [{low:g}, {high:g}]; allowed: low < high")
            if self.scale == "log" and low <= 0.0:
                raise ValueError(f"parameters.{self.name}.range: {low:g} has no logarithm; allowed: above 0")
        if self.normal is not None and not self.normal[1] > 0.0:
            raise ValueError(
                f"parameters.{self.name}.normal: a standard deviation of {self.normal[1]:g}; allowed: above 0"
            )
        if self.scale == "log" and self.range is None:
            raise ValueError(f"parameters.{self.name}.scale: only a range has a scale; remove scale")
        if self.change != "set" and not all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values
        ):
            raise ValueError(
                f"parameters.{self.name}.values: the values of a parameter that is to "
                f"{self.change} must be numbers"
            )

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys to which the value of this parameter is applied."""
        return (self.key,) if isinstance(self.key, str) else self.key


class StudyResult(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One scalar result of each case: a column of its results, reduced over time to one number."""

    name: str
    # as in a table of csv, without its unit: joint_angles.knee_flexion; of a fit: a path into its JSON
    column: str
    # peak: the largest magnitude, with its sign; largest, smallest, mean, rms, range, deviation, first, last,
    # number (of a fit); at: at a time; time_to: when it first crosses a threshold; time_of_peak
    take: Literal[
        "peak", "largest", "smallest", "mean", "rms", "range", "deviation", "first", "last", "number", "at",
        "time_to", "time_of_peak",
    ] = "peak"  # fmt: skip
    at_s: float = 0.0
    # in the unit of the column
    threshold: float | None = None
    # times between which it is taken, from the recording's first frame on; 0 = to the end
    start_s: Seconds = 0.0
    end_s: Seconds = 0.0

    def __post_init__(self) -> None:
        if (self.threshold is None) == (self.take == "time_to"):
            raise ValueError(
                f"results.{self.name}: threshold is used only with time_to, and time_to needs a threshold"
            )
        if self.at_s and self.take != "at":
            raise ValueError(f'results.{self.name}: at_s is used only with take = "at"; remove at_s')


class KeptCurves(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Columns of the results that are stored as curves for each case, interpolated at `points` evenly spaced
    times.
    """

    columns: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=1000)]
    points: Annotated[int, msgspec.Meta(ge=2, le=10_001)] = 101


class StudySpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Schema of a study: parameters, results, the runs to solve, and the design."""

    name: str
    parameters: Annotated[tuple[StudyParameter, ...], msgspec.Meta(min_length=1, max_length=1000)]
    results: tuple[StudyResult, ...] = ()
    # one of these
    analyse: AnalysedRun | None = None
    simulate: SimulatedModel | None = None
    fit: FittedMeasurements | None = None
    input: StudyInput = StudyInput()
    design: Design = Design()
    curves: KeptCurves | None = None
    # of samples, and of noise
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0

    def __post_init__(self) -> None:
        check_texts(msgspec.to_builtins(self))
        given = [key for key in ("analyse", "simulate", "fit") if getattr(self, key) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "nothing"
            raise ValueError(
                "a study has exactly one of the tables analyse, simulate and fit, and this study has "
                f"{what}; give one of them"
            )
        if self.input != StudyInput() and self.analyse is None:
            raise ValueError(
                "input: this table chooses part of a recording, and this study does not analyse a "
                "recording; remove the table"
            )
        names = [*(one.name for one in self.parameters), *(one.name for one in self.results)]
        odd = next((name for name in (self.name, *names) if not NAME.fullmatch(name)), None)
        if odd is not None:
            raise ValueError(
                f"{odd!r} cannot be a name; allowed: a letter, then letters, digits and _, 60 in all"
            )
        twice = next((name for name in names if names.count(name) > 1 or name in FIXED), None)
        if twice is not None:
            raise ValueError(f"two columns have the name {twice!r}; allowed: each name once")
        if not self.results and self.curves is None:
            raise ValueError("results: no result is kept of any case; add [[results]] or [curves]")
        for one in self.parameters:
            sampled = self.design.kind in SAMPLED
            if sampled == bool(one.values):
                raise ValueError(
                    f"parameters.{one.name}: a design {self.design.kind} needs "
                    f"{'range or normal' if sampled else 'values'}; allowed: "
                    f"{'a range, or a mean and a standard deviation' if sampled else 'one value or more'}"
                )
            if self.design.kind == "morris" and one.normal is not None:
                raise ValueError(
                    f"parameters.{one.name}.normal: a Morris design goes through a range from end to end, "
                    "and a normal distribution has no ends; give range"
                )
        lengths = {len(one.values) for one in self.parameters}
        if self.design.kind == "list" and len(lengths) > 1:
            raise ValueError(
                "parameters: in a design of kind list, all parameters need the same number of values"
            )
