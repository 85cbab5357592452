"""A synthetic knee with surfaces and attachment areas computed from a geometry, for tests of the
identification.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.knee.knee_anatomy import KneeAnatomy
from rtsim.methods.knee.knee_geometry import COMPARTMENTS, LIGAMENTS, KneeGeometry
from rtsim.methods.knee.knee_poses import KneePoses

Array = NDArray[np.float64]

N_SURFACE, N_AREA = 150, 40
"""Points of a surface and of an attachment area."""
WIDTH, AREA = 0.012, 0.004
"""Radius of the measured part of a plateau, and of an attachment area [m]."""
LEVER = 0.1
"""Distance of the markers that determine an angle [m]: noise of a place is noise / LEVER of the angle."""


def anatomy_of(geometry: KneeGeometry, rng: np.random.Generator, noise: float) -> KneeAnatomy:
    """Generate points on the geometry's surfaces, and in areas around its ligaments' ends.

    noise : standard deviation of every coordinate of a point [m]
    """

    def measured(points: Array) -> Array:
        return np.asarray(points + rng.normal(scale=noise, size=points.shape))

    condyles, plateaus = {}, {}
    for k, name in enumerate(COMPARTMENTS):
        down = rng.normal(size=(N_SURFACE, 3)) * [1.0, 0.3, 0.6] + [-0.3, -1.0, 0.0]
        down /= np.linalg.norm(down, axis=1)[:, None]
        condyles[name] = measured(geometry.condyles[k] + geometry.radii[k] * down)
        flat = rng.normal(size=(N_SURFACE, 3)) * WIDTH
        flat -= (flat @ geometry.normals[k])[:, None] * geometry.normals[k]
        plateaus[name] = measured(geometry.plateaus[k] + flat)
    origins, insertions = (
        {name: measured(end + in_ball(rng, N_AREA, AREA)) for name, end in zip(LIGAMENTS, ends, strict=True)}
        for ends in (geometry.origins, geometry.insertions)
    )
    return KneeAnatomy(condyles, plateaus, origins, insertions)


def in_ball(rng: np.random.Generator, n: int, radius: float) -> Array:
    """Draw points (n, 3), evenly spread, in a ball of this radius about the origin."""
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return np.asarray(points * radius * np.cbrt(rng.random((n, 1))))


def measured_motion(poses: KneePoses, rng: np.random.Generator, noise: float) -> KneePoses:
    """Return the poses with random errors, of standard deviation `noise` [m] in the positions and `noise`
    divided by the lever arm LEVER in the angles."""
    return KneePoses(
        poses.angles + rng.normal(scale=noise / LEVER, size=poses.angles.shape),
        poses.places + rng.normal(scale=noise, size=poses.places.shape),
    )
