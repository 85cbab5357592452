"""Figures 6 to 9 and table 5 of Sancisi et al. (2017): the effect of the weights that the ligaments have in
the optimisation on the motion of the knee.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.panels import RANGE, FigurePanel
from rtsim.papers.item import Comparison, ItemInput, ItemResult, StatedBound
from rtsim.papers.paper_003.cycle_panels import percent
from rtsim.papers.paper_003.printed_tables import (
    ANGLES,
    CUT,
    DISPLACEMENTS,
    LIGAMENTS,
    PATTERNS,
    STANDARD_DEVIATIONS,
    VARIATIONS,
    WEIGHTS,
)
from rtsim.papers.paper_003.three_methods import NO_NUMBER, OTHER_SUBJECTS, item, method_runs, x_title_of

Array = NDArray[np.float64]

N_WEIGHT, LARGEST = 400, 2e4
"""Number and largest of the weights, which increase from 1 in equal steps and are the same for all ligaments
(section 2.4.1).
"""
LEVELS = (1.0, 1e2, 1e3, 1e4)
"""Levels of weight, of which all combinations for the four ligaments are solved (section 2.4.2)."""
ROTATION_DEG, DISPLACEMENT_MM = 1.0, 4.0
"""Section 3: upper bounds of the standard deviations if one ligament has the weight 1e4."""
NAMES = (*ANGLES, *DISPLACEMENTS, *LIGAMENTS)
UNITS = ("deg",) * 3 + ("mm",) * 3 + ("%",) * 4
KINEMATIC, LENGTHS = NAMES[:6], NAMES[6:]


class WeightRuns(NamedTuple):
    """Results of solving a gait cycle n_run times, with other weights of the knee ligaments each time.

    weights : (n_run, 4) weights of ACL, PCL, MCL, LCL [1/m^2]
    values : for each person results (n_run, n_frame, 10), in the order of NAMES and the units of UNITS
    """

    weights: Array
    values: list[Array]


def absolute_runs(given: ItemInput) -> WeightRuns:
    """Solve every person's cycle by the method `prescribed`, whose ligaments approach lengths that are
    functions of the flexion, with 400 weights, each the same for all four ligaments.
    """
    return _runs(given.recording, given.static, "prescribed")


def relative_runs(given: ItemInput) -> WeightRuns:
    """Solve every person's cycle by the method `minimised`, whose ligaments deviate from mean lengths as
    little as possible, with all 256 combinations of four levels of weight for the four ligaments.
    """
    return _runs(given.recording, given.static, "minimised")


@cache
def _runs(recording: Path | None, static: Path | None, method: str) -> WeightRuns:
    if method == "prescribed":
        weights = np.repeat(np.linspace(1.0, LARGEST, N_WEIGHT)[:, None], len(LIGAMENTS), axis=1)
    else:
        weights = np.array(list(product(LEVELS, repeat=len(LIGAMENTS))))
    values = []
    for solver in method_runs(ItemInput(recording, static)).solvers:
        runs = []
        for row in weights:
            run = solver.run(method, dict(zip(LIGAMENTS, row.tolist(), strict=True)))
            runs.append(np.hstack([run.angles, run.displacements, run.lengthening]))
        values.append(np.array(runs))
    return WeightRuns(weights, values)


def variation(values: Sequence[Array], chosen: NDArray[np.bool_] | slice = slice(None)) -> Array:
    """Return how much the ten results (NAMES) vary between the chosen runs, (10,): the range over the runs in
    the frame where it is largest, averaged over the persons. Frames that a run does not solve do not count.

    values : for each person (n_run, n_frame, 10); chosen : mask (n_run,) or slice of the runs
    """
    return np.array([np.nanmax(v[chosen].max(axis=0) - v[chosen].min(axis=0), axis=0) for v in values]).mean(
        axis=0
    )


def unsolved(runs: WeightRuns) -> Comparison:
    """Return a comparison of the number of frames without a solution, over all runs."""
    return Comparison(
        f"number of frames without a solution, over all {len(runs.weights)} runs", "1", 0.0,
        float(sum(np.isnan(v[:, :, 0]).sum() for v in runs.values)),
        StatedBound("stated by Sancisi et al. (2017), section 3: no numerical problems", 0.0, 0.0),
    )  # fmt: skip


def groups_of(weights: Array) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each ligament with a mask (n_run,) of the runs in which it alone has the largest weight."""
    for k, name in enumerate(LIGAMENTS):
        others = np.delete(weights, k, axis=1)
        yield name, (weights[:, k] == LEVELS[-1]) & (others < LEVELS[-1]).all(axis=1)


def band_panels(
    names: Sequence[str], runs: WeightRuns, shown: dict[str, int], about: str, x_title: str
) -> list[FigurePanel]:
    """Return a panel for each result of the first person: some of the runs as curves, and the range of all
    runs as a band around one run.

    shown : runs to be drawn, by name
    about : the run around which the band is drawn
    """
    values, panels = runs.values[0], list[FigurePanel]()
    for name in names:
        every = values[:, :, NAMES.index(name)]
        curves = {words: every[k] for words, k in shown.items()}
        reach = np.array([curves[about] - every.min(axis=0), every.max(axis=0) - curves[about]])
        panels.append(
            FigurePanel(
                title=name,
                unit=UNITS[NAMES.index(name)],
                x_title=x_title,
                x=percent(every.shape[1]),
                curves=curves,
                deviations={about: reach},
                row=f"row {len(panels) // 2}",
                band=RANGE,
                whole_band=True,
            )
        )
    return panels


def absolute_weights(given: ItemInput, names: Sequence[str]) -> ItemResult:
    """Compute figures 6 and 8: the effect of the ligaments' weights relative to those of the markers; names :
    results that are drawn, of the knee's pose (6) or of ligament lengthening (8)
    """
    runs = absolute_runs(given)
    weights = runs.weights[:, 0]
    over_all, above = variation(runs.values), variation(runs.values, weights > CUT)
    rows = [unsolved(runs)]
    for k, name in ((NAMES.index(name), name) for name in names):
        printed = VARIATIONS.get(name, (None, None))
        reason = OTHER_SUBJECTS if name in VARIATIONS else NO_NUMBER
        for words, at, ours in (("all weights", 0, over_all), (f"weights above {CUT:.0f}", 1, above)):
            rows.append(
                Comparison(
                    f"{name}, range over runs, {words}", UNITS[k], printed[at], float(ours[k]), reason=reason
                )
            )
    chosen = {f"{w:.0f}": int(np.abs(weights - w).argmin()) for w in (1.0, CUT, 1e4, LARGEST)}
    shown = {f"weight {words}": k for words, k in chosen.items()}
    panels = band_panels(names, runs, shown, "weight 10000", x_title_of(given))
    return ItemResult(
        rows,
        panels,
        [f"Band: range over all {N_WEIGHT} weights from 1 to {LARGEST:.0f}, for the first person."],
    )


def relative_weights(given: ItemInput, names: Sequence[str]) -> ItemResult:
    """Compute figures 7 and 9: the effect of the ligaments' weights relative to each other; names : results
    that are drawn, of the knee's pose (7) or of ligament lengthening (9)
    """
    runs = relative_runs(given)
    changed = variation(runs.values)
    rows = [unsolved(runs)]
    rows += [
        Comparison(
            f"{name}, range over all combinations of weights", UNITS[NAMES.index(name)],
            f"up to {PATTERNS[name]:g}" if name in PATTERNS else None, float(changed[NAMES.index(name)]),
            reason=OTHER_SUBJECTS if name in PATTERNS else NO_NUMBER,
        )
        for name in names
    ]  # fmt: skip
    model = [WEIGHTS["minimised"][name] for name in LIGAMENTS]
    shown = {"table 3": int(np.flatnonzero((runs.weights == model).all(axis=1))[0])}
    panels = band_panels(names, runs, shown, "table 3", x_title_of(given))
    note = f"Band: range over all {len(runs.weights)} combinations of weights, for the first person."
    return ItemResult(rows, panels, [note])


def sensitivity(given: ItemInput) -> ItemResult:
    """Compute table 5, the sensitivity of the knee to the ligaments' weights. For each ligament, the knee's
    angles and displacements are taken from the 27 runs in which it alone has the largest weight. The standard
    deviation over these runs, in the frame where it is largest, is averaged over the persons and compared
    with the table and with the bounds in the paper's section 3.
    """
    runs = relative_runs(given)
    rows, largest = [], np.zeros(6)
    for name, chosen in groups_of(runs.weights):
        spread = np.array([np.nanmax(v[chosen].std(axis=0, ddof=1), axis=0) for v in runs.values]).mean(
            axis=0
        )
        largest = np.maximum(largest, spread[:6])
        for k, printed in enumerate(STANDARD_DEVIATIONS[name]):
            rows.append(
                Comparison(
                    f"{NAMES[k]}, standard deviation between the runs in which {name} has the largest weight",
                    UNITS[k],
                    printed,
                    float(spread[k]),
                    reason=OTHER_SUBJECTS,
                )
            )
    bounds = (("rotation", "deg", 0, ROTATION_DEG), ("displacement", "mm", 3, DISPLACEMENT_MM))
    for words, unit, first, most in bounds:
        rows.append(
            Comparison(
                f"largest standard deviation of a {words} of the knee between runs in which one ligament has "
                "the weight 1e4",
                unit, f"below {most:g}",
                float(largest[first : first + 3].max()), StatedBound("section 3", high=most),
            )
        )  # fmt: skip
    return ItemResult(rows)


OF_COST = "for different weights of the ligaments in the cost function"
OF_EACH_OTHER = "for different weights of the ligaments relative to each other"
KNEE, LENGTHENING = "Knee angles and displacements", "Ligament lengthening"
ITEMS = (
    item("figure", "6", f"{KNEE} {OF_COST}", lambda given: absolute_weights(given, KINEMATIC)),
    item("figure", "7", f"{KNEE} {OF_EACH_OTHER}", lambda given: relative_weights(given, KINEMATIC)),
    item("figure", "8", f"{LENGTHENING} {OF_COST}", lambda given: absolute_weights(given, LENGTHS)),
    item("figure", "9", f"{LENGTHENING} {OF_EACH_OTHER}", lambda given: relative_weights(given, LENGTHS)),
    item(
        "table",
        "5",
        "Standard deviations of knee angles and displacements between runs with different ligament weights",
        sensitivity,
    ),
)
