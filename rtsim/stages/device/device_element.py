"""The force element through which a device acts on a limb: a torsion spring without stiffness, whose moment
is set to the device's torque; it is the last spring of the limb's model.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from msgspec.structs import replace

from rtsim.config.models.force_schema import Spring
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.model import Model

ELEMENT = "device"
"""Name of the spring, without stiffness, through which the device acts on its coordinate."""


class Limb(Protocol):
    """The limb that the device moves: the limb of a simulator, or the joint of a measured person.

    q, v : coordinates and speeds
    time : their time [s]
    """

    q: np.ndarray
    v: np.ndarray

    @property
    def time(self) -> float: ...

    @property
    def model(self) -> Model: ...


def with_device(spec: ModelSpec, coordinate: str) -> ModelSpec:
    """Add to a model the element through which a device acts: a spring without stiffness on a coordinate,
    after all other springs.
    """
    if any(spring.name == ELEMENT for spring in spec.springs):
        raise ConfigError(
            f"a spring has the name {ELEMENT!r}, which is reserved for the device",
            where=f"model {spec.name}", remedy="give the spring another name",
        )  # fmt: skip
    element = Spring(name=ELEMENT, coordinate=coordinate, stiffness_N_m_rad=0.0)
    return replace(spec, springs=(*spec.springs, element))


def device_element(simulator: Limb) -> int:
    """Return the index, among the springs on the limb's coordinates, of the spring that stands for the
    device.
    """
    return len(simulator.model.forces.springs.dof) - 1
