"""Figure B.7 and tables B.3, B.4 of Millard et al. (2019): the least strength of the legs' torque generators
that a walk requires.

In the paper a child walks in crouch gait, a trial of Sreenivasa et al. (2017). Here the built-in walker walks
over its synthetic plate; `rtsim fit torque-generators --bounds` computes the same for a person.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.live.forces import forces_of
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.inputs.sources import load_trial
from rtsim.live.loop import Loop
from rtsim.live.processes.serve import prepare
from rtsim.methods.generators.joint_motion import JointMotion
from rtsim.methods.generators.strength_bounds import FLEXOR_RATIOS, StrengthBounds, strength_bounds
from rtsim.methods.generators.torque_generator_figures import panels_of_fit
from rtsim.methods.generators.torque_generator_fit import FitSettings
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.generator_sets import generators_of
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, Kind, PaperItem, StatedBound
from rtsim.subjects.made_up.walker_forces import MASS_KG

SET, RUN = "leg", "walker"
CYCLES_S = (2.2, 5.5)
"""Start and end of three gait cycles of the walker in which the filter has settled [s]."""
TABLE_B_3 = {
    "hip_extension": (13.3, 1.22, 1.51, 0.00, 0.00, 1.81),
    "knee_extension": (14.4, 1.00, 1.00, 0.00, 0.00, 1.17),
    "ankle_plantarflexion": (12.9, 1.00, 1.00, 0.00, 1.00, 1.17),
    "hip_flexion": (16.8, 1.04, 1.10, 0.00, 0.00, 1.19),
    "knee_flexion": (9.00, 1.00, 1.00, 0.00, 0.00, 1.00),
    "ankle_dorsiflexion": (5.22, 1.08, 1.07, 0.00, 0.00, 1.15),
}
"""Parameters of the paper's child, right leg (table B.3)."""
QUANTITIES = (
    ("tau_o*", "N m"),
    ("s^A", "1"),
    ("s^V", "1"),
    ("Delta^P", "deg"),
    ("lambda^P", "1"),
    ("s^tau", "1"),
)
SLACK, ROUNDING = 1e-6, 1e-9
STRONGER = StatedBound(
    "stated by Millard et al. (2019), appendix B: the extensors were weakened so far that the fit has "
    "to raise their strength, by a factor s^tau above 1",
    low=1.0 + ROUNDING,
)
OTHER_PERSON = (
    "the printed values are of the child of Millard et al. (2019), whose trial is not shipped; those of "
    "rtsim are of the synthetic walker"
)
BEFORE = (
    f"{OTHER_PERSON}; and their table contains tau_o* before the fit, although their text means the fitted "
    "value"
)
WALKER_DATA = "the built-in synthetic walker on a synthetic force plate"


@lru_cache(maxsize=1)
def legs_of_walker() -> tuple[StrengthBounds, ...]:
    """Return for each torque generator of the right leg its fit to the built-in walker's motion, and the
    least strength that the walk requires.
    """
    return tuple(strength_bounds(generators_of(SET), walker_motion(), FitSettings(), {}))


def walker_motion() -> JointMotion:
    """Compute angles, speeds and moments of the joints of the built-in walker's right leg over some gait
    cycles, by the stages of a run.
    """
    run = replace(load_run(find_config(RUN, "runs")), forces=RUN, mass_kg=MASS_KG)
    trial, feed, kept = load_trial(run.source), ForceFeed(), KeptResults()
    forces, stages = forces_of(run, trial), prepare(run, feed)
    Loop(RecordingInput(trial, lambda n: None, forces, feed), stages, kept, {}).run()
    results = kept.results()
    assert results is not None
    labels = {spec.name: spec.labels for spec in results.session.fields}
    rows = (results.times >= CYCLES_S[0]) & (results.times < CYCLES_S[1])
    delay = float(results.session.meta["rates"]["delay_s"][0])
    names = tuple(dict.fromkeys(one.joint.coordinate for one in generators_of(SET)))
    columns: dict[str, np.ndarray] = {}
    for field in ("joint_angles", "joint_angle_speeds", "joint_moments"):
        at = [labels[field].index(name.removesuffix("_r")) for name in names]
        values = results.fields[field][:, at]
        if field == "joint_angles":  # speeds and moments are as late as the filter, angles are not
            late = [np.interp(results.times - delay, results.times, column) for column in values.T]
            values = np.stack(late, axis=1)
        columns[field] = values[rows]
    return JointMotion(
        names=names,
        times=results.times[rows],
        angle=columns["joint_angles"],
        speed=columns["joint_angle_speeds"],
        moment=columns["joint_moments"],
    )


def table_b_3(given: ItemInput) -> ItemResult:
    """Compute table B.3: strength of the right leg's torque generators before the fit, and their fitted
    parameters.
    """
    rows = []
    for one in legs_of_walker():
        muscle, fit = one.fit.placed.muscle, one.fit
        values = (fit.placed.spec.strength_Nm, fit.x[0], fit.x[1], np.degrees(fit.x[2]), fit.x[3], fit.x[4])
        words, weakened = muscle.replace("_", " "), muscle not in FLEXOR_RATIOS
        for (name, unit), printed, value in zip(QUANTITIES, TABLE_B_3[muscle], values, strict=True):
            bound = STRONGER if weakened and name == "s^tau" else None
            reason = "" if bound else OTHER_PERSON
            rows.append(Comparison(f"{words}: {name}", unit, printed, float(value), bound, reason=reason))
        assert fit.after is not None
        rows.append(
            Comparison(
                f"{words}: largest activation, after its torque generator was fitted to the "
                "walk", "1", "at most 1",
                float(fit.after.activation.max()),
                StatedBound("stated by Millard et al. (2019), eq. 10, with a_max = "
                            "1", high=1.0 + SLACK),
            )
        )  # fmt: skip
    return ItemResult(rows)


def table_b_4(given: ItemInput) -> ItemResult:
    """Compute table B.4: the least strength of the right leg's torque generators that the walk requires,
    after the fit. The printed values, with which it is compared, are from before the fit.
    """
    found = legs_of_walker()
    rows = []
    for one in found:
        muscle = one.fit.placed.muscle
        rows.append(
            Comparison(
                f"{muscle.replace('_', ' ')}: least strength for the walk, after the torque generator was "
                "fitted to it",
                "N m", TABLE_B_3[muscle][0], one.least,
                reason=BEFORE,
            )
        )  # fmt: skip
    by_muscle = {one.fit.placed.muscle: one for one in found}
    for flexor, ratio in FLEXOR_RATIOS.items():
        extensor = next(
            one
            for one in found
            if one.fit.placed.joint == by_muscle[flexor].fit.placed.joint and one is not by_muscle[flexor]
        )
        begun = by_muscle[flexor].fit.placed.spec.strength_Nm / extensor.least
        rows.append(
            Comparison(
                f"{flexor.replace('_', ' ')}: strength before the fit, divided by that of the extensor", "1",
                ratio,
                begun,
                StatedBound("stated by Millard et al. (2019), appendix B, from Anderson et al. "
                            "(2007)", ratio - ROUNDING, ratio + ROUNDING),
            )
        )  # fmt: skip
    return ItemResult(rows)


def figure_b_7(given: ItemInput) -> ItemResult:
    """Compute figure B.7: torques and activation of the plantarflexor's torque generator before and after the
    fit.
    """
    fit = next(one.fit for one in legs_of_walker() if one.fit.placed.muscle == "ankle_plantarflexion")
    assert fit.before is not None
    assert fit.after is not None
    rows = [
        Comparison("greatest activation before the fit", "1", "above 1: too weak",
                   float(fit.before.activation.max()), StatedBound("stated by Millard et al. (2019), "
                                                                   "figure B.7: before the fit the muscle "
                                                                   "is too weak", low=1.0)),
        Comparison("greatest activation after the fit", "1", 1.0, float(fit.after.activation.max()),
                   StatedBound("stated by Millard et al. (2019), eq. 10, with a_max = "
                               "1", high=1.0 + SLACK)),
        Comparison("least activation after the fit", "1", "at least 0", float(fit.after.activation.min()),
                   StatedBound("eq. 11", low=-SLACK)),
        Comparison("lambda^P", "1", 1.0, float(fit.x[3]), reason=OTHER_PERSON),
        Comparison("s^tau", "1", 1.17, float(fit.x[4]), reason=OTHER_PERSON),
    ]  # fmt: skip
    panels = [panel._replace(row=f"row {k // 2}") for k, panel in enumerate(panels_of_fit(fit)[:4])]
    return ItemResult(rows, panels)


def item(kind: Kind, number: str, title: str, compute: Computed) -> PaperItem:
    """Build the catalogue entry of a figure or table of the walk."""
    return PaperItem(
        kind=kind,
        number=number,
        title=title,
        data=WALKER_DATA,
        has_data_of_paper=False,
        compute=compute,
        kernels=("solver", "deviations", "muscles", "forces", "torque-generator-fit"),
    )


ITEMS = (
    item(
        "figure",
        "B.7",
        "activation of the right plantarflexor, weakened before the fit, and after the fit",
        figure_b_7,
    ),
    item(
        "table",
        "B.3",
        "right leg's torque generators: strengths before the fit to the walk, and fitted parameters",
        table_b_3,
    ),
    item("table", "B.4", "minimum strengths required for the walk, right leg", table_b_4),
)
