"""Figures 1 to 3 of Sherman, Seth, Delp (2010): the models that the paper draws, with moment arms by its four
methods compared.

The paper prints no numbers. It states that its definition (8) and its eqs 10, 11, 15 and 18 give the same
moment arm r, and that the torque of its eq. 24 is r times the muscle's tension s. The models have the layouts
of the paper; their dimensions are chosen by rtsim.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rtsim.files.tables.panels import FigurePanel
from rtsim.papers.item import Comparison, ItemInput, ItemResult, PaperItem, StatedBound
from rtsim.papers.paper_002.methods_compared import (
    EVERY,
    EXACT,
    ComparedArms,
    arms_of,
    compared,
    distance_from_pin,
    torque_apart,
)

ROUNDING_MM, DIFFERENCES_MM, ROUNDING = 1e-9, 1e-5, 1e-10
"""Tolerances for equal values in double precision: of exact methods, of a difference quotient, whose step
costs half of the digits, and of a torque relative to the largest one.
"""
EQUAL = "stated by Sherman et al. (2010), eqs 11, 15, 18: the same moment arm r, here except for rounding"
EQUATIONS = {
    "force": "force, eq. 18",
    "partial-velocity": "partial velocity, eq. 15",
    "velocity": "velocity, eq. 11",
    "differences": "differences, eq. 10",
}
MADE_UP = "shipped model {}, with the layout of Sherman et al. (2010) and dimensions chosen by rtsim"


def figure_1(given: ItemInput) -> ItemResult:
    """Compute figure 1: the moment arm of a straight muscle about a pin joint."""
    arms = arms_of("pin")
    found = compared(arms, "flexion", (-10.0, 150.0))
    away = distance_from_pin(arms, "flexor", "lower", found.values, "flexion")
    apart = 1e3 * float(np.abs(away - np.abs(found.arms["force"][:, 0])).max())
    rows = [
        *equal_rows("pin", found, torque_apart(arms, found)),
        Comparison(
            "largest difference between the moment arm and the distance of the line of action from "
            "the pin", "mm", "0 (figure 1)", apart,
            StatedBound("stated by Sherman et al. (2010), figure 1: the moment arm is the distance of "
                        "the line of action from the pin", high=ROUNDING_MM),
        ),
        *range_rows("", found),
    ]  # fmt: skip
    return ItemResult(rows, panels_of([found], "pin: "))


def figure_2(given: ItemInput) -> ItemResult:
    """Compute figure 2: moment arms of three tendons of a finger about its two joints, one of which is fixed
    while the other moves.
    """
    arms = arms_of("finger")
    both = [
        compared(arms, "mcp_flexion", (-30.0, 85.0)),
        compared(arms, "pip_flexion", (0.0, 105.0)),
    ]
    rows = []
    for found in both:
        joint = found.angle.replace("_", " ")
        rows += equal_rows(joint, found, torque_apart(arms, found))
        rows += range_rows(f"{joint}, ", found)
    return ItemResult(rows, panels_of(both, ""))


def figure_3(given: ItemInput) -> ItemResult:
    """Compute figure 3: the idealised mechanism, with an angle that is the sum of four coupled angles, and
    two further angles that change with it.
    """
    arms = arms_of("mechanism")
    found = compared(arms, "theta", (-40.0, 40.0))
    coupling = arms.coupling(arms.assembled(angle="theta", value=0.2), "theta")
    names = arms.model.coordinates
    shares = {name: float(coupling[names.dof[k]]) for k, name in enumerate(names.names)}
    alphas = [0.4 * shares["theta_total"], *(shares[f"theta_{k}"] for k in (2, 3, 4))]
    sums = Comparison(
        "sum of the coupling constants alpha 1 to 4", "1", 1.0, float(sum(alphas)),
        StatedBound("stated by Sherman et al. (2010), eqs 19, 20: theta is the sum of the joint "
                    "angles", 1.0 - ROUNDING, 1.0 + ROUNDING),
    )  # fmt: skip
    rows = [*equal_rows("theta", found, torque_apart(arms, found)), sums, *range_rows("", found)]
    return ItemResult(rows, panels_of([found], ""))


def equal_rows(name: str, found: ComparedArms, torque: float) -> list[Comparison]:
    """Return comparisons that check that the moment arms of all methods are equal, and that the torque of eq.
    24 is moment arm times tension.

    name : beginning of their names; torque : largest difference of the two, relative to moment arm times
        tension
    """
    return [
        Comparison(
            f"{name}: largest difference between the exact methods (eqs 11, 15, 18)",
            "mm", "equal", 1e3 * found.apart(EXACT),
            StatedBound(EQUAL, high=ROUNDING_MM),
        ),
        Comparison(
            f"{name}: largest difference between finite differences (eq. 10) and the exact methods",
            "mm", "approximate",
            1e3 * found.apart(EVERY), StatedBound("stated by Sherman et al. (2010), eq. 10: r = "
                                                  "dl/dtheta", high=DIFFERENCES_MM),
        ),
        Comparison(
            f"{name}: torque of eq. 24 minus moment arm r times tendon force s, relative to r s", "1",
            "0 (eq. 24)", torque,
            StatedBound("stated by Sherman et al. (2010), eqs 22 to 24: tau = r s", high=ROUNDING),
        ),
    ]  # fmt: skip


def range_rows(name: str, found: ComparedArms) -> list[Comparison]:
    """Return the largest moment arms as comparisons without a printed value, as the paper states none."""
    return [
        Comparison(
            f"{name}{muscle}: largest moment arm", "mm", None,
            1e3 * float(max(found.arms["force"][:, k], key=abs)),
            reason="Sherman et al. (2010) print neither dimensions nor moment arms of their models",
        )
        for k, muscle in enumerate(found.muscles)
    ]  # fmt: skip


def panels_of(some: Sequence[ComparedArms], words: str) -> list[FigurePanel]:
    """Return two panels for each angle and muscle: moment arms by the four methods, and their differences
    from the moment arm by eq. 18; words : beginning of the titles
    """
    panels = []
    for found in some:
        x = np.degrees(found.values)
        angle = found.angle.replace("_", " ")
        for k, muscle in enumerate(found.muscles):
            curves = {EQUATIONS[method]: 1e3 * found.arms[method][:, k] for method in EVERY}
            first = found.arms["force"][:, k]
            less = {
                EQUATIONS[method]: 1e9 * (found.arms[method][:, k] - first)
                for method in EVERY
                if method != "force"
            }
            row = f"{found.angle} {muscle}"
            title = f"{words}{muscle} about {angle}"
            panels += [
                panel_of(title, "mm", angle, x, curves, row),
                panel_of("difference from the moment arm of eq. 18", "nm", angle, x, less, row),
            ]
    return panels


def panel_of(
    title: str, unit: str, angle: str, x: np.ndarray, curves: dict[str, np.ndarray], row: str
) -> FigurePanel:
    """Return one panel of a figure with curves over an angle; x : (n,) values of the angle [deg]; row : name
    of the row of panels to which it belongs
    """
    return FigurePanel(
        title=title, unit=unit, x_title=f"{angle} [deg]", x=x, curves=curves, row=row, enlarged=True
    )


ITEMS = (
    PaperItem(
        kind="figure",
        number="1",
        title="moment arm of a straight muscle about a pin joint, by four methods",
        data=MADE_UP.format("pin"),
        has_data_of_paper=False,
        compute=figure_1,
        kernels=("moment-arms",),
    ),
    PaperItem(
        kind="figure",
        number="2",
        title="moment arms of three tendons of a finger about two joints, by four methods",
        data=MADE_UP.format("finger"),
        has_data_of_paper=False,
        compute=figure_2,
        kernels=("moment-arms",),
    ),
    PaperItem(
        kind="figure",
        number="3",
        title="moment arm about an angle that is shared by several coupled joints, by four methods",
        data=MADE_UP.format("mechanism"),
        has_data_of_paper=False,
        compute=figure_3,
        kernels=("moment-arms",),
    ),
)
