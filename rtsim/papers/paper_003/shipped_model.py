"""Tables 2 and 3 of Sancisi et al. (2017): the paper's parameters compared with those in the shipped
model."""

from __future__ import annotations

import numpy as np

from rtsim.files.tables.panels import FigurePanel
from rtsim.models.load import load_model
from rtsim.papers.item import Comparison, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.papers.paper_003.printed_tables import LIGAMENTS, POLYNOMIALS, WEIGHTS

MODEL = "lower_limb"
FLEXION_DEG = 90.0
"""Largest flexion for which the ligament lengths of table 2 are drawn [deg]."""


def experimental_lengths(_given: ItemInput) -> ItemResult:
    """Compute table 2: polynomials of the ligament lengths, and the lengths that these give over the flexion
    (the paper's eq. 1)."""
    spec = load_model(MODEL)
    coefficients = {
        ligament.name: ligament.length.polynomial for ligament in spec.ligaments if ligament.length
    }
    rows = [
        Comparison(
            f"{name}: largest relative difference between the shipped model and table 2 in the coefficients "
            "a1 to a7 of the polynomial of the ligament length (eq. 1)",
            "%",
            paper=0.0,
            ours=100.0
            * float(np.max(np.abs(np.array(coefficients[name]) / np.array(POLYNOMIALS[name]) - 1.0))),
            bound=StatedBound("table 2", 0.0, 0.0),
        )
        for name in LIGAMENTS
    ]
    flexion = np.linspace(0.0, FLEXION_DEG, 181)
    powers = (-flexion[:, None]) ** np.arange(1, 8)
    curves = {name: 100.0 * powers @ np.array(coefficients[name]) for name in LIGAMENTS}
    return ItemResult(
        rows, [FigurePanel("ligament lengthening by eq. 1", "%", "knee flexion [deg]", flexion, curves)]
    )


def ligament_weights(_given: ItemInput) -> ItemResult:
    """Compute table 3: weights of the ligaments in the shipped model compared with the printed ones."""
    spec = load_model(MODEL)
    rows = [
        Comparison(
            f"method {method}, weight of {name}",
            "1/m^2",
            paper=weight,
            ours=spec.methods[method].soft[name],
            bound=StatedBound("table 3", weight, weight),
        )
        for method, weights in WEIGHTS.items()
        for name, weight in weights.items()
    ]
    return ItemResult(rows)


ITEMS = (
    PaperItem(
        kind="table",
        number="2",
        title="Coefficients of the polynomials fitted to the measured ligament lengths",
        data="the shipped model lower_limb",
        has_data_of_paper=True,
        compute=experimental_lengths,
    ),
    PaperItem(
        kind="table",
        number="3",
        title="Ligament weights in the cost function of the penalty-based methods",
        data="the shipped model lower_limb",
        has_data_of_paper=True,
        compute=ligament_weights,
    ),
)
