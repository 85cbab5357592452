"""Figures 5.9 to 5.15 and tables 5.5 to 5.9 of Brown (2017): contact parameters of a foot identified from
steps, each fit from ten initial guesses.

The steps of the thesis are not public: the steps here are synthetic, of the same size and with known
parameters (`rtsim.methods.foot.rolling_foot`), with 1 % noise. `rtsim fit foot` does the same with recorded
steps.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.panels import FigurePanel
from rtsim.methods.foot.foot_fit import FootFit, fit_foot, validate_foot
from rtsim.methods.foot.foot_misfit import Errors, Weights
from rtsim.methods.foot.foot_parameters import NAMES, TABLE_5_6, UNITS, guess, guesses, nearest_form
from rtsim.methods.foot.rolling_foot import WEIGHT, SyntheticStep, known_step, true_parameters
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, Kind, PaperItem, StatedBound
from rtsim.report.foot_drawn import drawn
from rtsim.report.foot_fit import FittedStep, friction_curve, panels, steps_of

if TYPE_CHECKING:
    from rtsim.monitor.figures.paper import Paper

Array = NDArray[np.float64]

N_START, NOISE, SEED = 10, 0.01, 0
"""Number of initial guesses of each fit, within 10 % of table 5.4 (section 5.3.2); relative noise of the
measurements; seed of the foot's true parameters.
"""
WEIGHTS = {
    "friction": Weights(friction=1.0, spin=1.0),
    "pressure": Weights(),
    "force": Weights(pressure=0.0),
}
"""Weights of the fits in sections 5.3.3, 5.3.4 and 5.3.5."""
CADENCES = {"calibration": 0.75, "same cadence": 0.75, "higher cadence": 0.65, "lower cadence": 0.9}
"""Synthetic steps with their durations [s]; the cadences of the thesis are 92, 112 and 72 steps a minute."""
TABLE_5_5 = {"normal": 11.5, "friction": 26.5, "spin": 14.2, "cop": 5.0, "pressure": 51.7}
TABLE_5_7 = {
    "calibration": (3.4, 3.2, 33.9),
    "same cadence": (4.2, 4.2, 38.1),
    "higher cadence": (4.9, 6.6, 44.1),
    "lower cadence": (4.4, 5.0, 40.0),
}
TABLE_5_8 = {"normal force": (28.8, "N"), "COP along": (8.0, "mm"), "COP across": (2.4, "mm")}
TABLE_5_9 = {"pressure": (3.4, 3.2, 33.9), "force": (2.7, 1.8, 70.2)}
SECONDS = {"friction": 180.0, "pressure": 164.0, "force": 10.0, "validation": 82.0}
"""Printed computing times of the fits and of a validation [s] (section 5.3.6)."""
QUANTITIES = {"normal": "normal force", "friction": "friction force", "spin": "free moment",
              "cop": "COP", "pressure": "pressure"}  # fmt: skip
PERCENT = 100.0
OTHER_FOOT = (
    "the value of rtsim is from a synthetic foot, whose parameters differ from those of the subject of Brown "
    "(2017)"
)
MACHINE = (
    "times of Brown (2017) are from another machine and method; `rtsim bench foot-fit` compares rtsim's "
    "times with targets"
)
ENDS = "Brown (2017) used the best of ten initial guesses and does not say where the other searches ended"
NOT_SOUGHT = (
    "the fit did not use the pressure, so the error of the pressure differs between footsteps; Brown (2017) "
    "gives no number, only that it matched poorly"
)
STEP_DATA = (
    "from a synthetic footstep with known parameters and 1 % noise; `rtsim fit foot` accepts "
    "recorded footsteps"
)


class FootCase(NamedTuple):
    """One fit of the contact parameters of a foot: the synthetic step, the fit with its motion, forces and
    pressures, and the mean computing time from one initial guess [s].
    """

    known: SyntheticStep
    fit: FootFit
    step: FittedStep
    seconds: float


@lru_cache(maxsize=3)
def case_of(kind: str) -> FootCase:
    """Fit contact parameters from ten initial guesses to the calibration step, a synthetic step whose true
    parameters are known; kind : "friction", "pressure" or "force", which chooses the weights of the terms of
    the cost (WEIGHTS)
    """
    truth = true_parameters(SEED)
    known = known_step(truth, 1, CADENCES["calibration"], NOISE, friction=kind == "friction")
    around = guess(known.trial.frame)
    begin = perf_counter()
    fit = fit_foot([known.trial], WEIGHTS[kind], guesses(around, N_START, SEED), around)
    seconds = (perf_counter() - begin) / N_START
    (step,) = steps_of([known.trial], fit, True)
    return FootCase(known, fit, step, seconds)


@lru_cache(maxsize=1)
def held_steps() -> dict[str, tuple[Errors, float]]:
    """Return for each cadence the errors of a synthetic step and the computing time [s]. The parameters are
    fitted to the calibration step, whose errors are those of the fit; the contact of the other steps is
    predicted with them.
    """
    case = case_of("pressure")
    found = {"calibration": (case.fit.errors[0], case.seconds)}
    for k, (name, length) in enumerate(CADENCES.items()):
        if name in found:
            continue
        step = known_step(true_parameters(SEED), 2 + k, length, NOISE)
        begin = perf_counter()
        held = validate_foot([step.trial], WEIGHTS["pressure"], case.fit.parameters)
        found[name] = (held.errors[0], perf_counter() - begin)
    return found


def error_row(name: str, printed: float, ours: float, source: str, is_left_out: bool = False) -> Comparison:
    """Return a comparison of an RMS error, as a percentage of the scale in table 5.3 of the thesis; the error
    of the thesis is its upper bound.

    source : table with this error; is_left_out : whether this quantity was not fitted, so that it has no
        bound
    """
    bound = (
        None
        if is_left_out
        else StatedBound(f"required: no larger than the error of Brown (2017) in {source}", high=printed)
    )
    reason = NOT_SOUGHT if is_left_out else ""
    return Comparison(name, "%", printed, PERCENT * ours, bound, reason=reason)


def time_row(name: str, kind: str, seconds: float) -> Comparison:
    """Return a comparison of the computing time of a search from one initial guess with that in the thesis;
    kind : "friction", "pressure" or "force", the kind of fit
    """
    return Comparison(name, "s", SECONDS[kind], seconds, reason=MACHINE)


def table_5_5(given: ItemInput) -> ItemResult:
    """Compute table 5.5: errors of the fit of the foot's contact parameters with friction."""
    case = case_of("friction")
    errors = case.fit.errors[0]
    rows = [
        error_row(QUANTITIES[key], printed, getattr(errors, key), "table 5.5")
        for key, printed in TABLE_5_5.items()
    ]
    return ItemResult(
        [
            *rows,
            time_row("computing time of a search from one initial guess", "friction", case.seconds),
            *start_rows(case),
        ]
    )


def start_rows(case: FootCase) -> list[Comparison]:
    """Return comparisons on the ten initial guesses of a fit: how many lead the search to within 1 % of the
    lowest cost, and the ratio of the greatest cost to the lowest one.
    """
    costs = case.fit.costs
    near = int(np.sum(costs < 1.01 * np.nanmin(costs)))
    return [
        Comparison("number of searches, out of those from 10 initial guesses, that end within 1 % of the "
                   "lowest cost",
                   "1", None, float(near),
                   reason=ENDS),
        Comparison("greatest final cost of a search divided by the lowest one", "1", None,
                   float(np.nanmax(costs) / np.nanmin(costs)), reason=ENDS),
    ]  # fmt: skip


def table_5_6(given: ItemInput) -> ItemResult:
    """Compute table 5.6: the thirty fitted parameters, except mu_d, compared with the true ones of the
    synthetic step.
    """
    case = case_of("pressure")
    found = nearest_form(case.fit.parameters, case.known.parameters)
    rows = []
    for name, unit, printed, ours, true in zip(
        NAMES, UNITS, TABLE_5_6, found, case.known.parameters, strict=True
    ):
        if name == "mu_d":
            continue
        scale, said = (1e3, "mm") if unit == "m" else (1.0, unit)
        rows.append(
            Comparison(
                f"{name}; {scale * true:.4g} {said} in the synthetic foot", said, float(scale * printed),
                float(scale * ours), reason=OTHER_FOOT,
            )
        )  # fmt: skip
    weak = len(case.fit.weak)
    notes = (f"The data hardly determine {weak} combinations of parameters, whose values may be wrong.",)
    return ItemResult([*rows, *start_rows(case)], notes=notes)


def table_5_7(given: ItemInput) -> ItemResult:
    """Compute table 5.7: errors of the calibration step and of steps at other cadences."""
    rows = []
    for name, (errors, seconds) in held_steps().items():
        for key, printed in zip(("normal", "cop", "pressure"), TABLE_5_7[name], strict=True):
            rows.append(error_row(f"{name}: {QUANTITIES[key]}", printed, getattr(errors, key), "table 5.7"))
        kind = "pressure" if name == "calibration" else "validation"
        rows.append(time_row(f"{name}: computing time of one search", kind, seconds))
    return ItemResult(rows)


def table_5_8(given: ItemInput) -> ItemResult:
    """Compute table 5.8: mean errors of the predicted steps, in newtons and millimetres, compared with those
    in the thesis.
    """
    errors = [own for name, (own, _) in held_steps().items() if name != "calibration"]
    ours = (
        WEIGHT * float(np.mean([own.normal for own in errors])),
        1e3 * float(np.mean([own.cop_along for own in errors])),
        1e3 * float(np.mean([own.cop_across for own in errors])),
    )
    rows = [
        Comparison(
            name,
            unit,
            printed,
            value,
            StatedBound("required: no more than the error in table 5.8 of Brown (2017)", high=printed),
        )
        for (name, (printed, unit)), value in zip(TABLE_5_8.items(), ours, strict=True)
    ]
    return ItemResult(rows)


def table_5_9(given: ItemInput) -> ItemResult:
    """Compute table 5.9: errors of the fits of the foot's contact parameters with and without pressure."""
    rows = []
    for kind, printed in TABLE_5_9.items():
        errors, words = case_of(kind).fit.errors[0], "with" if kind == "pressure" else "without"
        for key, value in zip(("normal", "cop", "pressure"), printed, strict=True):
            rows.append(
                error_row(
                    f"fit {words} pressure in its cost: {QUANTITIES[key]}",
                    value,
                    getattr(errors, key),
                    "table 5.9",
                    kind == "force" and key == "pressure",
                )
            )
        rows.append(
            time_row(
                f"fit {words} pressure in its cost: computing time of a search from one initial guess",
                kind,
                case_of(kind).seconds,
            )
        )
    own, without = (case_of(kind).fit.errors[0].pressure for kind in ("pressure", "force"))
    rows.append(
        Comparison(
            "pressure error of the fit without pressure in its cost, divided by that of the fit with "
            "it", "1",
            70.2 / 33.9, without / own,
            StatedBound("stated by Brown (2017), section 5.3.5: without pressure in the cost of the "
                        "fit, pressure matches poorly", low=1.0),
        )
    )  # fmt: skip
    return ItemResult(rows)


def foot_item(kind: str, shapes: bool, given: ItemInput) -> ItemResult:
    """Compute a figure of a fit with forces, ellipsoids and pressures, with its errors compared with those of
    the thesis.

    kind : "friction", "pressure" or "force", the kind of fit; shapes : whether only the ellipsoids are drawn
    """
    case = case_of(kind)
    errors = case.fit.errors[0]
    printed = (
        TABLE_5_5
        if kind == "friction"
        else dict(zip(("normal", "cop", "pressure"), TABLE_5_9[kind], strict=True))
    )
    source = "table 5.5" if kind == "friction" else "table 5.9"
    rows = [
        error_row(QUANTITIES[key], value, getattr(errors, key), source, kind == "force" and key == "pressure")
        for key, value in printed.items()
    ]
    return ItemResult(rows, draw=partial(draw_foot, case, shapes))


def draw_foot(case: FootCase, shapes: bool, paper: Paper, title: str, notes: object) -> list[Path]:
    """Draw the figure of a fitted foot and return its file; the title states the source of the data.

    shapes : whether only the contact ellipsoids are drawn; paper : file and size of the drawing
    """
    from rtsim.monitor.figures.foot_figure import FootFigureContent, save_foot

    content = drawn(case.step, case.fit.parameters)
    content["title"] = f"{title}: synthetic step, not that of Brown (2017)"
    if shapes:
        content |= {"panels": [], "maps": {}}
    save_foot(paper, FootFigureContent(**content))
    return [paper.path]


def figure_5_10(given: ItemInput) -> ItemResult:
    """Compute figure 5.10: friction under the foot, the greatest possible friction, and the normal force on
    which it depends.
    """
    case = case_of("friction")
    mu_d = float(case.fit.parameters[NAMES.index("mu_d")])
    shear = next(own for own in panels(case.step, mu_d) if own.title.startswith("Friction"))
    pressed = case.step.simulated.force[:, 2]
    rubbed = np.hypot(*case.step.simulated.force[:, :2].T)
    share = rubbed[pressed > 0.1 * WEIGHT] / (mu_d * pressed[pressed > 0.1 * WEIGHT])
    rows = [
        Comparison("mu_d", "1", 0.14, mu_d, reason=f"{OTHER_FOOT}: {case.known.parameters[2]:.3g}"),
        Comparison(
            "greatest friction, as a fraction of mu_d F_n", "1", "at most 1", float(share.max()),
            StatedBound("stated by Brown (2017), figure 5.10: mu_d F_n is the maximum possible "
                        "friction", high=1.0 + 1e-3),
        ),
        Comparison("friction as a fraction of mu_d F_n, median", "1", "about 1", float(np.median(share)),
                   reason="Brown (2017) found the foot slipping most of the time, but does not print for "
                          "how long"),
    ]  # fmt: skip
    return ItemResult(rows, [shear._replace(enlarged=True)])


def figure_5_11(given: ItemInput) -> ItemResult:
    """Compute figure 5.11: friction over the sliding velocity, with dynamic friction only."""
    case = case_of("friction")
    mu_d = float(case.fit.parameters[NAMES.index("mu_d")])
    curve: FigurePanel = friction_curve(mu_d)
    (y,) = curve.curves.values()
    at = float(np.interp(10.0, curve.x, y)) / mu_d
    rows = [
        Comparison("friction at v_t = 10 mm/s divided by mu_d F_n", "1", "about 1", at,
                   StatedBound("stated by Brown (2017), section 4.2: friction at v_t is within 0.1 % "
                               "of mu_d F_n", low=1.0 - 1e-3, high=1.0)),
    ]  # fmt: skip
    return ItemResult(rows, [curve])


def item(kind: Kind, number: str, title: str, compute: Computed) -> PaperItem:
    """Build the catalogue entry of a figure or table of the foot."""
    return PaperItem(
        kind=kind,
        number=number,
        title=title,
        data=STEP_DATA,
        has_data_of_paper=False,
        compute=compute,
        kernels=("foot-fit",),
    )


ITEMS = (
    item(
        "figure", "5.9", "forces and pressures, fitted with friction", partial(foot_item, "friction", False)
    ),
    item("figure", "5.10", "friction of the foot, and its limit mu_d F_n", figure_5_10),
    item("figure", "5.11", "friction of the foot over its sliding velocity", figure_5_11),
    item("figure", "5.12", "ellipsoids, fitted without friction", partial(foot_item, "pressure", True)),
    item(
        "figure",
        "5.13",
        "forces and pressures, fitted without friction",
        partial(foot_item, "pressure", False),
    ),
    item("figure", "5.14", "ellipsoids, fitted without pressure", partial(foot_item, "force", True)),
    item(
        "figure", "5.15", "forces and pressures, fitted without pressure", partial(foot_item, "force", False)
    ),
    item("table", "5.5", "errors of the fit with friction", table_5_5),
    item("table", "5.6", "fitted parameters of the foot contact", table_5_6),
    item("table", "5.7", "errors in the calibration footstep and at other cadences", table_5_7),
    item("table", "5.8", "errors of predicted footsteps in newtons and millimetres", table_5_8),
    item("table", "5.9", "errors of fits with and without pressure in their cost function", table_5_9),
)
