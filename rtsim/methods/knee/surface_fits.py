"""Best-fitting spheres of condyles and planes of tibial plateaus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from rtsim.errors import ConfigError

Array = NDArray[np.float64]

FLAT = 1e-3
"""Smallest extent of points across a plane, or across a line, as a fraction of their largest extent, with
which they determine a sphere, or a plane."""
FEWEST_OF_SPHERE, FEWEST_OF_PLANE = 4, 3


class FittedSphere(NamedTuple):
    """A sphere fitted to points. centre : (3,), radius and root mean square distance of the points
    from it [m].
    """

    centre: Array
    radius: float
    misfit: float


class FittedPlane(NamedTuple):
    """A plane fitted to points.

    point : (3,) - middle of the points [m]; normal : (3,) - unit; misfit : root mean square [m].
    """

    point: Array
    normal: Array
    misfit: float


def fit_sphere(points: Array, where: str) -> FittedSphere:
    """Fit the sphere of least squared distances from points (n, 3) [m].

    where : name of the points in error messages

    Raises ConfigError if there are too few points, or if all lie in a plane.
    """
    middle = check_points(points, FEWEST_OF_SPHERE, 2, "sphere", where)
    # |p|^2 = 2 c.p + (r^2 - |c|^2) is linear in the centre; it is the start of the geometric fit
    arms = points - middle
    A = np.hstack([2.0 * arms, np.ones((len(arms), 1))])
    *centre, rest = np.linalg.lstsq(A, np.sum(arms**2, axis=1), rcond=None)[0]
    radius = float(np.sqrt(max(rest + np.dot(centre, centre), 0.0)))

    def distances(x: Array) -> Array:
        return np.linalg.norm(arms - x[:3], axis=1) - x[3]

    def slopes(x: Array) -> Array:
        off = x[:3] - arms
        return np.hstack([off / np.linalg.norm(off, axis=1)[:, None], -np.ones((len(arms), 1))])

    found = least_squares(distances, [*centre, radius], slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    misfit = float(np.sqrt(np.mean(found.fun**2)))
    return FittedSphere(middle + found.x[:3], float(found.x[3]), misfit)


def fit_plane(points: Array, towards: Array, where: str) -> FittedPlane:
    """Fit the plane of least squared distances from points (n, 3); its normal points to the side of `towards`
    (3,) [m].

    Raises ConfigError if there are too few points, or if all lie on a line.
    """
    middle = check_points(points, FEWEST_OF_PLANE, 1, "plane", where)
    _, sizes, axes = np.linalg.svd(points - middle, full_matrices=True)
    normal = axes[2] * np.sign((towards - middle) @ axes[2])
    least = sizes[2] if len(sizes) > 2 else 0.0
    return FittedPlane(middle, normal, float(least / np.sqrt(len(points))))


def check_points(points: Array, fewest: int, rank: int, kind: str, where: str) -> Array:
    """Return the centre (3,) of points (n, 3); ConfigError if they cannot determine a surface.

    fewest : smallest number of points; rank : 2 = they must not lie in a plane, 1 = not on a line
    kind, where : name of the surface and of the points for the error
    """
    if len(points) < fewest:
        raise ConfigError(
            f"{len(points)} points are too few to determine a {kind}",
            where=where,
            allowed=f"{fewest} or more",
        )
    middle = np.asarray(points.mean(axis=0))
    sizes = np.linalg.svd(points - middle, compute_uv=False)
    if sizes[min(rank, len(sizes) - 1)] <= FLAT * sizes[0]:
        raise ConfigError(
            f"the points lie {'in a plane' if rank == 2 else 'on a line'}, which does not determine a {kind}",
            where=where,
            remedy="measure more of the surface",
        )
    return middle
