"""Surfaces of triangles against each other (kernels/contact/mesh_on_mesh), from files or by formulas."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from rtsim.config.contact_geometry import Geometry, Shape
from rtsim.config.place_schema import Frame, Place, Positive

Lines = Annotated[int, msgspec.Meta(ge=4, le=400)]


class Surface(Frame, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A surface of triangles in its place: a file, a ball or a plate.

    file: STL, OBJ or PLY, from where rtsim runs; its unit; whether it is inside out
    ball_radius_mm: a sphere, its poles along z; plate_mm: a square, outside towards z
    lines: of the ball or plate, on either side; radii of an ellipsoid: stretched
    by_vertices: whether its vertices press on the other surface; where those of both do, the mean counts
    deepest_mm: vertices of the other surface that are deeper are beyond its other side
    """

    file: str = ""
    unit: Literal["mm", "cm", "m"] = "mm"
    flipped: bool = False
    ball_radius_mm: Positive | None = None
    plate_mm: Positive | None = None
    lines: Lines = 24
    grown_mm: float = 0.0
    by_vertices: bool = True
    deepest_mm: Positive | None = None


def check(a: Surface, b: Surface, key: str) -> None:
    for name, one in (("surface_a", a), ("surface_b", b)):
        given = [bool(one.file), one.ball_radius_mm is not None, one.plate_mm is not None]
        if sum(given) != 1:
            raise ValueError(f"{key}.{name}: give one of file, ball_radius_mm and plate_mm")
    if not (a.by_vertices or b.by_vertices):
        raise ValueError(f"{key}: no vertices press; give by_vertices = true to one of its surfaces")


def shape(a: Surface, b: Surface) -> Shape:
    size = a.ball_radius_mm or b.ball_radius_mm or 30.0
    return Shape((size, size, size), meshes=(a, b))


def volume(shape: Shape, depth: float) -> float:
    """Under a sphere of that size, as far as its depth is small: pi r d^2 [m^3]."""
    return math.pi * 1e-3 * shape.radii_a_mm[0] * depth**2


SURFACES: dict[str, type[Place]] = {"surface_a": Surface, "surface_b": Surface}
GEOMETRY = Geometry(SURFACES, check, shape, volume, only_spread=True)
