"""Contact geometry of a sphere against a sphere (kernels/contact/sphere_on_sphere)."""

from __future__ import annotations

import math

from rtsim.config.contact_geometry import ContactShape, Geometry
from rtsim.config.models.place_schema import Frame, Place, Positive


class Sphere(Frame, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One of the two spheres of a contact, centred at its place."""

    radius_mm: Positive


def check(a: Sphere, b: Sphere, key: str) -> None:
    """Accept all spheres, as any two spheres can touch."""


def shape(a: Sphere, b: Sphere) -> ContactShape:
    return ContactShape((a.radius_mm,) * 3, (b.radius_mm,) * 3)


def volume(shape: ContactShape, depth: float) -> float:
    """Return the volume of the lens in which two spheres overlap at the depth d [m^3].

    It is pi d^2 (g^2 + 2 g (r_a + r_b) - 3 (r_a - r_b)^2) / (12 g), with the radii r_a and r_b and the
    distance g = r_a + r_b - d of the centres.
    """
    r_a, r_b = 1e-3 * shape.radii_a_mm[0], 1e-3 * shape.radii_b_mm[0]
    depth = min(depth, 2.0 * min(r_a, r_b))
    g = max(r_a + r_b - depth, 1e-12 * (r_a + r_b))
    return math.pi * depth**2 * (g**2 + 2.0 * g * (r_a + r_b) - 3.0 * (r_a - r_b) ** 2) / (12.0 * g)


SURFACES: dict[str, type[Place]] = {"sphere_a": Sphere, "sphere_b": Sphere}
GEOMETRY = Geometry(SURFACES, check, shape, volume)
