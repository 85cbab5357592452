"""Targets for surfaces and landmarks of scans: .stl, .obj, .ply, AmiraMesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from benchmarks.fuzz.target import FuzzTarget, require
from rtsim.files.surfaces.landmark_sets import FARTHEST, read_landmarks
from rtsim.files.surfaces.surfaces import TriangleSurface, obj_text, read_surface

LANDMARKS = """# AmiraMesh 3D ASCII 2.0
define Markers 3
Parameters { ContentType "LandmarkSet", NumSets 1 }
Markers { float[3] Coordinates } @1
@1
1.5 2.5 -3
4 5 6
7.25 8 9e1
"""


def ball() -> TriangleSurface:
    """Return a small ball of triangles [m]."""
    mesh = trimesh.creation.icosphere(subdivisions=1, radius=0.02)
    return TriangleSurface(np.asarray(mesh.vertices), np.asarray(mesh.faces, dtype=np.int64))


def surface_seeds(kind: str) -> list[bytes]:
    """Return the ball in a format, in text and in binary if it has both; obj by our own writer."""
    surface = ball()
    mesh = trimesh.Trimesh(1e3 * surface.vertices, surface.triangles, process=False)
    if kind == "obj":
        scaled = surface._replace(vertices=1e3 * surface.vertices)
        return [obj_text(scaled).encode()]
    if kind == "stl":
        return [exported(mesh, "stl"), exported(mesh, "stl_ascii")]
    return [exported(mesh, "ply", encoding="binary"), exported(mesh, "ply", encoding="ascii")]


def exported(mesh: trimesh.Trimesh, kind: str, **options: str) -> bytes:
    """Return a mesh as the bytes of a file."""
    data = mesh.export(file_type=kind, **options)
    assert isinstance(data, (str, bytes))
    return data.encode() if isinstance(data, str) else data


def feed_surface(path: Path) -> None:
    """Read a surface for contact and check that it is written and read again identically."""
    surface = read_surface(path)
    n = len(surface.vertices)
    require(n > 0 and len(surface.triangles) > 0, "an empty surface")
    require(bool(np.isfinite(surface.vertices).all()), "a vertex is not a position")
    require(
        bool((surface.triangles >= 0).all() and (surface.triangles < n).all()), "a triangle without a vertex"
    )
    again = path.with_name("again.obj")
    again.write_text(obj_text(surface))
    found = read_surface(again, "m")
    require(
        found.triangles.shape == surface.triangles.shape,
        "the number of triangles changes when they are read again",
    )


def feed_landmarks(path: Path) -> None:
    points = read_landmarks(path)
    require(
        points.ndim == 2 and points.shape[1] == 3 and len(points) > 0, "the array of points has a wrong shape"
    )
    require(bool((np.abs(points) <= FARTHEST).all()), "a point that is not a position")


TARGETS = (
    FuzzTarget("stl", feed_surface, lambda: surface_seeds("stl"), suffix=".stl"),
    FuzzTarget("obj", feed_surface, lambda: surface_seeds("obj"), form="text", suffix=".obj"),
    FuzzTarget("ply", feed_surface, lambda: surface_seeds("ply"), suffix=".ply"),
    FuzzTarget("landmarks", feed_landmarks, lambda: [LANDMARKS.encode()], form="text",
               suffix=".landmarkAscii", weight=0.5),
)  # fmt: skip
