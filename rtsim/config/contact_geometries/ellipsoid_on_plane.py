"""Contact geometry of an ellipsoid, or a sphere, on a plane (kernels/contact/ellipsoid_on_plane)."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

from rtsim.config.contact_geometry import ContactShape, Geometry
from rtsim.config.models.place_schema import Frame, Place, Positive, Vector


class Ellipsoid(Frame, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The ellipsoid, or sphere, of a contact: its radii and its pose on a body."""

    radius_mm: Positive | None = None
    radii_mm: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=3, max_length=3)] | None = None

    @property
    def sizes_mm(self) -> tuple[float, float, float]:
        """Return the three radii of the ellipsoid [mm]."""
        if self.radii_mm is None:
            assert self.radius_mm is not None
            return self.radius_mm, self.radius_mm, self.radius_mm
        a, b, c = self.radii_mm
        return a, b, c


class Plane(Place, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The plane of a contact: a point, the normal towards the ellipsoid, and the velocity of its surface (a
    belt).
    """

    normal: Vector
    velocity_mm_s: Vector = (0.0, 0.0, 0.0)


def check(a: Ellipsoid, b: Plane, key: str) -> None:
    if (a.radius_mm is None) == (a.radii_mm is None):
        raise ValueError(f"{key}.ellipsoid: give either radius_mm or radii_mm")
    if not any(b.normal):
        raise ValueError(f"{key}.plane.normal: [0, 0, 0] has no direction; correct it")


def radius(a: Ellipsoid) -> float | None:
    return a.radius_mm


def shape(a: Ellipsoid, b: Plane) -> ContactShape:
    return ContactShape(a.sizes_mm, normal=b.normal, velocity_mm_s=b.velocity_mm_s)


def volume(shape: ContactShape, depth: float) -> float:
    """Return the volume of the part of the ellipsoid beyond the plane [m^3], for a plane perpendicular to the
    smallest radius: a b c pi d^2 (3 - d)/3, with the radii a, b, c and the depth d divided by the smallest
    one.
    """
    d = min(depth / (1e-3 * min(shape.radii_a_mm)), 2.0)
    return 1e-9 * math.prod(shape.radii_a_mm) * math.pi * d * d * (1.0 - d / 3.0)


SURFACES: dict[str, type[Place]] = {"ellipsoid": Ellipsoid, "plane": Plane}
GEOMETRY = Geometry(SURFACES, check, shape, volume, torques=True, holds=radius)
