"""Surfaces of triangles from STL, OBJ and PLY files, read by trimesh, and written as OBJ; each fault is
reported.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

FORMATS = ("stl", "obj", "ply")
METRES = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
SMALLEST, LARGEST = 1e-3, 2.0
"""Smallest and largest size of a contact surface on a body [m]."""
SAME = 1e-7
"""Distance below which vertices count as one, relative to the size of the surface."""
FLAT = 1e-10
"""Area of a triangle, relative to its longest edge squared, below which it has no normal."""
N_MOST = 500_000_000


class TriangleSurface(NamedTuple):
    """A surface of triangles with corners counter-clockwise seen from outside."""

    vertices: NDArray[np.float64]  # (n_vertex, 3) [m]
    triangles: NDArray[np.int64]  # (n_triangle, 3) - indices of vertices; every vertex is used


def read_surface(path: Path, unit: str = "mm", flipped: bool = False) -> TriangleSurface:
    """Read the surface of a file, in metres.

    unit : unit of the file's numbers, such as m or mm
    flipped : whether the file's triangles are inside out

    Raises ConfigError with a remedy if the file cannot be read or is not a valid contact surface.
    """
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        allowed = ", ".join(f".{name}" for name in FORMATS)
        raise ConfigError(
            f"{path.suffix or 'no suffix'} is not a supported format of surfaces",
            where=str(path),
            allowed=allowed,
        )
    data = read_bounded(path, N_MOST, "make it coarser")
    vertices, triangles = _parsed(data, kind, path)
    surface = welded(METRES[unit] * vertices, triangles[:, ::-1] if flipped else triangles)
    check_surface(surface, str(path), unit)
    return surface


def obj_text(surface: TriangleSurface) -> str:
    """Return a surface as the text of an OBJ file, in metres, to the last digit."""
    vertices = [f"v {x!r} {y!r} {z!r}" for x, y, z in surface.vertices.tolist()]
    triangles = [f"f {a} {b} {c}" for a, b, c in (surface.triangles + 1).tolist()]
    return "\n".join((*vertices, *triangles, ""))


def _parsed(data: bytes, kind: str, path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the vertices and triangles of a surface as its file stores them."""
    try:
        import trimesh
    except ImportError:
        raise ConfigError(
            "reading surfaces needs trimesh",
            where=str(path),
            remedy="install the extra: pip install 'rtsim[mesh]'",
        ) from None
    try:
        mesh = trimesh.load_mesh(io.BytesIO(data), file_type=kind, process=False)
        found = np.array(mesh.vertices, float).reshape(-1, 3), np.array(mesh.faces, np.int64).reshape(-1, 3)
    except Exception as error:  # of many kinds, by format and damage
        # a package that trimesh misses would read other kinds of damage, not the file
        why = "" if isinstance(error, ImportError) else f" ({type(error).__name__}: {error})"
        words = f"this is not a readable {kind.upper()} file{why}"
        raise ConfigError(words, where=str(path), remedy="export it again") from None
    vertices, triangles = found
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        raise ConfigError(
            f"a triangle refers to a vertex that does not exist; the surface has {len(vertices)} "
            "vertices", where=str(path),
            remedy="export it again",
        )  # fmt: skip
    return found


def welded(vertices: NDArray[np.float64], triangles: NDArray[np.int64]) -> TriangleSurface:
    """Merge vertices at the same position; remove triangles of which two corners become the same, and
    vertices that no triangle uses.
    """
    if not len(triangles) or not np.isfinite(vertices).all():
        return TriangleSurface(vertices, triangles)
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    _, first, same = np.unique(
        np.round(vertices / (SAME * size)), axis=0, return_index=True, return_inverse=True
    )
    triangles = same.reshape(-1)[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    used, triangles = np.unique(triangles, return_inverse=True)
    return TriangleSurface(vertices[first[used]], np.ascontiguousarray(triangles.reshape(-1, 3), np.int64))


def check_surface(surface: TriangleSurface, where: str, unit: str = "m") -> None:
    """Raise ConfigError naming `where` if a surface is empty, of impossible size, not manifold or inside out;
    unit : unit of the file that was assumed, for the error
    """
    vertices, triangles = surface

    def fail(what: str, remedy: str) -> None:
        raise ConfigError(what, where=where, remedy=remedy)

    if not len(triangles):
        fail("the surface is empty: it has no triangles", "export the surface, not its outline or points")
    if not np.isfinite(vertices).all():
        fail("coordinates are not finite numbers", "export it again")
    size = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    if not SMALLEST <= size <= LARGEST:
        fits = [name for name, scale in METRES.items() if 0.01 <= size * scale / METRES[unit] <= 0.5]
        hint = f'give unit = "{fits[0]}"' if fits and fits[0] != unit else "scale it"
        fail(
            f"in {unit} the surface would be {1e3 * size:.3g} mm from end to end, so the unit is wrong", hint
        )
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    longest = np.max([np.linalg.norm(x - y, axis=1) for x, y in ((a, b), (b, c), (c, a))], axis=0)
    n_flat = int(np.count_nonzero(np.linalg.norm(np.cross(b - a, c - a), axis=1) < 2.0 * FLAT * longest**2))
    if n_flat:
        fail(f"{n_flat} triangles have no area", "remesh the surface, or remove degenerate triangles")
    directed = np.stack((triangles, np.roll(triangles, -1, axis=1)), axis=2).reshape(-1, 2)
    _, count = np.unique(np.sort(directed, axis=1), axis=0, return_counts=True)
    n_more = int(np.count_nonzero(count > 2))
    if n_more:
        fail(
            f"the surface is not manifold: {n_more} edges have more than two triangles",
            "repair or remesh the surface",
        )
    n_turned = len(directed) - len(np.unique(directed, axis=0))
    if n_turned:
        fail(
            f"at {n_turned} edges, the two triangles have opposite normals",
            "make the normals of all triangles consistent",
        )
    if (count == 2).all() and np.einsum("ij,ij->", a, np.cross(b, c)) < 0.0:
        fail(
            "the closed surface is inside out",
            "reverse the normals of the surface, or give flipped = true in the contact",
        )
