"""An ellipsoidal joint: its centre glides over an ellipsoid of the parent (kernels/joints/ellipsoidal)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np

from rtsim.config.joint_kind import Array, Directed, JointKind
from rtsim.config.models.place_schema import Positive

NEEDS = {"radii_mm": "an ellipsoidal joint needs three radii; add radii_mm = [x, y, z]"}
# along the axes of the joint's frame on the parent
KEYS = {"radii_mm": Annotated[tuple[Positive, ...], msgspec.Meta(min_length=3, max_length=3)]}


def parameter(body: Any, directed: Directed) -> tuple[float, ...]:
    return tuple(1e-3 * radius for radius in body.radii_mm)


def offset(numbers: Array) -> Array:
    """Return the position of the child frame in the neutral pose [m]: the centre lies at the end of the third
    radius of the ellipsoid; numbers : the three radii [m].
    """
    return np.array([0.0, 0.0, numbers[2]])


def scaled(body: Any, factors: Array) -> dict[str, Any]:
    """Return the radii scaled with the parent body, as in OpenSim (EllipsoidJoint::extendScale)."""
    return {"radii_mm": tuple(float(r * f) for r, f in zip(body.radii_mm, factors, strict=True))}


KIND = JointKind(
    needs=NEEDS,
    keys=KEYS,
    parameter=parameter,
    neutral=(1.0, 0.0, 0.0, 0.0),
    offset=offset,
    rotation=(0, 0),
    scaled=scaled,
)
