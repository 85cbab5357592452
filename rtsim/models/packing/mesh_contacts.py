"""Packing of the contacts between triangle surfaces: the surfaces are read from files or computed, placed on
their bodies, and written together into the tables Meshes of the surfaces and MeshContacts of the contacts
(kernels/mesh).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.mesh.meshes import (
    GRADIENT,
    OF_A,
    OF_B,
    OF_BOTH,
    OWN_AREA,
    OWN_NORMAL,
    PAPER_AREA,
    MeshContacts,
    Meshes,
    new_mesh_contacts,
)
from rtsim.errors import ConfigError
from rtsim.files.surfaces.surfaces import TriangleSurface, read_surface
from rtsim.models.packing.meshes import pack_meshes
from rtsim.models.shapes import ball, grown, mirrored, plate

AREAS = {"own": OWN_AREA, "paper": PAPER_AREA}
"""Contact areas by their keys in a model's file."""
MOST_TURNED = 0.1
"""Part of the edges of a surface that may turn over where it grows, as in the folds of a scan."""


def pack_mesh_contacts(
    pairs: Sequence[tuple[Any, Any]],
    placed: Sequence[Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]],
) -> tuple[Meshes | None, MeshContacts | None]:
    """Pack triangle surfaces and the contacts between them; both results are None if there are no contacts.

    pairs : for each contact the records of its two surfaces in the model's file
    placed : for each contact rotation (3, 3) and position (3,) [m] of its two surfaces on their bodies
    """
    if not pairs:
        return None, None
    surfaces: list[TriangleSurface] = []
    passes, areas, ways, deepest = [], [], [], []
    for records, places in zip(pairs, placed, strict=True):
        for record, (R, x) in zip(records, places, strict=True):
            surface = made(record)
            surfaces.append(TriangleSurface(surface.vertices @ R.T + x, surface.triangles))
        a, b = records
        passes.append(OF_BOTH if a.by_vertices and b.by_vertices else OF_A if a.by_vertices else OF_B)
        areas.append((AREAS[a.area], AREAS[b.area]))
        ways.append((OWN_NORMAL if a.own_normals else GRADIENT, OWN_NORMAL if b.own_normals else GRADIENT))
        deepest.append(min(np.inf if x.deepest_mm is None else 1e-3 * x.deepest_mm for x in records))
    meshes, n = pack_meshes(surfaces), len(pairs)
    numbers = [(2 * e, 2 * e + 1) for e in range(n)]
    return meshes, new_mesh_contacts(meshes, numbers, passes, areas, ways, [0.0] * n, deepest)


def made(record: Any) -> TriangleSurface:
    """Return the surface that a record of the model describes, read from a file or computed, in its own axes
    [m]."""
    if record.file:
        surface = read_surface(Path(record.file), record.unit, record.flipped)
    elif record.plate_mm is not None:
        surface = plate(1e-3 * record.plate_mm, 1e-3 * record.plate_mm, record.lines)
    else:
        surface = ball(1e-3 * record.ball_radius_mm, record.lines, record.lines)
    if record.mirrored:
        surface = mirrored(surface)
    if not record.grown_mm:
        return surface
    larger = grown(surface, 1e-3 * record.grown_mm)
    if turned_over(surface, larger) > MOST_TURNED:
        raise ConfigError(
            f"grown by {record.grown_mm:g} mm, the surface would fold over itself: it is too thin or too "
            "small for this",
            where=record.file or f"surface on {record.segment}",
            remedy="correct grown_mm",
        )
    return larger


def turned_over(surface: TriangleSurface, larger: TriangleSurface) -> float:
    """Return how much of an enlarged triangle surface is folded over itself: the fraction of its edges, by
    length, that the enlargement has turned by more than 90 degrees [1].

    surface, larger : the surface before and after it was enlarged, with the same triangles
    """
    before, after = (
        np.roll(corners, -1, axis=1) - corners
        for corners in (one.vertices[one.triangles] for one in (surface, larger))
    )
    length = np.linalg.norm(before, axis=2)
    return float(length[np.einsum("nij,nij->ni", before, after) < 0.0].sum() / length.sum())
