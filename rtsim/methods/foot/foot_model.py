"""A fitted foot as a model, and the contact parameters of a model of a foot.

Parameters are in the axes of a left foot, X medial, Y forward, Z up; models are in those of a right foot, x
forward, y up, z to the right: (x, y, z) = (Y, Z, -X), its mirror image. When the toes are straight, the axes
of the toes in a model are parallel to those of its foot.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.methods.foot.foot_parameters import (
    ELLIPSOIDS,
    N_GLOBAL,
    N_SHAPE,
    SURFACES,
    TABLE_5_4,
    N,
    angles_of,
    euler,
)
from rtsim.methods.foot.foot_trial import FootTrial
from rtsim.models.load import load_model
from rtsim.subjects.feet.foot_frame import FootFrame

Array = NDArray[np.float64]

MIRROR = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
"""Rotation from the axes of the parameters to those of a model."""
ORDER = [1, 2, 0]
"""Radii of an ellipsoid along the axes of a model."""
BASE = "foot"
BASE_WEIGHT = 70.0 * 9.81
"""Weight of the person whose segments the shipped model has [N]."""


class ModelFoot(NamedTuple):
    """Contact parameters and toe joint of a model of a foot.

    parameters : (30,) contact parameters
    toe_origin, toe_axes : (3,), (3, 3) - origin [m] and axes, as columns, of the toes' frame in the frame of
        the foot
    """

    parameters: Array
    toe_origin: Array
    toe_axes: Array


def model_of(parameters: Array, frame: FootFrame, weight: float, name: str, source: str) -> ModelSpec:
    """Build a model of a foot from the foot model that is part of rtsim, with fitted contact parameters.

    parameters : (30,) - fitted contact parameters, which replace those of the three contacts
    frame : frame of the fitted foot, which gives the position and the axis of the toes' joint
    weight : weight of the person [N]; masses and inertias of the foot are scaled by it
    name, source : name and source of the new model
    """
    base = load_model(BASE)
    heavy = weight / BASE_WEIGHT
    foot, toes = base.bodies
    toes = msgspec.structs.replace(
        toes,
        axis=_vector(-MIRROR @ frame.toe_axes[:, 0]),
        in_parent=msgspec.structs.replace(toes.in_parent, offset_mm=_vector(1e3 * MIRROR @ frame.toe_origin)),
    )
    bodies = tuple(
        msgspec.structs.replace(
            body,
            mass_kg=body.mass_kg and round(body.mass_kg * heavy, 6),
            inertia_kg_m2=body.inertia_kg_m2 and tuple(round(part * heavy, 9) for part in body.inertia_kg_m2),
        )
        for body in (foot, toes)
    )
    shapes = parameters[N_GLOBAL:].reshape(-1, N_SHAPE)
    turns, _ = euler(shapes[:, 6:])
    contacts = []
    for contact, shape, turn in zip(base.contacts, shapes, turns, strict=True):
        carrier = frame.toe_axes if contact.name == "toe" else np.eye(3)
        ellipsoid = msgspec.structs.replace(
            contact.a,
            offset_mm=_vector(1e3 * MIRROR @ carrier @ shape[3:6]),
            radii_mm=_vector(1e3 * shape[ORDER]),
            turned_deg=_vector(np.degrees(angles_of(MIRROR @ carrier @ turn @ MIRROR.T))),
        )
        contacts.append(
            msgspec.structs.replace(
                contact,
                ellipsoid=ellipsoid,
                stiffness=float(parameters[0]),
                damping=float(-parameters[1]),
                rolling=bool(parameters[1] < 0.0),
            )
        )
    return msgspec.structs.replace(base, name=name, source=source, bodies=bodies, contacts=tuple(contacts))


def foot_of(spec: ModelSpec, where: str) -> ModelFoot:
    """Read the parameters of a foot from its model; ConfigError for another kind of model."""
    named = {contact.name: contact for contact in spec.contacts}
    bodies = {body.name: body for body in spec.bodies}
    if not set(ELLIPSOIDS) <= named.keys() or "toes" not in bodies:
        raise ConfigError(
            "this model lacks bodies or contacts of a foot",
            where=where,
            allowed=f"bodies foot and toes, and the contacts {', '.join(ELLIPSOIDS)}",
            remedy="give a model that `rtsim fit foot` has written",
        )
    chosen = [named[name] for name in ELLIPSOIDS]
    if any(contact.keys != SURFACES or contact.law != "volumetric" for contact in chosen):
        raise ConfigError("the contacts of a foot must be volumetric ellipsoids on planes", where=where)
    laws = {(contact.stiffness, contact.damping) for contact in chosen}
    if len(laws) > 1:
        raise ConfigError(
            "all ellipsoids of a foot must have the same stiffness and the same damping", where=where
        )
    toes = bodies["toes"]
    x = -MIRROR.T @ np.array(toes.axis, float)
    x /= np.linalg.norm(x)
    z = np.array([0.0, 0.0, 1.0]) - x * x[2]
    z /= np.linalg.norm(z)
    axes = np.stack([x, np.cross(z, x), z], axis=1)
    parameters = np.empty(N)
    first = chosen[0]
    parameters[:N_GLOBAL] = float(first.stiffness or 0.0), -first.damping, TABLE_5_4[2]
    if first.friction is not None:
        parameters[2] = first.friction.dynamic
    for e, contact in enumerate(chosen):
        carrier = axes if contact.name == "toe" else np.eye(3)
        own = parameters[N_GLOBAL + e * N_SHAPE :][:N_SHAPE]
        own[:3] = 1e-3 * np.array(contact.a.sizes_mm)[[2, 0, 1]]
        own[3:6] = carrier.T @ MIRROR.T @ (1e-3 * np.array(contact.a.offset_mm))
        turn, _ = euler(np.radians([contact.a.turned_deg]))
        own[6:] = angles_of(carrier.T @ MIRROR.T @ turn[0] @ MIRROR)
    return ModelFoot(parameters, MIRROR.T @ (1e-3 * np.array(toes.in_parent.offset_mm)), axes)


def with_toes(frame: FootFrame, toe_origin: Array, toe_axes: Array) -> FootFrame:
    """Return the frame of a foot with the toe joint of another fit in place of its own. Contact parameters of
    the toes are stated in the axes of this joint, so they are used only together with it.

    toe_origin, toe_axes : (3,), (3, 3) origin [m] and axes, as columns, of that toe joint in the frame of the
        foot
    """
    return frame._replace(toe_origin=toe_origin, toe_axes=toe_axes)


def marked_alike(trial: FootTrial, fitted: FootTrial) -> bool:
    """Return whether two steps are of the same foot with the same markers: the same side in the same trial.

    Marker positions on the foot differ between feet and sessions. One millimetre matters: it changes the
    contact force by some 75 N.
    """
    return trial.side == fitted.side and trial.source == fitted.source


def _vector(values: Array) -> tuple[float, ...]:
    """Round a position [mm] or angles [deg] to 7 decimals for a model file."""
    return tuple(round(float(value), 7) for value in values)
