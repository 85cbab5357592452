"""A model whose device has its joint beside that of the limb."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rtsim.config.force_schema import Spring
from rtsim.config.hil_schema import HilSpec
from rtsim.config.joint_schema import Body, coordinates_of
from rtsim.config.model_schema import ModelSpec
from rtsim.config.place_schema import GROUND, Frame, Place
from rtsim.device.misalignment import Misalignment
from rtsim.errors import ConfigError

STRAPS = "device_cuff"
"""Name of the spring along the device's bar."""
AXES = {"u": (1.0, 0.0, 0.0), "v": (0.0, 1.0, 0.0), "w": (0.0, 0.0, 1.0)}


def joint_of(spec: ModelSpec, config: HilSpec) -> Misalignment | None:
    """The device's joint, None where it is the limb's; ConfigError where the limb's is no plain hinge."""
    if config.misalignment is None:
        return None
    body, where = carried_by(spec, config), f"{config.name}: misalignment"
    plain = body.in_child == Frame() and body.in_parent.turned_deg == (0.0, 0.0, 0.0)
    if body.joint != "hinge" or body.axis is None or not plain or body.in_parent.of_subject:
        raise ConfigError(
            f"{config.coordinate} of {spec.name} is no angle of a hinge whose frames are not turned",
            where=where, remedy="leave misalignment out, or take such a joint",
        )  # fmt: skip
    axis = AXES[body.axis] if isinstance(body.axis, str) else body.axis
    return Misalignment(config.misalignment, axis, where)


def with_straps(spec: ModelSpec, config: HilSpec) -> ModelSpec:
    """The model with a spring between the device's joint and its cuff, where it has straps; else as it is."""
    joint, said = joint_of(spec, config), config.misalignment
    if joint is None or said is None or not joint.stiffness:
        return spec
    if any(spring.name == STRAPS for spring in spec.springs):
        raise ConfigError(
            f"a spring is called {STRAPS!r}, which is what the device's straps are called",
            where=f"model {spec.name}", remedy="give it another name",
        )  # fmt: skip
    body = carried_by(spec, config)
    centre = np.array(body.in_parent.offset_mm) + joint.in_plane(said.offset_mm)
    straps = Spring(
        name=STRAPS,
        a=Place(body.parent or GROUND, offset_mm=tuple(centre.tolist())),
        b=Place(body.name, offset_mm=joint.in_plane(said.cuff_mm)),
        rest_mm=1e3 * joint.rest,
        stiffness_N_m=joint.stiffness,
    )
    return replace(spec, springs=(*spec.springs, straps))


def carried_by(spec: ModelSpec, config: HilSpec) -> Body:
    """The body whose joint has the device's coordinate."""
    return next(b for b in spec.bodies if config.coordinate in [c.name for c in coordinates_of(b)])
