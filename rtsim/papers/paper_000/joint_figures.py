"""Figures 3 to 7 of Andersen et al. (2017): two models of the jaw joint (a point-on-plane constraint, and
force-dependent kinematics), and the motion and forces that they give in three jaw tasks.

The bands in figures 5 to 7 show one standard deviation: for the measured motion and for both models over five
cycles of a task, for the study of the joint's parameters over its fifteen runs.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.contacts.jaw import (
    AXES,
    MODEL,
    N_PHASE,
    SIDES,
    STIFFNESSES_N_M,
    STRAINS,
    USUAL_N_M,
)
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.tables.panels import FigurePanel
from rtsim.methods.agreement import humps, opening_over_closing
from rtsim.models.load import load_model
from rtsim.papers.item import Comparison, Computed, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.papers.paper_000.jaw_runs import (
    DISPLACEMENTS,
    FORCES,
    mean_cycle,
    phases_of,
    study_of,
    task_of,
)
from rtsim.papers.paper_000.joint_tables import JAW_DATA, KERNELS, OTHER_SUBJECT, planes_rows
from rtsim.papers.paper_000.printed_tables import TASKS

Array = NDArray[np.float64]

MODEL_DATA = (
    "shipped model `mandible`, whose condyles and fossae are given by formulas instead of the subject's scan"
)
N_ELEMENT, MODULUS, LINEAR_FROM = 3, 1e10, 0.03
"""Parameters of the contact and ligament on each side: number of ligament elements; pressure modulus [N/m^3];
strain from which a ligament is linear.
"""
REACH_MM = 25.0
STUDY = "15 runs"


def figure_3(given: ItemInput) -> ItemResult:
    """Compute figure 3: the joint model in which points of the condyles slide on planes, from the side and
    from the front.
    """
    spec = load_model(MODEL)
    curves: dict[str, list[Array]] = {"from the side": [], "from the front": []}
    for element in spec.elements:
        normal = getattr(element, "normal", None)
        if normal is None or not element.name.endswith("normal"):
            continue
        n, at = np.array(normal), np.array(element.b.offset_mm)
        for title, across in (("from the side", 0), ("from the front", 2)):
            way = np.zeros(3)
            way[across], way[1] = n[1], -n[across]
            way *= REACH_MM / np.linalg.norm(way)
            curves[title].append(np.array([at - way, at + way])[:, [across, 1]])
    panels = []
    for title, lines in curves.items():
        x = np.concatenate([line[:, 0] for line in lines])
        named = {}
        for k, (line, side) in enumerate(zip(lines, ("right plane", "left plane"), strict=True)):
            y = np.full(len(x), np.nan)
            y[2 * k : 2 * k + 2] = line[:, 1]
            named[side] = y
        across_title = "forwards [mm]" if title.endswith("side") else "to the right [mm]"
        panels.append(
            FigurePanel(title=f"planes on which the condyles slide, {title}",
                        unit="mm", x_title=across_title, x=x,
                        curves=named, enlarged=True)
        )  # fmt: skip
    return ItemResult(planes_rows(), panels)


def figure_4(given: ItemInput) -> ItemResult:
    """Compute figure 4: the joint model of force-dependent kinematics, with its contacts and ligaments."""
    spec = load_model(MODEL)
    rows, panels = [], []
    for side in SIDES:
        own = [ligament for ligament in spec.ligaments if ligament.name.startswith(side)]
        rows.append(
            Comparison(f"{side}: number of ligament elements", "1", float(N_ELEMENT), float(len(own)),
                       StatedBound("FDK model", N_ELEMENT, N_ELEMENT))
        )  # fmt: skip
        total = sum(stiffness_of(spec, ligament.name) for ligament in own)
        rows.append(
            Comparison(f"{side}: stiffness of the whole ligament", "N/m", USUAL_N_M, total,
                       StatedBound("parameter study", USUAL_N_M - 0.05, USUAL_N_M + 0.05))
        )  # fmt: skip
    for contact in spec.contacts:
        assert contact.stiffness is not None
        rows.append(
            Comparison(f"{contact.name}: pressure modulus", "N/m^3", MODULUS, contact.stiffness,
                       StatedBound("10 GN/m^3", MODULUS, MODULUS))
        )  # fmt: skip
    strain = np.linspace(-0.02, 0.1, 241)
    toe = strain**2 / (4.0 * LINEAR_FROM)
    line = np.where(strain < 2.0 * LINEAR_FROM, np.where(strain > 0.0, toe, 0.0), strain - LINEAR_FROM)
    panels.append(
        FigurePanel(
            title="ligament element: force divided by stiffness k (eq. 15)",
                  unit="1", x_title="strain", x=strain,
            curves={"eq. 15": line}, enlarged=True,
        )
    )  # fmt: skip
    return ItemResult(rows, panels)


def stiffness_of(spec: ModelSpec, name: str) -> float:
    """Return the stiffness of a ligament, its force per strain divided by its length in the neutral pose
    [N/m].
    """
    (own,) = (ligament for ligament in spec.ligaments if ligament.name == name)
    assert own.stiffness_N is not None
    ends = np.subtract(own.a.offset_mm, own.b.offset_mm)  # skull and mandible are aligned there
    return own.stiffness_N / (1e-3 * float(np.linalg.norm(ends)))


def task_figure(name: str, given: ItemInput) -> ItemResult:
    """Compute the figure of one task (5, 6 or 7): displacements and forces of both condyles over the cycle,
    measured and by both models, with the parameter study.

    name : the task as the paper names it; given : the user's input, of which messages on progress are used
    """
    task = TASKS[name]
    own = task_of(task)
    runs = study_of(task, given.progress)
    rows = study_rows(name, task, runs)
    panels = []
    x = np.linspace(0.0, 100.0, N_PHASE)
    for field, scale, unit, words in (
        (DISPLACEMENTS, 1e3, "mm", "displacement"),
        (FORCES, 1.0, "N", "force"),
    ):
        means: dict[str, tuple[Array, Array]] = {}
        if field == DISPLACEMENTS:
            means["measured"] = phases_of(task, own.fdk.times, own.truth)
        for model in ("pop", "fdk"):
            mean, off = mean_cycle(task, getattr(own, model), field)
            means[model.upper()] = scale * mean, scale * off
        by_run = scale * np.array([mean_cycle(task, run, field)[0] for run in runs])
        means[STUDY] = by_run.mean(axis=0), by_run.std(axis=0)
        for s, side in enumerate(SIDES):
            for a in order_of_paper():
                panels.append(
                    FigurePanel(
                        title=f"{side} {AXES[a].upper()}, {words}", unit=unit, x_title="cycle [%]", x=x,
                        curves={key: mean[:, s, a] for key, (mean, _) in means.items()},
                        deviations={key: off[:, s, a] for key, (_, off) in means.items()},
                        row=f"{field} {side}", enlarged=True,
                    )
                )  # fmt: skip
    return ItemResult(rows, panels)


def order_of_paper() -> tuple[int, ...]:
    """Return the indices of the result arrays' axes in the order of the paper's figures: anterior-posterior,
    superior-inferior, medial-lateral.
    """
    return tuple(AXES.index(axis) for axis in ("ap", "si", "ml"))


def study_rows(name: str, task: str, runs: list) -> list[Comparison]:
    """Return comparisons on the parameter study of ligaments: the number of runs, the variation of their
    results, and shapes of the force curves that the paper describes.

    name : the task as the paper names it; task : the same in rtsim; runs : results of the study
    """
    own, rows = task_of(task), []
    rows.append(
        Comparison(f"{name}: number of runs in the parameter study", "1", 15.0, float(len(runs)),
                   StatedBound("parameter study", 15.0, 15.0))
    )  # fmt: skip
    for field, scale, unit, words in (
        (DISPLACEMENTS, 1e3, "mm", "displacements"),
        (FORCES, 1.0, "N", "forces"),
    ):
        by_run = scale * np.array([mean_cycle(task, run, field)[0] for run in runs])
        over_cycles = scale * mean_cycle(task, own.fdk, field)[1]
        rows += [
            Comparison(f"{name}: {words}, standard deviation between the 15 runs, mean over the cycle",
                       unit, "as large as the deviation between cycles",
                       float(by_run.std(axis=0).mean()), reason=REPEATED),
            Comparison(f"{name}: {words}, standard deviation between five cycles, mean over the cycle",
                       unit, "as large as the deviation between runs",
                       float(over_cycles.mean()), reason=REPEATED),
        ]  # fmt: skip
    pressed = -mean_cycle(task, own.fdk, FORCES)[0][:-1, :, AXES.index("si")]
    forwards = mean_cycle(task, own.fdk, DISPLACEMENTS)[0][:-1, :, AXES.index("ap")]
    for s, side in enumerate(SIDES):
        rows += [
            Comparison(f"{name}: {side}, FDK, number of maxima of the upward force on the skull", "1",
                       2.0 if (name, side) == ("chewing", "right") else None,
                       float(humps(pressed[:, s])), reason=OTHER_SUBJECT),
            Comparison(f"{name}: {side}, FDK, ratio of the upward force in opening to that in closing", "1",
                       "no clear pattern" if name == "open-close" else None,
                       opening_over_closing(pressed[:, s], forwards[:, s]), reason=OTHER_SUBJECT),
        ]  # fmt: skip
    return rows


REPEATED = "cycles of the synthetic jaw are equal except for noise, cycles of a person are not"
STUDIED = f"{len(STIFFNESSES_N_M)} stiffnesses and {len(STRAINS)} reference strains"


def item(number: str, title: str, data: str, compute: Computed) -> PaperItem:
    """Build the catalogue entry of a figure of the mandible's joint."""
    return PaperItem(
        kind="figure",
        number=number,
        title=title,
        data=data,
        has_data_of_paper=False,
        compute=compute,
        kernels=KERNELS,
    )


ITEMS = (
    item("3", "point-on-plane model of the mandibular joint", MODEL_DATA, figure_3),
    item("4", "FDK model of the mandibular joint", MODEL_DATA, figure_4),
    item("5", "chewing of the synthetic jaw", f"{JAW_DATA}; {STUDIED}", partial(task_figure, "chewing")),
    item(
        "6",
        "opening and closing of the synthetic jaw",
        f"{JAW_DATA}; {STUDIED}",
        partial(task_figure, "open-close"),
    ),
    item(
        "7", "protrusion of the synthetic jaw", f"{JAW_DATA}; {STUDIED}", partial(task_figure, "protrusion")
    ),
)
