"""The speeds that a simulation starts with."""

from __future__ import annotations

import math

import numpy as np

from rtsim.errors import ModelError
from rtsim.models.packing.joints import rotations, translations
from rtsim.simulation.model_state import ModelState


def set_speeds(simulator: ModelState) -> None:
    """Set simulator.v to the speeds in the model's settings."""
    model, settings = simulator.model, simulator.settings
    tree = simulator.simulation.system.tree
    for name, speed in settings.speeds.items():
        k = model.coordinates.names.index(name)
        turns = model.coordinates.is_angle[k]
        simulator.v[model.coordinates.dof[k]] = math.radians(speed) if turns else 1e-3 * speed
    for table, scale, joints in (
        (settings.velocities_mm_s, 1e-3, translations(tree)),
        (settings.turning_deg_s, math.radians(1.0), rotations(tree)),
    ):
        starts = {b: start for b, _, start in joints}
        for name, vector in table.items():
            b = model.names.bodies.index(name)
            if b not in starts:
                raise ModelError(
                    f"{name} has no joint that can have this speed",
                    where=f"{model.name}: simulation",
                    remedy="give speeds of its coordinates, or a free joint",
                )
            simulator.v[starts[b] : starts[b] + 3] = scale * np.array(vector)
