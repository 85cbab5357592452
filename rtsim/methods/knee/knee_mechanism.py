"""The knee as a mechanism of one degree of freedom: two spheres on planes, ACL, PCL and MCL of given lengths.

Five constraints on the six coordinates of the tibia leave one motion (Sancisi et al. 2017, section 2.1.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ModelError
from rtsim.methods.knee.knee_geometry import HELD, KneeGeometry
from rtsim.methods.knee.knee_poses import KneePoses, rotation_slopes

Array = NDArray[np.float64]

N_STEP, TOLERANCE = 50, 1e-12
"""Newton steps for a pose, and the largest constraint at its end [m]."""
LEVER = 0.03
"""Lever arm by which angles are multiplied to compare them with distances [m]: about a condyle's radius."""
SCALE = np.array([LEVER] * 3 + [1.0] * 3)
"""Scales of the six coordinates of a pose."""


def constraints(geometry: KneeGeometry, poses: KneePoses) -> Array:
    """Compute the constraint errors (n, 5): distances of the spheres from the planes, then excess lengths of
    ligaments [m]."""
    R = poses.rotations
    normals = np.einsum("nij,kj->nki", R, geometry.normals)
    gaps = geometry.condyles - poses.carried(geometry.plateaus)
    contacts = np.einsum("nki,nki->nk", gaps, normals) - geometry.radii
    fibres = geometry.origins[:HELD] - poses.carried(geometry.insertions[:HELD])
    return np.hstack([contacts, np.linalg.norm(fibres, axis=2) - geometry.lengths])


def constraint_slopes(geometry: KneeGeometry, poses: KneePoses) -> Array:
    """Compute the derivatives (n, 5, 6) of the constraints with respect to three angles [m/rad] and three
    positions [1]."""
    R, slopes = poses.rotations, rotation_slopes(poses.angles)
    normals = np.einsum("nij,kj->nki", R, geometry.normals)
    gaps = geometry.condyles - poses.carried(geometry.plateaus)
    turned_points = np.einsum("anij,kj->nkai", slopes, geometry.plateaus)
    turned_normals = np.einsum("anij,kj->nkai", slopes, geometry.normals)
    by_angle = np.einsum("nki,nkai->nka", gaps, turned_normals) - np.einsum(
        "nkai,nki->nka", turned_points, normals
    )
    contacts = np.concatenate([by_angle, -normals], axis=2)
    fibres = geometry.origins[:HELD] - poses.carried(geometry.insertions[:HELD])
    along = fibres / np.linalg.norm(fibres, axis=2)[:, :, None]
    turned_ends = np.einsum("anij,kj->nkai", slopes, geometry.insertions[:HELD])
    ligaments = np.concatenate([-np.einsum("nki,nkai->nka", along, turned_ends), -along], axis=2)
    return np.concatenate([contacts, ligaments], axis=1)


def moved_along(geometry: KneeGeometry, flexion: Array) -> KneePoses:
    """Solve for the poses of the mechanism at flexions (n,) [rad], each from the one before.

    The first pose starts from full extension.

    Raises ModelError if the mechanism cannot be assembled at one of the flexions.
    """
    place = KneePoses(np.zeros((1, 3)), np.zeros((1, 3)))
    found = []
    for angle in flexion:
        place = assembled_at(geometry, place, -float(angle))
        found.append(place)
    return KneePoses(*(np.concatenate(column) for column in zip(*found, strict=True)))


def assembled_at(geometry: KneeGeometry, start: KneePoses, extension: float) -> KneePoses:
    """Solve for the pose at an extension [rad] that is nearest to a start, by Newton's method."""
    angles, places = start.angles.copy(), start.places.copy()
    angles[:, 0] = extension
    for _ in range(N_STEP):
        poses = KneePoses(angles, places)
        value = constraints(geometry, poses)
        if np.abs(value).max() <= TOLERANCE:
            return poses
        step = np.linalg.solve(constraint_slopes(geometry, poses)[:, :, 1:], value[:, :, None])[:, :, 0]
        if not np.isfinite(step).all():
            break
        angles = angles - np.hstack([np.zeros((1, 1)), step[:, :2]])
        places = places - step[:, 2:]
    raise ModelError(
        f"the knee cannot be assembled at {-np.degrees(extension):.1f} degrees of flexion",
        where="knee mechanism",
        remedy="use flexion angles nearer to extension, or another geometry",
    )


def weighed(slopes: Array) -> Array:
    """Return the matrices (n, 5, 5) whose inverse converts constraint errors to distances from the
    mechanism's motion.

    slopes : (n, 5, 6) - derivatives of the five constraints with respect to the six coordinates

    The distance is measured in all six coordinates, to first order; angles are multiplied by the lever arm
    LEVER. Flexion is treated like the other coordinates. So the distance stays finite where the motion
    reverses in flexion, as the motion of the mechanism nearly does at about 20 degrees.
    """
    scaled = slopes / SCALE
    return np.linalg.cholesky(scaled @ scaled.transpose(0, 2, 1))


def nearest_poses(geometry: KneeGeometry, poses: KneePoses, n_step: int = N_STEP) -> KneePoses:
    """Return the poses of the mechanism that are nearest to given ones, with angles multiplied by a lever
    arm; n_step : number of steps of Newton's method
    """
    angles, places = poses.angles, poses.places
    for _ in range(n_step):
        now = KneePoses(angles, places)
        value = constraints(geometry, now)
        if np.abs(value).max() <= TOLERANCE:
            break
        # of all steps to the constraints, the one that ends nearest to the given pose
        scaled = constraint_slopes(geometry, now) / SCALE
        off = np.hstack([poses.angles - angles, poses.places - places]) * SCALE
        wanted = np.einsum("nij,nj->ni", scaled, off) + value
        correction = off - np.einsum("nij,nj->ni", np.linalg.pinv(scaled), wanted)
        angles, places = angles + correction[:, :3] / SCALE[:3], places + correction[:, 3:]
    return KneePoses(angles, places)
