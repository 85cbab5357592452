"""Table 1, figures 4 and 5 of Millard et al. (2019): the torque generator of the hip's extensor fitted to the
stoop lift, from many initial guesses and for several limits a_max of its activation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.panels import FigurePanel
from rtsim.methods.generators.torque_generator_figures import panels_of_fit
from rtsim.methods.generators.torque_generator_fit import FittedGenerator
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, Kind, PaperItem, StatedBound
from rtsim.papers.paper_004.lift_motion import (
    DEEPEST_DEG,
    MADE_UP_DATA,
    PASSIVE_OF_PAPER,
    LiftMotion,
    fit_of,
    lift_of,
    random_starts,
)

Array = NDArray[np.float64]

TABLE_1 = (("s^A", "1", 1.03, 0.005), ("s^V", "1", 1.12, 0.005), ("Delta^P", "deg", -4.18, 0.01),
           ("lambda^P", "1", 0.92, 0.005), ("s^tau", "1", 1.12, 0.005))  # fmt: skip
"""Quantity, unit, printed number, and its rounding error; the printed -4.18 is truncated, not rounded."""
OBJECTIVE_OF_PAPER = 0.8832
"""Squared distance of the parameters in table 1 from the defaults, by the authors' data in full precision."""
TOO_STIFF_DEG, LARGEST_PASSIVE = 81.4, 1.4
"""Hip flexion beyond which activations are negative (section 3), and t^PE_max of section 2.3."""
CAPS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
SLACK = 1e-6
OTHER_LIFT = (
    "the value of rtsim is from another lift than that of Millard et al. (2019); --recording reads the "
    "authors' q_stoop2.csv"
)


@lru_cache(maxsize=1)
def fits_of(recording: Path | None) -> tuple[LiftMotion, FittedGenerator, FittedGenerator]:
    """Fit the torque generator of the right hip's extensor to the lift. Return the lift, the fit from the
    initial guess of Millard et al. alone, and the best fit from many initial guesses, random ones
    included.

    recording : file of a recorded lift, None = the synthetic one
    """
    lift = lift_of(recording)
    first = fit_of(lift, lift.hips[0], several=False, most_passive=PASSIVE_OF_PAPER)
    best = fit_of(lift, lift.hips[0], most_passive=PASSIVE_OF_PAPER, more_starts=random_starts())
    return lift, first, best


def table_1(given: ItemInput) -> ItemResult:
    """Compute table 1: the fitted parameters, the minima reached from all initial guesses, and their
    dependence on the allowed activation a_max.
    """
    lift, first, best = fits_of(given.recording)
    rows = []
    for (name, unit, printed, digit), value in zip(TABLE_1, shown(first.x), strict=True):
        bound = StatedBound(
            "required: the value printed in table 1 of Millard et al. (2019)",
            printed - digit,
            printed + digit,
        )
        rows.append(
            one_row(
                f"{name}, fitted from the initial guess of Millard et al. (2019)",
                unit,
                printed,
                value,
                bound,
                lift,
            )
        )
    rows.append(
        one_row(
            "squared distance of the fit from the default parameters, from the initial guess of Millard et "
            "al. (2019)", "1",
            OBJECTIVE_OF_PAPER,
            first.objective, StatedBound("the published fit", high=OBJECTIVE_OF_PAPER + 1e-4), lift,
        )
    )  # fmt: skip
    start = f"{sum(basin.n_start for basin in best.basins)} completed searches"
    printed_objective = OBJECTIVE_OF_PAPER if lift.is_of_paper else None
    for k, basin in enumerate(best.basins[:4]):
        most = (
            None
            if k
            else StatedBound(
                "required: at most the minimum reached from the initial guess of Millard et al. (2019)",
                high=first.objective + SLACK,
            )
        )
        rows.append(
            Comparison(
                f"squared distance at minimum {k + 1}, reached by {basin.n_start} of {start}", "1",
                printed_objective,
                basin.objective, most, reason="" if most else "this is a local minimum of the fit, not the "
                                                              "global one",
            )
        )  # fmt: skip
    for (name, unit, *_), value in zip(TABLE_1, shown(best.x), strict=True):
        rows.append(
            Comparison(
                f"{name}, at the global minimum of the fit",
                unit,
                None,
                value,
                reason="Millard et al. (2019) used one initial guess",
            )
        )
    rows += feasible_rows("authors' initial guess", first) + feasible_rows("global minimum", best)
    given.progress(
        "table 1: fits of the left hip and of the other generators, and fits with other values of a_max"
    )
    rows += other_rows(lift, first)
    return of_lift(rows, over_caps(lift), lift, explained(first, best))


def of_lift(
    rows: Sequence[Comparison], panels: Sequence[FigurePanel], lift: LiftMotion, *notes: str
) -> ItemResult:
    """Return the result of a figure or table from its comparisons, panels and notes, with the source of the
    lift from which it is computed.
    """
    return ItemResult(rows, panels, notes, data=lift.data, has_data_of_paper=lift.is_of_paper)


def shown(x: Array) -> list[float]:
    """Return the five fitted parameters x : (5,) in the units of table 1 (the shift in degrees)."""
    return [float(x[0]), float(x[1]), float(np.degrees(x[2])), float(x[3]), float(x[4])]


def one_row(
    quantity: str, unit: str, printed: float, value: float, bound: StatedBound, lift: LiftMotion
) -> Comparison:
    """Return a comparison of a computed value with the printed one. Its bound applies only if the lift is the
    recorded one of the paper; for another lift the comparison has a reason instead.
    """
    if lift.is_of_paper:
        return Comparison(quantity, unit, printed, value, bound)
    return Comparison(quantity, unit, printed, value, reason=OTHER_LIFT)


def feasible_rows(words: str, fit: FittedGenerator) -> list[Comparison]:
    """Return comparisons that check whether the fitted generator can produce the lift: least and greatest
    activation and greatest passive torque (eqs 10 to 12 of the paper); words : end of their names
    """
    assert fit.after is not None
    active, passive = fit.after.activation, fit.after.passive
    rows = [
        (f"least activation, {words}", float(active.min()), StatedBound("eq. 11", low=-SLACK)),
        (f"greatest activation, {words}", float(active.max()), StatedBound("eq. 10", high=1.0 + SLACK)),
        (f"greatest t^PE, {words}", float(passive.max()), StatedBound("eq. 12", high=LARGEST_PASSIVE)),
    ]  # fmt: skip
    return [Comparison(name, "1", None, value, bound) for name, value, bound in rows]


def other_rows(lift: LiftMotion, first: FittedGenerator) -> list[Comparison]:
    """Compare the fit of the left hip's extensor with that of the right one, and count the other generators
    whose parameters a fit changes; first : fit of the right hip's extensor
    """
    left = fit_of(lift, lift.hips[1], several=False, most_passive=PASSIVE_OF_PAPER)
    apart = float(np.abs(left.x - first.x).max())
    others = [one for one in lift.placed if one.name not in lift.hips]
    driven: list[bool] = []
    idle: list[bool] = []
    for one in others:
        if one.joint.coordinate not in lift.motion.names:
            continue
        fit = fit_of(lift, one.name, several=False, most_passive=PASSIVE_OF_PAPER)
        (driven if fit.demand.max() > 0.0 else idle).append(fit.changed)
    both = (
        "this lift is not perfectly symmetrical; the authors' parameters of the two hips differ by "
        "the same amount"
    )
    both = both if lift.is_of_paper else OTHER_LIFT
    name = "largest difference between a parameter of the left hip and the right hip"
    return [
        Comparison(name, "1", "equal to 3 digits", apart, reason=both),
        Comparison(
            "number of other generators with a measured torque whose parameters the fit changed", "1",
            0.0, float(sum(driven)),
            reason="Millard et al. (2019) changed none; in rtsim the fit also changes passive torques that "
                   "oppose no measured torque"
            if lift.is_of_paper
            else OTHER_LIFT,
        ),
        Comparison(
            "number of generators without a measured torque whose parameters the fit changed", "1",
            "left unchanged",
            float(sum(idle)),
            reason="Millard et al. (2019) did not fit these generators; in rtsim their passive torque must "
                   "not oppose the motion",
        ),
    ]  # fmt: skip


def explained(first: FittedGenerator, best: FittedGenerator) -> str:
    """Return a note on whether the parameters in table 1 of the paper are only a local minimum, and why.

    first : fit from the initial guess of Millard et al.; best : best fit from many initial guesses
    """
    if best.objective > first.objective - SLACK:
        return (
            "The initial guess of Millard et al. (2019) leads to the lowest minimum that was found from any "
            "initial guess."
        )
    return (
        "From the initial guess of Millard et al. (2019) the fit ends in a local minimum, for the lift that "
        f"they recorded the one in their table 1: the weight lambda^P {first.x[3]:.2f} removes that part of "
        f"the passive torque, and the squared distance from the default parameters is {first.objective:.4f}. "
        f"At the global minimum the passive torque is shifted by {np.degrees(best.x[2]):.1f} deg (lambda^P "
        f"{best.x[3]:.2f}), and this distance is {best.objective:.4f}. There are several minima because the "
        "constraints are not linear in the parameters: other than Millard et al. (2019) say, their eqs 9 to "
        "12 are no quadratic program."
    )


def over_caps(lift: LiftMotion) -> list[FigurePanel]:
    """Return panels over the greatest allowed activation a_max. They show the fitted parameters at the best
    minimum, and the squared distance from the default parameters, the fit's objective, at the best minimum
    and at the one that the initial guess of Millard et al. leads to.
    """
    found: dict[str, list[float]] = {name: [] for name in ("least", "start", *(name for name, *_ in TABLE_1))}
    for cap in CAPS:
        best = fit_of(lift, lift.hips[0], most_passive=PASSIVE_OF_PAPER, cap=cap)
        alone = fit_of(lift, lift.hips[0], most_passive=PASSIVE_OF_PAPER, cap=cap, several=False)
        found["least"].append(best.objective)
        found["start"].append(alone.objective)
        for (name, *_), value in zip(TABLE_1, shown(best.x), strict=True):
            found[name].append(value)
    x = np.array(CAPS)

    def panel(title: str, unit: str, names: Sequence[str], words: Sequence[str]) -> FigurePanel:
        curves = {word: np.array(found[name]) for name, word in zip(names, words, strict=True)}
        return FigurePanel(title=title, unit=unit, x_title="a_max", x=x, curves=curves, enlarged=True)

    scales = ("s^A", "s^V", "lambda^P", "s^tau")
    return [
        panel(
            "squared distance of the fitted parameters from the defaults",
            "1",
            ("least", "start"),
            ("all initial guesses", "authors' initial guess"),
        ),
        panel("scales and blend of the torque curves in the best fit", "1", scales, scales),
        panel(
            "angle by which the passive torque is shifted in the best fit", "deg", ("Delta^P",), ("Delta^P",)
        ),
    ]


def figure_4(given: ItemInput) -> ItemResult:
    """Compute figure 4: activation of the right hip's extensor over hip flexion before and after the fit."""
    lift, first, _ = fits_of(given.recording)
    assert first.before is not None
    angle, active = np.degrees(first.flexion), first.before.activation
    below = np.flatnonzero(active < 0.0)
    crossing = (
        "stated by Millard et al. (2019), section 3: activation is negative beyond 81.4 deg of hip "
        "flexion, which lies between two samples"
    )
    before, after = (
        (float(angle[below[0] - 1]), float(angle[below[0]])) if len(below) and below[0] else (np.nan, np.nan)
    )
    rows = [
        one_row("hip flexion of the last sample before activations become negative, before the fit",
                "deg", TOO_STIFF_DEG,
                before, StatedBound(crossing, high=TOO_STIFF_DEG), lift),
        one_row("hip flexion of the first negative activation before the fit", "deg", TOO_STIFF_DEG, after,
                StatedBound(crossing, low=TOO_STIFF_DEG), lift),
        one_row("greatest hip flexion", "deg", DEEPEST_DEG, float(angle.max()),
                StatedBound("figure 4", DEEPEST_DEG - 0.5, DEEPEST_DEG + 0.5), lift),
        *feasible_rows("after the fit", first),
    ]  # fmt: skip
    (panel,) = panels_of_fit(first)[-1:]
    return of_lift(rows, [panel], lift)


def figure_5(given: ItemInput) -> ItemResult:
    """Compute figure 5: torque of the right hip's extensor over angle and over speed before and after the
    fit, for the minimum of table 1 and for the best minimum.
    """
    lift, first, best = fits_of(given.recording)
    assert first.before is not None
    assert first.after is not None
    rows = [
        Comparison(
            "greatest activation before the fit", "1", "above 1 (figure 5)",
            float(first.before.activation.max()),
            reason="by eq. 3 the hip with its default parameters needs an activation of 0.871 for the lift "
                   "of Millard et al. (2019), so it is strong enough; without its passive torque it is too "
                   "weak",
        ),
        one_row(
            "greatest activation after the fit", "1", 1.0, float(first.after.activation.max()),
            StatedBound("stated by Millard et al. (2019), section 3: after the fit the greatest "
                        "activation is 1", 1.0 - 1e-3, 1.0 + SLACK), lift,
        ),
        *feasible_rows("after the fit", first),
    ]  # fmt: skip
    panels = [panel._replace(row=f"row {k // 2}") for k, panel in enumerate(panels_of_fit(first)[:4])]
    least = [
        panel._replace(title=f"{panel.title}, best fit", row="least") for panel in panels_of_fit(best)[2:4]
    ]
    return of_lift(rows, [*panels, *least], lift)


def item(kind: Kind, number: str, title: str, compute: Computed) -> PaperItem:
    """Build the entry of a figure or table on the lifting trial, in the list of all figures of the paper."""
    return PaperItem(
        kind=kind,
        number=number,
        title=title,
        data=MADE_UP_DATA,
        has_data_of_paper=False,
        compute=compute,
        kernels=("torque-generator-fit",),
        takes_recording=True,
    )


ITEMS = (
    item(
        "table",
        "1",
        "fitted parameters of the right hip extensor, minima of the fit, and effect of a_max",
        table_1,
    ),
    item("figure", "4", "activation of the right hip extensor before and after the fit", figure_4),
    item(
        "figure",
        "5",
        "torque over angle and active torque over speed, right hip extensor before and after the fit",
        figure_5,
    ),
)
