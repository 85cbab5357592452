"""Figures 1 and A.6 and table A.2 of Millard et al. (2019): curves of the joint torque generators, the effect
of their parameters, and their values.
"""

from __future__ import annotations

from math import radians

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.generators.torque_generator_figures import (
    panels_of_curves,
    panels_of_parameters,
    parts_at,
)
from rtsim.models.generator_sets import generators_of, load_set
from rtsim.models.packing.torque_generators import UNFITTED, PlacedGenerator
from rtsim.papers.item import Comparison, ItemInput, ItemResult, PaperItem, StatedBound

Array = NDArray[np.float64]

SET, SHOWN = "planar", "hip_flexion_r_extensor"
ROUNDING = 1e-9
HALF_SPEED = 0.005
PROGRAM = "given by the program of Millard et al. (2019): the spline is within 0.005 of its parameter there"
TABLE_A_2 = {
    "hip_extension": (176, -61, 61, 517, 1.10, 0.16, -45, -90),
    "hip_flexion": (157, -42, 70, 526, 1.12, 0.25, 5, 30),
    "knee_extension": (286, -54, 29, 1101, 1.13, 0.12, -115, -155),
    "knee_flexion": (99, -59, 64, 953, 1.12, 0.20, 0, 10),
    "ankle_plantarflexion": (128, -23, 38, 674, 1.16, 0.41, -2, -45),
    "ankle_dorsiflexion": (44, 11, 35, 990, 1.27, 0.11, 30, 60),
    "lumbar_extension": (688, -89, 66, 458, 1.10, 0.15, -18, -78),
    "lumbar_flexion": (212, 0, 360, 1102, 1.10, 0.15, 0, 45),
    "shoulder_extension": (127, -123, 105, 931, 1.10, 0.25, -162, -204),
    "shoulder_flexion": (91, -51, 74, 1093, 1.23, 0.25, 30, 60),
    "elbow_extension": (101, -19, 207, 1037, 1.37, 0.19, -120, -150),
    "elbow_flexion": (70, -94, 75, 1057, 1.32, 0.19, 0, 10),
    "wrist_ulnar_deviation": (31, -25, 85, 1032, 1.35, 0.20, 0, 30),
    "wrist_radial_deviation": (24, 65, 147, 1247, 1.31, 0.21, -20, -50),
}
"""Table A.2 as printed; its angles are negative in flexion, those of rtsim positive."""
COLUMNS = (
    ("tau_o", "N m", "strength_Nm", 1.0),
    ("theta_o^A", "deg", "optimal_angle_deg", -1.0),
    ("theta_w^A", "deg", "width_deg", 1.0),
    ("omega_max", "deg/s", "speed_deg_s", 1.0),
    ("t^V(omega_max^E)", "1", "lengthening", 1.0),
    ("t^V(omega_max^C / 2)", "1", "half_speed", 1.0),
    ("theta_0^PE", "deg", "passive_zero_deg", -1.0),
    ("theta_1^PE", "deg", "passive_one_deg", -1.0),
)


def figure_1(given: ItemInput) -> ItemResult:
    """Compute figure 1: the effect of the fitted parameters (blends, scales and shift) on the torque curves
    of the hip's extensor.
    """
    one = next(one for one in generators_of(SET) if one.name == SHOWN)
    best, grid = radians(one.spec.optimal_angle_deg), np.radians(np.linspace(-60.0, 200.0, 53))
    still = np.zeros(len(grid))

    def flat(column: int, **changed: float) -> Array:
        x = np.array(UNFITTED)
        x[3] = changed.get("passive", 0.0)
        return parts_at(one._replace(blend=changed.get("blend", 0.0), to_one=True), x, grid, still)[:, column]

    speeds = np.radians(np.linspace(-1.5, 1.5, 31) * one.spec.speed_deg_s)
    blended = one._replace(blend=1.0, to_one=True)
    quick = parts_at(blended, np.array(UNFITTED), np.full(31, best), speeds)[:, 1]
    wide = parts_at(
        one._replace(blend=0.0), np.array([2.0, 1.0, 0.0, 0.0, 1.0]), 2.0 * (grid - best) + best, still
    )
    narrow = parts_at(one._replace(blend=0.0), np.array(UNFITTED), grid, still)
    shifted = parts_at(one, np.array([1.0, 1.0, 0.3, 0.0, 1.0]), grid + 0.3, still)
    rows = [
        stated(
            "difference between the torque-angle factor t^A with the greatest weight, lambda^A = 1, and 1",
            flat(0, blend=1.0) - 1.0,
            "eq. 4",
        ),
        stated(
            "difference between the torque-velocity factor t^V with the greatest weight, lambda^V = 1, and 1",
            quick - 1.0,
            "eq. 5",
        ),
        stated("passive torque t^PE with the greatest weight, lambda^P = 1", flat(2, passive=1.0), "eq. 6"),
        stated(
            "torque-angle factor t^A with the angle scale s^A = 2, minus t^A without it at half of the angle",
            wide[:, 0] - narrow[:, 0],
            "eq. 4",
        ),
        stated(
            "passive torque t^PE with the angle shift Delta^P, minus t^PE without it at the shifted angle",
            shifted[:, 2] - narrow[:, 2],
            "eq. 6",
        ),
    ]
    notes = (
        "As its weight lambda^V rises, the torque-velocity factor t^V of the program of Millard et al. "
        "(2019) approaches its eccentric maximum, and in eq. 5 the value 1; the panels show the curves of "
        "the program, the table those of eq. 5.",
    )
    return ItemResult(rows, panels_of_parameters(one), notes)


def stated(quantity: str, off: Array, source: str) -> Comparison:
    """Return a comparison that checks that values are zero except for rounding.

    quantity : name of the values `off`; source : equation or section of the paper that says so
    """
    return Comparison(quantity, "1", 0.0, float(np.abs(off).max()), StatedBound(source, high=ROUNDING))


def figure_a_6(given: ItemInput) -> ItemResult:
    """Compute figure A.6: torque over angle and over speed, for all 14 generators."""
    rows = []
    for muscle, printed in TABLE_A_2.items():
        one = placed_of(muscle)
        half = parts_at(one, np.array(UNFITTED), at(one, 0.0), at(one, 0.5, speed=True))[0, 1]
        rows.append(
            Comparison(
                f"{words(muscle)}: torque-velocity factor t^V at half of the greatest speed", "1", printed[5],
                float(half),
                StatedBound(PROGRAM, one.spec.half_speed - HALF_SPEED, one.spec.half_speed + HALF_SPEED),
            )
        )  # fmt: skip
        ends = parts_at(one, np.array(UNFITTED), np.radians([one.spec.passive_one_deg]), np.zeros(1))
        rows.append(
            Comparison(
                f"{words(muscle)}: passive torque t^PE at its upper angle theta_1^PE", "1", 1.0,
                float(ends[0, 2]),
                StatedBound(
                    "stated by Millard et al. (2019), appendix A: t^PE passes through (theta_1^PE, "
                    "tau_o)", 1.0 - ROUNDING, 1.0 + ROUNDING
                ),
            )
        )  # fmt: skip
    chosen = [one for one in generators_of(SET) if not one.joint.coordinate.endswith("_l")]
    return ItemResult(rows, panels_of_curves(chosen))


def at(one: PlacedGenerator, part: float, speed: bool = False) -> Array:
    """Return as an array (1,) a torque generator's optimal angle [rad], or with `speed` its greatest speed
    times the fraction `part` [rad/s]. Without `speed`, `part` is not used.
    """
    value = part * one.spec.speed_deg_s if speed else one.spec.optimal_angle_deg
    return np.radians([value])


def placed_of(muscle: str) -> PlacedGenerator:
    """Return a torque generator of the paper's set (table A.2) at its joint, with the curves of the table
    unchanged (blend lambda_A = 0); muscle : its name in the set
    """
    return next(one for one in generators_of(SET) if one.muscle == muscle)._replace(blend=0.0)


def table_a_2(given: ItemInput) -> ItemResult:
    """Compute table A.2: parameters of the shipped generators compared with the printed ones."""
    own, rows = load_set("gymnast").generators, []
    for muscle, printed in TABLE_A_2.items():
        for (name, unit, key, sign), value in zip(COLUMNS, printed, strict=True):
            half = 0.005 if isinstance(value, float) else 0.5
            rows.append(
                Comparison(
                    f"{words(muscle)}: {name}", unit, value, sign * float(getattr(own[muscle], key)),
                    StatedBound("required: the value in table A.2 of Millard et al. (2019), as rounded "
                                "there", value - half, value + half),
                )
            )  # fmt: skip
    return ItemResult(rows)


def words(muscle: str) -> str:
    """Return a muscle's name as text."""
    return muscle.replace("_", " ")


DATA = "shipped set gymnast: table A.2 of Millard et al. (2019) in the precision of the authors' program"
ITEMS = (
    PaperItem(
        "figure",
        "1",
        "effect of the fitted parameters on the curves of a torque generator",
        data=DATA,
        has_data_of_paper=True,
        compute=figure_1,
        kernels=("torque-generator-fit",),
    ),
    PaperItem(
        "figure",
        "A.6",
        "torque of all torque generators over angle and speed",
        data=DATA,
        has_data_of_paper=True,
        compute=figure_a_6,
        kernels=("torque-generator-fit",),
    ),
    PaperItem(
        "table",
        "A.2",
        "parameters of the torque generators",
        data=DATA,
        has_data_of_paper=True,
        compute=table_a_2,
    ),
)
