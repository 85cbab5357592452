"""Contact geometry of two triangle meshes (kernels/contact/mesh_on_mesh), which are read from files or
generated as balls or plates.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal

import msgspec

from rtsim.config.contact_geometry import ContactShape, Geometry
from rtsim.config.models.place_schema import Frame, Place, Positive

Lines = Annotated[int, msgspec.Meta(ge=4, le=400)]
USUAL_LINES: Final = 24
USUAL_UNIT: Final = "mm"
USUAL_AREA: Final = "own"


class ContactSurface(Frame, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A triangle mesh with its position on a body: from a file, a ball or a plate.

    file : STL, OBJ or PLY, beside the model's file or in the working folder; unit : its unit
    flipped : whether the normals of the file's triangles point inwards
    mirrored : whether the surface is replaced by its mirror image with z reversed in its own axes, as on the
        left side of a model of both sides
    ball_radius_mm : radius of a sphere with its poles along z; plate_mm : side of a square that faces z
    lines : number of grid lines of the ball, or of each side of the plate
    grown_mm : distance by which the surface is moved outwards, such as a thickness of cartilage on bone
    by_vertices : whether the pressure is computed at the vertices of this surface; if it is at those of both,
        the mean of both forces is used
    area : area of a vertex: a third of the adjacent triangles ("own"), or all of the closest triangle of the
        other surface ("paper": nomenclature of Andersen et al. 2017)
    own_normals : whether the force on a vertex acts against the vertex normal of this surface; if not, it
        acts along the shortest way out of the other surface
    deepest_mm : a vertex deeper than this in the other surface is not in contact, as it lies beyond its far
        side
    """

    file: str = ""
    unit: Literal["mm", "cm", "m"] = USUAL_UNIT
    flipped: bool = False
    mirrored: bool = False
    ball_radius_mm: Positive | None = None
    plate_mm: Positive | None = None
    lines: Lines = USUAL_LINES
    grown_mm: float = 0.0
    by_vertices: bool = True
    area: Literal["own", "paper"] = USUAL_AREA
    own_normals: bool = False
    deepest_mm: Positive | None = None


def check(a: ContactSurface, b: ContactSurface, key: str) -> None:
    for name, one in (("surface_a", a), ("surface_b", b)):
        given = [bool(one.file), one.ball_radius_mm is not None, one.plate_mm is not None]
        if sum(given) != 1:
            raise ValueError(f"{key}.{name}: give one of file, ball_radius_mm and plate_mm")
        idle = idle_key(one)
        if idle:
            raise ValueError(f"{key}.{name}.{idle}")
    if not (a.by_vertices or b.by_vertices):
        raise ValueError(
            f"{key}: neither surface presses by its vertices; set by_vertices = true for one of them"
        )


def idle_key(one: ContactSurface) -> str:
    """Return why a key of a contact surface has no effect in combination with the others, and the remedy; ""
    if every key has one.
    """
    if not one.by_vertices:
        unread = "own_normals" if one.own_normals else "area" if one.area != USUAL_AREA else ""
        if unread:
            return (
                f"{unread}: this surface does not press by its vertices; remove this key, or set "
                "by_vertices = true"
            )
    if one.file:
        return (
            ""
            if one.lines == USUAL_LINES
            else "lines: this key applies only to a computed surface, not to one from a file; remove the key"
        )
    idle = "unit" if one.unit != USUAL_UNIT else "flipped" if one.flipped else ""
    return f"{idle}: this key applies only to a surface from a file; remove the key" if idle else ""


def shape(a: ContactSurface, b: ContactSurface) -> ContactShape:
    size = a.ball_radius_mm or b.ball_radius_mm or 30.0
    return ContactShape((size, size, size), meshes=(a, b))


def volume(shape: ContactShape, depth: float) -> float:
    """Return the overlap volume of a plane and a sphere of radius r at a small depth d, pi r d^2 [m^3]; r is
    the first radius of the shape.
    """
    return math.pi * 1e-3 * shape.radii_a_mm[0] * depth**2


SURFACES: dict[str, type[Place]] = {"surface_a": ContactSurface, "surface_b": ContactSurface}
GEOMETRY = Geometry(SURFACES, check, shape, volume, only_spread=True)
