"""Checks whether a scan's landmarks, markers and surfaces belong to one head; ConfigError otherwise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from rtsim.errors import ConfigError
from rtsim.files.surfaces.surfaces import TriangleSurface

Array = NDArray[np.float64]

LEAST_SPREAD_M = 0.01
"""Second singular value of points about their mean below which they are as good as on a line."""
LEAST_APART_M = 0.03
"""Least distance between condyles, which are some 100 mm apart in adults."""
LARGEST_RESIDUAL_MM = 10.0
"""Largest residual of a marker on skin or brace, root mean square: more is another unit, a mirror image or
another marker."""
FARTHEST_M = 0.01
"""Largest distance from a condyle's landmark to its surfaces, and between surfaces that press on each
other."""


def check_spread(points: Array, where: str, what: str) -> None:
    """Check that points : (n, 3) [m] are at least three, and not nearly on one line; ConfigError otherwise.

    what : words for the points in the error, such as "the markers"
    """
    few = len(points) < 3
    if few or np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] < LEAST_SPREAD_M:
        raise ConfigError(
            f"{what} are fewer than three, or nearly on a line",
            where=where,
            remedy="give three points that lie centimetres apart, not on a line",
        )


def check_condyles(apart: float, where: str) -> None:
    """Check that the condyles are centimetres apart; ConfigError otherwise. apart : their distance parallel
    to the plane of porions and orbitale [m]
    """
    if apart < LEAST_APART_M:
        raise ConfigError(
            f"condyles lie {1e3 * apart:.0f} mm apart, but at least {1e3 * LEAST_APART_M:.0f} mm is needed",
            where=where,
            remedy="give the highest point of each condyle, and the unit of all landmarks",
        )


def check_sides(orbitale: Array, where: str) -> None:
    """Check that the left orbitale : (3,) lies in front and on the left of the middle of the porions, in the
    head's frame; ConfigError otherwise.
    """
    if orbitale[0] <= 0.0 or orbitale[2] >= 0.0:
        raise ConfigError(
            "left_orbitale is not in front of and left of the porions: right and left are exchanged",
            where=where,
            remedy="name the landmarks by the person's own right and left, in right-handed axes",
        )


def check_residuals(residual_mm: dict[str, float], where: str) -> None:
    """Raise ConfigError where a marker of the scan lies far from its position in the reference trial.

    residual_mm : marker -> RMS distance between both
    """
    worst = max(residual_mm, key=lambda name: residual_mm[name])
    if residual_mm[worst] > LARGEST_RESIDUAL_MM:
        raise ConfigError(
            f"{worst} of the scan lies {residual_mm[worst]:.0f} mm RMS from its position in the trial; at "
            f"most {LARGEST_RESIDUAL_MM:.0f} mm are allowed",
            where=where,
            remedy="check unit, names and axes of both; a mirrored scan or markers on the mandible cannot be "
            "used",
        )


def check_surfaces(surfaces: dict[str, TriangleSurface], tops: dict[str, Array], where: str) -> None:
    """Check that every surface (with a name such as right_fossa) lies at the landmark of the condyle of its
    side, and that the outer sides of condyle and fossa face each other; ConfigError otherwise.

    tops : (3,) each - highest point of the condyle of each side, in the surfaces' axes [m]
    """
    for name, surface in surfaces.items():
        side, part = name.split("_")
        apart = float(cKDTree(surface.vertices).query(tops[side])[0])
        if apart > FARTHEST_M:
            raise ConfigError(
                f"{name} lies {1e3 * apart:.0f} mm from the landmark {side}_condyle",
                where=where,
                remedy="give surfaces and landmarks in the same axes and unit, with the sides not exchanged",
            )
        other = f"{side}_{'fossa' if part == 'condyle' else 'condyle'}"
        if other in surfaces and outside(surface, surfaces[other].vertices) < 0.5:
            raise ConfigError(
                f"the inner side of {name} faces {other}, so its normals point inwards",
                where=where,
                remedy="reverse the normals of this surface",
            )


def outside(surface: TriangleSurface, points: Array) -> float:
    """Return the fraction of the points : (n, 3) near a surface that are on the outer side of their nearest
    triangle."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    middle = (a + b + c) / 3.0
    apart, nearest = cKDTree(middle).query(points)
    near = apart <= max(FARTHEST_M, 1.5 * float(apart.min()))
    normal = np.cross(b - a, c - a)[nearest[near]]
    return float(np.mean(np.einsum("ij,ij->i", normal, points[near] - middle[nearest[near]]) > 0.0))
