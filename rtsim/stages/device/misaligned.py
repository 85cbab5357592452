"""A model with a device whose joint does not coincide with the limb's joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from rtsim.config.models.force_schema import Spring
from rtsim.config.models.joint_schema import Axis, Body, ElementaryMotion, coordinates_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import GROUND, Frame, Place
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.misalignment import Misalignment
from rtsim.errors import ConfigError

STRAPS = "device_cuff"
"""Name of the spring along the device's bar."""
AXES = {"u": (1.0, 0.0, 0.0), "v": (0.0, 1.0, 0.0), "w": (0.0, 0.0, 1.0)}
PARALLEL = 1e-9


class Turning(NamedTuple):
    """Rotation axis of a body about its parent, fixed in the parent.

    axis : (3,) direction, in the axes of the joint's frame on the parent; the axis passes through the origin
        of this frame
    place_mm : (3,) position of the body's origin relative to this frame in the neutral pose, with the
        rotation at zero [mm]
    """

    axis: np.ndarray
    place_mm: np.ndarray


def joint_of(spec: ModelSpec, config: HilSpec) -> Misalignment | None:
    """Return the misalignment of the device's joint relative to the limb's joint; None if the config states
    none.

    ConfigError if the limb's joint has no axis that is fixed in its parent segment.
    """
    if config.misalignment is None:
        return None
    turning, where = turning_of(carried_by(spec, config), config.coordinate), f"{config.name}: misalignment"
    if turning is None:
        raise ConfigError(
            f"{config.coordinate} of {spec.name} has no rotation axis that is fixed in the parent segment",
            where=where, allowed="the coordinate of a hinge, or of a chain of joints that begins with a "
                "hinge and has no rotated frames",
            remedy="remove misalignment, or choose such a coordinate",
        )  # fmt: skip
    return Misalignment(config.misalignment, turning.axis.tolist(), where)


def with_straps(spec: ModelSpec, config: HilSpec) -> ModelSpec:
    """Add a spring between the device's joint and its cuff to the model, if the device has straps."""
    joint, said, body = joint_of(spec, config), config.misalignment, carried_by(spec, config)
    turning = turning_of(body, config.coordinate)
    if joint is None or said is None or turning is None or not joint.stiffness:
        return spec
    if any(spring.name == STRAPS for spring in spec.springs):
        raise ConfigError(
            f"a spring has the name {STRAPS!r}, which is reserved for the device's straps",
            where=f"model {spec.name}", remedy="give the spring another name",
        )  # fmt: skip
    centre = np.array(body.in_parent.offset_mm) + joint.in_plane(said.offset_mm)
    cuff = joint.in_plane(said.cuff_mm) - np.array(joint.in_plane(turning.place_mm.tolist()))
    straps = Spring(
        name=STRAPS,
        a=Place(body.parent or GROUND, offset_mm=tuple(centre.tolist())),
        b=Place(body.name, offset_mm=tuple(cuff.tolist())),
        rest_mm=1e3 * joint.rest,
        stiffness_N_m=joint.stiffness,
    )
    return replace(spec, springs=(*spec.springs, straps))


def carried_by(spec: ModelSpec, config: HilSpec) -> Body:
    """Return the body of the limb that is moved by the coordinate on which the device acts."""
    return next(b for b in spec.bodies if config.coordinate in [c.name for c in coordinates_of(b)])


def turning_of(body: Body, coordinate: str) -> Turning | None:
    """Return the axis about which a coordinate rotates a body, if it is fixed in the parent.

    Returns None if it is not: if the joint first rotates about other axes, or displaces the body off the
    axis, before this rotation, or if one of the joint's two frames is rotated relative to its body.
    """
    if body.in_child != Frame() or body.in_parent.turned_deg != (0.0,) * 3 or body.in_parent.of_subject:
        return None
    if body.joint == "hinge" and body.axis is not None:
        return Turning(direction(body.axis), np.zeros(3))
    neutral = {c.name: c.neutral or 0.0 for c in body.coordinates}
    first = next((k for k, one in enumerate(body.motion) if one.rotates and one.of == coordinate), None)
    if body.joint != "custom" or first is None or not all(one.is_identity for one in body.motion):
        return None
    axis = direction(body.motion[first].axis)
    others: list[ElementaryMotion] = [one for k, one in enumerate(body.motion) if one.rotates and k != first]
    slides = [one for one in body.motion if one.translates]
    moved = any(
        one.rotates or np.linalg.norm(np.cross(direction(one.axis), axis)) > PARALLEL
        for one in body.motion[:first]
    )
    if moved or any(neutral.get(one.of, 1.0) for one in others):
        return None
    places = [1e3 * neutral.get(one.of, 0.0) * direction(one.axis) for one in slides]
    return Turning(axis, np.sum(places, axis=0) if places else np.zeros(3))


def direction(axis: Axis) -> np.ndarray:
    """Return (3,) unit vector along an axis."""
    found = np.array(AXES[axis] if isinstance(axis, str) else axis, float)
    return found / np.linalg.norm(found)
