"""Figures 3.4 and 3.5 and table 3.2 of Brown (2017): motion of a knee with volumetric contact after a force
pulse, its ligament forces, and the sensitivity of its motion to the model's parameters.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kernels.contact.elements import NORMAL
from kernels.forces.lines import TENSION
from kernels.rosenbrock.trace import Trace
from rtsim.bench.contacts.knee import AGREEMENT, LATERAL, MEDIAL, PULSES, Pulse, pulse_run, times, whole_run
from rtsim.bench.timed_runs import time_runs
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.tables.panels import FigurePanel
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, Kind, PaperItem, StatedBound
from rtsim.papers.paper_001.knee_runs import (
    CONFIDENCE,
    N_BASE,
    SHANK,
    STIFFNESS,
    WHOLE,
    KneeSensitivity,
    sensitivity,
)
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

TABLE_3_2 = (30.82, 26.38, 33.32, 25.92, 76.04, 46.43, 35.12, 60.18, 36.52, 37.93, 59.50, 57.83)
"""Slack lengths as printed [mm], in the order of the model."""
LINEAR_FROM = 0.03
LIFT_OFF_DEG, REAL_TIME = 65.0, 1.1
"""Printed values: flexion at which the lateral force becomes zero [deg], and ratio of real time to computing
time.
"""
N_LAP, N_SHOWN = 20, 8
ROTATIONS = ("flexion", "adduction", "internal rotation")
"""Names of the first coordinates of the knee."""
PULSE = (
    "Brown (2017) states neither the push on the shank nor the positions of the knee's spheres and planes; "
    "these are quoted from Abdel-Rahman, Hefzy (1998)"
)
KNEE = (
    "shipped model knee: table 3.2 of Brown (2017), spheres and planes quoted from Abdel-Rahman, Hefzy (1998)"
)


def run_of(spec: ModelSpec, pulse: Pulse) -> Trace:
    """Simulate the knee after a force pulse on the leg until slightly more than 90 degrees of flexion."""
    load = replace(spec.loads[0], force_N=(0.0, -pulse.force, 0.0), duration_s=pulse.duration)
    longer = replace(spec.simulation, duration_s=1.05 * pulse.t90)
    return whole_run(replace(spec, loads=(load,), simulation=longer))


def figure_3_4(given: ItemInput) -> ItemResult:
    """Compute figure 3.4: rotations of the knee, and normal forces of its contacts, after force pulses on the
    leg.
    """
    spec = load_model("knee")
    rows, traces = [], {}
    for pulse in PULSES:
        found, words = pulse_run(spec, pulse), push(pulse)
        traces[words] = run_of(spec, pulse)
        for name, unit, ours, independent in (
            ("time until the knee is flexed by 90 deg", "s", found.t90, pulse.t90),
            ("peak medial force", "N", found.peak_medial, pulse.peak_medial),
            ("lateral lift-off", "deg", found.lift_off, pulse.lift_off),
        ):
            near = StatedBound(
                "required in advance: within 1 % of the result of an independent program for the same "
                "model",
                (1.0 - AGREEMENT) * independent, (1.0 + AGREEMENT) * independent,
            )  # fmt: skip
            printed = LIFT_OFF_DEG if unit == "deg" else None
            reason = PULSE if printed else "Brown (2017) shows a curve but states no number"
            rows.append(Comparison(f"{words}: {name}", unit, printed, ours, near, reason=reason))
    simulator = Simulator(build(spec), spec.simulation)
    n_step = round(spec.simulation.duration_s / simulator.options.step)
    factor = spec.simulation.duration_s / time_runs(simulator, n_step, N_LAP).best
    rows.append(
        Comparison(
            "times faster than real time", "1", REAL_TIME, factor,
            reason="the time of Brown (2017) is from another machine and method; `rtsim bench knee` "
                   "compares rtsim's value with a target",
        )
    )  # fmt: skip
    return ItemResult(rows, motion_panels(spec, traces))


def push(pulse: Pulse) -> str:
    """Return a pulse's force and duration as text."""
    return (
        (f"{pulse.force:g} N for {1e3 * pulse.duration:g} ms") if pulse.force else "weight of the shank alone"
    )


def motion_panels(spec: ModelSpec, traces: dict[str, Trace]) -> list[FigurePanel]:
    """Return panels with the knee's rotations over time for the first pulse, and medial and lateral normal
    forces over flexion for all pulses; traces : simulated runs by the pulse in words
    """
    step = 1e-3 * spec.simulation.step_ms
    first = next(iter(traces.values()))
    angles = {name: np.degrees(first.q[:, k]) for k, name in enumerate(ROTATIONS)}
    by_push, x = {}, np.linspace(0.0, 90.0, 181)
    for words, trace in traces.items():
        for name, contact in (("medial", MEDIAL), ("lateral", LATERAL)):
            force = np.interp(x, np.degrees(trace.q[:, 0]), trace.contact[:, contact, NORMAL])
            by_push[f"{name}, {words}"] = force
    return [
        panel(
            "knee rotations while the weight of the shank alone moves the knee",
            "deg",
            "time [s]",
            times(first, step),
            angles,
        ),
        panel("medial normal force", "N", "flexion [deg]", x, part_of(by_push, "medial, ")),
        panel("lateral normal force", "N", "flexion [deg]", x, part_of(by_push, "lateral, ")),
    ]


def part_of(curves: dict[str, Array], head: str) -> dict[str, Array]:
    """Return the curves whose names begin with `head`, with the rest of each name as key."""
    return {name.removeprefix(head): y for name, y in curves.items() if name.startswith(head)}


def panel(title: str, unit: str, x_title: str, x: Array, curves: dict[str, Array]) -> FigurePanel:
    """Return a panel of a figure, with the curves over the values x."""
    return FigurePanel(title=title, unit=unit, x_title=x_title, x=x, curves=curves, enlarged=True)


def figure_3_5(given: ItemInput) -> ItemResult:
    """Compute figure 3.5: forces of the knee's twelve ligament elements over flexion."""
    spec = load_model("knee")
    trace = run_of(spec, PULSES[0])
    flexion, rows, panels = np.degrees(trace.q[:, 0]), [], []
    groups: dict[str, dict[str, Array]] = {}
    for k, own in enumerate(spec.ligaments):
        force, name = trace.line[:, k, TENSION], own.name.replace("_", " ")
        groups.setdefault(group_of(own.name), {})[name] = force
        rows.append(
            Comparison(
                f"{name}: peak force while the weight of the shank alone moves the knee", "N",
                None, float(force[flexion <= 90.0].max()),
                reason=f"Brown (2017) has curves and no numbers, and {PULSE}",
            )
        )  # fmt: skip
    for title, curves in groups.items():
        panels.append(panel(title, "N", "flexion [deg]", flexion, curves))
    return ItemResult(rows, panels)


def group_of(name: str) -> str:
    """Return the group of ligaments that an element belongs to, such as the cruciate ligaments."""
    head = name.split("_")[0]
    return {"ACL": "cruciate ligaments", "PCL": "cruciate ligaments", "MCL": "collateral ligaments",
            "LCL": "collateral ligaments"}.get(head, "posterior capsule")  # fmt: skip


def table_3_2(given: ItemInput) -> ItemResult:
    """Compute table 3.2: slack lengths of the ligaments from their two stiffnesses (eq. 3.2), and Sobol
    indices of the results with respect to the parameters.
    """
    spec, rows = load_model("knee"), []
    for own, printed in zip(spec.ligaments, TABLE_3_2, strict=True):
        assert own.linear_stiffness_N_mm is not None
        assert own.toe_stiffness_N_mm2 is not None
        slack = own.linear_stiffness_N_mm / (4.0 * own.toe_stiffness_N_mm2 * LINEAR_FROM)
        rows.append(
            Comparison(
                f"{own.name.replace('_', ' ')}: slack length by eq. 3.2", "mm", printed, slack,
                StatedBound("required: the slack length in table 3.2 of Brown (2017), as rounded "
                            "there", printed - 0.0051, printed + 0.0051),
            )
        )  # fmt: skip
    found = sensitivity(N_BASE, given.progress)
    why = (
        "Brown (2017) calls knees very sensitive and gives no sensitivity index; the "
        f"{100.0 * CONFIDENCE:.0f} % confidence intervals of rtsim's indices are "
        f"{np.median(widths(found)):.2f} wide in the median, {max(widths(found)):.2f} at most"
    )
    for k, output in enumerate(found.outputs):
        for j in ranked(found, k, 3):
            rows.append(
                Comparison(
                    f"{output}: total Sobol index of {found.names[j]}", "1", "very sensitive",
                    float(found.total[k, j, 0]), reason=why,
                )
            )  # fmt: skip
    return ItemResult(rows, index_panels(found), (*ranks_in_words(found), design_of(found)))


def widths(found: KneeSensitivity) -> list[float]:
    """Return the widths of the confidence intervals of the three largest total Sobol indices of each
    output."""
    largest = [(k, j) for k in range(len(found.outputs)) for j in ranked(found, k, 3)]
    return [float(found.total[k, j, 2] - found.total[k, j, 1]) for k, j in largest]


def design_of(found: KneeSensitivity) -> str:
    """Return a text on how the Sobol indices were computed: parameters, ranges, design, runs."""
    return (
        f"Sobol indices of {len(found.names)} parameters, uniformly distributed within 2 mm of insertions, "
        "2 % of slack "
        f"lengths, 1 mm of spheres, radii and planes, {100.0 * STIFFNESS:.0f} % of k_V, "
        f"{100.0 * SHANK:.0f} % of the cylinder's radius and length. "
        f"Saltelli's design of {N_BASE} base points, {found.n_run} runs under 20 N for 100 ms, "
        f"{found.n_left_out} base points left out; first (Saltelli et al. 2010) and total indices, bootstrap "
        "intervals. A lateral contact that does not open before a right angle counts as 90 deg."
    )


def index_panels(found: KneeSensitivity) -> list[FigurePanel]:
    """Return panels with the total Sobol indices, their confidence intervals and the first-order indices for
    the three outputs of the whole knee.
    """
    panels = []
    for k, output in enumerate(found.outputs[: len(WHOLE)]):
        order = ranked(found, k, N_SHOWN)
        curves = {
            "total index": found.total[k, order, 0], "total, upper limit": found.total[k, order, 2],
            "total, lower limit": found.total[k, order, 1], "first-order index": found.first[k, order, 0],
        }  # fmt: skip
        title, x = f"Sobol indices: {output}", np.arange(1.0, len(order) + 1.0)
        panels.append(panel(title, "1", "rank of the parameter (names in the notes)", x, curves))
    return panels


def ranked(found: KneeSensitivity, k: int, n: int) -> NDArray[np.int64]:
    """Return the indices of the n parameters with the largest total Sobol indices, (n,); k : index of the
    output of the knee model for which they are
    """
    return np.argsort(-found.total[k, :, 0])[:n]


def ranks_in_words(found: KneeSensitivity) -> list[str]:
    """Return notes that name the parameter behind each rank on the horizontal axis of the figure."""
    return [
        f"Ranks, {output}: "
        f"{', '.join(f'{r} {found.names[j]}' for r, j in enumerate(ranked(found, k, N_SHOWN), 1))}."
        for k, output in enumerate(found.outputs[: len(WHOLE)])
    ]


def item(kind: Kind, number: str, title: str, compute: Computed) -> PaperItem:
    """Build the catalogue entry of a figure or table of the knee."""
    return PaperItem(
        kind=kind,
        number=number,
        title=title,
        data=KNEE,
        has_data_of_paper=False,
        compute=compute,
        kernels=("simulation",),
    )


ITEMS = (
    item("figure", "3.4", "rotations and normal forces of the volumetric knee", figure_3_4),
    item("figure", "3.5", "ligament forces of the volumetric knee", figure_3_5),
    item("table", "3.2", "slack lengths, and Sobol indices of the knee's parameters", table_3_2),
)
