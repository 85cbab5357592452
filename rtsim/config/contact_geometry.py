"""Interface of a contact geometry for the model's files and tables: the record that every module of
rtsim/config/contact_geometries provides as GEOMETRY.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rtsim.config.models.place_schema import Place, Vector

NONE = (0.0, 0.0, 0.0)


class ContactShape(NamedTuple):
    """The sizes of the surfaces of a contact between bodies A and B [mm], each in the axes of its own body:
    radii of A and B, or radii of A and a plane on B (its normal and its velocity), or two triangle meshes.
    """

    radii_a_mm: tuple[float, float, float]
    radii_b_mm: tuple[float, float, float] = NONE
    normal: Vector = (0.0, 0.0, 1.0)  # of a plane on B, towards A
    velocity_mm_s: Vector = NONE  # of B's surface
    meshes: tuple[Any, Any] | None = None  # records of surfaces of triangles, A's first


def held_by_none(a: Any) -> None:
    """Return None for any surface `a`. This is the default of `Geometry.holds`, for geometries that a fit of
    the pose to markers cannot enforce as a constraint.
    """


class Geometry(NamedTuple):
    """One contact geometry: the records of its surfaces, and functions for their checks and sizes.

    surfaces : key in the model's file -> its record; that of body A first, then that of body B
    check : function (a, b, key) that raises ValueError for impossible surfaces
    shape : function (a, b) that returns the sizes of the surfaces
    volume : function (shape, depth [m]) that returns the smallest volume of the overlap at this depth [m^3]
    torques : whether rolling and spinning torques can act on the contact patch
    only_spread : whether it supports only pressure laws based on the overlap volume
    holds : function of the surface a of body A that returns the radius of its sphere [mm], if a fit of the
        pose to markers can keep the surface on a plane as a constraint; None for all other geometries
    """

    surfaces: dict[str, type[Place]]
    check: Callable[[Any, Any, str], None]
    shape: Callable[[Any, Any], ContactShape]
    volume: Callable[[ContactShape, float], float]
    torques: bool = False
    holds: Callable[[Any], float | None] = held_by_none
    only_spread: bool = False
