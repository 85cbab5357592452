"""Tables 1 and 2 of Andersen et al. (2017), on the jaw joint in all tasks: kinematics compared with the
measurement, and forces of the two models.

The data of the paper's subject are not public, so the measurement is the built-in synthetic jaw, which obeys
neither model.
"""

from __future__ import annotations

from math import degrees

import numpy as np

import rtsim.bench.contacts.jaw
from rtsim.bench.contacts.jaw import MODEL, SIDES
from rtsim.methods.agreement import Repeated
from rtsim.models.load import load_model
from rtsim.papers.item import Comparison, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.papers.paper_000.jaw_runs import JawTask, task_of
from rtsim.papers.paper_000.printed_tables import AXES, METRICS, TABLE_1, TABLE_2, TASKS
from streams.messages import Status

OTHER_SUBJECT = (
    "the values of rtsim are from the synthetic jaw: the scan and the motion of the subject of Andersen et "
    "al. (2017) are not public"
)
JAW_DATA = (
    "motion of the built-in synthetic jaw, which neither model generated, filtered as in a live run; five "
    "cycles"
)
KERNELS = ("fdk", "model", "model-deviations", "moment-arms")
SLOPE_DEG, CANT_DEG = 30.0, 5.0
STRENGTH_N, MOST_ACTIVE = 20e3, 0.5
"""The paper's contact element of the point-on-plane model: strength [N], and bound of its activation [%]."""
TOLERANCE_N, ROUNDING = 0.1, 1e-6
"""Tolerance of the equilibrium in a run [N]; kinematic tolerance of the paper [m]."""


def table_1(given: ItemInput) -> ItemResult:
    """Compute table 1: displacements of the condyles by both joint models compared with the measurement."""
    rows = []
    for (task, place), printed in TABLE_1.items():
        given.progress(f"table 1: {task}, {place}")
        own = task_of(TASKS[task])
        side, axis = indices_of(place)
        for model, numbers in zip(("fdk", "pop"), printed, strict=True):
            found = own.displaced(model, side, axis)
            rows += metric_rows(f"{task}, {place}, {model.upper()}", "mm", numbers, found)
    for task, name in TASKS.items():
        rows += kinematic_bounds(task, task_of(name))
    return ItemResult(rows, notes=(signs_in_words(),))


def table_2(given: ItemInput) -> ItemResult:
    """Compute table 2: contact forces of the jaw joint by the point-on-plane model compared with those of
    force-dependent kinematics.
    """
    rows = []
    for (task, place), printed in TABLE_2.items():
        found = task_of(TASKS[task]).loaded(*indices_of(place))
        rows += metric_rows(f"{task}, {place}", "N", printed, found)
    for task, name in TASKS.items():
        rows += force_bounds(task, task_of(name))
    note = (
        "The sign of M, the error of magnitude, along SI depends on how much the subject's fossae slope in "
        "comparison with the planes of the point-on-plane model; `rtsim bench jaw` gives M for five slopes "
        "of the fossae."
    )
    return ItemResult(rows, notes=(note, signs_in_words()))


def indices_of(place: str) -> tuple[int, int]:
    """Return the indices of side and axis in result arrays for a label of the paper's table, such as "left
    AP" (anterior-posterior).
    """
    side, axis = place.split()
    return SIDES.index(side), rtsim.bench.contacts.jaw.AXES.index(AXES[axis])


def metric_rows(name: str, unit: str, printed: tuple[float, ...], found: Repeated) -> list[Comparison]:
    """Return comparisons of the four metrics in one row of table 1 or 2: root mean square difference, squared
    correlation, errors of magnitude and of phase.

    name, unit : of the quantity whose curves are compared; printed : the four values of the paper; found :
        means and standard deviations over the cycles, computed here
    """
    words = f"{name}: RMSD (standard deviation between cycles {found.deviation.rmsd:.2g})"
    names = (words, *(f"{name}: {metric}" for metric in METRICS[1:]))
    units = (unit, "1", "1", "1")
    return [
        Comparison(quantity, of, value, ours, reason=OTHER_SUBJECT)
        for quantity, of, value, ours in zip(names, units, printed, found.mean, strict=True)
    ]


def signs_in_words() -> str:
    """Return a note on the meaning of the axes in the tables."""
    return (
        "Axes of the skull: AP is forwards, SI upwards, ML to the right. M and P are the errors of magnitude "
        "and phase, POP is the point-on-plane model, FDK force-dependent kinematics. Values are means of "
        "five cycles that are evaluated separately."
    )


def kinematic_bounds(task: str, own: JawTask) -> list[Comparison]:
    """Compare computed values of a task of the jaw (chewing, protrusion or opening) with statements of the
    paper on kinematics that hold for any subject, such as that every frame has an equilibrium.

    own : results of both joint models
    """
    rows = slice(own.cycles[0].start, own.cycles[-1].stop)
    middle = own.places("pop")[rows, :, 2].mean(axis=1)
    lost = sum(int((model.status[rows] == int(Status.NOT_CONVERGED)).sum()) for model in (own.fdk, own.pop))
    left = float(np.abs(own.fdk.fields["fdk_residuals"][rows]).max())
    return [
        Comparison(f"{task}: POP, largest ML displacement of the midpoint of both condyles", "mm", 0.0,
                   float(np.abs(middle).max()),
                   StatedBound("stated by Andersen et al. (2017): no movement along the "
                               "medial-lateral axis", high=1e3 * ROUNDING)),
        Comparison(f"{task}: number of frames without equilibrium", "1", 0.0, float(lost),
                   StatedBound("stated by Andersen et al. (2017): alpha is found such that the "
                               "residual force f is zero", high=0.0)),
        Comparison(f"{task}: FDK, largest residual force", "N", 0.0, left,
                   StatedBound("stated by Andersen et al. (2017): the residual force f is zero; here "
                               "to the tolerance of a run", high=TOLERANCE_N)),
    ]  # fmt: skip


def force_bounds(task: str, own: JawTask) -> list[Comparison]:
    """Compare computed values of a task of the jaw (chewing, protrusion or opening) with statements of the
    paper on forces that hold for any subject, such as that contacts only push.

    own : results of both joint models
    """
    rows = slice(own.cycles[0].start, own.cycles[-1].stop)
    pressed = own.pop.fields["unilateral_reactions"][rows]
    force = own.forces("pop")[rows]
    slope = np.degrees(np.arctan(force[..., 0] / force[..., 1]))
    return [
        Comparison(f"{task}: POP, largest activation of the contact elements", "%", "below 0.5",
                   100.0 * float(pressed.max()) / STRENGTH_N, StatedBound("POP model", high=MOST_ACTIVE)),
        Comparison(f"{task}: POP, largest pulling force of the contact elements", "N", 0.0,
                   max(0.0, -float(pressed.min())), StatedBound("stated by Andersen et al. (2017): "
                                                                "contact elements can only push", high=0.0)),
        Comparison(f"{task}: POP, difference between the slope of the contact force and that of the planes "
                   "on which the condyles slide", "deg", 0.0,
                   float(np.abs(slope - SLOPE_DEG).max()), StatedBound("stated by Andersen et al. "
                                                                       "(2017): planes slope by 30 "
                                                                       "deg", high=1e-2)),
    ]  # fmt: skip


def planes_rows() -> list[Comparison]:
    """Return comparisons of the planes on which the condyles slide in the shipped model with those of the
    paper: their downward inclination and their sideways inclination [deg].
    """
    rows = []
    for element in load_model(MODEL).elements:
        normal = getattr(element, "normal", None)
        if normal is None or not element.name.endswith("normal"):
            continue
        n = np.array(normal) / np.linalg.norm(normal)
        slope, cant = degrees(np.arctan(n[0] / n[1])), degrees(np.arcsin(abs(n[2])))
        rows += [
            Comparison(
                f"{element.name.removesuffix('_normal')} plane: forward-downward inclination",
                "deg",
                SLOPE_DEG,
                slope,
                StatedBound("POP model", 29.95, 30.05),
            ),
            Comparison(
                f"{element.name.removesuffix('_normal')} plane: sideways inclination",
                "deg",
                CANT_DEG,
                cant,
                StatedBound("POP model", 4.95, 5.05),
            ),
        ]
    return rows


ITEMS = tuple(
    PaperItem(
        kind="table",
        number=number,
        title=title,
        data=JAW_DATA,
        has_data_of_paper=False,
        compute=compute,
        kernels=KERNELS,
    )
    for number, title, compute in (
        (
            "1",
            "joint kinematics of the point-on-plane and the FDK model, compared with the measurement",
            table_1,
        ),
        ("2", "forces of the point-on-plane model, compared with force-dependent kinematics", table_2),
    )
)
