"""Discs and balls that roll without slipping, as kernels/dynamics/rolling reads them."""

from __future__ import annotations

import numpy as np

from kernels.dynamics.rolling import Rolls
from rtsim.config.models.model_schema import ModelSpec
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.calibration.natural import unit


def pack_rolls(spec: ModelSpec, anatomy: Anatomy, index: dict[str, int]) -> Rolls | None:
    """Pack the rolling constraints of a model into one table; None if the model has none."""
    if not spec.rolls:
        return None
    planes = []
    for roll in spec.rolls:
        normal = unit(np.array(roll.normal, float))
        first = unit(np.cross(np.eye(3)[np.argmin(np.abs(normal))], normal))
        planes.append([normal, first, np.cross(normal, first)])
    return Rolls(
        body_a=np.array([index[roll.a.segment] for roll in spec.rolls], np.int64),
        body_b=np.array([index[roll.b.segment] for roll in spec.rolls], np.int64),
        centre=np.array([anatomy.place(roll.a, roll.a.segment, f"rolls.{roll.name}") for roll in spec.rolls]),
        axis=np.array(
            [unit(np.array(roll.axis, float)) if roll.axis else np.zeros(3) for roll in spec.rolls]
        ),
        radius=1e-3 * np.array([roll.radius_mm for roll in spec.rolls], float),
        point=np.array([anatomy.place(roll.b, roll.b.segment, f"rolls.{roll.name}") for roll in spec.rolls]),
        plane=np.array(planes),
    )
